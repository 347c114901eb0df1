"""What users of a notebook count on, beyond what Jupyter's own tests ask of a kernel."""

import html.parser
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
from datetime import timedelta, timezone
from queue import Empty

import nbformat
import papermill
import yaml
from jupyter_client.manager import KernelManager, start_new_kernel
from nbclient import NotebookClient

try:
    import tomllib
except ImportError:
    from pip._vendor import tomli as tomllib

LOOP = "loop x = 0.0 for i < 10_000_000_000 do x + sin (float i)"


def install_translator(package, site):
    """Installs what the wheel gives papermill: the module and its entry points. The native half is tested with the wheel."""
    shutil.copytree(os.path.join(package, "adl_jupyter"), os.path.join(site, "adl_jupyter"))
    with open(os.path.join(package, "pyproject.toml"), "rb") as f:
        groups = tomllib.load(f)["project"]["entry-points"]
    about = os.path.join(site, "adl-0.dist-info")
    os.mkdir(about)
    with open(os.path.join(about, "METADATA"), "w") as f:
        f.write("Metadata-Version: 2.1\nName: adl\nVersion: 0\n")
    with open(os.path.join(about, "entry_points.txt"), "w") as f:
        for group, points in groups.items():
            f.write(f"[{group}]\n" + "".join(f"{name} = {place}\n" for name, place in points.items()))


class Client:
    """A kernel with a client; outputs are collected until the cell is idle."""

    def __init__(self, **options):
        self.km, self.kc = start_new_kernel(kernel_name="adl", **options)

    def close(self):
        self.kc.stop_channels()
        self.km.shutdown_kernel(now=True)

    def outputs(self, msg_id, timeout=60):
        out, end = [], time.time() + timeout
        while time.time() < end:
            m = self.kc.get_iopub_msg(timeout=timeout)
            if m["parent_header"].get("msg_id") != msg_id:
                continue
            if m["msg_type"] == "status" and m["content"]["execution_state"] == "idle":
                return out
            out.append(m)
        raise TimeoutError("the cell is not idle")

    def reply(self, msg_id, timeout=60):
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
            m = self.kc.get_iopub_msg(timeout=60)
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
            m = self.c.kc.get_iopub_msg(timeout=60)
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
        reply = self.c.reply(self.c.kc.complete("double_"), timeout=30)
        self.assertEqual(reply["matches"], ["double_it"])
        kinds = reply["metadata"]["_jupyter_types_experimental"]
        self.assertEqual((kinds[0]["type"], kinds[0]["signature"]), ("function", "Float -> Float"))
        self.assertEqual(self.c.reply(self.c.kc.complete("rec_ord.beta."), timeout=30)["matches"], ["rec_ord.beta.gamma"])
        reply = self.c.reply(self.c.kc.inspect("double_it 3.0", 12), timeout=30)
        self.assertIn("Twice.", reply["data"]["text/plain"])
        reply = self.c.reply(self.c.kc.inspect("double_it", 3, detail_level=1), timeout=30)
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

    def test_run_all_stops_after_the_fastest_errors(self):
        for code in ("1 // 0", "unknown_name", "let = ", ":no_such_command"):
            for _ in range(60):
                ids = [self.c.kc.execute(cell) for cell in (code, "print 1", "print 2")]
                self.assertEqual([self.c.reply(i)["status"] for i in ids], ["error", "aborted", "aborted"])
                out = self.c.outputs(ids[-1])
                self.assertEqual([m["msg_type"] for m in out], ["status"])

    def test_a_cell_that_is_sent_after_the_error_runs(self):
        for _ in range(60):
            self.assertEqual(self.c.reply(self.c.kc.execute("1 // 0"))["status"], "error")
            self.assertEqual(self.c.reply(self.c.kc.execute("1 + 1"))["status"], "ok")
        for _ in range(20):
            ids = [self.c.kc.execute("1 // 0", stop_on_error=False), self.c.kc.execute("print 1")]
            self.assertEqual([self.c.reply(i)["status"] for i in ids], ["error", "ok"])
        self.c.outputs(ids[-1])

    def dated(self, date):
        """Sends a cell whose header has another date; its message id."""
        m = self.c.kc.session.msg("execute_request", {"code": "1", "silent": False, "store_history": True, "allow_stdin": False, "stop_on_error": True})
        m["header"]["date"] = date
        self.c.kc.shell_channel.send(m)
        return m["header"]["msg_id"]

    def test_requests_that_arrive_late_are_judged_by_their_dates(self):
        east = timezone(timedelta(hours=2))
        for made, status in ((timedelta(0), "aborted"), (timedelta(seconds=1), "ok")):
            failing = self.c.kc.session.msg("execute_request", {"code": "1 // 0", "silent": False, "stop_on_error": True})
            date = failing["header"]["date"]
            self.c.kc.shell_channel.send(failing)
            self.assertEqual(self.c.reply(failing["header"]["msg_id"])["status"], "error")
            time.sleep(0.3)
            late = self.dated((date + made).astimezone(east))
            self.assertEqual(self.c.reply(late)["status"], status)
            self.c.outputs(late)

    def test_errors_point_into_the_cell(self):
        _, out = self.c.run("let a = 1\nlet b = a ++ true")
        error = next(m["content"] for m in out if m["msg_type"] == "error")
        text = "\n".join(error["traceback"])
        # Bold alone: no colour can be read on the ground of errors in the light theme and in the dark one.
        self.assertEqual(set(re.findall(r"\x1b\[[\d;]*m", text)), {"\x1b[1m", "\x1b[0m"})
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
        m = self.c.kc.get_stdin_msg(timeout=60)
        self.assertEqual((m["msg_type"], m["content"]), ("input_request", {"prompt": "name? ", "password": False}))
        self.c.kc.input("Ada")
        self.assertEqual(self.c.reply(msg_id)["status"], "ok")
        self.assertEqual(results(self.c.outputs(msg_id)), ['"Ada" : String'])
        reply, _ = self.c.run('io.input "?"', allow_stdin=False)
        self.assertEqual(reply["status"], "error")
        msg_id = self.c.kc.execute('io.input "?"', allow_stdin=True)
        self.c.kc.get_stdin_msg(timeout=60)
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
        self.assertRegex(bars[-1], r"\d+ % \([\d,]+ of 20,000\), [\d,]+/s, \d+ s left$")
        cleared = [m["msg_type"] for m in out].index("clear_output")
        self.assertEqual([m["msg_type"] for m in out[cleared:]], ["clear_output", "execute_result"])

    def test_an_interrupted_loop_says_how_far_it_was(self):
        msg_id = self.c.kc.execute('print "first"\n' + LOOP)
        self.c.wait_until_busy(msg_id)
        time.sleep(1.2)
        self.c.km.interrupt_kernel()
        reply = self.c.reply(msg_id)
        self.assertEqual(reply["ename"], "E0708")
        told = re.fullmatch(r"interrupted after ([\d,]+) of 10,000,000,000 iterations, \d+\.\d s", reply["evalue"])
        self.assertTrue(told, reply["evalue"])
        self.assertLess(0, int(told[1].replace(",", "")))
        out = self.c.outputs(msg_id)
        cleared = [m["msg_type"] for m in out].index("clear_output")
        self.assertTrue(out[cleared]["content"]["wait"])
        self.assertEqual([m["msg_type"] for m in out[cleared:]], ["clear_output", "stream", "error"])
        self.assertIn(reply["evalue"], "\n".join(out[-1]["content"]["traceback"]))
        # What is interrupted when the loop has ended is not the loop.
        msg_id = self.c.kc.execute('let x = loop x = 0.0 for i < 20_000 do x + sum (map sin (linspace 0.0 1.0 10_000))\nlet wait = io.input ""', allow_stdin=True)
        self.c.kc.get_stdin_msg(timeout=60)
        time.sleep(0.7)
        self.c.km.interrupt_kernel()
        self.assertNotIn("iterations", self.c.reply(msg_id)["evalue"])
        self.c.outputs(msg_id)

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
        self.assertEqual(self.c.reply(msg_id, timeout=30)["status"], "error")
        self.c.outputs(msg_id)

    def test_warnings_are_on_stderr(self):
        _, out = self.c.run("let f x = match x with | 1 -> 2 | 1 -> 3 | _ -> 4")
        self.assertIn("warning", text_of(out, "stderr"))
        self.assertEqual(set(re.findall(r"\x1b\[[\d;]*m", text_of(out, "stderr"))), {"\x1b[1m", "\x1b[0m"})

    def test_endless_recursion_is_an_error(self):
        def resident():
            """MiB that the kernel holds."""
            with open(f"/proc/{self.c.km.provisioner.pid}/status") as f:
                return int(re.search(r"VmRSS:\s*(\d+)", f.read())[1]) / 1024

        before = resident()
        reply, _ = self.c.run("let rec f x = 1 + f x\nf 1")
        self.assertEqual(reply["status"], "error")
        # The recursion had a gigabyte.
        self.assertLess(resident() - before, 100)
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
        c.kc.wait_for_ready(timeout=60)
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
        c.kc.wait_for_ready(timeout=60)
        self.assertEqual(results(c.run("2")[1]), ["2 : Int"])
        c.close()

    def test_ipc(self):
        with tempfile.TemporaryDirectory() as d:
            km = KernelManager(kernel_name="adl", transport="ipc", ip=os.path.join(d, "k"))
            km.start_kernel()
            kc = km.client()
            kc.start_channels()
            kc.wait_for_ready(timeout=60)
            msg_id = kc.execute("1 + 1")
            while kc.get_shell_msg(timeout=60)["parent_header"].get("msg_id") != msg_id:
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
            kc.get_shell_msg(timeout=60)
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


TABLE = "let energy (n : Int) (x : Float) : Float = loop y = x for i < n do sin (y * x) + exp (y * 0.1)\nresiduals (energy 20) 0.5"


class Fronts(unittest.TestCase):
    """A front end that sends messages about models."""

    def setUp(self):
        self.c = Client()

    def tearDown(self):
        self.c.close()

    def open_models(self):
        msg_id = self.c.kc.comm_info(target_name="jupyter.widget")
        return set(self.c.reply(msg_id)["comms"])

    def say(self, kind, content, client=None):
        """Sends a message about a comm; what is published because of it."""
        kc = client or self.c.kc
        m = kc.session.msg(kind, content)
        kc.shell_channel.send(m)
        return [(o["msg_type"], o["content"]) for o in self.c.outputs(m["header"]["msg_id"])]


class Models(Fronts):
    """The models of live tables, as front ends see them."""

    def table(self, **metadata):
        """Runs the cell; the states of the models that it opens, by id."""
        m = self.c.kc.session.msg("execute_request", {"code": TABLE, "silent": False, "store_history": True})
        m["metadata"] = metadata
        self.c.kc.shell_channel.send(m)
        self.assertEqual(self.c.reply(m["header"]["msg_id"])["status"], "ok")
        out = self.c.outputs(m["header"]["msg_id"])
        return {o["content"]["comm_id"]: o["content"]["data"]["state"] for o in out if o["msg_type"] == "comm_open"}

    def test_every_front_end_follows_a_change(self):
        states = self.table()
        switch = next(i for i, s in states.items() if s["_model_name"] == "CheckboxModel" and not s["disabled"])
        other = self.c.km.client()
        other.start_channels()
        said = self.say("comm_msg", {"comm_id": switch, "data": {"method": "update", "state": {"value": False}, "buffer_paths": []}}, other)
        other.stop_channels()
        about = [c["data"] for kind, c in said if kind == "comm_msg" and c["comm_id"] == switch]
        self.assertEqual(about[0], {"method": "echo_update", "state": {"value": False}, "buffer_paths": []})

    def test_a_front_end_that_comes_asks_for_all_models(self):
        states = self.table()
        said = self.say("comm_open", {"comm_id": "control", "target_name": "jupyter.widget.control", "data": {}})
        self.assertEqual([kind for kind, _ in said if kind.startswith("comm")], [])
        said = self.say("comm_msg", {"comm_id": "control", "data": {"method": "request_states"}})
        answer = next(c for kind, c in said if kind == "comm_msg")
        self.assertEqual((answer["comm_id"], answer["data"]["method"], answer["data"]["buffer_paths"]), ("control", "update_states", []))
        self.assertEqual({i: m["state"] for i, m in answer["data"]["states"].items()}, states)
        for i, m in answer["data"]["states"].items():
            self.assertEqual([m[k] for k in ("model_name", "model_module", "model_module_version")], [states[i][k] for k in ("_model_name", "_model_module", "_model_module_version")])
        self.say("comm_close", {"comm_id": "control", "data": {}})
        self.assertEqual(self.open_models(), set(states))

    def test_models_are_closed_when_their_output_goes(self):
        first, other = self.table(cellId="a"), self.table(cellId="b")
        self.assertEqual(self.open_models(), set(first) | set(other))
        again = self.table(cellId="a")
        self.assertEqual(self.open_models(), set(again) | set(other))
        self.c.run("1", silent=True)
        self.c.run("1")
        self.assertEqual(self.open_models(), set(again) | set(other))
        m = self.c.kc.session.msg("execute_request", {"code": "2", "silent": False})
        m["metadata"] = {"cellId": "c", "deletedCells": ["b", "no such cell"]}
        self.c.kc.shell_channel.send(m)
        out = self.c.outputs(m["header"]["msg_id"])
        self.assertEqual({o["content"]["comm_id"] for o in out if o["msg_type"] == "comm_close"}, set(other))
        self.assertEqual(self.open_models(), set(again))
        self.c.run(TABLE + "\n:clear")
        self.assertEqual(self.open_models(), set(again))

    def test_a_cell_that_runs_often_does_not_gather_models(self):
        one = len(self.table())
        for _ in range(60):
            self.c.run(TABLE)
        self.assertEqual(len(self.open_models()), one)


class Interact(Fronts):
    """Functions with sliders, by the states of their models."""

    def show(self, code, **metadata):
        m = self.c.kc.session.msg("execute_request", {"code": code, "silent": False, "store_history": True})
        m["metadata"] = metadata
        self.c.kc.shell_channel.send(m)
        self.assertEqual(self.c.reply(m["header"]["msg_id"])["status"], "ok")
        self.out = [(o["msg_type"], o["content"]) for o in self.c.outputs(m["header"]["msg_id"])]
        self.states = {c["comm_id"]: c["data"]["state"] for kind, c in self.out if kind == "comm_open"}

    def model(self, name):
        return next(i for i, s in self.states.items() if s["_model_name"] == name + "Model")

    def update(self, model, state):
        return {"comm_id": model, "data": {"method": "update", "state": state, "buffer_paths": []}}

    def move(self, model, **state):
        """Moves a control; the outputs of the area if they are drawn anew."""
        said = self.say("comm_msg", self.update(model, state))
        return self.drawn(said)[-1]

    def drawn(self, said):
        area = self.model("Output")
        changes = [c["data"] for kind, c in said if kind == "comm_msg" and c["comm_id"] == area]
        return [d["state"]["outputs"] for d in changes if d["method"] == "update"]

    def position(self, name, label):
        return self.states[self.model(name)]["_options_labels"].index(label)

    def texts(self, outputs):
        return [o.get("text") or o.get("evalue") or o["data"]["text/plain"] for o in outputs]

    def test_each_parameter_has_a_control(self):
        self.show(
            'interact (fun a n on g -> (a, n, on, g)) |> controls.slider "a" 0.0 5.0 1.5'
            ' |> controls.int_slider "n" 1 9 4 |> controls.toggle "on" true |> controls.choice "g" ["x", "y"]'
        )
        shown = [c["data"] for kind, c in self.out if kind in ("display_data", "execute_result")]
        self.assertIn("application/vnd.jupyter.widget-view+json", shown[0])
        self.assertEqual(shown[1]["text/plain"], "a = 1.5, n = 4, on = true, g = x")
        self.assertEqual(shown[2]["text/plain"], '(1.5, 4, true, "x") : (Float, Int, Bool, String)')
        self.assertEqual([kind for kind, _ in self.out][-3:], ["display_data", "display_data", "execute_result"])
        area = self.states[self.model("Output")]
        self.assertEqual((area["_model_module"], area["_view_name"]), ("@jupyter-widgets/output", "OutputView"))
        self.assertEqual(self.texts(area["outputs"]), [shown[2]["text/plain"]])
        sliders = [i for i, s in self.states.items() if s["_model_name"] == "SelectionSliderModel"]
        self.assertEqual([self.states[i]["description"] for i in sliders], ["a", "n"])
        self.assertEqual(self.states[sliders[1]]["_options_labels"], [str(n) for n in range(1, 10)])
        self.assertEqual(self.texts(self.move(sliders[1], index=8))[0][:16], '(1.5, 9, true, "')
        self.assertEqual(self.texts(self.move(self.model("Checkbox"), value=False))[0][:14], "(1.5, 9, false")
        self.assertEqual(self.texts(self.move(self.model("Dropdown"), index=1))[0][:18], '(1.5, 9, false, "y')

    def test_every_front_end_follows(self):
        self.show('interact (fun a -> 2.0 * a) |> controls.slider "a" 0.0 5.0 1.5')
        slider, to = self.model("SelectionSlider"), self.position("SelectionSlider", "4.0")
        said = self.say("comm_msg", self.update(slider, {"index": to}))
        echo = next(c["data"] for kind, c in said if kind == "comm_msg" and c["comm_id"] == slider)
        self.assertEqual(echo, {"method": "echo_update", "state": {"index": to}, "buffer_paths": []})
        self.say("comm_open", {"comm_id": "control", "target_name": "jupyter.widget.control", "data": {}})
        said = self.say("comm_msg", {"comm_id": "control", "data": {"method": "request_states"}})
        states = next(c for kind, c in said if kind == "comm_msg")["data"]["states"]
        self.assertEqual(states[slider]["state"]["index"], to)
        self.assertEqual(self.texts(states[self.model("Output")]["state"]["outputs"]), ["8.0 : Float"])

    def test_pictures_and_sizes(self):
        self.show('interact (fun n -> plot.line_y (linspace 0.0 1.0 n)) |> controls.int_slider "n" 2 9 4')
        static = [c["data"] for kind, c in self.out if kind == "execute_result"][0]
        self.assertIn("image/svg+xml", static)
        before = self.states[self.model("Output")]["outputs"][0]["data"]["image/svg+xml"]
        after = self.move(self.model("SelectionSlider"), index=0)[0]["data"]["image/svg+xml"]
        self.assertNotEqual(before, after)
        self.show('interact (fun n -> linspace 0.0 1.0 n) |> controls.int_slider "n" 2 9 3')
        after = self.move(self.model("SelectionSlider"), index=0)[0]["data"]
        self.assertEqual(after["text/plain"], "[0.0, 1.0] : [2]Float")
        self.assertIn("<table>", after["text/html"])

    def test_effects_and_errors_are_in_the_area(self):
        self.c.run('let f n =\n  print f"n is {n}"\n  io.display [n]\n  12 // n')
        self.show('interact f |> controls.int_slider "n" 0 4 3')
        slider = self.model("SelectionSlider")
        said = self.say("comm_msg", self.update(slider, {"index": 2}))
        self.assertEqual({kind for kind, _ in said} - {"status"}, {"comm_msg"})
        outputs = self.drawn(said)[-1]
        self.assertEqual(self.texts(outputs), ["n is 2\n", "[2]", "6 : Int"])
        outputs = self.move(slider, index=0)
        self.assertEqual([o["output_type"] for o in outputs], ["stream", "display_data", "error"])
        self.assertIn("In[", "".join(outputs[2]["traceback"]))
        self.assertEqual(outputs[2]["ename"], "E0704")
        self.assertEqual(self.texts(self.move(slider, index=4))[-1], "3 : Int")

    def test_an_interrupt_ends_a_move(self):
        loop = "if a > 2.0 then loop x = 0.0 for i < 10_000_000_000 do x + sin (float i) else 0.0"
        self.show(f'interact (fun a -> {loop}) |> controls.slider "a" 0.0 5.0 1.0')
        slider, to = self.model("SelectionSlider"), self.position("SelectionSlider", "4.0")
        m = self.c.kc.session.msg("comm_msg", self.update(slider, {"index": to}))
        self.c.kc.shell_channel.send(m)
        time.sleep(0.5)
        self.c.km.interrupt_kernel()
        said = [(o["msg_type"], o["content"]) for o in self.c.outputs(m["header"]["msg_id"])]
        self.assertEqual([o["ename"] for o in self.drawn(said)[-1]], ["E0708"])
        self.assertEqual(self.texts(self.move(slider, index=0)), ["0.0 : Float"])

    def test_a_quick_slider_only_shows_where_it_arrives(self):
        self.c.run('let f a =\n  print f"at {a}"\n  loop x = a for i < 3_000_000 do x + sin (float i)')
        self.show('interact f |> controls.slider "a" 0.0 10.0 0.0')
        slider = self.model("SelectionSlider")
        sent = [self.c.kc.session.msg("comm_msg", self.update(slider, {"index": k})) for k in range(1, 101)]
        for m in sent:
            self.c.kc.shell_channel.send(m)
        said, ended, deadline = [], False, time.time() + 60
        while not ended and time.time() < deadline:
            o = self.c.kc.get_iopub_msg(timeout=60)
            said.append((o["msg_type"], o["content"]))
            last = o["parent_header"].get("msg_id") == sent[-1]["header"]["msg_id"]
            ended = last and o["content"].get("execution_state") == "idle"
        drawn = [self.texts(o)[0] for o in self.drawn(said)]
        self.assertEqual(drawn[-1], "at 10.0\n")
        self.assertLess(len(drawn), 20)
        echoes = [c for kind, c in said if kind == "comm_msg" and c["data"]["method"] == "echo_update"]
        self.assertEqual(len(echoes), 100)

    def test_models_are_closed_when_their_output_goes(self):
        code = 'interact (fun a -> 2.0 * a) |> controls.slider "a" 0.0 5.0 1.5'
        self.show(code, cellId="a")
        first = set(self.states)
        self.assertEqual(self.open_models(), first)
        self.show(code, cellId="a")
        closed = {c["comm_id"] for kind, c in self.out if kind == "comm_close"}
        self.assertEqual((closed, self.open_models()), (first, set(self.states)))
        self.show("1", cellId="a")
        self.assertEqual(self.open_models(), set())

    def test_a_function_lives_as_long_as_its_control(self):
        self.c.run("let scale = 3.0\nlet f a = scale * a")
        self.show('interact f |> controls.slider "a" 0.0 5.0 1.0')
        self.c.run("let scale = 100.0\nlet f = 0.0")
        for _ in range(2):
            self.c.run("\n".join(f"let waste{i % 7} = {i}.5" for i in range(300)))
        slider, to = self.model("SelectionSlider"), self.position("SelectionSlider", "2.0")
        self.assertEqual(self.texts(self.move(slider, index=to)), ["6.0 : Float"])
        self.c.run(":reset")
        self.assertEqual([o["ename"] for o in self.move(slider, index=0)], ["E0706"])

    def test_a_definition_has_no_controls(self):
        self.show('let g = interact (fun a -> 2.0 * a) |> controls.slider "a" 0.0 5.0 1.5')
        self.assertEqual(self.states, {})
        self.assertEqual([c["data"] for kind, c in self.out if kind == "execute_result"], [{"text/plain": "g : Interactive Float"}])


def book(*codes):
    nb = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in codes])
    nb.metadata.kernelspec = {"name": "adl", "display_name": "adl", "language": "adl"}
    return nb


ENERGY = """let energy (n : Int) (p : {mu : Float, v : Float, x : Float}) : Float =
  let dt = 20.0 / float n
  let (x, v) = loop (x, v) = (p.x, p.v) for i < n do
    let force = p.mu * (1.0 - x * x) * v - x
    (x + dt * v, v + dt * force)
  x * x + v * v
let start = {mu = 0.5, v = 0.0, x = 1.0}"""


class Table(Fronts):
    """What the live table of residuals does, by the states of its models."""

    def setUp(self):
        super().setUp()
        self.c.run(ENERGY)
        _, out = self.c.run("residuals (energy 2000) start")
        self.out = [(o["msg_type"], o["content"]) for o in out]
        self.states = {c["comm_id"]: c["data"]["state"] for kind, c in self.out if kind == "comm_open"}
        self.follow(self.out)

    def follow(self, said):
        for kind, c in said:
            if kind == "comm_msg" and c["data"].get("method") == "update":
                self.states[c["comm_id"]].update(c["data"]["state"])

    def model(self, name):
        return next(i for i, s in self.states.items() if s["_model_name"] == name)

    def switches(self):
        return [i for i, s in self.states.items() if s["_model_name"] == "CheckboxModel"]

    def stored(self):
        return [self.states[i]["value"] for i in self.switches()]

    def summary(self):
        return next(s["value"] for s in self.states.values() if "adl-residuals" in str(s.get("value")))

    def bytes(self):
        return int(re.search(r"predicted .*?\((\d+) bytes\)", self.summary())[1])

    def move(self, model, **state):
        self.states[model].update(state)
        self.follow(self.say("comm_msg", {"comm_id": model, "data": {"method": "update", "state": state, "buffer_paths": []}}))

    def apply(self):
        click = {"method": "custom", "content": {"event": "click"}}
        self.follow(self.say("comm_msg", {"comm_id": self.model("ButtonModel"), "data": click}))

    def run_cell(self, code):
        _, out = self.c.run(code)
        self.follow([(o["msg_type"], o["content"]) for o in out])

    def slider(self):
        s = self.states[self.model("SelectionSliderModel")]
        return s["_options_labels"][s["index"]]

    def size(self):
        return re.search(r"peak ([\d.]+ k?B)", self.summary())[1]

    def test_the_table_stands_beside_its_controls(self):
        shown = [c["data"] for kind, c in self.out if kind in ("display_data", "execute_result")]
        # A slow machine shows a bar while plans are found.
        shown = [d for d in shown if "<progress" not in d.get("text/html", "")]
        self.assertEqual([sorted(d) for d in shown], [["application/vnd.jupyter.widget-view+json", "text/plain"], ["text/html", "text/plain"]])
        self.assertIn("a result of a loop, which runs once", shown[1]["text/html"])

    def test_a_switch_refines_a_budget(self):
        slider = self.model("SelectionSliderModel")
        labels = self.states[slider]["_options_labels"]
        self.assertEqual(len(set(labels)), len(labels))
        self.assertGreaterEqual(len(labels), 12)
        kilobytes = [float(t.split()[0]) * (1000 if "k" in t else 1) for t in labels]
        self.move(slider, index=max(k for k, n in enumerate(kilobytes) if n <= 25_735))
        self.assertIn("under <b>budget", self.summary())
        self.assertEqual([k for k, on in enumerate(self.stored()) if not on], [3, 4, 7, 8])
        self.move(self.switches()[7], value=True)
        self.assertTrue(self.stored()[7])
        self.assertFalse(self.stored()[8])
        self.assertLess(self.bytes(), 50_000)
        self.assertNotIn("store_all", self.summary())

    def test_every_stop_is_another_plan(self):
        slider, seen = self.model("SelectionSliderModel"), []
        for k in range(len(self.states[slider]["_options_labels"])):
            self.move(slider, index=k)
            self.assertEqual(self.states[slider]["index"], k)
            self.assertEqual(self.slider(), self.size())
            extra = re.search(r"extra work ([\d.]+)(k?)", self.summary())
            seen.append(float(extra[1]) * (1000 if extra[2] else 1))
        self.assertEqual(seen, sorted(seen, reverse=True))
        self.assertEqual(len(set(seen)), len(seen))

    def test_rows_that_cannot_move_say_why(self):
        disabled = [self.states[i]["disabled"] for i in self.switches()]
        self.assertEqual(disabled, [True, True, False, True, True, True, True, False, False])
        self.assertEqual(self.states[self.switches()[5]]["tooltip"], "cannot be recomputed: it is a result of a loop, which runs once")
        self.assertEqual(self.states[self.switches()[3]]["tooltip"], "cannot be recomputed: it is what a loop carries")
        before = self.summary()
        self.move(self.switches()[5], value=False)
        self.assertTrue(self.stored()[5])
        self.assertIn("under <b>store_all", self.summary())
        self.assertIn("residual 5 cannot be recomputed", self.summary())
        self.assertNotEqual(before, self.summary())

    def test_slider_list_and_switches_agree(self):
        plans = self.model("DropdownModel")
        names = self.states[plans]["_options_labels"]
        for name in ["recompute_all", "sqrt", "store_all", "revolve 8"]:
            self.move(plans, index=names.index(name))
            self.assertEqual(self.slider(), self.size(), name)
        self.move(plans, index=names.index("store_all"))
        self.move(self.switches()[8], value=False)
        self.assertEqual(self.slider(), self.size())
        self.assertEqual(names[self.states[plans]["index"]], "by hand or budget")
        self.run_cell(":plan sqrt")
        self.assertEqual(names[self.states[plans]["index"]], "sqrt")
        self.assertEqual(self.slider(), self.size())

    def test_rows_that_changed_are_marked(self):
        words = [i for i, s in self.states.items() if "display:grid" in str(s.get("value"))][1:]
        marked = lambda: [k for k, i in enumerate(words) if "background" in self.states[i]["value"]]
        self.assertEqual(marked(), [])
        self.move(self.switches()[8], value=False)
        self.assertEqual(marked(), [8])
        self.move(self.switches()[7], value=False)
        self.assertEqual(marked(), [7])

    def test_a_table_of_an_old_definition_is_still(self):
        self.move(self.model("DropdownModel"), index=3)
        self.run_cell(ENERGY)
        self.assertIn("energy has been redefined", self.summary())
        acting = [s for s in self.states.values() if s["_model_name"] in ("CheckboxModel", "ButtonModel", "DropdownModel", "SelectionSliderModel")]
        self.assertTrue(all(s["disabled"] for s in acting))
        self.apply()
        self.assertIn("energy has been redefined", self.summary())
        self.assertNotIn("applied", self.summary())
        reply, _ = self.c.run(":apply")
        self.assertEqual(reply["status"], "error")
        self.assertIn("has been redefined", reply["evalue"])

    def test_a_measurement_is_of_these_sizes(self):
        self.apply()
        self.assertIn("measured 64.0 kB", self.summary())
        _, out = self.c.run("residuals (energy 200) start")
        html = next(o["content"]["data"]["text/html"] for o in out if o["msg_type"] == "execute_result")
        self.assertIn("not measured yet", html)


class Visible(html.parser.HTMLParser):
    """The text that a page shows without its scripts."""

    def __init__(self):
        super().__init__()
        self.text, self.hidden = "", 0

    def handle_starttag(self, tag, attrs):
        self.hidden += tag in ("script", "style", "details")

    def handle_endtag(self, tag):
        self.hidden -= tag in ("script", "style", "details")

    def handle_data(self, data):
        self.text += "" if self.hidden else data


class Notebooks(unittest.TestCase):
    def test_nbclient(self):
        nb = book("let x = 3", 'print "a"\nx * 2', "[[1.0, 0.0], [0.0, 1.0]]")
        NotebookClient(nb, kernel_name="adl").execute()
        outputs = nb.cells[1].outputs
        self.assertEqual([o.output_type for o in outputs], ["stream", "execute_result"])
        self.assertEqual(outputs[1].data["text/plain"], "6 : Int")
        nbformat.validate(nb)

    def test_progress_leaves_nothing_in_a_notebook(self):
        long = "let x = loop x = 0.0 for i < 20_000 do x + sum (map sin (linspace 0.0 1.0 10_000))"
        nb = book(f'print "a"\nio.display [1.0]\n{long}\nprint "b"\n1')
        NotebookClient(nb, kernel_name="adl").execute()
        self.assertEqual([[o.output_type for o in c.outputs] for c in nb.cells], [["stream", "display_data", "stream", "execute_result"]])
        self.assertEqual([nb.cells[0].outputs[i].text for i in (0, 2)], ["a\n", "b\n"])
        again = book(*(c.source for c in nb.cells))
        NotebookClient(again, kernel_name="adl").execute()
        self.assertEqual([c.outputs for c in again.cells], [c.outputs for c in nb.cells])

    def test_colours_in_html(self):
        """Comments are comments, and no letter is an error, with the borrowed lexer."""
        import pygments
        from pygments.lexers import get_lexer_by_name
        from pygments.token import Comment, Error, Keyword, Number, String

        nb = book("1")
        NotebookClient(nb, kernel_name="adl").execute()
        lexer = get_lexer_by_name(nb.metadata.language_info.pygments_lexer)
        kinds = {}
        for kind, text in pygments.lex('--| The σ of f × g, for the end\nlet α = match x with | Some y -> 1.5 @ y  -- of × ∂\nif "a" then 12 else do', lexer):
            self.assertNotIn(kind, Error, text)
            kinds.setdefault(text, kind)
        self.assertEqual([t for t, k in kinds.items() if k in Comment], ["--| The σ of f × g, for the end", "-- of × ∂"])
        for text in ("let", "match", "with", "if", "then", "else", "do"):
            self.assertIn(kinds[text], Keyword, text)
        self.assertIn(kinds["1.5"], Number)
        self.assertTrue(any(k in String and "a" in t for t, k in kinds.items()))

    def test_nbconvert_and_papermill(self):
        with tempfile.TemporaryDirectory() as d:
            a, b = os.path.join(d, "a.ipynb"), os.path.join(d, "b.ipynb")
            nbformat.write(book("let x = 3\nx", "x + 1"), a)
            subprocess.run([sys.executable, "-m", "nbconvert", "--to", "html", "--execute", a], check=True, capture_output=True, timeout=120)
            with open(os.path.join(d, "a.html")) as f:
                self.assertIn("4 : Int", f.read())
            papermill.execute_notebook(a, b, progress_bar=False)
            self.assertEqual(nbformat.read(b, 4).cells[1].outputs[0].data["text/plain"], "4 : Int")

    def test_a_saved_table_is_seen_without_a_kernel_and_without_a_network(self):
        with tempfile.TemporaryDirectory() as d:
            a = os.path.join(d, "a.ipynb")
            nbformat.write(book(ENERGY, "residuals (energy 200) start"), a)
            subprocess.run([sys.executable, "-m", "nbconvert", "--to", "html", "--execute", a], check=True, capture_output=True, timeout=120)
            with open(os.path.join(d, "a.html")) as f:
                page = Visible()
                page.feed(f.read())
            for words in ("energy under store_all", "x of the loop", "what a loop carries", "1 operation would make 8 B again"):
                self.assertIn(words, page.text)

    def test_papermill_passes_parameters(self):
        root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
        values = {"alpha": 0.25, "count": -3, "bad": float("nan"), "least": float("-inf"), "tiny": -1e-7, "text": 'q " \\ \n {x} é', "on": True, "none": None,
                  "mixed": [1, 2.5], "rows": [[1, 2], [3, 4]], "net": {"rate": 0.1, "inner": {"sizes": [8, 1], "name": "x"}}}
        shown = {"alpha": "0.25 : Float", "count": "-3 : Int", "bad": "nan : Float", "least": "-inf : Float", "tiny": "-1e-7 : Float", "text": '"q \\" \\\\ \\n {x} é" : String', "on": "true : Bool",
                 "net.inner.sizes[0]": "8 : Int", "net.inner.name": '"x" : String', "mixed[0]": "1.0 : Float", "rows[1, 0]": "3 : Int", "match none with | Some _ -> 1 | None -> 0": "0 : Int"}
        nb = book("let alpha = 1.0", *shown)
        nb.cells[0].metadata.tags = ["parameters"]
        with tempfile.TemporaryDirectory() as d:
            site = os.path.join(d, "site")
            install_translator(os.path.join(root, "python"), site)
            a, b, given = (os.path.join(d, n) for n in ("a.ipynb", "b.ipynb", "p.yaml"))
            nbformat.write(nb, a)
            with open(given, "w") as f:
                yaml.safe_dump(values, f)
            env = {**os.environ, "PYTHONPATH": site}
            pm = [sys.executable, "-m", "papermill", "--no-progress-bar"]
            subprocess.run([*pm, a, b, "-f", given], check=True, timeout=120, env=env, capture_output=True)
            done = nbformat.read(b, 4)
            self.assertEqual(done.cells[1].metadata.tags, ["injected-parameters"])
            self.assertEqual({c.source: c.outputs[0].data["text/plain"] for c in done.cells[2:]}, shown)
            run = subprocess.run([*pm, a, b, "-p", "Alpha", "1"], timeout=120, env=env, capture_output=True, text=True)
            self.assertNotEqual(run.returncode, 0)
            self.assertIn("'Alpha' is not a name of adl", run.stderr)

    def test_parameters_without_papermill(self):
        adl = KernelManager(kernel_name="adl").kernel_spec.argv[0]
        with tempfile.TemporaryDirectory() as d:
            a = os.path.join(d, "a.ipynb")
            nb = book('let alpha = 1.0\nlet name = "none"\nlet sizes = [1, 2]', "(alpha, name, sum sizes)")
            nb.cells[0].metadata.tags = ["parameters"]
            nbformat.write(nb, a)

            def run(*options):
                return subprocess.run([adl, "notebook", "run", *options, a], capture_output=True, text=True, timeout=60)

            for options, shown in ((("alpha=0.25", "name=run 1", "sizes=[3, 4, 5]"), '(0.25, "run 1", 12)'), (("alpha=-2",), '(-2.0, "none", 3)')):
                done = run(*(w for o in options for w in ("--set", o)))
                self.assertEqual(done.returncode, 0, done.stderr)
                ran = nbformat.read(a, 4)
                nbformat.validate(ran)
                self.assertEqual(len(ran.cells), 3)
                self.assertEqual(ran.cells[1].metadata.tags, ["injected-parameters"])
                self.assertEqual(ran.cells[2].outputs[0].data["text/plain"].split(" : ")[0], shown)
            for option, code, said in (("beta=1", 1, "it has no parameter `beta`; its parameters are `alpha`, `name`, `sizes`"), ("alpha", 2, "expected name=value, found `alpha`"),
                                       ("alpha=fast", 1, 'parameter `alpha` has type Float, but `"fast"` has type String'), ("sizes=[1,", 1, "the value of parameter `sizes`")):
                done = run("--set", option)
                self.assertEqual(done.returncode, code, done.stderr)
                self.assertIn(said, done.stderr)
            self.assertEqual(nbformat.read(a, 4).cells[1].source, "-- Parameters\nlet alpha = -2.0")

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
            run = subprocess.run([adl, "notebook", "run", a], capture_output=True, text=True, timeout=60, env={k: v for k, v in os.environ.items() if k != "NO_COLOR"})
            self.assertEqual(run.returncode, 1)
            self.assertNotIn("\x1b", run.stdout + run.stderr)
            self.assertIn("cell 2", run.stderr)
            done = nbformat.read(a, 4)
            self.assertEqual([len(c.outputs) for c in done.cells], [1, 1, 0])
            self.assertEqual(done.cells[1].outputs[0].output_type, "error")


if __name__ == "__main__":
    try:
        unittest.main(verbosity=2)
    except Empty as e:
        sys.exit(f"a message was missing: {e}")
