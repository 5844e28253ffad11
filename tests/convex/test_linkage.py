"""The tree of a path, as SciPy knows trees."""

import numpy as np
from scipy.cluster.hierarchy import fcluster, is_valid_linkage

from coterie import ConvexClusterPath
from coterie.convex.linkage import cut_between, linkage_of_path, longest_lived, n_splits


def test_the_tree_is_one_of_scipy(moons):
    path = ConvexClusterPath(n_gammas=30, n_neighbors=10, connect=True).fit(moons)
    assert path.linkage_.shape == (299, 4)
    assert is_valid_linkage(path.linkage_)
    assert np.all(np.diff(path.linkage_[:, 2]) >= 0)
    if not path.n_splits_.any():
        for number in (10, 20, 29):
            cut = fcluster(path.linkage_, path.gammas_[number], "distance")
            assert len(np.unique(cut)) == path.n_clusters_path_[number]


def test_splits_are_counted():
    labels = np.array([[0, 1, 2, 3], [0, 0, 1, 2], [0, 1, 1, 2]], dtype=np.int32)
    assert n_splits(labels[0], labels[1]) == 0
    assert n_splits(labels[1], labels[2]) == 1
    edges = np.array([[0, 1], [1, 2], [2, 3]])
    tree = linkage_of_path(np.array([0.0, 1.0, 2.0]), labels, edges)
    np.testing.assert_array_equal(tree[:, 2], [1.0, 2.0, 2.5])
    np.testing.assert_array_equal(tree[:, 3], [2, 3, 4])


def test_cuts_between_two_gammas():
    finer = np.array([0, 0, 1, 2, 3, 4], dtype=np.int32)
    coarser = np.array([0, 0, 0, 0, 1, 1], dtype=np.int32)
    edges = np.array([[0, 2], [1, 2], [2, 3], [3, 4], [4, 5]])
    lengths = np.array([5.0, 2.0, 1.0, 0.1, 3.0])  # the edge from 3 to 4 stays: its ends do not fuse here
    np.testing.assert_array_equal(cut_between(finer, coarser, edges, lengths, 4), [0, 0, 1, 1, 2, 3])
    np.testing.assert_array_equal(cut_between(finer, coarser, edges, lengths, 3), [0, 0, 0, 0, 1, 2])
    np.testing.assert_array_equal(cut_between(finer, coarser, edges, 0 * lengths, 3), [0, 0, 0, 0, 1, 2])


def test_longest_lived_number_of_clusters():
    assert longest_lived(np.array([0.0, 1.0, 2.0, 3.0, 300.0]), np.array([50, 4, 4, 3, 1])) == 3
    assert longest_lived(np.array([0.0, 1.0]), np.array([50, 1])) == 1
