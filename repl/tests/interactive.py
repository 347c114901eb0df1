"""The REPL on a terminal: what is typed, and what the screen then has."""

import fcntl
import os
import pty
import re
import select
import struct
import sys
import tempfile
import termios
import time

ADL = sys.argv.pop(1)


class Terminal:
    """A session behind a pseudo-terminal. `screen` has the lines that one sees, as far as the sequences are known that the editor uses."""

    def __init__(self, *args, columns=80, rows=24, **env):
        self.rows, self.columns = rows, columns
        self.home = tempfile.mkdtemp()
        pid, self.fd = pty.fork()
        if pid == 0:
            os.chdir(self.home)
            outer = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE", "PAGER", "LESS")}
            os.execve(ADL, [ADL, *args], {**outer, "TERM": "xterm-256color", "ADL_HISTORY": "", **env})
        self.pid = pid
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.raw = ""
        self.wait("adl> ")

    def read(self, seconds):
        ready, _, _ = select.select([self.fd], [], [], seconds)
        if ready:
            try:
                self.raw += os.read(self.fd, 1 << 16).decode("utf-8", "replace")
            except OSError:
                return False
        return bool(ready)

    def wait(self, text):
        """Until the screen has a text, and no more comes."""
        end = time.time() + 60
        while time.time() < end:
            more = self.read(0.2)
            if not more and text.rstrip() in "\n".join(self.screen()):
                return
        raise AssertionError(f"{text!r} is not on the screen:\n" + "\n".join(self.screen()))

    def type(self, keys, then=None):
        os.write(self.fd, keys.encode())
        if then is None:
            while self.read(0.3):
                pass
        else:
            self.wait(then)

    def lines(self):
        return [l for l in self.screen() if l]

    def screen(self):
        lines, row, col, saved = [""], 0, 0, (0, 0)
        for token in re.findall(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[78D]|\r|\n|[^\x1b\r\n]+|\x1b", self.raw):
            if token == "\r":
                col = 0
            elif token in ("\n", "\x1bD"):
                row += 1
                col = 0 if token == "\n" else col
            elif token == "\x1b7":
                saved = (row, col)
            elif token == "\x1b8":
                row, col = saved
            elif token.startswith("\x1b["):
                n = int(re.sub(r"[^0-9]", "", token) or 1)
                if token[-1] == "A":
                    row = max(row - n, 0)
                elif token[-1] == "B":
                    row += n
                elif token[-1] == "C":
                    col += n
                elif token[-1] == "K":
                    lines[row] = lines[row][:col]
                elif token[-1] == "J":
                    lines[row] = lines[row][:col]
                    del lines[row + 1:]
            elif token != "\x1b":
                text = lines[row].ljust(col)
                lines[row] = text[:col] + token + text[col + len(token):]
                col += len(token)
            lines += [""] * (row + 1 - len(lines))
        return [l.rstrip() for l in lines]


def prefix_history():
    t = Terminal()
    t.type("let first = 1\r", "first = 1 : Int")
    t.type("2 + 2\r", "4 : Int")
    t.type("let second = 2\r", "second = 2 : Int")
    t.type("le\x1b[A")
    assert "adl> let second = 2" in t.lines()[-2], t.lines()
    t.type("\x1b[A")
    assert "adl> let first = 1" in t.lines()[-2], t.lines()
    t.type("\x1b[B")
    assert "adl> let second = 2" in t.lines()[-2], t.lines()
    t.type("\x03")
    t.type("\x1b[A\x1b[A")
    assert "adl> 2 + 2" in t.lines()[-2], t.lines()


def menu():
    t = Terminal()
    for entry in ["let alpha = 1", "let beta = 2", "alpha + beta"]:
        t.type(entry + "\r", ": Int")
    t.type("\x12", "search:")
    t.type("beta", "(2 of 3)")
    t.type("\x1b[A\r")
    assert "adl> let beta = 2" in "\n".join(t.lines()) and not any("search" in l for l in t.lines()), t.lines()
    t.type("\x03")
    t.type("\x12", "search:")
    t.type("\x07")
    assert t.lines()[-1] == "adl>", t.lines()


def live():
    t = Terminal()
    t.type("1.0 + 2", ": Float")
    t.type("\x15")
    t.type('1 + "a" ', "error: ")
    assert "\x1b[4;31m" in t.raw
    t.type("\x15")
    t.type("let f = grad ", "grad : ")
    t.type("\x15")
    t.type("unknow")
    assert "error" not in "\n".join(t.lines()), "a word that is being typed is not wrong yet"
    t.type("\x15:set live off\r")
    t.type("1.0 + 2")
    assert t.lines()[-1] == "adl> 1.0 + 2", t.lines()


def completion():
    t = Terminal()
    t.type("let r = {radius = 1.0, rate = 2.0}\r", "radius")
    t.type("{r with rad\t")
    assert "{r with radius" in "\n".join(t.lines()), t.lines()
    t.type("\x15let radish = 1 in radi\t")
    assert "in radish" in "\n".join(t.lines()), t.lines()
    t.type("\x15sinh\x7f\t", "Sine")
    t.type("\x15type Shape = Circle Float | Dot\r\r")
    t.type("[Circle 1.0, \t", "Circle : Float -> Shape")
    t.type("\x15let f (side : Float) = let sides = [side] in sum si\t", "sides : [1]Float")
    t.type("\x15let f (x : Floa\t")
    assert "(x : Float" in "\n".join(t.lines()), t.lines()


def without_a_word():
    t = Terminal(rows=60)
    t.type("let r = {radius = 1.0}\r", "radius")
    t.type("\t", "let : keyword")
    assert "r : {radius : Float}" in t.lines() and ":quit : leave (so does Ctrl-D)" in t.lines(), t.lines()


def by_type():
    t = Terminal()
    t.type("let loss (w : [2]Float) (x : Float) = sum w * x\r", "loss : ")
    t.type('let w0 = "a"\r', "w0 = ")
    t.type("let w1 = [1.0, 2.0]\r", "w1 = ")
    t.type("2.0 * (loss w\t", "w1 : [2]Float")
    lines = t.lines()
    first = lines.index("w1 : [2]Float")
    assert any(l.startswith("w0 : String") for l in lines[first:]), lines
    t.type("\x15loss w1 ", "loss : [2]Float -> Float")
    assert "\x1b[0;1mFloat\x1b[0;90m" in t.raw[-200:], "the parameter that is typed stands out"


def odd_numbers():
    t = Terminal()
    t.type("[0.0 / 0.0, 1.0]\r", "[nan, 1.0] : [2]Float")
    assert "[\x1b[31mnan\x1b[0m, 1.0]" in t.raw, t.raw
    t.type("-1.0 / [0.0]\r", "[-inf]")
    assert "\x1b[31m-inf\x1b[0m" in t.raw, t.raw


def stopped():
    t = Terminal()
    assert " on cpu, " in t.lines()[0], t.lines()
    t.type("let kept = 41\r", "kept = 41")
    t.type("loop x = 0 while true do x + 1\r")
    time.sleep(0.5)
    t.type("\x03", "all definitions are kept")
    t.type("kept + 1\r", "42 : Int")


def vi():
    t = Terminal()
    t.type(":set keys vi\r")
    t.type("21 + 1\x1b")
    time.sleep(0.6)
    t.type("0x")
    t.type("\r", "2 : Int")


def pasted():
    t = Terminal()
    t.type("\x1b[200~adl> let x = 3\r\nx = 3 : Int\r\nadl> x * 2\r\n6 : Int\x1b[201~\r", "6 : Int")
    assert not any("error" in l for l in t.lines()), t.lines()


def asked():
    t = Terminal()
    t.type("?sqrt\r", "Square root")
    t.type("cos?\r", "Cosine")


def pages():
    t = Terminal(PAGER="sed s/^/paged:/")
    t.type("let m = for i < 60, j < 3 -> float i / 7.0\r", "m = ")
    t.type(":show m\r", "paged:")
    assert sum(l.startswith("paged:") for l in t.lines()) >= 61, t.lines()
    t.type(":show 1.5\r", "1.5 : Float")
    assert not t.lines()[-2].startswith("paged:"), t.lines()


def watching():
    t = Terminal()
    path = os.path.join(t.home, "w.adl")
    open(path, "w").write("let x = 1\n")
    t.type(":watch w.adl\r", "watching w.adl")
    open(path, "w").write("let x = 1\nlet y = 41\n")
    t.wait("y = 41") if "y = 41" in "\n".join(t.screen()) else t.wait("1 item ran")
    t.type("\x03", "adl>")
    t.type("x + y\r", "42 : Int")


def narrow():
    t = Terminal(columns=40, rows=60)
    t.type(":help\r", "Anything else")
    t.type("for i < 30, j < 30, k < 30 -> sin (float (i * j * k))\r", "[29]")
    t.type("{name = \"a rather long text\", weights = linspace 0.0 1.0 200}\r", "weights")
    words = [l for l in t.lines() if len(l) > 40 and not l.startswith("adl")]
    assert not words, words


def without_colours():
    t = Terminal(TERM="dumb")
    t.type("1 + x\r\n", "unknown name")
    assert "\x1b" not in t.raw, t.raw
    t = Terminal("--plain")
    t.type("let x = [1.0, 2.0]\r", "x = [1.0, 2.0] : [2]Float")
    assert "\x1b" not in t.raw, t.raw


for check in [prefix_history, menu, live, completion, without_a_word, by_type, odd_numbers, stopped, vi, pasted, asked, pages, watching, narrow, without_colours]:
    if len(sys.argv) < 2 or check.__name__ in sys.argv[1:]:
        check()
        print("ok", check.__name__)
