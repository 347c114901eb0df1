"""Colours of adl in Pygments: those of the language's own lexer, in every program of the repository."""

import pytest

from adl._adl import classes, reserved
from adl_jupyter import parameters
from programs import texts

pygments = pytest.importorskip("pygments")
from pygments import lexers  # noqa: E402
from pygments.formatters import HtmlFormatter  # noqa: E402
from pygments.token import Comment, Error, Keyword, Name, Number, Operator, String, Whitespace  # noqa: E402


def coloured(text):
    return [(kind, word) for kind, word in pygments.lex(text, lexers.get_lexer_by_name("adlang")) if kind not in Whitespace]


def test_pygments_finds_the_lexer():
    for found in [lexers.get_lexer_for_filename("a.adl"), lexers.get_lexer_for_mimetype("text/x-adl")]:
        assert found.name == "adlang"


def test_kinds():
    text = ':plan sqrt\n--| The σ of f × g\nlet α₁ (x : [n]Float) : M.T = Some (x @ 1.5e3) -- ∂\ntest "a" = f"{x} b" == "c"\n(* d (* e *) *)'
    found = coloured(text)
    for kind, word in [
        (Name.Builtin.Pseudo, ":plan"),
        (Comment.Special, "--| The σ of f × g"),
        (Keyword, "let"),
        (Name, "α₁"),
        (Keyword.Type, "Float"),
        (Name.Class, "Some"),
        (Operator, "@"),
        (Number, "1.5e3"),
        (Comment, "-- ∂"),
        (Keyword, "test"),
        (String, '"a"'),
        (Comment, "(* d (* e *) *)"),
    ]:
        assert (kind, word) in found, word


def test_every_program_keeps_its_text():
    seen = 0
    for text in texts():
        found = list(pygments.lex(text, lexers.get_lexer_by_name("adlang", stripnl=False, ensurenl=False)))
        assert "".join(word for _, word in found) == text.replace("\r\n", "\n")
        assert not [word for kind, word in found if kind in Error]
        spans = classes(text)
        assert all(a < b for a, b, _ in spans) and all(p[1] <= q[0] for p, q in zip(spans, spans[1:]))
        seen += 1
    assert seen > 100


def test_reserved_words():
    assert set(reserved()) == parameters.RESERVED
    for word in reserved():
        kind = [kind for kind, text in coloured(word) if text == word]
        assert kind == [Name.Class if word in ("true", "false") else Keyword], word


def test_html():
    out = pygments.highlight("let x = 1 -- one", lexers.get_lexer_by_name("adlang"), HtmlFormatter())
    assert '<span class="k">let</span>' in out and '<span class="c">-- one</span>' in out
