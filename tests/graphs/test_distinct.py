"""The neighbor graph of distinct rows: ties, masses, and the order of the rows."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie.graphs import graph_of_neighbors, nearest_neighbors
from coterie.graphs.distinct import Vertices, neighbors_with_ties
from coterie.graphs.matrices import connected_components


@st.composite
def discrete_rows(draw):
    """Columns of 2 to 7 levels, sometimes of a few distinct rows many times."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, d, levels = draw(st.integers(3, 120)), draw(st.integers(1, 6)), draw(st.integers(2, 7))
    X = rng.integers(0, levels, (n, d)).astype(draw(st.sampled_from([np.float32, np.float64])))
    if draw(st.booleans()):
        X = X[rng.integers(0, max(2, n // 5), n)]
    return X


def _search(points, m):
    return neighbors_with_ties(points, m, random_state=0, n_threads=1)


def _sets(ids):
    return [set(row[row >= 0].tolist()) for row in ids]


@settings(deadline=None, max_examples=60)
@given(discrete_rows(), st.integers(1, 9), st.booleans())
def test_ties_against_all_distances(X, m, is_sparse):
    points = np.unique(X, axis=0)
    if len(points) < 2:
        return
    m = min(m, len(points) - 1)
    ids, squares = _search(sp.csr_array(points) if is_sparse else points, m)
    everything = ((points[:, None] - points[None]) ** 2).sum(axis=2).astype(np.float64)
    np.fill_diagonal(everything, np.inf)
    for row, found, lengths in zip(everything, _sets(ids), squares):
        last = np.sort(row)[m - 1]
        nearer, within = set(np.flatnonzero(row < last)), set(np.flatnonzero(row <= last))
        assert nearer <= found <= within
        assert len(found) == min(len(within), 2 * m)
        assert np.all(np.diff(lengths[np.isfinite(lengths)]) >= 0)


@settings(deadline=None, max_examples=60)
@given(discrete_rows(), st.integers(1, 9), st.integers(0, 2**32 - 1))
def test_the_order_of_the_rows_does_not_change_the_graph(X, m, seed):
    order = np.random.default_rng(seed).permutation(len(X))
    edges = []
    for rows in (X, X[order]):
        vertices = Vertices.of(rows)
        if len(vertices.rows) < 2:
            return
        found = _search(vertices.rows, vertices.n_neighbors(m, 3))
        graph = vertices.weighted(graph_of_neighbors(*found, weights="self-tuning")).tocoo()
        ends = vertices.rows[graph.row], vertices.rows[graph.col]
        edges.append({(*a, *b): w for a, b, w in zip(*(end.tolist() for end in ends), graph.data)})
    assert edges[0].keys() == edges[1].keys()
    assert all(np.isclose(edges[1][ends], weight) for ends, weight in edges[0].items())


def test_without_ties_lists_are_those_of_the_search():
    X = np.random.default_rng(0).normal(size=(500, 5))
    ids, squares = _search(X, 7)
    expected = nearest_neighbors(X, 7)
    np.testing.assert_array_equal(ids, expected.ids)
    np.testing.assert_array_equal(squares, expected.square_distances)


def test_a_few_of_many_ties_are_drawn_without_hubs():
    points = np.eye(300)  # all at the same distance
    ids, _ = _search(points, 5)
    assert all(len(found) == 10 for found in _sets(ids))
    assert np.bincount(ids.ravel()).max() < 60
    assert not connected_components(graph_of_neighbors(ids, np.ones(ids.shape))).any()


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_vertices_are_the_distinct_rows(kind):
    X = np.array([[2.0, 0], [0, 1], [2, 0], [0, 0], [0, 1], [2, 0]])
    vertices = Vertices.of(kind(X))
    assert vertices.places.tolist() == [0, 1, 0, 2, 1, 0]
    assert vertices.masses.tolist() == [3, 2, 1]
    assert vertices.first_rows.tolist() == [0, 1, 3]
    assert Vertices.of(kind(X[:2])).places is None


def test_edges_weigh_as_many_rows_as_are_at_the_heavier_end():
    vertices = Vertices.of(np.array([[0.0], [0], [0], [1], [2], [2]]))
    graph = sp.csr_array(np.array([[0, 0.5, 0], [0.5, 0, 1], [0, 1, 0]]))
    assert vertices.weighted(graph).toarray().tolist() == [[0, 1.5, 0], [1.5, 0, 2], [0, 2, 0]]


def test_split_vertices_have_edges_for_each_row():
    X = np.repeat(np.arange(4.0), [1, 5, 30, 2])[:, None]
    vertices = Vertices.of(X)
    graph = graph_of_neighbors(*_search(vertices.rows, 2))
    split = vertices.split(graph, 3)
    assert (split != split.T).nnz == 0
    assert split.diagonal().sum() == 0
    assert not connected_components(split).any()
    assert np.diff(split.indptr).min() >= 2
    assert split.nnz < 2 * 8 * len(X)
    leads = graph[vertices.places][:, vertices.places] + sp.csr_array(X == X.T)
    assert np.all(leads.toarray()[split.nonzero()] > 0)
