"""Graphs for a fit that is short of time."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from coterie.fitting.deadline import Deadline
from coterie.graphs.approximate import Aim, approximate_neighbors
from coterie.graphs.hurried import Pace, graph_with_followers, neighbors_in_time, rows_in_time


@pytest.fixture(scope="module")
def rows():
    return np.random.default_rng(0).normal(size=(3000, 24)).astype(np.float32)


def chosen(rows, seconds, needed=(), n_clusters=5):
    return rows_in_time(
        rows, n_clusters, 5, work=1e4, needed=np.array(needed, dtype=np.intp), random=np.random.RandomState(0),
        n_threads=1, deadline=Deadline(seconds),
    )  # fmt: skip


def test_all_rows_where_there_is_time(rows):
    assert chosen(rows, None) is None
    assert chosen(rows, 1000.0) is None
    assert chosen(rows[:50], 1e-9) is None  # they could not be fewer


def test_some_rows_where_there_is_none(rows):
    with pytest.warns(ConvergenceWarning, match="the clusters are those of 64 of the 3000 rows"):
        some = chosen(rows, 1e-9, needed=[2999, 7])
    assert len(some.ids) == 64
    assert some.seconds > 0
    assert {7, 2999} <= set(some.ids.tolist())
    assert np.all(np.diff(some.ids) > 0)


def test_no_more_than_half_are_those_that_are_needed(rows):
    with pytest.warns(ConvergenceWarning, match="of 80 of the 3000 rows"):
        some = chosen(rows, 1e-9, needed=np.arange(1000), n_clusters=20)
    assert np.count_nonzero(some.ids < 1000) < 70


def test_a_search_in_haste_keeps_to_its_work(rows):
    n_found = {}
    for most_work in (0.0, np.inf):
        aim = Aim(0.9, most_work=most_work)
        ids, squares, n_found[most_work] = approximate_neighbors(rows, None, 5, aim, 0, 1)
        assert np.all(np.diff(squares, axis=1) >= 0)
        assert np.all(ids != np.arange(len(rows))[:, None])
    assert n_found[0.0] < n_found[np.inf] - 0.1


def test_haste_says_how_many_were_found(rows, monkeypatch):
    monkeypatch.setattr(Pace, "of", classmethod(lambda cls, source, n_threads: cls(1.0, 1.0)))
    with pytest.warns(ConvergenceWarning, match=r"about \d+% of the 5 nearest rows of each were found"):
        ids, _ = neighbors_in_time(rows, 5, random_state=0, n_threads=1, phase=Deadline(0.1))
    assert ids.shape == (3000, 5)


@pytest.mark.parametrize("symmetrize", ["none", "mean", "max"])
def test_followers_join_the_graph(symmetrize):
    graph = sp.csr_array(np.array([[0, 2.0], [2, 0]], dtype=np.float32))
    some, others = np.array([1, 3]), np.array([0, 2])
    ids, weights = np.array([[0], [1]], dtype=np.int32), np.array([[4.0], [6.0]], dtype=np.float32)
    found = graph_with_followers(graph, some, others, ids, weights, symmetrize)
    there = np.zeros((4, 4))
    there[0, 1], there[2, 3] = 4, 6
    back = {"none": 0 * there, "mean": there.T, "max": there.T}[symmetrize]
    joined = (there + back) * (0.5 if symmetrize == "mean" else 1)
    joined[1, 3] = joined[3, 1] = 2
    np.testing.assert_array_equal(found.toarray(), joined)
    assert found.dtype == np.float32
    assert found.indices.dtype == np.int32
