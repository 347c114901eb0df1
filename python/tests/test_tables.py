"""Tables and arrays of other libraries: Arrow, DLPack, `__array__`."""

import numpy as np
import pytest

import adl

TEXT = """
let total (t : {x : [n]Float, k : [n]Int}) = sum t.x + float (sum t.k)
let names (t : {name : [n]String, ok : [n]Bool, x : [n]Float}) = t.name
let kept (t : {x : [n]Float, k : [n]Int}) = {x = 2.0 * t.x, k = t.k, ok = map (fun v -> v > 0.0) t.x}
let slope (t : {x : [n]Float, y : [n]Float}) (w : Float) = mean ((w * t.x - t.y) ^ 2)
let sum_of (x : [n]Float) = sum x
let count (x : [n]Int) = sum x
"""


@pytest.fixture(scope="module")
def m():
    return adl.source(TEXT)


@pytest.fixture
def pa():
    return pytest.importorskip("pyarrow")


def test_tables_are_records_of_columns(m, pa):
    table = pa.table({"x": [1.0, 2.5], "k": [1, 2]})
    assert m.total(table) == m.total(pa.concat_tables([table.slice(0, 1), table.slice(1)])) == 6.5
    assert m.total(table.to_batches()[0]) == 6.5
    assert m.total(pa.table({"x": [1.0, 2.5], "k": pa.array([1, 2], pa.uint8())})) == 6.5
    table = pa.table({"x": [1.0], "ok": [True], "name": ["α"]})
    assert m.names(table) == ["α"]
    assert m.names(table.set_column(2, "name", pa.array(["β"], pa.string_view()))) == ["β"]
    assert m.slope.wrt(1).grad(pa.table({"x": [1.0, 2.0], "y": [2.0, 4.0]}), 2.0) == 0.0
    assert m.sum_of(pa.array([1.0, 2.0])) == 3.0
    assert m.sum_of(pa.chunked_array([[1.0], [2.0]])) == 3.0


def test_columns_of_64_bits_are_not_copied(m, pa):
    x = np.linspace(0, 1, 10_000)
    assert m.sum_of(pa.array(x)) == pytest.approx(5000)
    assert m.total(pa.table({"x": x, "k": np.arange(10_000)})) == pytest.approx(5000 + 49_995_000)
    back = pa.RecordBatchReader.from_stream(adl.Record(x=x)).read_all()["x"].chunk(0)
    assert back.buffers()[1].address == x.ctypes.data


def test_records_are_tables(m, pa):
    out = m.kept({"x": np.array([1.0, -2.0]), "k": np.array([3, 4])})
    table = pa.RecordBatchReader.from_stream(out).read_all()
    assert table.to_pydict() == {"x": [2.0, -4.0], "k": [3, 4], "ok": [True, False]}
    assert [str(t) for t in table.schema.types] == ["double", "int64", "bool"]
    named = adl.Record(name=["a", "b"], x=np.array([1.0, 2.0], np.float32))
    assert pa.RecordBatchReader.from_stream(named).read_all().to_pydict() == {"name": ["a", "b"], "x": [1.0, 2.0]}
    for wrong in [{"x": np.ones((2, 2))}, {"x": np.ones(2), "k": np.ones(3)}, {"x": object()}]:
        with pytest.raises(adl.Error, match="expected"):
            adl.Record(wrong).__arrow_c_stream__()


def test_columns_are_checked(m, pa):
    for column, match in [
        (pa.array([1.0, None]), "expected no nulls in column `x`, found 1 nulls"),
        (pa.array(["a", "b"]), "String"),
        (pa.array([0, 1], pa.timestamp("s")), "expected numbers, Bools or texts in column `x`, found Timestamp"),
    ]:
        with pytest.raises(adl.Error, match=match):
            m.total(pa.table({"x": column, "k": [1, 2]}))
    with pytest.raises(adl.Error, match="expected Ints of 64 bits"):
        m.count(pa.array([2**63], pa.uint64()))


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_data_frames(m, library):
    frames = pytest.importorskip(library)
    if library == "pandas":
        pytest.importorskip("pyarrow")
    frame = frames.DataFrame({"x": [1.0, 2.5], "k": [1, 2]})
    assert m.total(frame) == 6.5
    assert m.sum_of(frame["x"]) == 3.5


class Tensor:
    """An array of a library that only offers DLPack."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **more):
        return self.array.__dlpack__(**more)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def test_dlpack_both_ways(m):
    assert m.sum_of(Tensor(np.array([1.0, 2.0]))) == 3.0
    out = m.kept({"x": np.ones(3), "k": np.arange(3)}).x
    again = np.from_dlpack(Tensor(out))
    assert np.shares_memory(again, out) and again.tolist() == [2.0, 2.0, 2.0]


def test_objects_that_become_arrays(m):
    class Series:
        def __array__(self, dtype=None, copy=None):
            return np.array([1.0, 2.0])

    class Index:
        def __index__(self):
            return 3

    assert m.sum_of(Series()) == 3.0
    assert adl.source("let f (n : Int) = n + 1").f(Index()) == 4
