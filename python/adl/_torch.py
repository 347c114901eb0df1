"""Functions of adl inside PyTorch.

A function, its derivative in a direction and its transposed derivative are all functions of adl, so one `autograd.Function`
serves all of them, and derivatives of any order follow.
"""

import numpy as np
import torch

from . import _trees


def _array(x):
    """A tensor as an array, which shares its memory where it can."""
    return x.detach().cpu().numpy()


def _run(f, structures, leaves):
    like = next((x for x in leaves if x.is_floating_point()), None)
    dtype = torch.get_default_dtype() if like is None else like.dtype
    device = leaves[0].device if leaves else None
    out = []
    for v in _trees.run(f, structures, [_array(x) for x in leaves]):
        v = torch.from_numpy(np.asarray(v))
        out.append(v.to(device=device, dtype=dtype if v.is_floating_point() else v.dtype))
    return tuple(out)


class Call(torch.autograd.Function):
    """`f` on the arrays of its arguments. The result is the tuple of the arrays of its result."""

    @staticmethod
    def forward(f, structures, *leaves):
        return _run(f, structures, leaves)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.of = inputs[:2]
        ctx.real = [y.is_floating_point() for y in output]
        ctx.mark_non_differentiable(*[y for y in output if not y.is_floating_point()])
        ctx.save_for_backward(*inputs[2:])
        ctx.save_for_forward(*inputs[2:])

    @staticmethod
    def backward(ctx, *cotangents):
        f, structures = ctx.of
        leaves = ctx.saved_tensors
        at = _trees.split(structures, leaves)
        needed = _trees.split(structures, ctx.needs_input_grad[2:])
        wrt = [i for i, (xs, n) in enumerate(zip(at, needed)) if any(n) and all(x.is_floating_point() for x in xs)]
        found = [[None] * len(xs) for xs in at]
        if wrt:
            tangent, tangent_structures = _directed(f, structures, wrt, "tangent")
            moved = [x for i in wrt for x in at[i]]
            cotangent, _ = _results(tangent, tangent_structures, [*leaves, *moved], real=True)
            pullback = _trees.derived(f, wrt, "pullback")
            given = [c for c, real in zip(cotangents, ctx.real) if real]
            out = iter(Call.apply(pullback, (*structures, cotangent), *leaves, *given))
            for i in wrt:
                found[i] = [next(out) for _ in at[i]]
        return (None, None, *(x for part in found for x in part))

    @staticmethod
    def jvp(ctx, _f, _structures, *tangents):
        f, structures = ctx.of
        leaves = ctx.saved_tensors
        at, changes = _trees.split(structures, leaves), _trees.split(structures, tangents)
        wrt = [i for i, ts in enumerate(changes) if any(t is not None for t in ts)]
        given = [torch.zeros_like(x) if t is None else t for i in wrt for x, t in zip(at[i], changes[i])]
        tangent, tangent_structures = _directed(f, structures, wrt, "tangent")
        found = Call.apply(tangent, tangent_structures, *leaves, *given)
        return tuple(y if real else None for y, real in zip(found, ctx.real))

    @staticmethod
    def vmap(info, in_dims, f, structures, *leaves):
        axes = in_dims[2:]
        row = [x if a is None else x.select(a, 0) for x, a in zip(leaves, axes)]
        result, shapes = _results(f, structures, row)
        given, mapped = [], []
        for xs, at in zip(_trees.split(structures, leaves), _trees.split(structures, axes)):
            mapped.append(any(a is not None for a in at))
            for x, a in zip(xs, at):
                if a is not None:
                    x = x.movedim(a, 0)
                elif mapped[-1]:
                    x = x.expand(info.batch_size, *x.shape)
                given.append(x)
        out = Call.apply(_trees.rows(f, structures, mapped, info.batch_size, result), structures, *given)
        return out, (0,) * len(shapes)


def _directed(f, structures, wrt, kind):
    return _trees.derived(f, wrt, kind), (*structures, _trees.direction([structures[i] for i in wrt]))


def _results(f, structures, leaves, real=False):
    examples = []
    for i, part in enumerate(_trees.split(structures, leaves)):
        single = f._is_single(i)
        for x in part:
            zero = np.zeros((), str(x.dtype).removeprefix("torch."))
            examples.append(_trees.number(np.broadcast_to(zero, tuple(x.shape)), single))
    return _trees.shapes(f, structures, examples, real)


def wrap(f):
    """`f.torch`."""

    def function(*args):
        leaves = []
        structures = tuple(_trees.flatten(a, leaves) for a in args)
        leaves = [x if isinstance(x, torch.Tensor) else torch.as_tensor(x) for x in leaves]
        structure, _ = _results(f, structures, leaves)
        return _trees.build(structure, iter(Call.apply(f, structures, *leaves)))

    function.__name__ = f.__name__
    function.__doc__ = f.__doc__
    return function
