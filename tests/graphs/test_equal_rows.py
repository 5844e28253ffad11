import numpy as np
from hypothesis import given

from coterie.graphs.equal_rows import equal_rows, find_rows
from tests.density.examples import rows


@given(rows())
def test_equal_rows_against_comparison(X):
    equal = equal_rows(X)
    assert np.array_equal(X[equal.first][equal.places], X)
    assert len(np.unique(X, axis=0)) == len(equal.first)
    assert np.array_equal(np.sort(equal.first), equal.first)
    assert np.array_equal(equal.counts, np.bincount(equal.places))
    assert np.array_equal(find_rows(X[equal.first], X), equal.places)


def test_equal_rows_of_one_hash_are_compared(monkeypatch):
    monkeypatch.setattr(
        "coterie.graphs.equal_rows.row_hashes", lambda rows: np.zeros(len(rows), dtype=np.uint64)
    )
    X = np.array([[1.0, 2], [3, 4], [1, 2], [5, 6], [3, 4]])
    assert equal_rows(X).places.tolist() == [0, 1, 0, 2, 1]
    assert find_rows(X[[0, 1, 3]], np.array([[5.0, 6], [0, 0]])).tolist() == [2, -1]


def test_rows_of_minus_zero_equal_rows_of_zero():
    assert equal_rows(np.array([[0.0, 1], [-0.0, 1]])).places.tolist() == [0, 0]
