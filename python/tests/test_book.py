"""The chapter of the book."""

import doctest
import re
from pathlib import Path

import pytest

BOOK = Path(__file__).resolve().parents[2] / "docs/book/src/python.md"


def test_the_chapter_on_python():
    pytest.importorskip("scipy")
    blocks = re.findall(r"```python\n(>>>.*?)```", BOOK.read_text(), re.S)
    assert len(blocks) >= 5
    test = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, "python.md", str(BOOK), 0)
    said = []
    doctest.DocTestRunner(verbose=False).run(test, out=said.append)
    assert not said, "".join(said)
