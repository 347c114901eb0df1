"""Modules of adl."""

import os

from . import _adl


class Module:
    """The names that a text of adl defines, as attributes: functions, values, constructors."""

    def __init__(self, name, text, path=None):
        level = _adl.level()
        self.__dict__.update(_made=(name, text, path), _found=[], _cells=0, _closed=False, _level=level, _twins={})
        self.__dict__["_names"] = _adl.load(path or name, text, level)

    def _twin(self):
        """The same module for a function that adl has called, while the engine of this one runs."""
        level = _adl.level()
        if level <= self._level:
            return self
        if level not in self._twins:
            self._twins[level] = _again(*self.__reduce__()[1])
        return self._twins[level]

    def __getattr__(self, name):
        return self._get(name, AttributeError)

    def __getitem__(self, name):
        return self._get(name, KeyError)

    def _get(self, name, missing):
        # Also asked while `pickle` and `copy` look for methods, before there are any names.
        if name.startswith("__") or "_found" not in self.__dict__:
            raise missing(name)
        if name in self._found:
            return self.__dict__[name]
        if _adl.level() > self._level:
            return self._twin()._get(name, missing)
        found = self._names.get(name, self)
        if found is None and name not in self._names.names():
            import difflib

            near = difflib.get_close_matches(name, self._names.names(), 1)
            hint = f"; did you mean `{near[0]}`?" if near else ""
            raise missing(f"expected a name that {self._made[0]} defines, found `{name}`{hint}")
        if isinstance(found, _adl.Function) and not hasattr(Module, name):
            # So Python finds it without asking this method, which would take longer than a small function.
            self.__dict__[name] = found
            self._found.append(name)
        return found

    def __setattr__(self, name, value):
        raise AttributeError(f"expected no assignment, found one to `{name}`: names of adl are defined in adl")

    def __dir__(self):
        return [*super().__dir__(), *([] if self._closed else self._names.names())]

    def __iter__(self):
        return iter(self._names.names())

    def __contains__(self, name):
        return name in self._names.names()

    def __repr__(self):
        if self._closed:
            return f"<adl module {self._made[0]}, closed>"
        lines = [f"<adl module {self._made[0]}>"]
        for name in self._names.names():
            about = self._names.describe(name)
            lines.append(f"  {name} : {about[0]}" if about else f"  {name}")
        return "\n".join(lines)

    def __reduce__(self):
        if self._cells:
            raise TypeError("expected a module made by `load` or `source`, found one that cells have changed")
        return (_again, self._made)

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self

    def close(self):
        """Releases what the module holds. Its functions can be called no more."""
        for name in self._found:
            self.__dict__[name]._close()
        self._names.close()
        self.__dict__["_closed"] = True

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def eval(self, text):
        """Runs a text in this module, which keeps its definitions. Returns the value of the last expression."""
        echoes = self._run(text)
        return next((value for name, _, value in reversed(echoes) if name is None), None)

    def _run(self, text):
        self.__dict__["_cells"] += 1
        for found in self._found:
            del self.__dict__[found]
        self._found.clear()
        return self._names.evaluate(f"<{self._cells}>", text)


_LOADED = {}


def _again(name, text, path):
    # All functions of a module that are unpickled share one module, as those that were pickled did.
    key = (name, text, path, _adl.level())
    if key not in _LOADED:
        _LOADED[key] = Module(name, text, path)
    return _LOADED[key]


def load(path):
    """The module of a file of adl. Files that it imports are found beside it."""
    path = os.path.abspath(os.fspath(path))
    with open(path, "rb") as file:
        text = file.read()
    return Module(os.path.basename(path), text, path)


def source(text, name="<source>"):
    """The module of a text of adl."""
    return Module(name, text.encode())


def eval(text):
    """The value of a text of adl: of its last expression."""
    return source("", "<eval>").eval(text)


os.register_at_fork(after_in_child=_adl.forked)
