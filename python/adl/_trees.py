"""Arguments and results as flat lists of arrays, for libraries that differentiate functions of arrays.

A *structure* says how the arrays make a value: `None` is one array, `("record", names, parts)` is a record, and
`("tuple", parts)` is a tuple. `("zero", dtype, shape)` is no array, but zeros: the tangent of Ints. It is hashable.
"""

import numpy as np


def is_record(value):
    return isinstance(value, dict) or hasattr(value, "_asdict") or hasattr(value, "__dataclass_fields__")


def record(value):
    """A dict, a NamedTuple or a dataclass as a dict."""
    if hasattr(value, "_asdict"):
        return value._asdict()
    if hasattr(value, "__dataclass_fields__"):
        return {name: getattr(value, name) for name in value.__dataclass_fields__}
    return value


def flatten(value, leaves):
    """The structure of a value, whose arrays are appended to `leaves`."""
    if is_record(value):
        value = record(value)
        names = tuple(sorted(value))
        return ("record", names, tuple(flatten(value[name], leaves) for name in names))
    if isinstance(value, tuple):
        return ("tuple", tuple(flatten(part, leaves) for part in value))
    if value is not None:
        leaves.append(value)
        return None
    return ("tuple", ())


def build(structure, leaves):
    """The value of a structure, from an iterator over its arrays."""
    if structure is None:
        return next(leaves)
    if structure[0] == "record":
        return {name: build(part, leaves) for name, part in zip(structure[1], structure[2])}
    if structure[0] == "zero":
        zeros = np.zeros(structure[2], structure[1])
        return zeros if structure[2] else zeros.item()
    return tuple(build(part, leaves) for part in structure[1])


def count(structure):
    """The number of arrays."""
    if structure is None:
        return 1
    return 0 if structure[0] == "zero" else sum(map(count, structure[-1]))


def split(structures, leaves):
    """The leaves of each of several values."""
    out, at = [], 0
    for s in structures:
        out.append(list(leaves[at : at + count(s)]))
        at += count(s)
    return out


def shapes(f, structures, leaves, real=False):
    """The structure of the result of `f`, and dtype and shape of each of its arrays; `f` does not run.

    With `real`, only arrays of real numbers count.
    """
    out = []
    leaves = iter(leaves)
    return _shapes(f._result(*[build(s, leaves) for s in structures]), out, real), tuple(out)


def _shapes(value, out, real):
    if isinstance(value, dict):
        names = tuple(sorted(value))
        return ("record", names, tuple(_shapes(value[name], out, real) for name in names))
    if isinstance(value, tuple) and not (len(value) == 2 and isinstance(value[0], str)):
        return ("tuple", tuple(_shapes(part, out, real) for part in value))
    if value is None:
        return ("tuple", ())
    if real and not value[0].startswith("float"):
        return ("zero", *value)
    out.append((np.dtype(value[0]), tuple(value[1])))
    return None


def number(x, single=False):
    """What adl is given for an array of another library: 64 bits, and a number for an array without axes."""
    x = np.asarray(x)
    wide = {"f": np.float32 if single else np.float64, "V": np.float64, "i": np.int64, "u": np.int64}.get(x.dtype.kind)
    if wide is not None:
        x = x.astype(wide, copy=False)
    return (x[()] if single else x.item()) if x.ndim == 0 else np.ascontiguousarray(x)


def run(f, structures, leaves, real=False):
    """The arrays of the result of `f`; with `real`, those of real numbers."""
    args = []
    for i, (s, part) in enumerate(zip(structures, split(structures, leaves))):
        single = f._is_single(i)
        args.append(build(s, iter([number(x, single) for x in part])))
    out = []
    flatten(f(*args), out)
    return [x for x in out if np.asarray(x).dtype.kind == "f"] if real else out


def _part(structure, text, i):
    """The text of part `i` of a value."""
    if structure[0] == "record":
        return f"{text}.{structure[1][i]}"
    names = [f"p{k}" for k in range(len(structure[1]))]
    return f"(let ({', '.join(names)}) = {text} in {names[i]})"


def _made(structure, text, leaf):
    """The text of a value, whose arrays are what `leaf` makes of those of the value `text`."""
    if structure is None:
        return leaf(text)
    parts = [_made(s, _part(structure, text, i), leaf) for i, s in enumerate(structure[-1])]
    if structure[0] == "record":
        return "{" + ", ".join(f"{name} = {part}" for name, part in zip(structure[1], parts)) + "}"
    return "(" + ", ".join(parts) + ")"


def rows(f, structures, mapped, n, result):
    """The function of all `n` rows of the arguments for which `mapped` is true (see `Rows` in `form.rs`)."""
    texts = [_made(s, "@", lambda text: text + "[#]") if m else None for s, m in zip(structures, mapped)]
    out = "@" if result is None else _made(result, "@[#]", lambda text: f"(for # < {n} -> {text})")
    return f._rows(texts, n, out)


def direction(parts):
    """A direction with respect to several arguments is a tuple, with respect to one it is no tuple."""
    return parts[0] if len(parts) == 1 else ("tuple", tuple(parts))


def derived(f, wrt, kind):
    """`f`'s derivative in a direction (`tangent`), or its transpose (`pullback`), as a function with one argument more."""
    return f.wrt(*wrt)._derive(kind)
