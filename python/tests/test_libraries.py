"""SciPy, JAX and IPython, where they are installed."""

import numpy as np
import pytest


def test_scipy(m):
    optimize = pytest.importorskip("scipy.optimize")
    start = np.array([-1.2, 1.0, 0.5])
    found = optimize.minimize(**m.rosenbrock.scipy(start))
    assert found.success and np.allclose(found.x, 1.0, atol=1e-4)
    found = optimize.minimize(**m.rosenbrock.scipy(start, hess=True), method="trust-krylov")
    assert found.success and np.allclose(found.x, 1.0, atol=1e-6)
    problem = m.fit.scipy({"a": 0.0, "b": np.zeros(2)})
    best = problem.unpack(optimize.minimize(**problem).x)
    assert best["a"] == pytest.approx(3.0) and np.allclose(best["b"], [1.0, 2.0])
    assert np.allclose(m.rosenbrock.hessian_sparse(start).toarray(), m.rosenbrock.hessian(start), rtol=1e-12)
    assert np.array_equal(m.twice.jacobian_sparse(start).toarray(), 2 * np.eye(3))


@pytest.fixture
def jax():
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    return jax


def test_jax(m, jax):
    f = m.f.jax
    x = 1.3
    slope = np.sin(x) + x * np.cos(x)
    assert jax.jit(f)(x) == pytest.approx(x * np.sin(x), rel=1e-15)
    assert jax.grad(f)(x) == pytest.approx(slope, rel=1e-12)
    assert jax.jit(jax.grad(jax.grad(f)))(x) == pytest.approx(2 * np.cos(x) - x * np.sin(x), rel=1e-12)
    xs = np.linspace(0.5, 2.0, 4)
    assert np.allclose(jax.vmap(jax.grad(f))(xs), np.sin(xs) + xs * np.cos(xs), rtol=1e-12)
    # Reverse mode through a loop whose end depends on the data, which JAX has not.
    g = jax.grad(lambda x: jax.numpy.sin(m.root.jax(x)))
    assert g(2.0) == pytest.approx(np.cos(np.sqrt(2.0)) * 0.5 / np.sqrt(2.0), rel=1e-12)
    assert m.f.jvp.jax(x, 2.0)[1] == pytest.approx(2 * slope, rel=1e-12)


def test_jax_with_several_arguments(m, jax):
    rng = np.random.default_rng(5)
    w, x, y = rng.normal(size=3), rng.normal(size=(5, 3)), rng.normal(size=5)
    found = jax.jit(jax.grad(m.loss.jax, argnums=(0, 2)))(w, x, y)
    wanted = m.loss.wrt(0, 2).grad(w, x, y)
    assert all(np.allclose(a, b, rtol=1e-12) for a, b in zip(found, wanted))
    record = jax.grad(m.fit.jax)({"a": 1.0, "b": np.zeros(2)})
    assert record["a"] == pytest.approx(-4.0) and np.allclose(record["b"], [-2.0, -4.0])
    assert np.allclose(jax.jacrev(jax.grad(m.loss.jax))(w, x, y), 2 * x.T @ x / 5)
    assert m.total(jax.numpy.arange(3.0)) == 3.0


def test_ipython(m):
    testing = pytest.importorskip("IPython.testing.globalipapp")
    shell = testing.start_ipython() or testing.get_ipython()
    shell.run_line_magic("load_ext", "adl")
    shell.run_cell_magic("adl", "", "let sq x = x * x\nlet n = 3\ntype T = A Float | B")
    assert shell.user_ns["sq"].grad(3.0) == 6.0 and shell.user_ns["n"] == 3
    assert repr(shell.user_ns["A"](1.0)) == "A(1.0)"
    assert shell.run_line_magic("adl", "sq 4.0 + 1.0") == 17.0
