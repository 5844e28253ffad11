"""Means of rows, dense and sparse, against plain sums."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp

from coterie import _kernels
from coterie.blocks.kernel_rows import kernel_rows
from coterie.centers.means import DenseMeans
from coterie.centers.sparse_means import SparseMeans
from tests.reference.k_means import square_distances, unit_rows
from tests.support.bits import same_bits

K, D, N = 70, 133, 400


def some_rows(dtype, seed=0):
    random = np.random.default_rng(seed)
    return (random.normal(size=(N, D)) * (random.random((N, D)) < 0.2)).astype(dtype)


def exact(dtype):
    return 1e-4 if dtype == np.float32 else 1e-9


@pytest.mark.parametrize("kind", [DenseMeans, SparseMeans])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("k", "unit_length", "weighted"),
    [(1, False, True), (3, False, False), (70, False, True), (20, True, True)],
)
def test_means_after_rows_change_clusters(instruction_set, kind, dtype, weighted, k, unit_length):
    """Rounds of random rows, in two blocks each; clusters fill and empty again."""
    X = some_rows(dtype)
    if unit_length:
        X = unit_rows(X).astype(dtype)
    block = sp.csr_array(X) if kind is SparseMeans else X
    random = np.random.default_rng(1)
    weights = random.uniform(0.5, 2, size=N).astype(dtype) if weighted else None
    plain_weights = np.ones(N) if weights is None else weights.astype(float)
    squares_of_rows = np.sum(X.astype(float) ** 2, axis=1)
    centers = random.normal(size=(k, D)).astype(dtype)
    if unit_length:
        centers = unit_rows(centers).astype(dtype)
    means = kind(centers, np.zeros(D), 2, unit_length=unit_length)
    plain = centers.astype(float)
    labels = np.full(N, -1, dtype=np.int32)
    for clusters in (k, max(1, k // 2), 1, k):
        before, labels = labels, random.integers(0, clusters, size=N).astype(np.int32)
        for part in (slice(0, 150), slice(150, N)):
            part_weights = None if weights is None else weights[part]
            means.add(kernel_rows(block[part]), labels[part], before[part], part_weights)
        expected_within = np.zeros(k)
        own = square_distances(X, plain)[np.arange(N), labels]
        np.add.at(expected_within, labels, plain_weights * own)
        moved = plain.copy()
        for j in np.unique(labels):
            chosen = labels == j
            moved[j] = plain_weights[chosen] @ X[chosen] / plain_weights[chosen].sum()
            moved[j] /= np.linalg.norm(moved[j]) if unit_length else 1
        squares = np.bincount(labels, plain_weights * squares_of_rows, minlength=k)
        empty = np.flatnonzero(np.bincount(labels, minlength=k) == 0)
        shifts, within = means.move(squares, empty)
        np.testing.assert_allclose(within, expected_within, atol=300 * exact(dtype))
        np.testing.assert_allclose(shifts, np.sqrt(np.sum((moved - plain) ** 2, axis=1)), atol=exact(dtype))
        np.testing.assert_allclose(means.centers, moved, atol=exact(dtype))
        np.testing.assert_allclose(means.masses, np.bincount(labels, plain_weights, minlength=k), atol=1e-9)
        plain = moved
        found = np.empty(N, dtype=np.int32)
        means.frame.nearest(kernel_rows(block), found)
        distances = square_distances(X, plain)
        np.testing.assert_allclose(
            distances[np.arange(N), found], distances.min(axis=1), atol=10 * exact(dtype)
        )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_blocks_and_threads_do_not_change_the_bits_of_sparse_means(dtype):
    block = sp.csr_array(some_rows(dtype))
    random = np.random.default_rng(2)
    centers = random.normal(size=(K, D)).astype(dtype)
    rounds = random.integers(0, K, size=(3, N)).astype(np.int32)
    results = []
    for cuts, n_threads in (([0, N], 1), ([0, 1, 130, N], 2), ([0, 399, N], 3)):
        means = SparseMeans(centers, np.zeros(D), n_threads)
        before, found = np.full(N, -1, dtype=np.int32), []
        for labels in rounds:
            for start, stop in itertools.pairwise(cuts):
                part = slice(start, stop)
                means.add(kernel_rows(block[part]), labels[part], before[part], None)
            empty = np.flatnonzero(np.bincount(labels, minlength=K) == 0)
            found.append((*means.move(np.zeros(K), empty), means.sums.copy(), means.centers))
            before = labels
        results.append(found)
    for other in results[1:]:
        same_bits(other, results[0])


def test_put_places_a_center_with_its_mass():
    X = some_rows(np.float64)
    means = SparseMeans(X[:5].copy(), np.zeros(D), 1)
    means.put(np.array([1, 3]), X[10:12], 4.0)
    np.testing.assert_allclose(means.centers[[1, 3]], X[10:12])
    np.testing.assert_allclose(means.masses, [0, 4, 0, 4, 0])
    x = kernel_rows(sp.csr_array(X[20:21]))
    means.add(x, np.array([3], dtype=np.int32), None, None)
    means.move(np.zeros(5))
    np.testing.assert_allclose(means.centers[3], 0.8 * X[11] + 0.2 * X[20])
    np.testing.assert_allclose(means.centers[[0, 1, 2, 4]], X[[0, 10, 2, 4]])


@pytest.mark.parametrize("kind", [DenseMeans, SparseMeans])
@pytest.mark.parametrize("shifted", [False, True])
def test_center_stays_if_its_rows_sum_to_zero(kind, shifted):
    """A direction that there is not: the centroid stays where it was, before any vote and after some."""
    shift = np.full(D, 0.1) if shifted and kind is DenseMeans else np.zeros(D)
    x = unit_rows(some_rows(np.float64)[:6])
    rows = np.vstack([x, -x])
    start = unit_rows(some_rows(np.float64, seed=1)[:2])
    means = kind(start, shift, 1, unit_length=True)

    def vote(numbers, label, before):
        block = rows[numbers]
        labels, was = (np.full(len(block), number, dtype=np.int32) for number in (label, before))
        means.add(kernel_rows(sp.csr_array(block) if kind is SparseMeans else block), labels, was, None)

    def moved_to(expected):
        found = means.frame, means.move(np.zeros(2))[0]
        np.testing.assert_allclose(means.centers, expected, atol=1e-12)
        labels = np.empty(12, dtype=np.int32)
        means.frame.nearest(kernel_rows(sp.csr_array(rows) if kind is SparseMeans else rows), labels)
        distances = square_distances(rows, expected)
        np.testing.assert_allclose(distances[np.arange(12), labels], distances.min(axis=1), atol=1e-9)
        return found[1]

    vote([0, 6], 0, -1)
    assert np.all(moved_to(start) == 0)
    vote([1, 7], 0, -1)
    assert np.all(moved_to(start) == 0)
    vote([2, 3], 0, -1)
    later = np.vstack([unit_rows(rows[2:4].sum(axis=0)[None]), start[1:]])
    assert moved_to(later)[0] > 0.1
    vote([8, 9], 0, -1)
    assert np.all(moved_to(later) == 0)
    vote([8], 1, 0)
    moved_to([rows[2], rows[8]])
    np.testing.assert_allclose(means.masses, [7, 1])


@pytest.mark.parametrize("kind", [DenseMeans, SparseMeans])
def test_center_moves_after_rows_that_cancel_leave(kind):
    """Of three rows at 120 degrees only rounding is left; when they go, even that is nothing."""
    angles = 0.3 + 2 * np.pi * np.arange(3) / 3
    X = np.column_stack([np.cos(angles), np.sin(angles), np.zeros(3)])
    x = kernel_rows(sp.csr_array(X) if kind is SparseMeans else X)
    start = np.eye(3)[1:]
    means = kind(start, np.zeros(3), 1, unit_length=True)
    first, second = np.zeros(3, dtype=np.int32), np.ones(3, dtype=np.int32)
    means.add(x, first, None, None)
    assert np.all(means.move(np.zeros(2), np.array([1]))[0] == 0)
    np.testing.assert_array_equal(means.centers, start)
    means.add(x, second, first, None)
    assert np.all(means.move(np.zeros(2), np.array([0]))[0] == 0)
    np.testing.assert_array_equal(means.centers, start)
    np.testing.assert_array_equal(means.masses, [0, 3])
    means.add(x, first, second, None)
    assert np.all(means.move(np.zeros(2), np.array([1]))[0] == 0)
    np.testing.assert_array_equal(means.centers, start)


@pytest.mark.parametrize("kind", [DenseMeans, SparseMeans])
def test_directions_with_small_movements(kind):
    """How far they do is known to many digits, and nothing where nothing has changed."""
    x = unit_rows(some_rows(np.float64)[:50])
    means = kind(x[:1].copy(), np.zeros(D), 1, unit_length=True)
    weights = np.full(50, 1e5)
    for block, some_weights in ((x, weights), (x[:1], np.array([1e-3])), (x[:0], np.zeros(0))):
        labels = np.zeros(len(block), dtype=np.int32)
        means.add(
            kernel_rows(sp.csr_array(block) if kind is SparseMeans else block), labels, None, some_weights
        )
        before = means.centers
        shifts, _ = means.move(np.zeros(1))
        np.testing.assert_allclose(shifts[0], np.linalg.norm(means.centers - before), rtol=1e-5)
    assert shifts[0] == 0


@pytest.mark.parametrize("kind", [DenseMeans, SparseMeans])
def test_restore_sums_of_other_means(kind):
    X = some_rows(np.float64)
    x = kernel_rows(sp.csr_array(X) if kind is SparseMeans else X)
    labels = np.random.default_rng(0).integers(0, 4, size=N).astype(np.int32)  # the fifth stays empty
    one = kind(X[:5].copy(), np.zeros(D), 1)
    one.add(x, labels, None, None)
    one.move(np.zeros(5))
    two = kind(one.centers, np.zeros(D), 1)
    two.restore(one.sums.copy(), one.masses.copy())
    for means in (one, two):
        means.add(x, np.roll(labels, 1), labels, None)
        means.move(np.zeros(5))
    np.testing.assert_allclose(two.centers, one.centers, atol=1e-12)


def test_kernels_of_sparse_means_check_their_arguments():
    x = kernel_rows(sp.csr_array(np.eye(3)))
    labels, sums, one = np.zeros(3, dtype=np.int32), np.zeros((2, 3)), np.zeros(2)
    panels = np.zeros(8 * 3)
    with pytest.raises(ValueError, match="width"):
        _kernels.move_sparse_rows([x], labels, None, None, np.zeros((2, 4)), one, panels, 1, one, one, one, 1)
    with pytest.raises(ValueError, match="panels"):
        _kernels.move_sparse_rows([x], labels, None, None, sums, one, panels[1:], 1, one, one, one, 1)
    with pytest.raises(ValueError, match="label"):
        _kernels.move_sparse_rows([x], labels + 2, None, None, sums, one, panels, 1, one, one, one, 1)
    with pytest.raises(ValueError, match="n_beside"):
        _kernels.move_sparse_rows([x], labels, None, None, sums, one, panels, 9, one, one, one, 1)
