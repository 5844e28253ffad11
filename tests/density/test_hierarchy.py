import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.cluster import HDBSCAN
from sklearn.datasets import load_iris
from sklearn.metrics import adjusted_rand_score

from coterie.density.hierarchy import LeafTree, Split, merge_tree
from coterie.density.solver import DensityOptions, density_clusters
from tests.density.examples import rows, tree_of
from tests.reference import density as reference


def leaf_tree(X, min_samples):
    tree = tree_of(X, min_samples, 5)
    return LeafTree(merge_tree(tree.firsts, tree.seconds, tree.heights), min_samples)


def sets_of(labels):
    return {
        frozenset(np.flatnonzero(labels == label).tolist()) for label in range(labels.max(initial=-1) + 1)
    }


def on_a_grid(X):
    """Return rows of a few integers, for which heights that are equal have equal bits in the oracle, too."""
    return np.round(4 * X)


@given(rows(most=22), st.integers(1, 6))
def test_leaves_against_the_oracle(X, min_samples):
    X = on_a_grid(X)
    leaves, (reach, _) = leaf_tree(X, min_samples), reference.mutual_reachability(X, min_samples)
    for size in range(max(2, min_samples), len(X) + 1):
        found = leaves.cut(leaves.leaves(size), size)
        expected = reference.leaves(reach, size)
        assert sets_of(found.labels) == set(expected)
        for label, end in enumerate(found.ends):
            rows_of = frozenset(np.flatnonzero(found.labels == label).tolist())
            np.testing.assert_allclose(end, expected[rows_of])


@settings(max_examples=20)
@given(rows(most=16), st.integers(1, 6))
def test_persistences_against_the_oracle(X, min_samples):
    X = on_a_grid(X)
    leaves, (reach, _) = leaf_tree(X, min_samples), reference.mutual_reachability(X, min_samples)
    expected = reference.persistences(reach, min_samples)
    found = dict.fromkeys(expected, 0.0)
    for size in found:
        place = np.searchsorted(leaves.least_sizes, size, side="right") - 1
        if leaves.leaves(size).any():
            found[size] = leaves.persistences[place]
    np.testing.assert_allclose(list(found.values()), list(expected.values()), atol=1e-9)


@given(rows(most=22), st.integers(1, 5), st.integers(2, 7))
def test_excess_of_mass_against_the_oracle(X, min_samples, size):
    X = on_a_grid(X)
    leaves, (reach, _) = leaf_tree(X, min_samples), reference.mutual_reachability(X, min_samples)
    found = leaves.cut(leaves.tree.condensed(size).excess_of_mass(), size)
    assert sets_of(found.labels) == set(reference.excess_of_mass(reach, size))


def test_labels_equal_those_of_scikit_learn_where_no_heights_are_equal():
    # Without core distances all heights of these rows differ.
    X = np.random.default_rng(0).normal(size=(600, 3))
    for size in (2, 5, 20):
        for selection in ("eom", "leaf"):
            options = DensityOptions(min_samples=1, min_cluster_size=size, selection=selection)
            theirs = HDBSCAN(
                min_samples=1, min_cluster_size=size, cluster_selection_method=selection, copy=True
            )
            own = density_clusters(X, options).cut.labels
            assert adjusted_rand_score(own, theirs.fit(X).labels_) == 1.0
            assert np.array_equal(own < 0, theirs.labels_ < 0)


@given(rows(), st.integers(1, 6), st.randoms(use_true_random=False))
def test_no_order_of_the_rows_changes_clusters(X, min_samples, random):
    order = np.arange(len(X))
    random.shuffle(order)
    options = DensityOptions(min_samples=min_samples, space="rows")
    one, other = (density_clusters(np.ascontiguousarray(part), options) for part in (X, X[order]))
    assert one.sizes.tolist() == other.sizes.tolist()
    assert sets_of(one.cut.labels[order]) == sets_of(other.cut.labels)


@given(rows(most=22), st.integers(1, 4), st.integers(1, 5), st.floats(0.5, 4), st.floats(0, 2))
def test_splits_by_contrast_against_the_oracle(X, min_samples, size, dimension, least_contrast):
    X = on_a_grid(X)
    reach, cores = reference.mutual_reachability(X, min_samples)
    tree = leaf_tree(X, min_samples).tree
    split = Split(dimension, least_contrast)
    tops = np.flatnonzero(tree.separated(cores, split, size).is_top[:-1])
    found = {
        frozenset(
            np.flatnonzero(tree.nearest_marked(np.arange(len(tree.parents)) == top)[: len(X)] >= 0).tolist()
        )
        for top in tops
    }
    assert found == set(reference.dense_sides(reach, cores, size, dimension, least_contrast))


def test_the_condensed_tree_has_the_clusters_of_its_size():
    X = np.ascontiguousarray(load_iris().data)
    leaves = leaf_tree(X, 5)
    records = leaves.tree.condensed(10).records()
    clusters = records[records["child_size"] > 1]
    assert clusters["child"].min() > len(X) == records["parent"].min()
    assert np.array_equal(np.sort(records["child"][records["child_size"] == 1]), np.arange(len(X)))
    for cluster in clusters:
        inside = records[records["parent"] == cluster["child"]]
        assert inside["child_size"].sum() == cluster["child_size"]
        assert inside["lambda_val"].min() >= cluster["lambda_val"]
