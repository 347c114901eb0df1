"""Data of adl in Python: records, declared types, and what the native half asks Python for."""

import inspect


class Record(dict):
    """A record: a dict whose fields are attributes too."""

    __slots__ = ()

    def __getattr__(self, name):
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"expected one of the fields {', '.join(self)}, found {name!r}") from None

    def __setattr__(self, name, value):
        self[name] = value

    def __repr__(self):
        return "{" + ", ".join(f"{k} = {v!r}" for k, v in self.items()) + "}"

    def __dir__(self):
        return [*super().__dir__(), *self]

    def __reduce__(self):
        return (Record, (dict(self),))

    def __arrow_c_stream__(self, requested_schema=None):
        """A record of columns is a table for libraries with the PyCapsule interface of Arrow."""
        from ._adl import arrow_stream

        return arrow_stream(dict(self))


def _equal(a, b):
    equal = a == b
    return bool(equal.all()) if hasattr(equal, "all") else bool(equal)


class Data:
    """A value of a type that a module declares. Its class is its constructor; its fields are a sequence."""

    __slots__ = ("_fields",)

    def __init__(self, *fields):
        if len(fields) != self.__adl_arity__:
            found = len(fields)
            raise TypeError(f"expected {self.__adl_arity__} fields of {type(self).__name__}, found {found}")
        object.__setattr__(self, "_fields", fields)

    def __setattr__(self, name, value):
        raise AttributeError(f"expected no assignment, found one to {name!r}: values of declared types do not change")

    def __iter__(self):
        return iter(self._fields)

    def __len__(self):
        return len(self._fields)

    def __getitem__(self, i):
        return self._fields[i]

    def __bool__(self):
        return True

    def __eq__(self, other):
        if type(self) is not type(other):
            return NotImplemented
        return all(_equal(a, b) for a, b in zip(self._fields, other._fields))

    def __hash__(self):
        return hash((type(self), self._fields))

    def __repr__(self):
        if not self._fields:
            return type(self).__name__
        return f"{type(self).__name__}({', '.join(map(repr, self._fields))})"


def _field(i):
    return property(lambda self: self._fields[i], doc=f"Field {i}.")


def classes(type_id, type_name, constructors, level):
    """The classes of a declared type's constructors, in order. `level`: that of the engine that declares it."""
    base = type(type_name, (Data,), {"__slots__": (), "__adl_type__": type_name, "__module__": "adl"})
    out = []
    for tag, (name, arity) in enumerate(constructors):
        fields = {f"_{i}": _field(i) for i in range(arity)}
        body = {
            "__slots__": (),
            "__module__": "adl",
            "__adl_con__": (type_id, tag),
            "__adl_level__": level,
            "__adl_arity__": arity,
            "__adl_class__": base,
            "__match_args__": tuple(fields),
            **fields,
        }
        out.append(type(name, (base,), body))
    return out


def fields(dataclass):
    """The fields of a dataclass, not copied."""
    return {name: getattr(dataclass, name) for name in dataclass.__dataclass_fields__}


def signature(names):
    """A signature of positional parameters."""
    seen = set()
    parameters = []
    for i, name in enumerate(names):
        name = name if name.isidentifier() and name not in seen else f"x{i + 1}"
        seen.add(name)
        parameters.append(inspect.Parameter(name, inspect.Parameter.POSITIONAL_ONLY))
    return inspect.Signature(parameters)


def twin(module, path):
    """The function that `path` leads to, in a module that is loaded again: the engine of the first one runs."""
    if module is None:
        from ._errors import Error

        text = "expected a function of a module in a function that adl has called, found one that adl has returned"
        raise Error(f"error[E0711]: {text}", "E0711", text, hint="compute what it gives before the call")
    return restore(module._twin(), path)


def restore(module, path):
    """The function that `path` leads to from a module: what `pickle` does."""
    out = module[path[0]]
    for step in path[1:]:
        if step.startswith("wrt("):
            out = out.wrt(*(int(i) for i in step[4:-1].split(",")))
        elif step.startswith("plan("):
            out = out.plan(step[5:-1])
        else:
            out = out._derive(step)
    return out
