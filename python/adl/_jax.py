"""Functions of adl inside JAX.

There are two primitives. `adl` is a function of adl. `adl_linear` is its derivative in a direction (`tangent`), or the transpose
of that (`pullback`); each is the transpose of the other. Both are functions of adl again, which adl differentiates. `vmap` makes
of a function the one of all rows, so that adl runs once.
"""

from functools import lru_cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.interpreters import ad, batching, mlir

from . import _trees

try:
    from jax.extend.core import Primitive
except ImportError:
    from jax.core import Primitive


class Call(NamedTuple):
    """A function, the structures of its arguments, and whether only real numbers of its result count."""

    f: Any
    structures: tuple
    real: bool = False

    def results(self, avals):
        """The structure of the result for arguments of these types, and the types that JAX has for its arrays."""
        return _results(self, tuple((tuple(a.shape), a.dtype) for a in avals))

    def now(self, leaves):
        """Runs on arrays that have values."""
        out = self.results(leaves)[1]
        return [jnp.asarray(v, s.dtype) for v, s in zip(_trees.run(*self[:2], leaves, self.real), out)]

    def later(self, leaves):
        """Runs from compiled code."""
        _, out = self.results(leaves)

        def host(*given):
            return [np.asarray(v, s.dtype) for v, s in zip(_trees.run(*self[:2], given, self.real), out)]

        return jax.pure_callback(host, out, *leaves)

    def bind(self, leaves):
        return call.bind(*leaves, of=self)


@lru_cache(maxsize=4096)
def _results(call, types):
    examples = []
    for i, part in enumerate(_trees.split(call.structures, types)):
        single = call.f._is_single(i)
        examples += [_trees.number(np.broadcast_to(np.zeros((), d), s), single) for s, d in part]
    structure, shapes = _trees.shapes(call.f, call.structures, examples, call.real)
    return structure, [jax.ShapeDtypeStruct(s, jax.dtypes.canonicalize_dtype(d)) for d, s in shapes]


class Linear(NamedTuple):
    """A derivative with respect to the arguments `wrt`. Its arrays are those of the point, then those of the direction."""

    call: Call
    wrt: tuple
    kind: str

    def parts(self, leaves):
        n = sum(map(_trees.count, self.call.structures))
        return list(leaves[:n]), list(leaves[n:])

    def whole(self, avals):
        """The function of point and direction. `avals`: the arrays of the point, or their types."""
        f, structures, _ = self.call
        last = _trees.direction([structures[i] for i in self.wrt])
        tangent = Call(_trees.derived(f, self.wrt, "tangent"), (*structures, last), True)
        if self.kind == "tangent":
            return tangent
        at = _trees.split(structures, avals)
        moved = [x for i in self.wrt for x in at[i]]
        cotangent, _ = tangent.results([*avals, *moved])
        return Call(_trees.derived(f, self.wrt, "pullback"), (*structures, cotangent), True)

    def bind(self, leaves):
        return linear.bind(*leaves, of=self)


call, linear = Primitive("adl"), Primitive("adl_linear")
call.multiple_results = linear.multiple_results = True


def _function(of, leaves):
    return of if isinstance(of, Call) else of.whole(of.parts(leaves)[0])


def _impl(*leaves, of):
    # JAX also gives numbers of classes of its own, which have no shape.
    leaves = [x if hasattr(x, "shape") else jnp.asarray(x) for x in leaves]
    return _function(of, leaves).now(leaves)


def _abstract(*avals, of):
    return [jax.core.ShapedArray(s.shape, s.dtype) for s in _function(of, avals).results(avals)[1]]


def _lowered(*leaves, of):
    return _function(of, leaves).later(leaves)


def _zero(y):
    aval = jax.typeof(y) if hasattr(jax, "typeof") else jax.core.get_aval(y)
    return ad.Zero(aval.to_tangent_aval())


def _some(tangents):
    return any(type(t) is not ad.Zero for t in tangents)


def _tangents(of, leaves, points, changes, out):
    """The tangents of the results of `of` at `leaves` when its first arrays, `points`, change. Those of Ints are 0."""
    zeros = [_zero(y) for y in out]
    wrt, given = [], []
    for i, (xs, ts) in enumerate(zip(_trees.split(of.structures, points), _trees.split(of.structures, changes))):
        if xs and _some(ts) and all(jnp.issubdtype(x.dtype, jnp.floating) for x in xs):
            wrt.append(i)
            given += map(ad.instantiate_zeros, ts)
    if not wrt:
        return zeros
    found = iter(Linear(of, tuple(wrt), "tangent").bind([*leaves, *given]))
    return [next(found) if jnp.issubdtype(y.dtype, jnp.floating) else zero for y, zero in zip(out, zeros)]


def _call_jvp(leaves, changes, *, of):
    out = of.bind(leaves)
    return out, _tangents(of, leaves, leaves, changes, out)


def _linear_jvp(leaves, changes, *, of):
    points, _ = of.parts(leaves)
    at_points, at_direction = of.parts(changes)
    out = of.bind(leaves)
    # First the change by the direction, then that by the point.
    tangents = [_zero(y) for y in out]
    if _some(at_direction):
        tangents = of.bind([*points, *map(ad.instantiate_zeros, at_direction)])
    bent = _tangents(of.whole(points), leaves, points, at_points, out)
    return out, list(map(ad.add_tangents, tangents, bent))


def _linear_transpose(cotangents, *leaves, of):
    points, direction = of.parts(leaves)
    back = of._replace(kind="pullback" if of.kind == "tangent" else "tangent")
    found = back.bind([*points, *map(ad.instantiate_zeros, cotangents)])
    return [None] * len(points) + [y if ad.is_undefined_primal(x) else None for x, y in zip(direction, found)]


def _size(leaves, axes):
    return next(x.shape[a] for x, a in zip(leaves, axes) if a is not None)


def _in_rows(leaves, axes, size):
    """The arrays with their rows in front; one that is the same in all rows is repeated."""
    return [
        jnp.broadcast_to(x, (size, *x.shape)) if a is None else jnp.moveaxis(x, a, 0)
        for x, a in zip(leaves, axes)
    ]


def _of_rows(of, leaves, axes, size, always=()):
    """The function of all rows, and its arrays. Arguments in `always` have rows, others if one of their arrays has."""
    row = [x if a is None else jax.ShapeDtypeStruct(np.delete(x.shape, a), x.dtype) for x, a in zip(leaves, axes)]
    structure, _ = of.results(row)
    out, mapped = [], []
    for i, (xs, at) in enumerate(zip(_trees.split(of.structures, leaves), _trees.split(of.structures, axes))):
        mapped.append(i in always or any(a is not None for a in at))
        out += _in_rows(xs, at, size) if mapped[-1] else xs
    return of._replace(f=_trees.rows(of.f, of.structures, mapped, size, structure)), out


def _call_batched(leaves, axes, *, of):
    of, leaves = _of_rows(of, leaves, axes, _size(leaves, axes))
    out = of.bind(leaves)
    return out, [0] * len(out)


def _linear_batched(leaves, axes, *, of):
    size = _size(leaves, axes)
    (points, direction), (at_points, at_direction) = of.parts(leaves), of.parts(axes)
    rows, points = _of_rows(of.call, points, at_points, size, of.wrt)
    out = of._replace(call=rows).bind([*points, *_in_rows(direction, at_direction, size)])
    return out, [0] * len(out)


for _primitive, _jvp, _batched in [(call, _call_jvp, _call_batched), (linear, _linear_jvp, _linear_batched)]:
    _primitive.def_impl(_impl)
    _primitive.def_abstract_eval(_abstract)
    ad.primitive_jvps[_primitive] = _jvp
    batching.primitive_batchers[_primitive] = _batched
    mlir.register_lowering(_primitive, mlir.lower_fun(_lowered, multiple_results=True))
ad.primitive_transposes[linear] = _linear_transpose


def wrap(f):
    """`f.jax`."""

    def function(*args):
        leaves = []
        of = Call(f, tuple(_trees.flatten(a, leaves) for a in args))
        leaves = list(map(jnp.asarray, leaves))
        structure, _ = of.results(leaves)
        return _trees.build(structure, iter(of.bind(leaves)))

    function.__name__ = f.__name__
    function.__doc__ = f.__doc__
    return function
