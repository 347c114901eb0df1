"""What users of a notebook count on, beyond what Jupyter's own tests ask of a kernel."""

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
from queue import Empty

import nbformat
import papermill
from jupyter_client.manager import KernelManager, start_new_kernel
from nbclient import NotebookClient

LOOP = "loop x = 0.0 for i < 10_000_000_000 do x + sin (float i)"


class Client:
    """A kernel with a client; outputs are collected until the cell is idle."""

    def __init__(self, **options):
        self.km, self.kc = start_new_kernel(kernel_name="adl", **options)

    def close(self):
        self.kc.stop_channels()
        self.km.shutdown_kernel(now=True)

    def outputs(self, msg_id, timeout=20):
        out, end = [], time.time() + timeout
        while time.time() < end:
            m = self.kc.get_iopub_msg(timeout=timeout)
            if m["parent_header"].get("msg_id") != msg_id:
                continue
            if m["msg_type"] == "status" and m["content"]["execution_state"] == "idle":
                return out
            out.append(m)
        raise TimeoutError("the cell is not idle")

    def reply(self, msg_id, timeout=20):
        while True:
            m = self.kc.get_shell_msg(timeout=timeout)
            if m["parent_header"].get("msg_id") == msg_id:
                return m["content"]

    def run(self, code, **options):
        msg_id = self.kc.execute(code, **options)
        reply = self.reply(msg_id)
        return reply, self.outputs(msg_id)

    def wait_until_busy(self, msg_id):
        while True:
            m = self.kc.get_iopub_msg(timeout=10)
            if m["parent_header"].get("msg_id") == msg_id and m["msg_type"] == "execute_input":
                return


def text_of(outputs, name="stdout"):
    return "".join(m["content"]["text"] for m in outputs if m["msg_type"] == "stream" and m["content"]["name"] == name)


def results(outputs):
    return [m["content"]["data"]["text/plain"] for m in outputs if m["msg_type"] == "execute_result"]


class Cells(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.c = Client()

    @classmethod
    def tearDownClass(cls):
        cls.c.close()

    def tearDown(self):
        # What a failed test left running must not fail the next one.
        self.c.km.interrupt_kernel()
        time.sleep(0.2)

    def interrupted(self, send):
        self.c.run("let kept = 17")
        msg_id = self.c.kc.execute(LOOP)
        self.c.wait_until_busy(msg_id)
        time.sleep(0.3)
        begin = time.time()
        send()
        reply = self.c.reply(msg_id)
        took = time.time() - begin
        self.assertEqual(reply["status"], "error")
        self.assertLess(took, 1.0)
        self.c.outputs(msg_id)
        reply, out = self.c.run("kept")
        self.assertEqual(results(out), ["17 : Int"])

    def test_interrupt_by_message(self):
        self.interrupted(self.c.km.interrupt_kernel)

    def test_interrupt_by_signal(self):
        self.interrupted(lambda: os.kill(self.c.km.provisioner.pid, signal.SIGINT))

    def test_an_interrupt_of_an_idle_kernel_does_nothing(self):
        self.c.km.interrupt_kernel()
        time.sleep(0.1)
        self.assertEqual(results(self.c.run("1 + 1")[1]), ["2 : Int"])

    def test_output_comes_while_the_cell_runs(self):
        msg_id = self.c.kc.execute('print "first"\n' + LOOP)
        begin = time.time()
        while True:
            m = self.c.kc.get_iopub_msg(timeout=10)
            if m["msg_type"] == "stream" and m["parent_header"]["msg_id"] == msg_id:
                break
        self.assertLess(time.time() - begin, 2)
        self.c.km.interrupt_kernel()
        self.c.reply(msg_id)
        self.c.outputs(msg_id)

    def test_a_megabyte_of_lines_is_few_messages(self):
        line = "x" * 99
        begin = time.time()
        _, out = self.c.run(f'loop u = () for i < 10_000 do print "{line}"')
        took = time.time() - begin
        self.assertEqual(text_of(out), (line + "\n") * 10_000)
        self.assertLess(len(out), 400)
        self.assertLess(took, 5)

    def test_completion_and_inspection_while_a_cell_runs(self):
        self.c.run("--| Twice.\nlet double_it (x : Float) = 2.0 * x\nlet rec_ord = {alpha = 1.0, beta = {gamma = [1, 2]}}")
        msg_id = self.c.kc.execute(LOOP)
        self.c.wait_until_busy(msg_id)
        reply = self.c.reply(self.c.kc.complete("double_"), timeout=5)
        self.assertEqual(reply["matches"], ["double_it"])
        kinds = reply["metadata"]["_jupyter_types_experimental"]
        self.assertEqual((kinds[0]["type"], kinds[0]["signature"]), ("function", "Float -> Float"))
        self.assertEqual(self.c.reply(self.c.kc.complete("rec_ord.beta."), timeout=5)["matches"], ["rec_ord.beta.gamma"])
        reply = self.c.reply(self.c.kc.inspect("double_it 3.0", 12), timeout=5)
        self.assertIn("Twice.", reply["data"]["text/plain"])
        reply = self.c.reply(self.c.kc.inspect("double_it", 3, detail_level=1), timeout=5)
        self.assertIn("let double_it (x : Float) = 2.0 * x", reply["data"]["text/plain"])
        self.c.km.interrupt_kernel()
        self.c.reply(msg_id)
        self.c.outputs(msg_id)

    def test_positions_count_characters(self):
        self.c.run("let größe = 3")
        code = "𝄞 = grö + 1"
        reply = self.c.reply(self.c.kc.complete(code, 7))
        self.assertEqual((reply["matches"], reply["cursor_start"], reply["cursor_end"]), (["größe"], 4, 7))
        reply = self.c.reply(self.c.kc.complete("\\alpha"))
        self.assertEqual((reply["matches"], reply["cursor_start"]), (["α"], 0))

    def test_what_was_queued_behind_an_error_is_aborted(self):
        ids = [self.c.kc.execute(code) for code in ('loop x = 0.0 for i < 3_000_000 do x + sin (float i)\nerror "no"', "print 1", "print 2")]
        self.assertEqual([self.c.reply(i)["status"] for i in ids], ["error", "aborted", "aborted"])
        self.assertEqual(self.c.outputs(ids[-1])[1:], [])
        ids = [self.c.kc.execute(code, stop_on_error=False) for code in ('error "no"', "print 1")]
        self.assertEqual([self.c.reply(i)["status"] for i in ids], ["error", "ok"])
        self.c.outputs(ids[-1])

    def test_errors_point_into_the_cell(self):
        _, out = self.c.run("let a = 1\nlet b = a ++ true")
        error = next(m["content"] for m in out if m["msg_type"] == "error")
        text = "\n".join(error["traceback"])
        self.assertIn("\x1b[", text)
        self.assertRegex(text, r"In\[\d+\].*:2:")
        self.assertTrue(error["ename"].startswith("E"))
        _, out = self.c.run(":type 1\n\nnothing_of_that_name")
        self.assertRegex("\n".join(next(m["content"] for m in out if m["msg_type"] == "error")["traceback"]), r":3:1")

    def test_a_cell_that_fails_keeps_what_came_before(self):
        self.c.run("let before = 5\nlet after = 1 // 0")
        self.assertEqual(results(self.c.run("before")[1]), ["5 : Int"])
        self.assertEqual(self.c.run("after")[0]["status"], "error")

    def test_silence(self):
        count = self.c.run("1")[0]["execution_count"]
        reply, out = self.c.run("2", silent=True)
        self.assertEqual((reply["status"], [m["msg_type"] for m in out]), ("ok", ["status"]))
        self.assertEqual(self.c.run("3")[0]["execution_count"], count + 1)
        reply, _ = self.c.run("4", store_history=False)
        self.assertEqual(reply["execution_count"], count + 1)
        self.assertEqual(self.c.run("")[0]["execution_count"], count + 1)

    def test_expressions_of_the_user(self):
        reply, _ = self.c.run("let q = 4", user_expressions={"a": "q * 2", "b": "nope"})
        self.assertEqual(reply["user_expressions"]["a"]["data"]["text/plain"], "8 : Int")
        self.assertEqual(reply["user_expressions"]["b"]["status"], "error")

    def test_questions_to_the_user(self):
        msg_id = self.c.kc.execute('let answer = io.input "name? "\nanswer', allow_stdin=True)
        m = self.c.kc.get_stdin_msg(timeout=10)
        self.assertEqual((m["msg_type"], m["content"]), ("input_request", {"prompt": "name? ", "password": False}))
        self.c.kc.input("Ada")
        self.assertEqual(self.c.reply(msg_id)["status"], "ok")
        self.assertEqual(results(self.c.outputs(msg_id)), ['"Ada" : String'])
        reply, _ = self.c.run('io.input "?"', allow_stdin=False)
        self.assertEqual(reply["status"], "error")
        msg_id = self.c.kc.execute('io.input "?"', allow_stdin=True)
        self.c.kc.get_stdin_msg(timeout=10)
        self.c.km.interrupt_kernel()
        self.assertEqual(self.c.reply(msg_id, timeout=2)["status"], "error")
        self.c.outputs(msg_id)

    def test_displays_are_updated_in_place(self):
        _, out = self.c.run('loop u = () for i < 5 do io.update "loss" i')
        kinds = [m["msg_type"] for m in out if "display" in m["msg_type"]]
        self.assertEqual((kinds[0], set(kinds[1:])), ("display_data", {"update_display_data"}))
        ids = {m["content"]["transient"]["display_id"] for m in out if "display" in m["msg_type"]}
        self.assertEqual(len(ids), 1)
        self.assertEqual([m for m in out if "display" in m["msg_type"]][-1]["content"]["data"]["text/plain"], "4")

    def test_long_loops_have_a_progress_bar(self):
        _, out = self.c.run("loop x = 0.0 for i < 20_000 do x + sum (map sin (linspace 0.0 1.0 10_000))")
        bars = [m["content"]["data"].get("text/html", "") for m in out if "display" in m["msg_type"]]
        self.assertTrue(any("<progress" in b for b in bars), bars)
        last = [m["content"]["data"]["text/plain"] for m in out if "display" in m["msg_type"]][-1]
        self.assertRegex(last, r"^a loop of 20000 turns ran for \d+\.\d s$")

    def test_commands(self):
        self.assertEqual(text_of(self.c.run(":type grad sin 0.0")[1]), "grad sin 0.0 : Float\n")
        self.assertEqual(self.c.run(":nonsense")[0]["status"], "error")
        self.assertEqual(self.c.run(":doc sin")[0]["payload"][0]["source"], "page")
        self.assertEqual(self.c.run(":quit")[0]["status"], "error")
        self.c.run("let gone = 1")
        self.c.run(":reset")
        self.assertEqual(self.c.run("gone")[0]["status"], "error")
        msg_id = self.c.kc.execute(LOOP)
        self.c.wait_until_busy(msg_id)
        self.c.km.interrupt_kernel()
        self.assertEqual(self.c.reply(msg_id, timeout=5)["status"], "error")
        self.c.outputs(msg_id)

    def test_warnings_are_on_stderr(self):
        _, out = self.c.run("let f x = match x with | 1 -> 2 | 1 -> 3 | _ -> 4")
        self.assertIn("warning", text_of(out, "stderr"))

    def test_endless_recursion_is_an_error(self):
        reply, _ = self.c.run("let rec f x = 1 + f x\nf 1")
        self.assertEqual(reply["status"], "error")
        self.assertEqual(results(self.c.run("1")[1]), ["1 : Int"])

    def test_trivial_cells_are_quick(self):
        times = []
        for _ in range(30):
            begin = time.perf_counter()
            msg_id = self.c.kc.execute("1 + 1")
            self.c.reply(msg_id)
            times.append(time.perf_counter() - begin)
            self.c.outputs(msg_id)
        self.assertLess(min(times), 0.02)

    def test_what_is_malformed_does_no_harm(self):
        import zmq

        info = self.c.km.get_connection_info()
        context = zmq.Context()
        for port in ("shell_port", "control_port", "stdin_port"):
            s = context.socket(zmq.DEALER)
            s.connect(f"tcp://127.0.0.1:{info[port]}")
            empty, header = b"{}", json.dumps({"msg_type": "execute_request", "msg_id": "x"}).encode()
            for frames in ([b"x"], [b""], [b"<IDS|MSG>"], [b"<IDS|MSG>", b"", b"{}"], [b"<IDS|MSG>", b"0" * 64, header, empty, empty, b'{"code":"print 666"}'],
                           [b"<IDS|MSG>", b"zz", header, empty, empty, empty], [b"<IDS|MSG>", b"", b"\xff", b"\xff", b"\xff", b"\xff"]):
                s.send_multipart(frames)
            session = self.c.kc.session
            for content in ({}, {"code": 5}, {"code": None, "silent": "yes"}):
                m = session.msg("execute_request", content)
                session.send(s, m)
            for kind in ("complete_request", "inspect_request", "is_complete_request", "history_request", "comm_info_request", "comm_msg", "comm_close", "no_such_request"):
                session.send(s, session.msg(kind, {"cursor_pos": -3, "code": ["x"], "n": "many"}))
            s.close(linger=200)
        with socket.create_connection(("127.0.0.1", info["shell_port"])) as raw:
            raw.sendall(b"GET / HTTP/1.0\r\n\r\n" * 50)
        context.term()
        time.sleep(0.3)
        reply, out = self.c.run("1 + 1")
        self.assertEqual((reply["status"], results(out)), ("ok", ["2 : Int"]))


class Lives(unittest.TestCase):
    def test_restart_forgets_and_shutdown_ends(self):
        c = Client()
        c.run("let x = 1")
        c.km.restart_kernel()
        c.kc.wait_for_ready(timeout=20)
        self.assertEqual(c.run("x")[0]["status"], "error")
        c.kc.shutdown()
        for _ in range(60):
            if not c.km.is_alive():
                break
            time.sleep(0.05)
        self.assertFalse(c.km.is_alive())
        c.close()

    def test_a_busy_kernel_shuts_down(self):
        c = Client()
        c.wait_until_busy(c.kc.execute(LOOP))
        begin = time.time()
        c.km.shutdown_kernel()
        self.assertLess(time.time() - begin, 4)
        c.kc.stop_channels()

    def test_a_kernel_that_was_killed_starts_again(self):
        c = Client()
        os.kill(c.km.provisioner.pid, signal.SIGKILL)
        time.sleep(0.3)
        # A request to shut down would wait for the next kernel.
        c.km.restart_kernel(now=True)
        c.kc.wait_for_ready(timeout=20)
        self.assertEqual(results(c.run("2")[1]), ["2 : Int"])
        c.close()

    def test_ipc(self):
        with tempfile.TemporaryDirectory() as d:
            km = KernelManager(kernel_name="adl", transport="ipc", ip=os.path.join(d, "k"))
            km.start_kernel()
            kc = km.client()
            kc.start_channels()
            kc.wait_for_ready(timeout=20)
            msg_id = kc.execute("1 + 1")
            while kc.get_shell_msg(timeout=10)["parent_header"].get("msg_id") != msg_id:
                pass
            kc.stop_channels()
            km.shutdown_kernel()
            self.assertEqual([f for f in os.listdir(d) if f.startswith("k-")], [])

    def test_a_kernel_ends_with_its_parent(self):
        code = (
            "import os, sys, time\nfrom jupyter_client.manager import KernelManager\n"
            "km = KernelManager(kernel_name='adl')\nkm.start_kernel()\nprint(km.provisioner.pid, flush=True)\ntime.sleep(0.5)\nos._exit(0)\n"
        )
        pid = int(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=True).stdout)
        end = time.time() + 5
        while time.time() < end:
            try:
                os.kill(pid, 0)
            except ProcessLookupError:
                return
            time.sleep(0.05)
        os.kill(pid, signal.SIGKILL)
        self.fail("the kernel outlives its parent")

    def test_ready_soon(self):
        best = 9.0
        for _ in range(3):
            km = KernelManager(kernel_name="adl")
            begin = time.perf_counter()
            km.start_kernel()
            kc = km.client()
            kc.start_channels()
            kc.kernel_info()
            kc.get_shell_msg(timeout=10)
            best = min(best, time.perf_counter() - begin)
            kc.stop_channels()
            km.shutdown_kernel(now=True)
        self.assertLess(best, 2.0)

    def test_wrong_connection_files(self):
        adl = KernelManager(kernel_name="adl").kernel_spec.argv[0]
        with tempfile.TemporaryDirectory() as d:
            for text in (None, "", "{}", '{"shell_port": "x"}'):
                path = os.path.join(d, "c.json")
                if text is not None:
                    with open(path, "w") as f:
                        f.write(text)
                run = subprocess.run([adl, "kernel", "run", "-f", path], capture_output=True, text=True, timeout=10)
                self.assertEqual((run.returncode, run.stderr.count("\n")), (1, 1), run.stderr)


def book(*codes):
    nb = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in codes])
    nb.metadata.kernelspec = {"name": "adl", "display_name": "adl", "language": "adl"}
    return nb


class Notebooks(unittest.TestCase):
    def test_nbclient(self):
        nb = book("let x = 3", 'print "a"\nx * 2', "[[1.0, 0.0], [0.0, 1.0]]")
        NotebookClient(nb, kernel_name="adl").execute()
        outputs = nb.cells[1].outputs
        self.assertEqual([o.output_type for o in outputs], ["stream", "execute_result"])
        self.assertEqual(outputs[1].data["text/plain"], "6 : Int")
        nbformat.validate(nb)

    def test_nbconvert_and_papermill(self):
        with tempfile.TemporaryDirectory() as d:
            a, b = os.path.join(d, "a.ipynb"), os.path.join(d, "b.ipynb")
            nbformat.write(book("let x = 3\nx", "x + 1"), a)
            subprocess.run([sys.executable, "-m", "nbconvert", "--to", "html", "--execute", a], check=True, capture_output=True, timeout=120)
            with open(os.path.join(d, "a.html")) as f:
                self.assertIn("4 : Int", f.read())
            papermill.execute_notebook(a, b, progress_bar=False)
            self.assertEqual(nbformat.read(b, 4).cells[1].outputs[0].data["text/plain"], "4 : Int")

    def test_the_same_without_a_front_end(self):
        adl = KernelManager(kernel_name="adl").kernel_spec.argv[0]
        codes = ["let x = 3", 'print "a"\nx * 2', "io.display [1.0, 2.0]", 'loop u = () for i < 3 do io.update "s" i', "{a = [1, 2], b = [2.0, 3.0]}", ":type x"]
        with tempfile.TemporaryDirectory() as d:
            a = os.path.join(d, "a.ipynb")
            nbformat.write(book(*codes), a)
            subprocess.run([adl, "notebook", "run", a], check=True, timeout=60)
            mine = nbformat.read(a, 4)
            nbformat.validate(mine)
            other = book(*codes)
            NotebookClient(other, kernel_name="adl").execute()
            for x, y in zip(mine.cells, other.cells):
                self.assertEqual(x.outputs, y.outputs)
            self.assertEqual(subprocess.run([adl, "notebook", "run", "--check", a], timeout=60).returncode, 0)
            mine.cells[0].outputs[0].data["text/plain"] = "x = 4 : Int"
            nbformat.write(mine, a)
            run = subprocess.run([adl, "notebook", "run", "--check", a], capture_output=True, text=True, timeout=60)
            self.assertEqual((run.returncode, run.stderr), (1, f"{a}: cell 1 gives other outputs than are stored\n"))
            nbformat.write(book("1", "1 // 0", "2"), a)
            run = subprocess.run([adl, "notebook", "run", a], capture_output=True, text=True, timeout=60)
            self.assertEqual(run.returncode, 1)
            self.assertIn("cell 2", run.stderr)
            done = nbformat.read(a, 4)
            self.assertEqual([len(c.outputs) for c in done.cells], [1, 1, 0])
            self.assertEqual(done.cells[1].outputs[0].output_type, "error")


if __name__ == "__main__":
    try:
        unittest.main(verbosity=2)
    except Empty as e:
        sys.exit(f"a message was missing: {e}")
