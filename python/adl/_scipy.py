"""Functions of adl for SciPy."""

import numpy as np


def _leaves(value, out):
    if isinstance(value, dict):
        for name in sorted(value):
            _leaves(value[name], out)
    elif isinstance(value, (tuple, list)):
        for part in value:
            _leaves(part, out)
    else:
        out.append(np.asarray(value, dtype=float))
    return out


def _rebuild(like, leaves):
    if isinstance(like, dict):
        parts = {name: _rebuild(like[name], leaves) for name in sorted(like)}
        return {name: parts[name] for name in like}
    if isinstance(like, (tuple, list)):
        return type(like)(_rebuild(part, leaves) for part in like)
    return next(leaves)


class Problem(dict):
    """Arguments of `scipy.optimize.minimize`. `unpack` gives a found vector the structure of the start."""

    def __init__(self, start, **arguments):
        super().__init__(arguments)
        self._start = start

    def unpack(self, x):
        return _unpack(self._start, x)


def _pack(value):
    return np.concatenate([leaf.ravel() for leaf in _leaves(value, [])]) if value is not None else np.zeros(0)


def _unpack(like, x):
    x = np.asarray(x, dtype=float)
    leaves, at = [], 0
    for leaf in _leaves(like, []):
        part = x[at : at + leaf.size].reshape(leaf.shape)
        leaves.append(float(part) if leaf.ndim == 0 else part)
        at += leaf.size
    return _rebuild(like, iter(leaves))


def problem(f, x0, args, hess):
    """`f.scipy`: the function of a vector with its gradient, and its products with the Hessian if `hess`."""

    def fun(x):
        value, gradient = f.value_and_grad(_unpack(x0, x), *args)
        return value, _pack(gradient)

    def hessp(x, direction):
        return _pack(f.hvp(_unpack(x0, x), *args, _unpack(x0, direction)))

    more = {"hessp": hessp} if hess else {}
    return Problem(x0, fun=fun, x0=_pack(x0), jac=True, **more)


def sparse(f, operator):
    """`f.hessian_sparse` and `f.jacobian_sparse`."""
    derived = f._derive(operator)

    def matrix(*args):
        from scipy.sparse import csr_matrix

        m = derived(*args)
        return csr_matrix((m["values"], (m["row_indices"], m["col_indices"])), shape=(m["rows"], m["cols"]))

    matrix.__doc__ = f"`{operator}` of {f!r}, as a matrix of SciPy."
    return matrix
