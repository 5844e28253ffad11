"""Data frames and tables of the three libraries."""

import decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from coterie.rows import as_rows

MAKERS = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}


def columns(n_rows=101):
    rng = np.random.default_rng(0)
    return {
        "f64": rng.normal(size=n_rows),
        "f32": rng.normal(size=n_rows).astype(np.float32),
        "i8": rng.integers(-100, 100, n_rows, dtype=np.int8),
        "u64": rng.integers(0, 2**39, n_rows, dtype=np.uint64),
        "flag": rng.random(n_rows) < 0.5,
    }


def stacked(data, dtype):
    return np.column_stack([np.asarray(values).astype(dtype) for values in data.values()])


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
@pytest.mark.parametrize("rows_per_block", [1, 10, 64, 101, 1000])
def test_blocks_and_rows(make, rows_per_block):
    data = columns()
    X = stacked(data, np.float64)
    source = as_rows(make(data))
    assert source.shape == X.shape
    assert source.dtype == np.float64
    assert source.column_names == list(data)
    assert source.is_table
    for start, block in source.blocks(rows_per_block):
        np.testing.assert_array_equal(block, X[start : start + rows_per_block])
        assert block.flags.c_contiguous
    np.testing.assert_array_equal(source.take([0, 7, 7, 100]), X[[0, 7, 7, 100]])


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_float32_where_all_columns_allow(make):
    small = {name: values for name, values in columns().items() if name in ("f32", "i8")}
    small["u16"] = np.arange(101, dtype=np.uint16) * 3
    small["f16"] = np.arange(101, dtype=np.float16) * 3
    if make is pl.DataFrame:
        del small["f16"]
    source = as_rows(make(small))
    assert source.dtype == np.float32
    np.testing.assert_array_equal(source.read(), stacked(small, np.float32))
    for wide in ("f64", "u64", "flag"):
        assert as_rows(make({**small, wide: columns()[wide]})).dtype == np.float64


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_empty_tables(make):
    for columns in ({"a": np.empty(0)}, {}):
        with pytest.raises(ValueError, match=r"0 (sample|feature)\(s\)"):
            as_rows(make(columns))


@pytest.mark.parametrize("make", [pd.DataFrame, pa.table])
def test_decimals(make):
    source = as_rows(make({"a": [decimal.Decimal("1.5"), decimal.Decimal("2.25")]}))
    np.testing.assert_array_equal(source.read(), [[1.5], [2.25]])


def test_pandas_column_types():
    frame = pd.DataFrame(
        {
            "nullable": pd.array([1, 2, 3], dtype="Int16"),
            "nullable float": pd.array([1.5, 2.5, 3.5], dtype="Float32"),
            "arrow": pd.array([4, 5, 6], dtype="int8[pyarrow]"),
            "sparse": pd.arrays.SparseArray(np.array([0, 0, 7], dtype=np.float32)),
        }
    )
    source = as_rows(frame)
    assert source.dtype == np.float32
    expected = np.array([[1, 1.5, 4, 0], [2, 2.5, 5, 0], [3, 3.5, 6, 7]], dtype=np.float32)
    np.testing.assert_array_equal(source.read(), expected)
    frame["object"] = np.array([1, 2.5, "3"], dtype=object)
    before = frame.copy()
    source = as_rows(frame)
    assert source.dtype == np.float64
    np.testing.assert_array_equal(source.take([2]), [[3, 3.5, 6, 7, 3]])
    pd.testing.assert_frame_equal(frame, before)


@pytest.mark.parametrize(
    "kind",
    [pd.CategoricalDtype([1, 2]), pd.IntervalDtype("float64"), "datetime64[ns, UTC]", "timedelta64[s]"],
)
def test_pandas_columns_that_look_like_numbers(kind):
    values = pd.Series([None, None], dtype=kind)
    with pytest.raises(ValueError, match="no columns of numbers or vectors to cluster: a"):
        as_rows(pd.DataFrame({"a": values}))


def test_pandas_labels_that_are_not_names():
    X = np.arange(6.0).reshape(3, 2)
    frame = pd.DataFrame(X, index=[5, 3, 1])
    assert as_rows(frame).column_names == ["0", "1"]
    np.testing.assert_array_equal(as_rows(frame).take([0, 2]), X[[0, 2]])
    frame.columns = ["a", "a"]
    np.testing.assert_array_equal(as_rows(frame).read(), X)


def test_arrow_chunks_and_batches():
    X = np.random.default_rng(0).normal(size=(30, 2))
    tables = [pa.table({"a": part[:, 0], "b": part[:, 1]}) for part in np.split(X, [3, 4, 20])]
    source = as_rows(pa.concat_tables(tables))
    for start, block in source.blocks(7):
        np.testing.assert_array_equal(block, X[start : start + 7])
    np.testing.assert_array_equal(source.take([2, 3, 25]), X[[2, 3, 25]])
    batch = tables[-1].to_batches()[0]
    np.testing.assert_array_equal(as_rows(batch).read(), X[20:])
