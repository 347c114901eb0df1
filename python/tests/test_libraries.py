"""SciPy, IPython and Pygments, where they are installed."""

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


def test_ipython(m):
    testing = pytest.importorskip("IPython.testing.globalipapp")
    shell = testing.start_ipython() or testing.get_ipython()
    shell.run_line_magic("load_ext", "adl")
    shell.run_cell_magic("adl", "", "let sq x = x * x\nlet n = 3\ntype T = A Float | B")
    assert shell.user_ns["sq"].grad(3.0) == 6.0 and shell.user_ns["n"] == 3
    assert repr(shell.user_ns["A"](1.0)) == "A(1.0)"
    assert shell.run_line_magic("adl", "sq 4.0 + 1.0") == 17.0
