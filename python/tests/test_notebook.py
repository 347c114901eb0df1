"""The notebook in Python produces the outputs that are stored in it."""

from pathlib import Path

import pytest

BOOK = Path(__file__).resolve().parents[2] / "notebooks/from_python.ipynb"


def outputs(book):
    """The texts of outputs, and for pictures their kinds and titles."""
    out = []
    for number, cell in enumerate(book.cells):
        said = "".join(o.text for o in cell.get("outputs", []) if o.output_type == "stream")
        # What is printed may come in one piece or in several.
        out.append((number, "stream", said))
        for o in cell.get("outputs", []):
            if o.output_type == "stream":
                continue
            data = o.get("data", {})
            text = data.get("text/plain", "")
            # Dots of a curve may move by rounding; the title and the axes may not.
            out.append((number, sorted(data), text.splitlines()[0].strip() if "image/png" in data else text))
    return out


def test_the_notebook_runs_as_it_is_stored():
    pytest.importorskip("jax")
    pytest.importorskip("ipykernel")
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    stored = nbformat.read(BOOK, as_version=4)
    ran = nbformat.read(BOOK, as_version=4)
    nbclient.NotebookClient(ran, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(BOOK.parent)}}).execute()
    assert outputs(ran) == outputs(stored)
    assert sum("image/png" in kinds for _, kinds, _ in outputs(stored)) >= 3
    assert all(cell.execution_count for cell in stored.cells if cell.cell_type == "code")
