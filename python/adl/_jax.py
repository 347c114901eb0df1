"""Functions of adl inside JAX: `pure_callback` runs them, and `custom_vjp` calls adl's own reverse mode.

The derivative is a function of adl too, so that it can be differentiated again.
"""

import jax
import jax.numpy as jnp
import numpy as np


def _plain(value):
    # JAX knows dict, and takes a subclass of it for a leaf.
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items()}
    return tuple(map(_plain, value)) if isinstance(value, tuple) else value


def _number(x):
    """What adl is given for an array of JAX: 64 bits, and a number for an array without axes."""
    x = np.asarray(x)
    wide = {"f": np.float64, "V": np.float64, "i": np.int64, "u": np.int64}.get(x.dtype.kind)
    if wide is not None:
        x = x.astype(wide, copy=False)
    return x.item() if x.ndim == 0 else np.ascontiguousarray(x)


def _is_shape(value):
    return isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], str)


def _structs(shapes):
    def one(s):
        return jax.ShapeDtypeStruct(s[1], jax.dtypes.canonicalize_dtype(np.dtype(s[0])))

    return jax.tree_util.tree_map(one, shapes, is_leaf=_is_shape)


def _run(f, args):
    """Calls `f` on arrays of JAX, traced or not."""
    examples = jax.tree_util.tree_map(lambda a: _number(np.zeros(a.shape, a.dtype)), args)
    out = _structs(f._result(*examples))

    def host(*given):
        y = _plain(f(*jax.tree_util.tree_map(_number, given)))
        return jax.tree_util.tree_map(lambda s, v: np.asarray(v, s.dtype), out, y)

    return jax.pure_callback(host, out, *args, vmap_method="sequential")


def _real(arg):
    """Whether an argument is of real numbers throughout, so that it has a derivative."""
    return all(jnp.issubdtype(a.dtype, jnp.floating) for a in jax.tree_util.tree_leaves(arg))


def _no_tangent(arg):
    return jax.tree_util.tree_map(lambda a: np.zeros(a.shape, jax.dtypes.float0), arg)


def wrap(f):
    """`f.jax`."""

    @jax.custom_vjp
    def call(*args):
        return _run(f, args)

    def forward(*args):
        return call(*args), args

    def backward(args, cotangent):
        which = [i for i, a in enumerate(args) if _real(a)]
        found = wrap(f.wrt(*which)._derive("pullback"))(*args, cotangent)
        parts = dict(zip(which, found if len(which) > 1 else (found,)))
        return tuple(parts[i] if i in parts else _no_tangent(a) for i, a in enumerate(args))

    call.defvjp(forward, backward)

    def function(*args):
        return call(*jax.tree_util.tree_map(jnp.asarray, args))

    function.__name__ = f.__name__
    function.__doc__ = f.__doc__
    return function
