"""Some rows or columns: right for dense and sparse rows, in memory and from a temporary file."""

import numpy as np
import pytest
import scipy.sparse as sp

from coterie.rows import as_rows
from coterie.rows.derived import normalized, part_of, selected_columns, selected_rows
from tests.support.bits import same_bits

CHOSEN = [4, 0, 2]


@pytest.fixture
def X():
    X = np.random.default_rng(0).normal(size=(1000, 5))
    X[::3, ::2] = 0
    return X


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.uint8])
@pytest.mark.parametrize("kind", [np.asfortranarray, np.ascontiguousarray, sp.csr_array, sp.csc_matrix])
def test_selections(X, dtype, kind):
    X = np.abs(X).astype(dtype)
    numbers = np.flatnonzero(np.arange(len(X)) % 7 < 3)
    for rows, expected in (
        (selected_columns(as_rows(kind(X)), CHOSEN), as_rows(kind(X[:, CHOSEN]))),
        (selected_rows(as_rows(kind(X)), numbers), as_rows(kind(X[numbers]))),
    ):
        assert rows.shape == expected.shape
        same_bits(rows.read(), expected.read())
        same_bits(rows.with_dtype(np.float64).read(), expected.with_dtype(np.float64).read())


def test_names_and_steps(X):
    frame = pytest.importorskip("pandas").DataFrame(X, columns=list("abcde"))
    rows = normalized(selected_columns(as_rows(frame), CHOSEN))
    assert rows.column_names == ["e", "a", "c"]
    assert rows.preparation == (("columns", ["e", "a", "c"]), ("normalize",))
    assert selected_columns(as_rows(X), CHOSEN).preparation == (("columns", CHOSEN),)
    assert as_rows(X).preparation == ()


def test_parts_have_the_columns_of_the_whole(X):
    frame = pytest.importorskip("pandas").DataFrame(X, columns=list("abcde"))
    rows = normalized(as_rows(frame))
    part = part_of(rows, rows.take([1, 2]))
    assert (part.column_names, part.preparation, part.is_table) == (list("abcde"), rows.preparation, True)
    same_bits(part.read(), rows.read()[1:3])
