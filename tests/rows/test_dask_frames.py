"""Dask data frames: rows of all partitions in order, computed when they are read."""

import pickle

import numpy as np
import pandas as pd
import pytest

from coterie.rows import as_rows
from tests.support.bits import same_bits

dataframe = pytest.importorskip("dask.dataframe")


def numbers(n_rows=61):
    return np.random.default_rng(0).normal(size=(n_rows, 4)).astype(np.float32)


def frame_of(X, **more):
    return pd.DataFrame({f"e{i}": X[:, i] for i in range(X.shape[1])} | more)


def test_numbers():
    X = numbers()
    lazy = dataframe.from_pandas(frame_of(X, place=["Rome"] * 61), npartitions=4)
    rows = as_rows(lazy, columns="e*")
    for other in (rows, pickle.loads(pickle.dumps(rows))):
        assert other.column_names == ["e0", "e1", "e2", "e3"]
        assert other.is_table
        for n in (1, 7, 40, 61):
            same_bits([block for _, block in other.blocks(n)], [block for _, block in as_rows(X).blocks(n)])
        same_bits(other.take([0, 15, 16, 16, 60]), X[[0, 15, 16, 16, 60]])
    assert rows.metadata_columns["place"].to_pylist() == ["Rome"] * 61
    assert as_rows(lazy).column_names == rows.column_names
    with pytest.raises(ValueError, match="columns that are not numbers: 'place'"):
        as_rows(lazy, columns=["e0", "place"])


def test_partitions_without_rows():
    X = numbers()
    lazy = dataframe.from_pandas(frame_of(X), npartitions=4)
    some = X[:, 0] > 1
    same_bits(as_rows(lazy[lazy["e0"] > 1]).read(), X[some])
    first = as_rows(lazy.loc[50:])
    same_bits(first.read(), X[50:])
    with pytest.raises(ValueError, match=r"0 sample\(s\)"):
        as_rows(lazy[lazy["e0"] > 100])


def test_each_partition_is_computed_once():
    computed = []

    def note(part):
        if len(part):
            computed.append(len(part))
        return part

    frame = frame_of(numbers())
    lazy = dataframe.from_pandas(frame, npartitions=3).map_partitions(note, meta=frame.iloc[:0])
    computed.clear()
    list(as_rows(lazy).blocks(5))
    assert sum(computed) == 61
