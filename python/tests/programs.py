"""All programs of the repository."""

import json
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def texts():
    for path in [*ROOT.glob("examples/**/*.adl"), *ROOT.glob("tests/programs/*.adl"), *ROOT.glob("lang/std/**/*.adl")]:
        yield path.read_text()
    for path in ROOT.glob("notebooks/*.ipynb"):
        book = json.loads(path.read_text())
        if book["metadata"]["kernelspec"]["language"] == "adl":
            yield from ("".join(cell["source"]) for cell in book["cells"] if cell["cell_type"] == "code")
