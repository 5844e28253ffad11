"""Spanning trees of nearest neighbors, and the order of their nodes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csgraph
from scipy.spatial.distance import pdist, squareform

from coterie.graphs.spanning import near_rows, rooted_tree, spanning_tree
from tests.support.bits import same_bits


def tree_of(rows, n_neighbors, n_threads=1):
    found = near_rows(rows, n_neighbors, method="auto", seed=0, n_threads=n_threads)
    return spanning_tree(rows, found, n_threads=n_threads)


def is_tree(tree, n):
    graph = np.zeros((n, n))
    graph[tree.firsts, tree.seconds] = 1
    return len(tree.firsts) == n - 1 and csgraph.connected_components(graph, directed=False)[0] == 1


@given(st.integers(0, 10**6), st.integers(1, 60), st.sampled_from([1, 2, 3, 9]), st.integers(1, 6))
def test_against_the_tree_of_all_pairs(seed, n, d, n_groups):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, d)) + 100 * rng.integers(n_groups, size=(n, 1))
    tree = tree_of(rows, min(n - 1, 8))
    assert is_tree(tree, n)
    np.testing.assert_allclose(
        tree.squares, ((rows[tree.firsts] - rows[tree.seconds]) ** 2).sum(axis=1), rtol=1e-9
    )
    assert np.all(np.diff(tree.squares) >= 0)
    least = csgraph.minimum_spanning_tree(squareform(pdist(rows))).sum() if n > 1 else 0.0
    np.testing.assert_allclose(np.sqrt(tree.squares).sum(), least, rtol=1e-9)
    assert tree.is_exact


@pytest.mark.parametrize("d", [2, 8])
def test_far_groups_are_joined_once(d):
    rng = np.random.default_rng(0)
    places = np.array([0.0, 1e3, 3e3])
    labels = np.repeat([0, 1, 2], [2000, 1500, 30])
    rows = rng.normal(size=(len(labels), d))
    rows[:, 0] += places[labels]
    one, three = (tree_of(rows, 5, n_threads=n) for n in (1, 3))
    same_bits(list(one[:3]), list(three[:3]))
    assert is_tree(one, len(rows))
    between = labels[one.firsts] != labels[one.seconds]
    assert between.sum() == 2
    pairs = sorted(
        tuple(sorted((labels[i], labels[j]))) for i, j in zip(one.firsts[between], one.seconds[between])
    )
    assert pairs == [(0, 1), (1, 2)]
    shortest = ((rows[labels == 1][:, None] - rows[labels == 2][None]) ** 2).sum(axis=2).min()
    np.testing.assert_allclose(one.squares[between].max(), shortest, rtol=1e-9)


def test_equal_lengths_and_a_grid():
    rows = np.stack(np.meshgrid(*[np.arange(9.0)] * 2), axis=-1).reshape(-1, 2)
    tree = tree_of(rows, 4)
    assert is_tree(tree, 81)
    assert set(tree.squares) == {1.0}


@given(st.integers(0, 10**6), st.integers(1, 80))
def test_parents_come_before_their_children(seed, n):
    rng = np.random.default_rng(seed)
    parents = np.array([rng.integers(0, i) for i in range(1, n)], dtype=np.int64)
    names = rng.permutation(n).astype(np.int32)
    firsts, seconds = names[np.arange(1, n)], names[parents]
    found = rooted_tree(firsts, seconds)
    assert found.order[0] == 0
    assert sorted(found.order) == list(range(n))
    assert np.all(found.parents[1:] < np.arange(1, n))
    for place in range(1, n):
        edge = {int(firsts[found.edges[place]]), int(seconds[found.edges[place]])}
        assert edge == {int(found.order[place]), int(found.order[found.parents[place]])}


def test_edges_that_are_no_tree():
    with pytest.raises(ValueError, match="no tree"):
        rooted_tree(np.array([0, 0, 3], dtype=np.int32), np.array([1, 1, 2], dtype=np.int32))
