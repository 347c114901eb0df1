"""The command `adl`, its kernelspec, Ctrl-C and forks."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

BIN = Path(sys.executable).parent


def run(*words, **more):
    return subprocess.run([*words], capture_output=True, text=True, timeout=60, **more)


def test_the_command_is_adl():
    done = run(str(BIN / "adl"), "-e", "grad sin 0.0")
    assert (done.stdout, done.returncode) == ("1.0 : Float\n", 0)
    done = run(str(BIN / "adl"), "-e", "1 + true")
    assert done.returncode == 1 and done.stderr.startswith("error[E")
    assert run(str(BIN / "adl"), "--no-such-flag").returncode == 2


def test_the_command_does_not_load_numpy():
    text = "import sys; sys.argv = ['adl', '-e', '1']; from adl._command import main\ntry: main()\nexcept SystemExit: print('numpy' in sys.modules)"
    assert run(sys.executable, "-c", text).stdout.splitlines()[-1] == "False"


def test_the_kernelspec_starts_this_adl():
    spec = json.loads((Path(sys.prefix) / "share/jupyter/kernels/adl/kernel.json").read_text())
    assert spec["argv"][:4] == ["python", "-m", "adl", "kernel"]
    assert (Path(sys.prefix) / "share/jupyter/kernels/adl/logo-svg.svg").read_bytes()[:4] == b"<svg"
    assert run(sys.executable, "-m", "adl", "-e", "2 * 3").stdout == "6 : Int\n"


def test_papermill_parameters():
    pytest.importorskip("papermill")
    import adl_jupyter

    assert adl_jupyter.AdlEngine


ENDLESS = """
import adl, signal, sys
# A parent may have told its children to ignore interrupts.
signal.signal(signal.SIGINT, signal.default_int_handler)
m = adl.source("let f n = loop s = 0 for i < n do (s * 3 + i) % 1000")
print("ready", flush=True)
try:
    m.f(10 ** 15)
except KeyboardInterrupt:
    print("stopped", m.f(3), flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_an_interrupt_stops_a_run():
    with subprocess.Popen([sys.executable, "-c", ENDLESS], stdout=subprocess.PIPE, text=True) as p:
        assert p.stdout.readline() == "ready\n"
        time.sleep(0.5)
        p.send_signal(signal.SIGINT)
        assert p.stdout.readline().startswith("stopped")
        assert p.wait(20) == 0


FORK = """
import adl, os
m = adl.source("let f x = x + 1.0")
m.f(1.0)
pid = os.fork()
if pid == 0:
    try:
        m.f(1.0)
    except adl.Error as e:
        os._exit(7 if "spawn" in e.hint else 1)
    os._exit(0)
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_fork_says_what_to_do():
    assert run(sys.executable, "-W", "ignore", "-c", FORK).stdout == "7\n"


NOTEBOOK = {
    "cells": [
        {"cell_type": "code", "metadata": {"tags": ["parameters"]}, "source": "let rate = 1.0  -- per step", "outputs": []},
        {"cell_type": "code", "metadata": {}, "source": "grad (fun x -> rate * x * x) 3.0", "outputs": []},
    ],
    "metadata": {"kernelspec": {"name": "adl", "display_name": "adl", "language": "adl"}},
    "nbformat": 4,
    "nbformat_minor": 4,
}


def test_papermill_and_nbconvert_use_the_kernel_and_the_colours(tmp_path):
    papermill = pytest.importorskip("papermill")
    nbconvert = pytest.importorskip("nbconvert")
    for cell in NOTEBOOK["cells"]:
        cell["execution_count"] = None
    (tmp_path / "in.ipynb").write_text(json.dumps(NOTEBOOK))
    out = papermill.execute_notebook(tmp_path / "in.ipynb", tmp_path / "out.ipynb", {"rate": 0.25}, progress_bar=False)
    assert out.cells[1].source == "-- Parameters\nlet rate = 0.25\n"
    assert "1.5" in out.cells[2].outputs[0]["data"]["text/plain"]
    assert out.metadata.language_info["pygments_lexer"] == "adlang"
    html, _ = nbconvert.HTMLExporter().from_filename(str(tmp_path / "out.ipynb"))
    assert '<span class="k">let</span>' in html and "per step</span>" in html
