"""Modes of clusters, and the searches for them."""

import numpy as np
import pytest
import scipy.sparse as sp

from coterie.laplacian_kmodes.memberships import GraphMemberships
from coterie.laplacian_kmodes.modes import KernelModes, Modes, VectorModes, surest_members

KERNEL = np.array([[0.0, 0.5, 0.1, 0], [0.5, 0, 0.2, 0], [0.1, 0.2, 0, 0.7], [0, 0, 0.7, 0]])


def some_memberships(labels, rests, n_clusters):
    memberships = GraphMemberships(
        sp.csr_array((len(labels),) * 2), n_clusters, diagonal_shift=False, n_threads=1
    )
    memberships.memberships[:] = np.eye(n_clusters)[labels]
    memberships.rests[:] = rests
    return memberships


def test_surest_members():
    memberships = some_memberships([2, 0, 0, 2, 3], [0.2, 0.1, 0.1, 0.05, 0.3], 4)
    np.testing.assert_array_equal(surest_members(memberships, 4), [1, -1, 3, 4])


def test_which_modes_have_moved():
    former = Modes(np.array([[0.0], [1], [2]]), np.array([4, 5, -1]))
    assert former.moved_since(former) == []
    assert Modes(np.array([[0.0], [1], [3]]), np.array([4, 6, -1])).moved_since(former) == [1, 2]


def test_the_densest_member_is_the_start():
    X = np.array([[0.0], [1], [1.1], [1.2], [5], [20], [21]])
    search = VectorModes(X, 0.5, mode_update="byproduct", n_threads=1)
    modes = search.start(np.array([[2.0], [20.4]]), np.random.RandomState(0))
    np.testing.assert_array_equal(modes.indices, [2, 5])
    np.testing.assert_array_equal(modes.points, [[1.1], [20]])


def test_centers_are_where_mean_shifts_start():
    search = VectorModes(np.arange(6.0)[:, None], 0.5, mode_update="mean_shift", n_threads=1)
    modes = search.start(np.array([[2.0], [4.4]]), np.random.RandomState(0))
    np.testing.assert_array_equal(modes.indices, [-1, -1])
    np.testing.assert_array_equal(modes.points, [[2.0], [4.4]])


@pytest.mark.parametrize("clusters", [[0, 1], [1]])
def test_affinities_are_columns_of_the_kernel(clusters):
    search = KernelModes(sp.csr_array(KERNEL))
    modes = search.start(np.array([3, 1]), np.random.RandomState(0))
    out = np.full((4, 2), 9.0)
    search.write_affinities(modes, clusters, out)
    np.testing.assert_array_equal(out[:, 1], KERNEL[1])
    np.testing.assert_array_equal(out[:, 0], KERNEL[3] if 0 in clusters else np.full(4, 9.0))


def test_a_cluster_without_rows_keeps_its_mode():
    search = KernelModes(sp.csr_array(KERNEL))
    modes = search.start(np.array([3, 1]), np.random.RandomState(0))
    found = search.update(modes, some_memberships([0, 0, 0, 0], [0.2, 0.1, 0.3, 0.4], 2))
    np.testing.assert_array_equal(found.indices, [1, 1])
