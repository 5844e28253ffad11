"""The steps of multilevel partitions against a plain version, and laws of whole partitions."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import tests.reference.multilevel as oracle
from coterie import _kernels
from coterie.fitting.deadline import Deadline, OutOfTime
from coterie.graphs import knn_graph
from coterie.multilevel.solver import (
    INFORMATION,
    CoarseGraph,
    Objective,
    aggregation_levels,
    merged,
    multilevel_partition,
    order_of_levels,
    partition_of_levels,
    refined,
    refined_by_groups,
)

kinds = st.sampled_from(["information", "modularity", "normalized_association"])


@st.composite
def adjacencies(draw, most=14):
    """Symmetric weights without ties, some of them loops; seldom connected where there are few."""
    n = draw(st.integers(2, most))
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    W = np.where(random.random((n, n)) < draw(st.sampled_from([0.1, 0.3, 0.8])), random.random((n, n)), 0.0)
    W = W + W.T
    return W if W.sum() > 0 else W + np.ones((n, n))


def labels_of(W, k, seed):
    random = np.random.default_rng(seed)
    labels = np.concatenate([np.arange(k), random.integers(0, k, len(W) - k)])
    return random.permutation(labels).astype(np.int32)


@given(W=adjacencies(), kind=kinds, data=st.data())
def test_objective_of_a_plain_version(W, kind, data):
    k = data.draw(st.integers(1, len(W)))
    labels = labels_of(W, k, data.draw(st.integers(0, 9)))
    found = Objective(kind, 1.5).value(CoarseGraph(sp.csr_array(W)), labels, k)
    assert found == pytest.approx(oracle.objective(kind, W, labels, 1.5), abs=1e-12)


@given(W=adjacencies(), kind=kinds, data=st.data(), may_empty=st.booleans())
def test_refinement_of_a_plain_version(W, kind, data, may_empty):
    k = data.draw(st.integers(1, len(W)))
    labels = labels_of(W, k, data.draw(st.integers(0, 9)))
    found = refined(CoarseGraph(sp.csr_array(W)), Objective(kind, 1.5), labels, k, may_empty=may_empty)
    np.testing.assert_array_equal(found, oracle.refined(kind, W, labels, 1.5, may_empty))
    assert found.dtype == np.int32


@given(W=adjacencies(), kind=kinds, data=st.data())
def test_merges_of_a_plain_version(W, kind, data):
    k = data.draw(st.integers(1, len(W)))
    found = merged(CoarseGraph(sp.csr_array(W)), Objective(kind, 1.5), k)
    np.testing.assert_array_equal(found, oracle.merged(kind, W, k, 1.5))


@given(W=adjacencies(), data=st.data())
def test_aggregated_graphs_have_the_same_objective(W, data):
    k = data.draw(st.integers(1, len(W)))
    labels, graph = labels_of(W, k, data.draw(st.integers(0, 9))), CoarseGraph(sp.csr_array(W))
    coarse = graph.aggregated(labels, k)
    each = np.arange(k, dtype=np.int32)
    assert coarse.volume == pytest.approx(graph.volume)
    found = INFORMATION.value(coarse, each, k)
    assert found == pytest.approx(INFORMATION.value(graph, labels, k), abs=1e-12)


@given(W=adjacencies(most=40), data=st.data())
def test_partitions_have_no_empty_cluster_and_no_move_raises_their_objective(W, data):
    np.fill_diagonal(W, 0)
    k = data.draw(st.integers(1, len(W)))
    graph = CoarseGraph(sp.csr_array(W))
    labels, is_unequal = partition_of_levels(*aggregation_levels(graph, k), k)
    np.testing.assert_array_equal(np.unique(labels), np.arange(k))
    if W.sum() == 0:
        return
    kind = "normalized_association" if is_unequal else "information"
    np.testing.assert_array_equal(oracle.refined(kind, W, labels), labels)
    found, value = multilevel_partition(sp.csr_array(W), k)
    np.testing.assert_array_equal(found, labels)
    assert value == pytest.approx(oracle.objective("information", W, labels), abs=1e-12)


def test_groups_of_nodes_move_together():
    # A clique of four, with more edges to the first clique, and in the cluster of the second one.
    W = cliques(8, 8, 4).toarray()
    W[16:, :8] = W[:8, 16:] = 0.2
    W[16:, 8:16] = W[8:16, 16:] = 0.05
    graph, labels = CoarseGraph(sp.csr_array(W)), np.repeat([0, 1, 1], [8, 8, 4]).astype(np.int32)
    np.testing.assert_array_equal(refined(graph, INFORMATION, labels, 2), labels)
    assert refined_by_groups(graph, labels, 2).tolist() == [0] * 8 + [1] * 8 + [0] * 4


def test_ties_go_to_the_lower_cluster():
    # Vertex 2 has one edge to each of two equal pairs.
    edges = [(0, 1), (3, 4), (2, 0), (2, 3), (2, 5), (5, 6), (6, 7), (5, 7)]
    W = np.zeros((8, 8))
    for i, j in edges:
        W[i, j] = W[j, i] = 1
    labels = np.array([0, 0, 2, 1, 1, 2, 2, 2], dtype=np.int32)
    W[2, 5] = W[5, 2] = 0
    found = refined(CoarseGraph(sp.csr_array(W)), INFORMATION, labels, 3)
    assert found.tolist() == [0, 0, 0, 1, 1, 2, 2, 2]


def cliques(*sizes):
    return sp.csr_array(sp.block_diag([np.ones((size, size)) - np.eye(size) for size in sizes]))


def test_components_are_clusters_and_the_smallest_of_too_many_merge():
    assert multilevel_partition(cliques(5, 9, 4, 6), 4)[0].tolist() == [0] * 5 + [1] * 9 + [2] * 4 + [3] * 6
    assert multilevel_partition(cliques(5, 9, 2, 3), 3)[0].tolist() == [0] * 5 + [1] * 9 + [2] * 5


@pytest.mark.parametrize("k", [1, 3, 7])
def test_graphs_without_edges(k):
    labels, value = multilevel_partition(sp.csr_array((7, 7)), k)
    assert len(np.unique(labels)) == k
    assert value == 0


def test_units_of_weights_make_no_difference():
    W = np.random.default_rng(0).random((80, 80)) * (np.random.default_rng(1).random((80, 80)) < 0.1)
    W = W + W.T
    labels, value = multilevel_partition(sp.csr_array(W), 5)
    for unit in (2.0**-60, 2.0**60):
        again, same = multilevel_partition(sp.csr_array(W * unit), 5)
        np.testing.assert_array_equal(again, labels)
        assert same == value


def test_levels_end_at_enough_nodes():
    ring = sp.csr_array(np.roll(np.eye(400), 1, axis=1) + np.roll(np.eye(400), -1, axis=1))
    levels, nodes_of = aggregation_levels(CoarseGraph(ring), 3)
    assert [graph.n_nodes for graph in levels] == sorted((graph.n_nodes for graph in levels), reverse=True)
    assert 24 <= levels[-1].n_nodes < 400
    for graph, coarse, nodes in zip(levels, levels[1:], nodes_of):
        assert nodes.shape == (graph.n_nodes,)
        np.testing.assert_array_equal(np.unique(nodes), np.arange(coarse.n_nodes))


@pytest.mark.parametrize("n", [1, 7, 3000])
def test_neighbors_are_close_in_the_order_of_the_levels(n):
    graph = knn_graph(np.random.default_rng(0).random((n, 2)), 8) if n > 8 else sp.csr_array((n, n))
    order = order_of_levels(n, aggregation_levels(CoarseGraph(graph), 2)[1])
    place = np.empty(n, dtype=int)
    place[order] = np.arange(n)
    np.testing.assert_array_equal(np.sort(order), np.arange(n))
    heads, tails = graph.nonzero()
    assert not len(heads) or np.mean(place[heads] // 500 != place[tails] // 500) < 0.3


def test_wrong_arrays_are_errors():
    starts, columns, weights, loops = (
        np.array([0, 1, 2]), np.array([1, 0], dtype=np.int32), np.ones(2), np.zeros(2),
    )  # fmt: skip
    graph = _kernels.node_graph(starts, columns, weights, loops, 2.0)
    for wrong in (
        (starts, columns[::-1].copy(), weights, loops, 2.0),
        (starts, columns + 1, weights, loops, 2.0),
        (starts, columns, weights * 0, loops, 2.0),
        (starts, columns, weights, loops, 0.0),
        (starts[:2].copy(), columns, weights, loops, 2.0),
    ):
        with pytest.raises(ValueError, match="kernel"):
            _kernels.node_graph(*wrong)
    with pytest.raises(ValueError, match="out of range"):
        _kernels.merge_nodes(graph, 0, 1.0, 3, np.empty(2, dtype=np.int32))
    clusters, sizes, waits = np.ones((2, 2)), np.ones(2, dtype=np.int64), np.ones(2, dtype=np.uint8)
    with pytest.raises(ValueError, match="label"):
        _kernels.move_nodes(graph, 0, 1.0, False, np.array([0, 2], dtype=np.int32), waits, clusters, sizes)


def test_a_partition_ends_at_its_deadline():
    graph = knn_graph(np.random.default_rng(0).normal(size=(200, 2)), 5)
    with pytest.raises(OutOfTime):
        multilevel_partition(graph, 4, deadline=Deadline(0.0))
    assert np.array_equal(
        multilevel_partition(graph, 4, deadline=Deadline(600.0))[0], multilevel_partition(graph, 4)[0]
    )
