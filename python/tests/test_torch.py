"""Functions of adl inside PyTorch. It is a download of gigabytes, so these tests run where it is installed."""

import numpy as np
import pytest

import adl
from models import TEXT, continued_slope, horner_slopes, slope

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
func = torch.func

RNG = np.random.default_rng(5)
W, X, Y = RNG.normal(size=3), RNG.normal(size=(5, 3)), RNG.normal(size=5)


@pytest.fixture(scope="module")
def m():
    return adl.source(TEXT)


def number(x, grad=True):
    return torch.tensor(x, dtype=torch.float64, requires_grad=grad)


def near(a, b, rel=1e-12):
    return np.allclose(torch.as_tensor(a).detach().numpy(), b, rtol=rel, atol=0)


def test_backwards_twice(m):
    x = number(1.3)
    y = m.f.torch(x)
    assert y.item() == 1.3 * np.sin(1.3) and y.dtype == torch.float64
    (d,) = torch.autograd.grad(y, x, create_graph=True)
    (dd,) = torch.autograd.grad(d, x, create_graph=True)
    (ddd,) = torch.autograd.grad(dd, x)
    assert near(d, slope(1.3)) and near(dd, 2 * np.cos(1.3) - 1.3 * np.sin(1.3))
    assert near(ddd, -3 * np.sin(1.3) - 1.3 * np.cos(1.3))
    assert torch.autograd.gradcheck(m.loss.torch, [number(W), number(X), number(Y)])
    assert torch.autograd.gradgradcheck(m.loss.torch, [number(W), number(X), number(Y)])


def test_loops_recursion_and_data_types_backwards(m):
    for x in (0.7, 1.9):
        assert near(func.grad(m.root.torch)(number(x, False)), 0.5 / np.sqrt(x))
        assert near(func.grad(m.continued.torch)(number(x, False)), continued_slope(x))
        c, at = number(0.4), number(x)
        m.horner.torch(c, at).backward()
        assert near(torch.stack([c.grad, at.grad]), horner_slopes(0.4, x))


def test_func(m):
    x = number(1.3, False)
    bend = 2 * np.cos(1.3) - 1.3 * np.sin(1.3)
    assert near(func.grad(m.f.torch)(x), slope(1.3))
    assert near(func.jvp(m.f.torch, (x,), (number(2.0, False),))[1], 2 * slope(1.3))
    for outer in (func.jacfwd, func.jacrev):
        for inner in (func.jacfwd, func.jacrev):
            assert near(outer(inner(m.f.torch))(x), bend)
    w, x, y = (number(v, False) for v in (W, X, Y))
    assert near(func.hessian(m.loss.torch)(w, x, y), 2 * X.T @ X / 5)
    many = RNG.normal(size=(7, 5, 3))
    found = func.vmap(func.grad(m.loss.torch), in_dims=(None, 0, None))(w, number(many, False), y)
    assert near(found, [m.loss.grad(W, x, Y) for x in many])
    assert near(func.vmap(m.f.torch)(w), W * np.sin(W))


def test_records_and_several_results(m):
    p = {"a": number(1.0), "b": number([0.0, 0.0])}
    m.fit.torch(p).backward()
    assert p["a"].grad.item() == -4.0 and p["b"].grad.tolist() == [-2.0, -4.0]
    x, y = number(3.0), number(4.0)
    r, rest = m.polar.torch(x, y)
    (r + rest["angle"]).backward()
    assert rest["quadrant"].item() == 1 and near(x.grad, 3 / 5 - 4 / 25) and near(y.grad, 4 / 5 + 3 / 25)
    x = number(1.5)
    m.power.torch(x, torch.tensor(4)).backward()
    assert near(x.grad, 4 * 1.5**3)


def test_a_layer_of_a_model(m):
    torch.manual_seed(1)
    net = torch.nn.Linear(3, 1)
    x, y = torch.tensor(X, dtype=torch.float32), torch.tensor(Y, dtype=torch.float32)
    optimiser = torch.optim.SGD(net.parameters(), lr=0.05)
    losses = []
    for _ in range(200):
        optimiser.zero_grad()
        loss = m.loss.torch(net.weight[0], x, y - net.bias)
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    ones = np.column_stack([X, np.ones(5)])
    best = ((ones @ np.linalg.lstsq(ones, Y, rcond=None)[0] - Y) ** 2).mean()
    assert loss.dtype == torch.float32 and losses[-1] < losses[0] and losses[-1] >= best - 1e-6


def test_tensors_are_arrays(m):
    w, x, y = (number(v, False) for v in (W, X, Y))
    assert m.loss(w, x, y) == m.loss(W, X, Y)
    with pytest.raises(adl.Error, match="does not match"):
        m.loss.torch(w, x, y[:2])
