import copy
import inspect
import pickle
import threading
from dataclasses import dataclass

import numpy as np
import pytest

import adl

RNG = np.random.default_rng(3)
W, X, Y = RNG.normal(size=3), RNG.normal(size=(5, 3)), RNG.normal(size=5)


def test_numbers_arrays_and_texts_go_both_ways(m):
    assert m.f(2.0) == pytest.approx(2.0 * np.sin(2.0), rel=1e-15)
    assert m.f(2) == m.f(2.0) == m.f(np.float64(2.0))
    assert m.loss(W, X, Y) == pytest.approx(((X @ W - Y) ** 2).mean(), rel=1e-14)
    assert m.rate == 0.25 and m.table.tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert m.spin(np.int64(4)) == m.spin(4) and isinstance(m.spin(4), int)
    assert m.count(np.array([1, 2, 4])) == 7
    assert m.flip(np.array([True, False])).tolist() == [False, True]
    assert m.hello("you") == "hello you"
    assert m.total([1, 2.5, 3]) == 6.5


def test_derivatives(m):
    x = 1.3
    slope = np.sin(x) + x * np.cos(x)
    assert m.f.grad(x) == pytest.approx(slope, rel=1e-15)
    assert m.f.grad.grad(x) == pytest.approx(2 * np.cos(x) - x * np.sin(x), rel=1e-14)
    assert m.f.value_and_grad(x) == (m.f(x), m.f.grad(x))
    assert m.f.jvp(x, 2.0)[1] == pytest.approx(2 * slope, rel=1e-15)
    y, back = m.f.vjp(x)
    assert (y, back(2.0)) == (m.f(x), pytest.approx(2 * slope, rel=1e-15))
    assert m.f.linearize(x)[1](2.0) == pytest.approx(2 * slope, rel=1e-15)
    residual = X @ W - Y
    assert np.allclose(m.loss.grad(W, X, Y), 2 * X.T @ residual / 5, rtol=1e-13)
    assert np.allclose(m.loss.wrt("y").grad(W, X, Y), -2 * residual / 5, rtol=1e-13)
    dw, dy = m.loss.wrt(0, 2).grad(W, X, Y)
    assert np.array_equal(dw, m.loss.grad(W, X, Y)) and np.array_equal(dy, m.loss.wrt(2).grad(W, X, Y))
    assert np.allclose(m.loss.hessian(W, X, Y), 2 * X.T @ X / 5, rtol=1e-13)
    assert np.allclose(m.loss.hvp(W, X, Y, W), 2 * X.T @ X @ W / 5, rtol=1e-13)
    assert np.array_equal(m.twice.jacobian(np.ones(2)), 2 * np.eye(2))
    assert np.array_equal(m.scale.transpose(np.zeros(2), np.array([1.0, 2.0])), [3.0, 6.0])
    assert m.root.grad(2.0) == pytest.approx(0.5 / np.sqrt(2.0), rel=1e-12)
    for plan in ["recompute_all", "sqrt", "auto"]:
        assert np.array_equal(m.loss.plan(plan).grad(W, X, Y), m.loss.grad(W, X, Y))


def test_what_a_derivative_costs(m):
    assert m.loss.cost(W, X, Y).ratio > 1.0
    assert "store_all" in repr(m.loss.residuals(W, X, Y))
    assert "sin" in m.f.ir(1.0)
    assert "scale_tangent" in m.f.ir(1.0, stage="transpose")
    assert m.f.grad.explain(1.0)


def test_arrays_are_not_copied(m):
    big = RNG.normal(size=10_000)
    assert m.total(big) == pytest.approx(big.sum(), rel=1e-12)
    out = m.twice(big)
    assert out.flags.writeable and not out.flags.owndata and np.array_equal(out, 2 * big)
    # What comes back unchanged is no alias of what was given.
    back = m.same(big)
    assert np.array_equal(back, big) and not np.shares_memory(back, big)
    # Nor does a function that keeps its argument see later changes of it.
    kept = m.keep(big)
    first, big[0] = big[0], 7.0
    assert kept(0) == first
    out[0] = 1.0
    assert m.twice(big)[0] == 14.0


def test_copies_of_large_arrays_are_said(m):
    with pytest.warns(adl.CopyWarning, match="not in one piece"):
        assert m.total(np.ones(400_000)[::2]) == 200_000
    with pytest.warns(adl.CopyWarning, match="int32"):
        assert m.count(np.ones(300_000, np.int32)) == 300_000


def test_records_and_declared_types(m):
    out = m.model({"a": 2.0, "b": 1.0}, 3.0)
    assert out == 7.0
    gradient = m.fit.grad({"a": 1.0, "b": np.zeros(2)})
    assert gradient.a == -4.0 and gradient["b"].tolist() == [-2.0, -4.0] and list(gradient) == ["a", "b"]

    @dataclass
    class P:
        a: float
        b: object

    assert m.fit(P(3.0, np.array([1.0, 2.0]))) == 0.0
    assert m.area(m.Circle(2.0)) == 12.0 and m.area(m.Point) == 0.0
    assert m.grow(m.Circle(2.0)) == m.Circle(4.0) != m.Rect(4.0, 1.0)
    assert isinstance(m.grow(m.Rect(1.0, 2.0)), m.Shape)
    assert list(m.grow(m.Rect(1.0, 2.0))) == [1.0, 2.0] and repr(m.Rect(1.0, 2.0)) == "Rect(1.0, 2.0)"
    assert (m.or_zero(None), m.or_zero(2.0), m.half(4.0), m.half(1.0)) == (0.0, 2.0, 2.0, None)
    assert m.push([2.0, 3.0]) == [1.0, 2.0, 3.0]


def test_functions_of_python_as_arguments(m):
    assert m.apply(lambda t: t * t, 3.0) == 10.0
    assert m.apply(m.halve, 3.0) == 1.75
    with pytest.raises(ZeroDivisionError):
        m.apply(lambda t: 1 / 0, 3.0)
    with pytest.raises(adl.Error, match="expected Float as the result"):
        m.apply(lambda t: "text", 3.0)
    with pytest.raises(adl.Error, match="which has no derivative"):
        m.apply.wrt(1).grad(lambda t: t, 3.0)
    # Nothing is lost by these errors.
    assert m.apply(lambda t: t, 3.0) == 4.0


def test_functions_that_adl_calls_call_adl(m):
    x = 3.0
    assert m.apply(lambda t: m.f(t), x) == m.f(x) + 1.0
    assert m.apply(m.f.grad, x) == m.f.grad(x) + 1.0
    assert m.apply(lambda t: m.f.grad.grad(t), x) == m.f.grad.grad(x) + 1.0
    assert m.apply(lambda t: m.apply(lambda s: m.apply(m.halve, s), t), x) == 0.75 + 3.0
    assert m.apply(lambda t: m.loss(W, X * t, Y), x) == m.loss(W, X * x, Y) + 1.0
    assert m.apply(lambda t: m.model({"a": t, "b": 1.0}, m.rate), x) == 1.75 + 1.0
    # Modules may be made there too.
    assert m.apply(lambda t: adl.source("let g x = x * 5.0").g(t), x) == 16.0
    twin = []
    assert m.apply(lambda t: twin.append(m.f) or t, x) == 4.0
    assert twin[0](x) == m.f(x)
    with pytest.raises(ZeroDivisionError):
        m.apply(lambda t: m.apply(lambda s: 1 / 0, t), x)
    with pytest.raises(adl.Error, match="does not match"):
        m.apply(lambda t: m.loss(W, X, Y[:2]), x)
    shape, kept = m.Circle(2.0), m.keep(W)
    with pytest.raises(adl.Error, match="expected a value of a declared type"):
        m.apply(lambda t: m.area(shape), x)
    assert m.apply(lambda t: m.area(m.Circle(t)), x) == 28.0
    with pytest.raises(adl.Error, match="found one that adl has returned"):
        m.apply(lambda t: kept(1), x)

    def deep(n):
        return lambda t: m.apply(deep(n - 1), t) if n else t

    assert m.apply(deep(2), x) == 6.0
    with pytest.raises(adl.Error, match="up to 4 deep"):
        m.apply(deep(4), x)
    # Nothing is lost by these errors.
    assert m.apply(lambda t: m.f(t), x) == m.f(x) + 1.0


def test_threads_call_each_other_without_end_of_waiting(m):
    found = []

    def work(k):
        for i in range(50):
            x = 0.01 * (50 * k + i)
            found.append(m.apply(lambda t: m.f(t), x) == m.f(x) + 1.0)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    [t.start() for t in threads]
    [t.join(60) for t in threads]
    assert len(found) == 200 and all(found)


def test_errors_are_those_of_adl(m):
    with pytest.raises(adl.Error) as e:
        m.loss(W, X, Y[:4])
    assert e.value.code == "E0301" and "[4]Float does not match [5]Float" in str(e.value)
    with pytest.raises(adl.Error) as e:
        adl.source("let x = 1 +", "bad.adl")
    assert e.value.span == ("bad.adl", 1, 11) and e.value.code.startswith("E01")
    again = pickle.loads(pickle.dumps(e.value))
    assert (again.code, again.span, str(again)) == (e.value.code, e.value.span, str(e.value))
    for wrong in [lambda: m.f("text"), lambda: m.f(object()), lambda: m.count(np.ones(2)), lambda: m.total(["a", 1.0])]:
        with pytest.raises(adl.Error):
            wrong()
    with pytest.raises(AttributeError, match="did you mean `loss`"):
        m.los
    with pytest.raises(adl.Error, match="expected one of the arguments w, x, y"):
        m.loss.wrt("z")
    with pytest.raises(adl.Error, match="expected a plan"):
        m.loss.plan("none")


def test_functions_describe_themselves(m):
    assert str(inspect.signature(m.loss)) == "(w, x, y, /)"
    assert str(inspect.signature(m.loss.jvp)) == "(w, x, y, direction, /)"
    assert m.loss.signature == "[d]Float -> [n][d]Float -> [n]Float -> Float"
    text = ["loss(w, x, y)", "Mean squared error of a linear model.", "loss : [d]Float -> [n][d]Float -> [n]Float -> Float"]
    assert inspect.getdoc(m.loss).split("\n\n") == text
    assert m.loss.grad.__name__ == "loss.grad" and "loss" in dir(m)


def test_pickle_and_copy(m):
    for f in [m.f, m.f.grad, m.f.plan("sqrt").grad, m.f.plan("sqrt")]:
        assert pickle.loads(pickle.dumps(f))(1.5) == f(1.5)
    other = pickle.loads(pickle.dumps(m.loss.wrt("y").grad))
    assert np.array_equal(other(W, X, Y), m.loss.wrt(2).grad(W, X, Y))
    assert copy.deepcopy(m.f) is m.f and copy.copy(m) is m
    record = m.fit.grad({"a": 1.0, "b": np.zeros(2)})
    assert pickle.loads(pickle.dumps(record)).a == -4.0
    with pytest.raises(adl.Error, match="expected a function of a module"):
        pickle.dumps(m.keep(np.ones(2)))


def test_threads(m):
    wrong = []

    def work(k):
        for i in range(200):
            x = k + i / 100
            if m.f.grad(x) != pytest.approx(np.sin(x) + x * np.cos(x), rel=1e-13):
                wrong.append(x)
            if m.fit.grad({"a": x, "b": np.zeros(2)}).a != pytest.approx(2 * (x - 3), abs=1e-12):
                wrong.append(x)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert not wrong


def test_python_runs_while_adl_computes(m):
    ticks, done = [], threading.Event()

    def tick():
        while not done.is_set():
            ticks.append(1)
            done.wait(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    try:
        m.spin(30_000_000)
    finally:
        done.set()
        thread.join()
    assert len(ticks) > 3


def test_evaluation_and_files(tmp_path, capsys):
    assert adl.eval("1 + 2") == 3
    assert adl.eval('print "said"') is None and capsys.readouterr().out == "said\n"
    (tmp_path / "helper.adl").write_text("let g x = x + 1.0\n")
    (tmp_path / "main.adl").write_text('import "helper.adl" as H\nlet f x = H.g x * 2.0\n')
    loaded = adl.load(tmp_path / "main.adl")
    assert loaded.f.value_and_grad(1.0) == (4.0, 2.0)
    assert pickle.loads(pickle.dumps(loaded.f))(1.0) == 4.0
    cells = adl.source("")
    cells.eval("let a = 2.0")
    assert cells.eval("a * 3.0") == 6.0 and cells.a == 2.0
