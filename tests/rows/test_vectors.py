"""Columns of vectors: the same rows, and the same bits of a fit, however they are stored."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import feather, parquet

from coterie.rows import as_rows, open_rows, prepare_rows
from tests.support.bits import same_bits

TYPES = ["float16", "float32", "int8", "uint8", "int64"]


def as_list(X, kind=pa.list_):
    if kind == "tensors":
        return pa.FixedShapeTensorArray.from_numpy_ndarray(X)
    values = pa.array(np.ascontiguousarray(X).ravel())
    if kind == "fixed":
        return pa.FixedSizeListArray.from_arrays(values, X.shape[1])
    offsets = np.arange(0, X.size + 1, X.shape[1])
    if kind == "large":
        return pa.LargeListArray.from_arrays(pa.array(offsets, pa.int64()), values)
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), values)


def table(X, kind="list", chunk=13):
    """A table as an embedding pipeline writes it, in several chunks that do not begin where their buffers do."""
    whole = pa.table({"id": [f"r{i}" for i in range(len(X))], "embedding": as_list(X, kind)})
    parts = [whole.slice(start, chunk) for start in range(0, len(X), chunk)]
    return pa.concat_tables(parts)


def pandas_cells(X):
    return pd.DataFrame({"id": [f"r{i}" for i in range(len(X))], "embedding": list(X)})


def in_parquet(X, folder):
    parquet.write_table(table(X), folder / "x.parquet", row_group_size=17)
    return open_rows(folder / "x.parquet")


def in_ipc(opened, kind):
    def store(X, folder):
        with opened(folder / "x.arrow", table(X, kind).schema) as writer:
            writer.write_table(table(X, kind))
        return open_rows(folder / "x.arrow")

    return store


# What else `fit` may be given, from an array of numbers and a folder.
STORAGES = {
    "arrow list": lambda X, folder: table(X),
    "arrow large list": lambda X, folder: table(X, "large"),
    "arrow fixed list": lambda X, folder: table(X, "fixed"),
    "arrow tensors": lambda X, folder: table(X, "tensors"),
    "arrow, one chunk": lambda X, folder: table(X, chunk=len(X)),
    "pandas cells": lambda X, folder: pandas_cells(X),
    "polars list": lambda X, folder: pl.from_arrow(table(X)),
    "polars array": lambda X, folder: pl.from_arrow(table(X, "fixed")),
    "parquet list": in_parquet,
    "arrow file": in_ipc(pa.ipc.new_file, "list"),
    "arrow stream": in_ipc(pa.ipc.new_stream, "fixed"),
}


def numbers(n_rows=61, n_columns=5, dtype="float64"):
    return (10 * np.random.default_rng(0).normal(size=(n_rows, n_columns))).astype(dtype)


@pytest.mark.parametrize(
    ("storage", "dtype"),
    [(storage, "float64") for storage in STORAGES]
    + [(storage, dtype) for storage in ("arrow list", "pandas cells") for dtype in TYPES],
)
def test_the_rows_are_those_of_an_array(storage, dtype, tmp_path):
    X = numbers(dtype=dtype)
    rows, plain = as_rows(STORAGES[storage](X, tmp_path)), as_rows(X)
    assert rows.shape == plain.shape
    assert rows.is_table
    assert rows.column_names == [f"embedding[{i}]" for i in range(5)]
    assert rows.chosen == ["embedding"]
    assert rows.metadata_columns.column_names == ["id"]
    for other in (rows, pickle.loads(pickle.dumps(rows))):
        for n in (1, 7, 40, 61):
            same_bits([block for _, block in other.blocks(n)], [block for _, block in plain.blocks(n)])
        for taken in ([0], [60], [0, 0, 12, 13, 14, 60], np.arange(61)):
            same_bits(other.take(taken), plain.take(taken))
    same_bits(rows.with_dtype(np.float32).read(), plain.with_dtype(np.float32).read())


@pytest.mark.parametrize("kind", ["list", "large", "fixed", "tensors"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_arrow_memory_is_not_copied(kind, dtype):
    X = numbers(dtype=dtype)
    whole = table(X, kind, chunk=100)
    rows = as_rows(whole)
    assert rows.in_memory
    assert np.shares_memory(rows.read(), X)
    assert all(np.shares_memory(block, X) for _, block in rows.blocks(7))
    later = as_rows(whole.slice(20))
    assert later.in_memory
    same_bits(later.read(), X[20:])
    other = np.float32 if dtype == "float64" else np.float64
    assert not as_rows(whole).with_dtype(other).in_memory
    same_bits(as_rows(table(X, kind)).read(), X)  # several chunks


def test_vectors_and_numbers_side_by_side(tmp_path):
    X = numbers()
    both = (
        table(X).append_column("weight", pa.array(X[:, 1])).append_column("other", as_list(X[:, :2], "fixed"))
    )
    parquet.write_table(both, tmp_path / "x.parquet")
    feather.write_feather(both, str(tmp_path / "x.feather"))
    expected = np.column_stack([X[:, 1], X[:, :2], X])
    columns = ["weight", "other", "embedding"]
    sources = [as_rows(frame, columns=columns) for frame in (both, both.to_pandas(), pl.from_arrow(both))]
    sources += [open_rows(tmp_path / name, columns) for name in ("x.parquet", "x.feather")]
    for rows in sources:
        assert rows.column_names[:4] == ["weight", "other[0]", "other[1]", "embedding[0]"]
        assert rows.metadata_columns.column_names == ["id"]
        same_bits(rows.read(), expected)
        same_bits(rows.take([3, 60]), expected[[3, 60]])


@pytest.mark.parametrize("row", [1, 30])
@pytest.mark.parametrize("bad", [[1.0], [1.0, 2, 3], []])
def test_vectors_of_other_lengths_are_named_by_row(bad, row, tmp_path):
    cells = [[1.0, 2.0] for _ in range(40)]
    cells[row] = bad
    cells[row + 5] = [9.0]
    whole = pa.table({"v": pa.array(cells, pa.list_(pa.float64()))})
    whole = pa.concat_tables([whole.slice(0, 25), whole.slice(25)])
    parquet.write_table(whole, tmp_path / "x.parquet", row_group_size=11)
    feather.write_feather(whole, str(tmp_path / "x.feather"), chunksize=11)
    arrays = [np.array(cell) for cell in cells]
    message = rf"same length, 2 as in row 0, but one has {len(bad)} numbers\. First bad row: {row}\."
    for frame in (whole, pd.DataFrame({"v": arrays}), pl.from_arrow(whole)):
        with pytest.raises(ValueError, match=message):
            as_rows(frame)
    for name in ("x.parquet", "x.feather"):
        with pytest.raises(ValueError, match=rf"Cannot read .*{name}: .*{message}"):
            open_rows(tmp_path / name)


def test_missing_vectors_are_missing_numbers(tmp_path):
    for kind in (pa.list_(pa.float64(), 2), pa.list_(pa.float64())):
        whole = pa.table({"v": pa.array([[1.0, 2], [3, 4], None, [5, 6]], kind)})
        tables = [whole, pl.from_arrow(whole)]
        if not pa.types.is_fixed_size_list(kind):  # which pyarrow writes with nulls from 22 on
            parquet.write_table(whole, tmp_path / "x.parquet")
            tables.append(tmp_path / "x.parquet")
        for table in tables:
            with pytest.raises(ValueError, match=r"contains NaN\. First bad row: 2"):
                prepare_rows(table).read()
            assert prepare_rows(table, missing="mean").read()[2].tolist() == [3, 4]
            with pytest.warns(UserWarning, match="Left out 1 of 4 rows"):
                assert prepare_rows(table, missing="drop").shape == (3, 2)


def test_shards_of_vectors(tmp_path):
    X = numbers()
    for number, part in enumerate(np.split(X, [20, 21])):
        parquet.write_table(table(part), tmp_path / f"{number}.parquet")
    rows = open_rows(tmp_path)
    same_bits(rows.read(), X)
    parquet.write_table(table(X[:, :4]), tmp_path / "3.parquet")
    with pytest.raises(ValueError, match=r"3\.parquet: its columns are not those of .*0\.parquet"):
        open_rows(tmp_path)
