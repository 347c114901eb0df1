"""The command `adl`."""

import signal
import sys


def main():
    from . import _adl

    # The command has handlers of its own; Python's would wait for the interpreter to run.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    code = _adl.main(sys.argv[1:], [sys.executable, "-m", "adl"])
    sys.exit(code)
