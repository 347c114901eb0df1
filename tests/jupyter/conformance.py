"""The tests that Jupyter has for kernels, with every optional part of them."""

import unittest

import jupyter_kernel_test


class AdlKernelTests(jupyter_kernel_test.KernelTests):
    kernel_name = "adl"
    language_name = "adl"
    file_extension = ".adl"
    code_hello_world = 'print "hello, world"'
    code_stderr = 'io.warn "careful"'
    code_page_something = ":doc sin"
    code_generate_error = "1 // 0"
    code_clear_output = ":clear"
    code_inspect_sample = "sin"
    completion_samples = [
        {"text": "linsp", "matches": {"linspace"}},
        {"text": "optim.lbfgs_", "matches": {"optim.lbfgs_defaults"}},
        {"text": "\\alpha", "matches": {"α"}},
    ]
    complete_code_samples = ["1", 'print "hello, world"', "let f x = x * 2.0", "match Some 1 with | Some x -> x | None -> 0"]
    incomplete_code_samples = ["let f x =", "for i < 3 ->", "(1,"]
    invalid_code_samples = ["let = )", "1 )"]
    code_execute_result = [
        {"code": "6 * 7", "result": "42 : Int"},
        {"code": "grad sin 0.0", "result": "1.0 : Float"},
        {"code": "6 * 7", "result": "42 : Int"},
        {"code": "[[1.0, 2.0], [3.0, 4.0]]", "mime": "text/latex"},
        {"code": "{a = [1, 2], b = [3, 4]}", "mime": "text/html"},
        {"code": "6 * 7", "result": "42 : Int"},
    ]
    code_display_data = [
        {"code": "io.display {a = [1, 2], b = [3, 4]}", "mime": "text/html"},
        {"code": 'io.update "slot" 1', "mime": "text/plain"},
    ]
    code_history_pattern = "6 ? 7"
    supported_history_operations = ("tail", "range", "search")


class AdlWelcomeTests(jupyter_kernel_test.IopubWelcomeTests):
    kernel_name = "adl"
    support_iopub_welcome = True


if __name__ == "__main__":
    unittest.main(verbosity=2)
