"""A kernel over three ranks, as a front end uses it."""

import json
import os
import signal
import sys
import time
from pathlib import Path

from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import KernelManager

LIMIT = 60
specs = os.path.join(os.getcwd(), "kernels", "adl3")
os.makedirs(specs)
argv = [sys.argv[1], "--ranks", "3", "kernel", "run", "-f", "{connection_file}"]
with open(os.path.join(specs, "kernel.json"), "w") as f:
    json.dump({"argv": argv, "display_name": "adl", "language": "adl", "interrupt_mode": "message"}, f)

manager = KernelManager(kernel_name="adl3")
manager.kernel_spec_manager = KernelSpecManager(kernel_dirs=[os.path.dirname(specs)])
manager.start_kernel()
client = manager.client()
client.start_channels()
client.wait_for_ready(timeout=LIMIT)


def run(code, interrupt_after=None):
    """The texts of the outputs of a cell."""
    out = []

    def hear(message):
        content = message["content"]
        if message["msg_type"] == "stream":
            out.append(content["text"])
        elif message["msg_type"] == "execute_result":
            out.append(content["data"]["text/plain"])
        elif message["msg_type"] == "error":
            out.append(content["ename"] + ": " + content["evalue"])

    if interrupt_after is None:
        client.execute_interactive(code, timeout=LIMIT, output_hook=hear)
    else:
        client.execute(code)
        time.sleep(interrupt_after)
        manager.interrupt_kernel()
        while True:
            message = client.get_iopub_msg(timeout=LIMIT)
            hear(message)
            if message["msg_type"] == "error":
                client.get_shell_msg(timeout=LIMIT)
                break
    return "\n".join(out)


def expect(part, found):
    assert part in found, f"expected {part!r}, found {found!r}"


expect("3 : Int", run("comm.size"))
run("let r = comm.each (fun r -> [r]) comm.rank")
expect("[0, 1, 2]", run("comm.gather r"))
expect("on rank 2 of 3", run("comm.total (comm.each (fun r -> if r == 2 then (error \"no\" : Int) else r) comm.rank)"))
endless = "comm.total (comm.each (fun r -> if r == 1 then (loop i = 0 while i >= 0 do (i + 1) % 7) else 0) comm.rank)"
expect("interrupt", run(endless, interrupt_after=2))
expect("[0, 1, 2]", run("comm.gather r"))
client.stop_channels()
manager.restart_kernel()
print("restarted", file=sys.stderr, flush=True)
client = manager.client()
client.start_channels()
client.wait_for_ready(timeout=LIMIT)


def is_rank(process, number):
    """Whether a process is that rank of this kernel."""
    try:
        words = (process / "environ").read_bytes().split(b"\0")
        return os.readlink(process / "cwd") == os.getcwd() and f"PMI_RANK={number}".encode() in words
    except OSError:
        return False


(killed,) = [int(p.name) for p in Path("/proc").glob("[0-9]*") if is_rank(p, 2)]
os.kill(killed, signal.SIGKILL)
since = time.monotonic()
while manager.is_alive():
    assert time.monotonic() - since < LIMIT, "the kernel goes on without a rank"
    time.sleep(0.1)
client.stop_channels()
print("all right")
