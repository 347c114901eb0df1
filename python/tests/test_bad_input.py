"""What does not fit is a clear exception, and nothing is lost by it."""

import gc
import warnings

import numpy as np
import pytest

import adl
from adl import _adl

TEXT = """
let dot (x : [n]Float) (y : [n]Float) : Float = sum (x * y)
let rows (a : [m][n]Float) : [m]Float = for i < m -> sum a[i]
let count (x : [n]Int) : Int = sum x
let single (x : [n]F32) : F32 = sum x
let log_of (x : Float) : Float = log x
let each (g : Float -> Float) (x : [n]Float) : [n]Float = map g x
let fit (p : {a : Float, b : [n]Float}) : Float = p.a + sum p.b
let pair (t : (Float, Int)) : Float = fst t
"""


@pytest.fixture(scope="module")
def m():
    return adl.source(TEXT)


def test_dtypes(m):
    for f, x, match in [
        (m.dot, np.array([1, 2]), "Int"),
        (m.count, np.array([1.0]), "Float"),
        (m.single, np.array([1.0]), "Float"),
        (m.count, np.array([1 + 2j]), "expected an array of numbers or Bools, found an array of dtype complex128"),
        (m.count, np.array(["2020-01-01"], "M8[D]"), "datetime64"),
        (m.count, np.array([object()]), "object"),
        (m.count, np.array([2**63], np.uint64), "expected Ints of 64 bits"),
        (m.pair, (1.0, 2.5), "Float"),
        (m.log_of, "1.0", "String"),
        (m.log_of, None, "Unit|\\(\\)"),
        (m.log_of, 1 + 2j, "complex"),
        (m.count, 2**70, "expected an Int of 64 bits, found a larger int"),
    ]:
        with pytest.raises(adl.Error, match=match) as e:
            f(x, x) if f is m.dot else f(x)
        assert e.value.code.startswith("E") and e.value.message
    assert m.single(np.array([1.0, 2.0], np.float32)) == 3.0 and m.dot([1.0], [2.0]) == 2.0


def test_shapes(m):
    for f, args in [
        (m.dot, (np.ones(2), np.ones(3))),
        (m.dot, (np.ones((2, 2)), np.ones((2, 2)))),
        (m.rows, (np.ones(2),)),
        (m.dot, (1.0, np.ones(2))),
        (m.rows, ([[1.0], [2.0, 3.0]],)),
        (m.fit, ({"a": np.ones(2), "b": np.ones(2)},)),
        (m.fit, ({"a": 1.0},)),
        (m.fit, ({"a": 1.0, "b": np.ones(2), "c": 1.0},)),
        (m.dot, (np.ones(2), np.ones(2), np.ones(2))),
    ]:
        with pytest.raises(adl.Error, match="expected|does not match|too many|missing|no field"):
            f(*args)
    assert m.rows(np.zeros((0, 3))).shape == (0,) and m.dot(np.zeros(0), np.zeros(0)) == 0.0


def test_arrays_that_are_not_in_order(m):
    x = np.arange(6.0).reshape(2, 3)
    assert m.rows(x.T).tolist() == x.T.sum(1).tolist()
    assert m.dot(x[0, ::-1], x[1, ::-1]) == (x[0] * x[1]).sum()
    assert m.dot(np.arange(2.0).astype(">f8"), np.ones(2)) == 1.0
    frozen = np.arange(3000.0)
    frozen.flags.writeable = False
    assert m.dot(frozen, frozen) == (frozen**2).sum()


def test_nans_are_values_or_errors(m):
    assert np.isnan(m.log_of(-1.0)) and m.log_of(0.0) == -np.inf
    adl.check_nan()
    try:
        with pytest.raises(adl.Error, match="nan"):
            m.log_of(-1.0)
        with pytest.raises(adl.Error, match="inf"):
            m.log_of.grad(0.0)
        assert m.log_of(1.0) == 0.0
    finally:
        adl.check_nan(False)
    assert np.isnan(m.log_of(-1.0))


def test_a_closed_module():
    with adl.source("let f x = x * x\nlet big = for i < 100_000 -> 1.0") as m:
        f, slope = m.f, m.f.grad
        assert slope(3.0) == 6.0
    for call in [lambda: f(1.0), lambda: slope(1.0), lambda: m.f(1.0), lambda: m.big, lambda: m.eval("1"), lambda: f.grad(1.0)]:
        with pytest.raises(adl.Error, match="found one that is closed"):
            call()
    assert "closed" in repr(m)


def test_an_exception_in_a_callback(m):
    class Mine(Exception):
        pass

    def fails(t):
        if t > 2.0:
            raise Mine(t)
        return t

    with pytest.raises(Mine, match="3.0"):
        m.each(fails, [1.0, 3.0])
    for result, found in [("a", "String"), ([1.0], "\\[1\\]Float"), (None, "\\(\\)"), (1j, "complex")]:
        with pytest.raises(adl.Error, match=found):
            m.each(lambda t: result, [1.0])
    with pytest.raises(KeyboardInterrupt):
        m.each(lambda t: (_ for _ in ()).throw(KeyboardInterrupt), [1.0])
    with pytest.raises(TypeError):
        m.each(lambda: 1.0, [1.0])
    assert m.each(fails, [1.0, 2.0]).tolist() == [1.0, 2.0]


def test_texts_with_errors():
    for text in ["let f x =", "let f = 1 + true", "import \"nowhere.adl\" as N", "let x = [1.0][3]", "\x00", "let x = \udcff".encode("utf-8", "replace").decode()]:
        with pytest.raises(adl.Error) as e:
            adl.source(text)
        assert e.value.code.startswith("E")
    with pytest.raises(FileNotFoundError):
        adl.load("/nowhere/at/all.adl")
    with warnings.catch_warnings(record=True):
        assert adl.eval("1 + 1") == 2


def test_modules_that_die_release_their_definitions():
    def use(k):
        m = adl.source("\n".join(f"let f{i} x = x + {i}.0" for i in range(20)) + f"\nlet g x = f1 x * {k}.0")
        assert m.g(1.0) == 2.0 * k

    before = _adl.definitions()
    for k in range(60):
        use(k)
        # A module and its functions know each other.
        if k % 10 == 0:
            gc.collect()
    # Without it there would be 21 more for each.
    assert _adl.definitions() < before + 900
