"""Lists of nearest rows that are merged."""

import numpy as np
import pytest

from coterie.graphs.worker_neighbors import Nearest, NearestOfSome


def drawn_lists(n_queries, n_rows, seed):
    """Return numbers and squared distances of rows, with ties, those of each query ascending."""
    random = np.random.default_rng(seed)
    squares = random.integers(0, 9, size=(n_queries, n_rows)).astype(np.float64)
    ids = np.array([random.permutation(100)[:n_rows] for _ in range(n_queries)], dtype=np.int32)
    order = np.lexsort((ids, squares), axis=1)
    return np.take_along_axis(ids, order, axis=1), np.take_along_axis(squares, order, axis=1)


def nearest_of(ids, squares, n_neighbors):
    """Return the nearest rows, ties in the order of their numbers."""
    pairs = [sorted(zip(*line))[:n_neighbors] for line in zip(squares.tolist(), ids.tolist())]
    return np.array([[row for _, row in line] for line in pairs])


@pytest.mark.parametrize("seed", range(3))
def test_merged_lists_have_the_nearest_rows(seed):
    ids, squares = drawn_lists(20, 12, seed)
    lists = [Nearest(20, 4, np.float64), Nearest(20, 4, np.float64)]
    for found, part in zip(lists, (slice(0, 7), slice(7, 12))):
        found.add(slice(None), ids[:, part], squares[:, part])
    lists[0].merge(lists[1])
    np.testing.assert_array_equal(lists[0].ids, nearest_of(ids, squares, 4))


@pytest.mark.parametrize("seed", range(3))
def test_merged_lists_of_some_queries_have_the_nearest_rows(seed):
    ids, squares = drawn_lists(20, 4, seed)
    others, their_squares = drawn_lists(20, 4, seed + 10)
    others += 100
    lists = [NearestOfSome(4, np.float64), NearestOfSome(4, np.float64)]
    lists[0].add(np.arange(0, 15), ids[:15], squares[:15])
    lists[1].add(np.arange(5, 20), others[5:], their_squares[5:])
    lists[0].merge(lists[1])
    both = np.hstack([ids, others]), np.hstack([squares, their_squares])
    expected = np.vstack([ids[:5], nearest_of(*both, 4)[5:15], others[15:]])
    np.testing.assert_array_equal(lists[0].numbers, np.arange(20))
    np.testing.assert_array_equal(lists[0].nearest.ids, expected)
