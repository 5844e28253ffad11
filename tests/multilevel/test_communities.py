"""Communities of graphs: connected, optimal for single nodes, and the same on any number of threads."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csgraph

import coterie
from coterie.datasets import load_digits
from coterie.graphs import knn_graph
from coterie.metrics import clustering_accuracy
from coterie.multilevel.communities import communities


def modularity(graph, labels, resolution=1.0):
    """Newman and Girvan's, with a resolution, by definition."""
    W = np.asarray(graph.todense(), dtype=float)
    degrees = W.sum(axis=1)
    same = labels[:, None] == labels
    return float(np.sum((W - resolution * np.outer(degrees, degrees) / W.sum())[same]) / W.sum())


def potts(graph, labels, resolution):
    """The constant Potts model, by definition: weights inside less the resolution times the pairs."""
    W = np.triu(np.asarray(graph.todense(), dtype=float), 1)
    pairs = np.triu(labels[:, None] == labels, 1)
    return float(np.sum(W[pairs] - resolution))


ORACLES = {"modularity": modularity, "cpm": potts}


def sparse_graph(seed, n, degree, *, weighted):
    rng = np.random.default_rng(seed)
    ends = rng.integers(0, n, (2, n * degree // 2))
    ends = ends[:, ends[0] != ends[1]]
    weights = rng.uniform(0.1, 2, ends.shape[1]) if weighted else np.ones(ends.shape[1])
    half = sp.csr_array(sp.coo_array((weights, tuple(ends)), shape=(n, n)))
    return sp.csr_array(half + half.T)


def cliques(sizes, bridge=1.0):
    """A ring of cliques, each joined to the next one by an edge."""
    graph = sp.block_diag([np.ones((size, size)) - np.eye(size) for size in sizes], format="lil")
    starts = np.concatenate([[0], np.cumsum(sizes)])
    for a, b in zip(starts[:-1], [*starts[1:-1], 0]):
        graph[a, b] = graph[b, a] = bridge
    return sp.csr_array(graph)


def n_parts(graph, labels):
    heads, tails = graph.nonzero()
    inside = labels[heads] == labels[tails]
    kept = sp.coo_array((np.ones(inside.sum()), (heads[inside], tails[inside])), shape=graph.shape)
    return csgraph.connected_components(kept, directed=False)[0]


@settings(deadline=None, max_examples=60)
@given(
    seed=st.integers(0, 2**32 - 1), n=st.integers(2, 60), degree=st.integers(1, 8), weighted=st.booleans(),
    objective=st.sampled_from(["modularity", "cpm"]), resolution=st.floats(0.05, 3),
)  # fmt: skip
def test_communities_are_connected_and_no_move_of_a_node_is_better(
    seed, n, degree, weighted, objective, resolution
):
    graph = sparse_graph(seed, n, degree, weighted=weighted)
    if graph.nnz == 0:
        return
    oracle = ORACLES[objective]
    labels, value = communities(graph, resolution, objective)
    assert np.unique(labels, return_index=True)[1].tolist() == sorted(np.unique(labels, return_index=True)[1])
    assert value == pytest.approx(oracle(graph, labels, resolution), abs=1e-9)
    assert n_parts(graph, labels) == labels.max() + 1
    for node in range(n):
        for other in range(labels.max() + 2):
            moved = labels.copy()
            moved[node] = other
            assert oracle(graph, moved, resolution) <= value + 1e-8


@pytest.mark.parametrize("objective", ["modularity", "cpm"])
def test_threads_do_not_change_a_bit(objective):
    graph = sparse_graph(0, 20_000, 12, weighted=True)
    resolution = 1.0 if objective == "modularity" else 0.01
    alone = communities(graph, resolution, objective, n_threads=1)
    for n_threads in (2, 3, 5):
        labels, value = communities(graph, resolution, objective, n_threads=n_threads)
        np.testing.assert_array_equal(labels, alone[0])
        assert value == alone[1]


def test_cliques_are_found_and_merge_at_low_resolutions():
    sizes = [6, 8, 10, 7, 9, 6, 8, 10]
    graph, y = cliques(sizes), np.repeat(range(8), sizes)
    for objective, resolution in (("modularity", 1.0), ("cpm", 0.5)):
        assert clustering_accuracy(y, communities(graph, resolution, objective)[0]) == 1
    assert communities(graph, 0.01, "modularity")[0].max() == 0
    assert communities(graph, 3.0, "cpm")[0].tolist() == list(range(64))


def test_the_best_known_modularity_of_the_karate_club():
    # Zachary 1977; the optimum 0.41979 is that of Brandes et al. 2008.
    edges = """1-2 1-3 1-4 1-5 1-6 1-7 1-8 1-9 1-11 1-12 1-13 1-14 1-18 1-20 1-22 1-32 2-3 2-4 2-8 2-14 2-18 2-20 2-22
        2-31 3-4 3-8 3-9 3-10 3-14 3-28 3-29 3-33 4-8 4-13 4-14 5-7 5-11 6-7 6-11 6-17 7-17 9-31 9-33 9-34 10-34 14-34
        15-33 15-34 16-33 16-34 19-33 19-34 20-34 21-33 21-34 23-33 23-34 24-26 24-28 24-30 24-33 24-34 25-26 25-28
        25-32 26-32 27-30 27-34 28-34 29-32 29-34 30-33 30-34 31-33 31-34 32-33 32-34 33-34"""
    ends = np.array([pair.split("-") for pair in edges.split()], dtype=int).T - 1
    half = sp.csr_array(sp.coo_array((np.ones(ends.shape[1]), tuple(ends)), shape=(34, 34)))
    assert communities(sp.csr_array(half + half.T), 1.0, "modularity")[1] == pytest.approx(0.41979, abs=1e-5)


def test_the_scale_of_the_weights_does_not_matter():
    graph = sparse_graph(1, 300, 8, weighted=True)
    labels, value = communities(graph, 1.0, "modularity")
    other, same = communities(graph * 1024, 1.0, "modularity")
    np.testing.assert_array_equal(other, labels)
    assert same == pytest.approx(value)


def test_edges_do_without_communities():
    labels, value = communities(sp.csr_array((5, 5)), 1.0, "modularity")
    assert labels.tolist() == [0, 1, 2, 3, 4]
    assert value == 0


def test_digits_without_a_number_of_clusters():
    X, y = load_digits()
    model = coterie.MultilevelGraphClustering().fit(X)
    assert 9 <= model.n_clusters_ <= 13
    assert model.memberships_.shape == (len(X), model.n_clusters_)
    purity = sum(np.bincount(y[model.labels_ == c]).max() for c in range(model.n_clusters_)) / len(y)
    assert purity > 0.93
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    fine = coterie.MultilevelGraphClustering(resolution=4.0, n_threads=1).fit(X)
    assert fine.n_clusters_ > model.n_clusters_
    graph = knn_graph(X, 15, weights="binary")
    own = coterie.MultilevelGraphClustering(affinity="precomputed").fit(graph)
    assert own.objective_ == pytest.approx(modularity(graph, own.labels_))


def test_layers_from_fine_to_coarse():
    X = load_digits()[0]
    model = coterie.MultilevelGraphClustering(resolutions=[0.2, 5, 1]).fit(X)
    assert model.layer_resolutions_.tolist() == [5, 1, 0.2]
    counts = model.layers_.max(axis=1) + 1
    assert counts[0] > counts[1] > counts[2]
    for resolution, labels in zip(model.layer_resolutions_, model.layers_):
        assert n_parts(model.affinity_matrix_, labels[model.vertex_rows_]) == labels.max() + 1
        alone = coterie.MultilevelGraphClustering(resolution=resolution).fit(X)
        value = modularity(model.affinity_matrix_, labels[model.vertex_rows_], resolution)
        assert value > alone.objective_ - 0.005


@pytest.mark.parametrize("resolutions", [[], [1, -1], [[1.0]], "many", [np.nan]])
def test_wrong_resolutions(resolutions):
    with pytest.raises(ValueError, match="resolutions must be"):
        coterie.MultilevelGraphClustering(resolutions=resolutions).fit(np.eye(3))


def test_equal_rows_are_as_many_rows_of_the_potts_model():
    X = np.repeat(np.random.default_rng(0).normal(size=(60, 2)), 3, axis=0)
    model = coterie.MultilevelGraphClustering(objective="cpm", resolution=0.05, weights="binary").fit(X)
    pairs = np.triu(model.labels_[:, None] == model.labels_, 1).sum()
    graph = model.affinity_matrix_
    heads, tails = graph.nonzero()
    of_vertices = model.labels_[model.vertex_rows_]
    inside = graph.data[of_vertices[heads] == of_vertices[tails]].sum() / 2
    assert model.objective_ == pytest.approx(inside - 0.05 * pairs)
