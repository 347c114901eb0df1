"""Functions of adl inside JAX, where it is installed."""

import numpy as np
import pytest

import adl
from models import TEXT, continued_slope, horner_slopes, slope

jax = pytest.importorskip("jax")
jnp = jax.numpy
jax.config.update("jax_enable_x64", True)

RNG = np.random.default_rng(5)
W, X, Y = RNG.normal(size=3), RNG.normal(size=(5, 3)), RNG.normal(size=5)
ONE = {"rel": 1e-12}


@pytest.fixture(scope="module")
def m():
    return adl.source(TEXT)


def test_a_function(m):
    f, x = m.f.jax, 1.3
    bend = 2 * np.cos(x) - x * np.sin(x)
    assert f(x) == jax.jit(f)(x) == x * np.sin(x)
    assert jax.grad(f)(x) == pytest.approx(slope(x), **ONE)
    assert jax.jit(jax.grad(f))(x) == pytest.approx(slope(x), **ONE)
    y, dy = jax.jit(lambda x, d: jax.jvp(f, (x,), (d,)))(x, 2.0)
    assert (y, dy) == (x * np.sin(x), pytest.approx(2 * slope(x), **ONE))
    # Both modes in both orders.
    for outer in (jax.jacfwd, jax.jacrev):
        for inner in (jax.jacfwd, jax.jacrev):
            assert outer(inner(f))(x) == pytest.approx(bend, **ONE)
            assert jax.jit(outer(inner(f)))(x) == pytest.approx(bend, **ONE)
    assert jax.grad(jax.grad(jax.grad(f)))(x) == pytest.approx(-3 * np.sin(x) - x * np.cos(x), **ONE)


def test_loops_recursion_and_data_types_backwards(m):
    assert jax.grad(lambda x: jnp.sin(m.root.jax(x)))(2.0) == pytest.approx(np.cos(2**0.5) * 0.5 / 2**0.5, **ONE)
    assert jax.grad(jax.grad(m.root.jax))(2.0) == pytest.approx(-0.25 * 2.0**-1.5, rel=1e-11)
    for x in (0.7, 1.9):
        assert jax.grad(m.continued.jax)(x) == pytest.approx(continued_slope(x), **ONE)
        found = jax.jit(jax.grad(m.horner.jax, argnums=(0, 1)))(0.4, x)
        assert found == pytest.approx(horner_slopes(0.4, x), **ONE)
    roots = jax.vmap(jax.grad(m.root.jax))(jnp.array([2.0, 9.0, 1e6]))
    assert np.allclose(roots, [0.5 / 2**0.5, 1 / 6, 5e-4], rtol=1e-12)


def test_several_arguments_and_records(m):
    wanted = m.loss.wrt(0, 2).grad(W, X, Y)
    found = jax.jit(jax.grad(m.loss.jax, argnums=(0, 2)))(W, X, Y)
    assert all(np.allclose(a, b, rtol=1e-12) for a, b in zip(found, wanted))
    gradient = jax.grad(m.fit.jax)({"a": 1.0, "b": np.zeros(2)})
    assert gradient["a"] == -4.0 and np.allclose(gradient["b"], [-2.0, -4.0])
    for hessian in (jax.hessian(m.loss.jax), jax.jacrev(jax.grad(m.loss.jax))):
        assert np.allclose(hessian(W, X, Y), 2 * X.T @ X / 5, rtol=1e-12)
    mixed = jax.jacfwd(jax.grad(m.loss.jax), argnums=2)(W, X, Y)
    assert np.allclose(mixed, -2 * X.T / 5, rtol=1e-12)
    assert jax.grad(m.power.jax)(1.5, 4) == pytest.approx(4 * 1.5**3, **ONE)


def test_results_that_are_not_one_array(m):
    r, rest = jax.jit(m.polar.jax)(3.0, 4.0)
    assert (r, rest["angle"], rest["quadrant"]) == (5.0, pytest.approx(np.arctan2(4, 3)), 1)
    angle = jax.grad(lambda x, y: m.polar.jax(x, y)[1]["angle"], argnums=(0, 1))(3.0, 4.0)
    assert angle == pytest.approx((-4 / 25, 3 / 25), **ONE)
    (dr, drest), xs = jax.jvp(m.polar.jax, (3.0, 4.0), (1.0, 0.0))[1], jnp.array([3.0, -3.0])
    assert (dr, drest["angle"]) == (pytest.approx(0.6), pytest.approx(-4 / 25))
    r, rest = jax.vmap(m.polar.jax, (0, None))(xs, 4.0)
    assert r.tolist() == [5.0, 5.0] and rest["quadrant"].tolist() == [1, 2]


def test_rows(m):
    xs = np.linspace(0.5, 2.0, 4)
    assert np.allclose(jax.vmap(m.f.jax)(xs), xs * np.sin(xs), rtol=1e-15)
    assert np.allclose(jax.jit(jax.vmap(jax.grad(m.f.jax)))(xs), slope(xs), rtol=1e-12)
    many = RNG.normal(size=(7, 5, 3))
    found = jax.vmap(jax.grad(m.loss.jax), in_axes=(None, 0, None))(W, many, Y)
    assert np.allclose(found, [m.loss.grad(W, x, Y) for x in many], rtol=1e-12)
    found = jax.vmap(m.loss.jax, in_axes=(None, 2, None))(W, np.moveaxis(many, 0, 2), Y)
    assert np.allclose(found, [m.loss(W, x, Y) for x in many], rtol=1e-12)
    # Rows of rows, and a derivative of a function of rows.
    table = jax.vmap(jax.vmap(m.scaled.jax, (0, None)), (None, 0))(xs, many[0])
    assert np.allclose(table, xs[None, :, None] * many[0][:, None, :] ** 2, rtol=1e-14)
    by_a = jax.grad(lambda a: jax.vmap(m.scaled.jax, (None, 0))(a, many[0]).sum())(2.0)
    assert by_a == pytest.approx((many[0] ** 2).sum(), **ONE)
    rows = {"a": xs, "b": RNG.normal(size=(4, 2))}
    found = jax.vmap(jax.grad(m.fit.jax))(rows)
    assert np.allclose(found["a"], 2 * (xs - 3)) and np.allclose(found["b"], 2 * (rows["b"] - [1.0, 2.0]))


def test_the_rest_of_jax_around_it(m):
    def step(x, _):
        x = x - 0.1 * jax.grad(m.f.jax)(x)
        return x, x

    last, path = jax.lax.scan(step, 1.0, None, length=50)
    assert path.shape == (50,) and abs(jax.grad(m.f.jax)(last)) < 0.05
    assert jax.grad(jax.checkpoint(lambda x: m.f.jax(x) ** 2))(1.3) == pytest.approx(2 * 1.3 * np.sin(1.3) * slope(1.3))
    moved, back = jax.linearize(m.f.jax, 1.3)
    assert back(2.0) == pytest.approx(2 * slope(1.3), **ONE)
    assert jax.linear_transpose(back, 1.0)(3.0)[0] == pytest.approx(3 * slope(1.3), **ONE)
    # An array of JAX is one that adl takes.
    assert m.loss(jnp.asarray(W), jnp.asarray(X), jnp.asarray(Y)) == m.loss(W, X, Y)


def test_numbers_of_32_bits(m):
    x = np.arange(4, dtype=np.float32)
    assert m.single.jax(x).dtype == np.float32 and np.allclose(jax.grad(m.single.jax)(x), 2 * x)
    assert jax.jit(m.scaled.jax)(np.float32(2), x).tolist() == [0.0, 2.0, 8.0, 18.0]


def test_errors_reach_python(m):
    with pytest.raises(adl.Error, match="does not match"):
        m.loss.jax(W, X, Y[:2])
    with pytest.raises(adl.Error, match="does not match"):
        jax.jit(m.loss.jax)(W, X, Y[:2])
