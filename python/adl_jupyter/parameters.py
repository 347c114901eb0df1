"""Values of Python as expressions of adl."""

import math
import re

RESERVED = frozenset("let rec and in if then else match with when as fun lin for loop while do type import true false".split())
NAME = re.compile(r"[^\W\dA-Z]\w*'*\Z")
DEFINITION = re.compile(r"let\s+(?P<name>[^\W\dA-Z]\w*'*)\s*(?::\s*(?P<type>[^=]+?))?\s*=\s*(?P<value>.*?)(?:\s+--\|?\s*(?P<help>.*))?\Z")
ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def name(text):
    """A name, which must be one of adl."""
    if not isinstance(text, str) or not NAME.match(text) or text in RESERVED:
        raise ValueError(f"{text!r} is not a name of adl: it begins in lower case, goes on with letters, digits and _, and is not a reserved word")
    return text


def number(value):
    """A Float."""
    if math.isnan(value):
        return "nan"
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    digits = repr(value)
    return digits if "." in digits or "e" in digits else digits + ".0"


def string(text):
    """A string literal."""
    return '"' + "".join(ESCAPES.get(c, c) for c in text) + '"'


def has_float(value):
    """Whether there is a Float among the numbers of nested lists."""
    return isinstance(value, float) or isinstance(value, (list, tuple)) and any(map(has_float, value))


def expression(value, floats=False):
    """An expression for a value; with `floats`, Ints are written as Floats."""
    if value is None:
        return "None"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        if floats:
            return number(float(value))
        if not -(2**63) <= value < 2**63:
            raise ValueError(f"{value} does not fit an Int of 64 bits")
        return str(value)
    if isinstance(value, float):
        return number(value)
    if isinstance(value, str):
        return string(value)
    if isinstance(value, (list, tuple)):
        # The elements of an array have one type.
        floats = floats or has_float(value)
        return "[" + ", ".join(expression(v, floats) for v in value) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name(k)} = {expression(v)}" for k, v in value.items()) + "}"
    return string(str(value))


class Translator:
    """Writes the cell of parameters, and reads the one of defaults."""

    @classmethod
    def codify(cls, parameters, comment="Parameters"):
        lines = [f"-- {comment}"] + [f"let {name(k)} = {expression(v)}" for k, v in parameters.items()]
        return "\n".join(lines) + "\n"

    @classmethod
    def inspect(cls, parameters_cell):
        from papermill.models import Parameter

        found = map(DEFINITION.match, parameters_cell["source"].splitlines())
        return [Parameter(m["name"], m["type"] or "None", m["value"], m["help"] or "") for m in found if m]
