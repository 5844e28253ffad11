"""Columns by position: right for dense and sparse rows, and the same bits however rows are read."""

import numpy as np
import pytest
import scipy.sparse as sp

from coterie.rows import as_rows
from coterie.rows.derived import NormalizedRows, SelectedColumns, part_of
from tests.support.bits import same_bits

CHOSEN = [4, 0, 2]


@pytest.fixture
def X():
    X = np.random.default_rng(0).normal(size=(1000, 5))
    X[::3, ::2] = 0
    return X


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.uint8])
@pytest.mark.parametrize("kind", [np.asfortranarray, np.ascontiguousarray, sp.csr_array, sp.csc_matrix])
def test_columns(X, dtype, kind):
    X = np.abs(X).astype(dtype)
    rows = SelectedColumns(as_rows(kind(X)), CHOSEN)
    expected = as_rows(kind(X[:, CHOSEN]))
    assert rows.shape == expected.shape
    same_bits(rows.read(), expected.read())
    for (start, block), (other_start, other) in zip(rows.blocks(333), expected.blocks(333), strict=True):
        assert start == other_start
        same_bits(block, other)
    some = [0, 5, 5, 17, 999]
    same_bits(rows.take(some), expected.take(some))
    same_bits(rows.with_dtype(np.float64).read(), expected.with_dtype(np.float64).read())


def test_names_and_steps(X):
    frame = pytest.importorskip("pandas").DataFrame(X, columns=list("abcde"))
    rows = NormalizedRows(SelectedColumns(as_rows(frame), CHOSEN))
    assert rows.column_names == ["e", "a", "c"]
    assert rows.preparation == (("columns", ["e", "a", "c"]), ("normalize",))
    assert SelectedColumns(as_rows(X), CHOSEN).preparation == (("columns", CHOSEN),)
    assert as_rows(X).preparation == ()


def test_selected_rows_know_their_source(X):
    frame = pytest.importorskip("pandas").DataFrame(X, columns=list("abcde"))
    rows = NormalizedRows(as_rows(frame))
    part = part_of(rows, rows.take([1, 2]))
    assert (part.column_names, part.preparation, part.is_table) == (list("abcde"), rows.preparation, True)
    same_bits(part.read(), rows.read()[1:3])
