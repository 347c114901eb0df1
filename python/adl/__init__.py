"""adl in Python: functions of the AD language adl, called with NumPy arrays, with their derivatives.

    >>> m = adl.source("let f x = x * sin x")
    >>> m.f.grad(1.0)
    1.3817732906760363
"""

from ._adl import __version__

__all__ = ["CopyWarning", "Error", "Module", "Record", "Value", "Warning", "check_nan", "eval", "load", "source"]

_HOMES = {
    "CopyWarning": "_errors",
    "Error": "_errors",
    "Warning": "_errors",
    "Record": "_data",
    "Module": "_module",
    "eval": "_module",
    "load": "_module",
    "source": "_module",
    "Function": "_adl",
    "check_nan": "_adl",
    "Value": "_adl",
    "load_ipython_extension": "_ipython",
}


def __getattr__(name):
    # The command `adl` imports this package too, and pays for nothing that it does not use.
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'adl' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module("." + home, __name__), name)
    globals()[name] = value
    return value


def __dir__():
    return sorted({*globals(), *_HOMES})
