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


TAPE = """
let g (x : Float) : Float = x * sin x
let steps (n : Int) (x : Float) : Float = loop s = x for i < n do sin s * exp (cos s)
"""


def test_residuals_have_a_live_table():
    widgets = pytest.importorskip("ipywidgets")
    import adl
    from adl._residuals import Residuals, View, words

    m = adl.source(TAPE)
    table = Residuals(m.steps.wrt(1), 100, 0.5)
    assert table.plan_name == "store_all" and table.bytes > 0 and "store_all" in repr(table)
    view = View(table)
    table._views.append(view)
    before = table.bytes
    row, switch, text = next((r, s, t) for r, s, t in view.rows if not s.disabled)
    assert switch.value and "store" in text.value
    switch.value = False
    assert table.plan_name.startswith("by_hand") and "recompute" in text.value and view.plans.value == "by hand or budget"
    switch.value = True
    assert (table.bytes, table.plan_name) == (before, "store_all")
    view.plans.value = "recompute_all"
    assert table.plan_name == "recompute_all" and not switch.value and table.bytes < before
    view.budget.index = len(view.budget.options) - 1
    assert table.plan_name.startswith("budget") or table.plan_name == "store_all"
    table.plan("sqrt")
    assert view.plans.value == "sqrt"
    view.button.click()
    assert "follow sqrt from now on" in view.summary.value and isinstance(view.whole, widgets.VBox)
    assert "grad_with" in m.steps.wrt(1).grad.__name__ and "grad_with" not in m.steps.wrt(1).plan("store_all").__name__
    assert m.steps.wrt(1).grad(100, 0.5) == m.steps.wrt(1).plan("store_all").grad(100, 0.5)
    with pytest.raises(adl.Error, match="there is no residual"):
        table.recompute(99)
    assert "<table>" in table._repr_html_() and "svg" in table.picture()
    assert words("f (1 + 2) {'a': 3} \"b c\"") == ["f", "(1 + 2)", "{'a': 3}", '"b c"']


def test_residuals_magic():
    testing = pytest.importorskip("IPython.testing.globalipapp")
    shell = testing.start_ipython() or testing.get_ipython()
    shell.run_line_magic("load_ext", "adl")
    shell.run_cell_magic("adl", "", TAPE)
    shell.user_ns["x"] = 0.5
    found = shell.run_line_magic("adl_residuals", "g (x + 1.0)")
    assert found.function is shell.user_ns["g"] and found.plan_name == "store_all"
    with pytest.raises(TypeError, match="expected a function and its arguments"):
        shell.run_line_magic("adl_residuals", "")
