"""Means of rows, dense and sparse, against plain sums."""

import numpy as np
import pytest
import scipy.sparse as sp

from coterie import _kernels
from coterie.blocks.kernel_rows import kernel_rows
from coterie.centers.means import Means
from tests.reference.k_means import square_distances, unit_rows

D, N = 133, 400
KINDS = pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])


def some_rows(dtype, seed=0):
    random = np.random.default_rng(seed)
    return (random.normal(size=(N, D)) * (random.random((N, D)) < 0.2)).astype(dtype)


def add(means, rows, labels, before=None, weights=None, shift=None):
    """Move rows from the labels before to the labels now."""
    shift = np.zeros(rows.shape[1]) if shift is None else shift
    _kernels.add_to_clusters(kernel_rows(rows), labels, before, weights, shift, means.sums, means.masses, 2)


@KINDS
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
    block, precision = kind(X), 1e-4 if dtype == np.float32 else 1e-9
    random = np.random.default_rng(1)
    weights = random.uniform(0.5, 2, size=N).astype(dtype) if weighted else None
    plain_weights = np.ones(N) if weights is None else weights.astype(float)
    squares_of_rows = np.sum(X.astype(float) ** 2, axis=1)
    centers = random.normal(size=(k, D)).astype(dtype)
    if unit_length:
        centers = unit_rows(centers).astype(dtype)
    means = Means(centers, np.zeros(D), 2, unit_length=unit_length)
    plain = centers.astype(float)
    labels = np.full(N, -1, dtype=np.int32)
    for clusters in (k, max(1, k // 2), 1, k):
        before, labels = labels, random.integers(0, clusters, size=N).astype(np.int32)
        for part in (slice(0, 150), slice(150, N)):
            add(means, block[part], labels[part], before[part], None if weights is None else weights[part])
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
        np.testing.assert_allclose(within, expected_within, atol=300 * precision)
        np.testing.assert_allclose(shifts, np.sqrt(np.sum((moved - plain) ** 2, axis=1)), atol=precision)
        np.testing.assert_allclose(means.frame.centers, moved, atol=precision)
        np.testing.assert_allclose(means.masses, np.bincount(labels, plain_weights, minlength=k), atol=1e-9)
        plain = moved


@KINDS
@pytest.mark.parametrize("shifted", [False, True])
def test_center_stays_if_its_rows_sum_to_zero(kind, shifted):
    """A direction that there is not: the centroid stays where it was, before any row is assigned and after some."""
    shift = np.full(D, 0.1) if shifted and kind is np.asarray else np.zeros(D)
    x = unit_rows(some_rows(np.float64)[:6])
    rows = np.vstack([x, -x])
    start = unit_rows(some_rows(np.float64, seed=1)[:2])
    means = Means(start, shift, 1, unit_length=True)

    def assign(numbers, label, before):
        labels, was = (np.full(len(numbers), number, dtype=np.int32) for number in (label, before))
        add(means, kind(rows[numbers]), labels, was, shift=shift)

    def moved_to(expected):
        shifts, _ = means.move(np.zeros(2), np.array([], dtype=np.intp))
        np.testing.assert_allclose(means.frame.centers, expected, atol=1e-12)
        return shifts

    assign([0, 6], 0, -1)
    assert np.all(moved_to(start) == 0)
    assign([1, 7], 0, -1)
    assert np.all(moved_to(start) == 0)
    assign([2, 3], 0, -1)
    later = np.vstack([unit_rows(rows[2:4].sum(axis=0)[None]), start[1:]])
    assert moved_to(later)[0] > 0.1
    assign([8, 9], 0, -1)
    assert np.all(moved_to(later) == 0)
    assign([8], 1, 0)
    moved_to([rows[2], rows[8]])
    np.testing.assert_allclose(means.masses, [7, 1])


@KINDS
def test_center_moves_after_rows_that_cancel_leave(kind):
    """Of three rows at 120 degrees only rounding is left; when they go, even that is nothing."""
    angles = 0.3 + 2 * np.pi * np.arange(3) / 3
    X = kind(np.column_stack([np.cos(angles), np.sin(angles), np.zeros(3)]))
    start = np.eye(3)[1:]
    means = Means(start, np.zeros(3), 1, unit_length=True)
    labels = np.zeros((2, 3), dtype=np.int32) + np.arange(2, dtype=np.int32)[:, None]
    before = None
    for own in (0, 1, 0):
        add(means, X, labels[own], before)
        before = labels[own]
        assert np.all(means.move(np.zeros(2), np.array([1 - own]))[0] == 0)
        np.testing.assert_array_equal(means.frame.centers, start)
        np.testing.assert_array_equal(means.masses, 3 * (np.arange(2) == own))


def test_directions_with_small_movements():
    """How far they do is known to many digits, and nothing where nothing has changed."""
    x, none = unit_rows(some_rows(np.float64)[:50]), np.array([], dtype=np.intp)
    means = Means(x[:1].copy(), np.zeros(D), 1, unit_length=True)
    for block, weight in ((x, 1e5), (x[:1], 1e-3), (x[:0], 0.0)):
        add(means, block, np.zeros(len(block), dtype=np.int32), None, np.full(len(block), weight))
        before = means.frame.centers
        shifts, _ = means.move(np.zeros(1), none)
        np.testing.assert_allclose(shifts[0], np.linalg.norm(means.frame.centers - before), rtol=1e-5)
    assert shifts[0] == 0
