"""Streams and arrays of Arrow's C interface."""

import gc
import os
import pickle

import numpy as np
import pyarrow
import pytest

from coterie import KMeans, results_table
from coterie.rows import as_rows
from tests.rows.formats import numbers
from tests.support.bits import same_bits, same_fits

N_ROWS = 300


def table(batch_rows=70):
    vectors = pyarrow.array(list(numbers(N_ROWS).astype(np.float32)), pyarrow.list_(pyarrow.float32()))
    whole = pyarrow.table({"id": [f"r{i}" for i in range(N_ROWS)], "embedding": vectors})
    return pyarrow.Table.from_batches(whole.to_batches(batch_rows))


class Stream:
    """A table of a library that nobody here knows, which gives its rows again and again."""

    def __init__(self, table):
        self._table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return getattr(self._table, "to_reader", lambda: self._table)().__arrow_c_stream__(requested_schema)


class Batch:
    """The same of a single batch."""

    def __init__(self, table):
        self._batch = table.combine_chunks().to_batches()[0]

    def __arrow_c_array__(self, requested_schema=None):
        return self._batch.__arrow_c_array__(requested_schema)


@pytest.fixture
def spool(tmp_path, monkeypatch):
    """Streams of any size are written to this folder."""
    folder = tmp_path / "spool"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    for name in ("_SMALL_BYTES", "_METADATA_BYTES"):
        monkeypatch.setattr(f"coterie.rows.landing.{name}", 500)
    monkeypatch.setattr("coterie.rows.landing.available_memory", lambda: 2_000)
    return folder


KINDS = [Stream, Batch, pyarrow.Table.to_reader]


@pytest.mark.parametrize("kind", KINDS)
def test_rows_of_a_stream(kind):
    rows = as_rows(kind(table()))
    assert rows.description == "Arrow stream"
    assert rows.column_names[1] == "embedding[1]"
    same_bits(rows.read(), numbers(N_ROWS).astype(np.float32))
    same_bits(rows.take([5, 299]), numbers(N_ROWS).astype(np.float32)[[5, 299]])
    assert rows.metadata_columns["id"].to_pylist()[-1] == "r299"


@pytest.mark.parametrize("kind", KINDS)
def test_models(kind):
    model = KMeans(3, random_state=0).fit(kind(table()))
    same_fits(model, KMeans(3, random_state=0).fit(table()))
    same_bits(model.predict(kind(table())), model.labels_)
    assert results_table(model, kind(table())).column("id")[9].as_py() == "r9"


def test_a_long_stream_is_mapped(spool):
    rows = as_rows(table().to_reader())
    assert isinstance(rows.read().base, np.memmap)
    same_bits(rows.read(), numbers(N_ROWS).astype(np.float32))
    doubled = rows.with_dtype(np.float64)
    metadata = rows.metadata_columns
    del rows
    gc.collect()
    same_bits(doubled.take([7]), numbers(N_ROWS)[[7]].astype(np.float32).astype(np.float64))
    assert metadata["id"].to_pylist() == [f"r{i}" for i in range(N_ROWS)]
    same_bits(pickle.loads(pickle.dumps(doubled)).read(), doubled.read())
    assert os.listdir(spool) == []  # the files have no names


def test_a_stream_is_read_once():
    reader = table().to_reader()
    as_rows(reader)
    with pytest.raises(
        ValueError, match=r"X \(RecordBatchReader\) has no rows\. A stream can be read only once"
    ):
        as_rows(reader)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (Stream(pyarrow.chunked_array([[1.0]])), r"X \(Stream\) cannot be read as an Arrow table"),
        (Stream(pyarrow.table({"a": ["x"]})), "no columns of numbers"),
        (Stream(pyarrow.table({"a": [[1.0], [1.0, 2.0]]})), "First bad row: 1"),
        (Stream(pyarrow.table({"a": [1.0, None]})), "contains NaN"),
        (pyarrow.chunked_array([[1.0, 2.0]]), "Expected 2D array, got 1D array"),
    ],
)
def test_streams_without_numbers_are_refused(X, message):
    with pytest.raises(ValueError, match=message):
        as_rows(X).read()
