"""The grammar of JupyterLab's extension gives every program the classes of adl's own lexer. It needs node."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from adl._adl import classes, operators, reserved
from programs import texts

HERE = Path(__file__).resolve().parent
KINDS = {
    "keyword": "keyword",
    "variableName": "name",
    "className atom": "constructor",
    "typeName variableName.standard": "type",
    "number": "number",
    "string": "string",
    "comment": "comment",
    "docComment": "doc",
    "operator": "operator",
    "bracket": "bracket",
    "meta": "command",
}
HARD = [
    'let s = f"{a} {{b}} {f x {y = 1}} \\" c" -- f"',
    'let t = "one\n  two" ++ "three"\nlet u = 1',
    "(* a (* b *) -- c\n *) let x = 1.5e-3 + 2. + 0xff_0 + 3.0f32 + t.0.1 + x.[1]..2",
    "type T a = A Float | B (List a) [n]Int\ntype alias P = {x : Float, y : T Int}\nlet f (x : M.T) : P = B x",
    'test "name" = Some 1 == None\nlet test = 1\n  bench "no"',
    "let α₁ = ∂f' x_1 -- ∇\n:plan sqrt\n:type Some",
    '#!/usr/bin/env adl\nlet x = "open\nlet y = 2',
    "let rec a = 1 and b = true",
]


def marks(text, spans):
    out = [None] * len(text)
    for a, b, kind in spans:
        for i in range(a, b):
            out[i] = kind
    # Blanks inside comments and texts have no colour of their own.
    return [k for k, c in zip(out, text) if not c.isspace()]


@pytest.fixture(scope="module")
def ran():
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed")
    programs = [*HARD, *(t.replace("\r\n", "\n") for t in texts())]
    lines = "\n".join(map(json.dumps, programs))
    out = subprocess.run([node, HERE / "grammar.cjs"], input=lines, capture_output=True, text=True, check=True).stdout
    return programs, json.loads(out)


def utf16(text):
    """For each position of UTF-16 that of the character."""
    return [i for i, c in enumerate(text + "\0") for _ in range(1 + (ord(c) > 0xFFFF))]


def test_tables(ran):
    assert ran[1]["tables"] == {"RESERVED": reserved(), "OPERATORS": operators()}


def test_every_program_has_the_colours_of_the_lexer(ran):
    programs, found = ran[0], ran[1]["found"]
    assert len(programs) > 100
    for text, spans in zip(programs, found):
        at = utf16(text)
        by_grammar = marks(text, [(at[a], at[b], KINDS[kind]) for a, b, kind in spans])
        by_lexer = marks(text, classes(text))
        visible = [i for i, c in enumerate(text) if not c.isspace()]
        wrong = [(text[max(0, i - 30) : i + 10], g, l) for i, g, l in zip(visible, by_grammar, by_lexer) if g != l]
        assert not wrong, wrong[:5]


def test_the_wheel_has_the_extension():
    home = Path(sys.prefix) / "share/jupyter/labextensions/adl-jupyterlab"
    about = json.loads((home / "package.json").read_text())["jupyterlab"]
    assert about["extension"] is True and (home / about["_build"]["load"]).is_file()
