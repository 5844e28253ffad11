"""Swaps of clusters after an annealed epoch."""

import copy

import numpy as np
import pytest
import scipy.sparse

from coterie import KMeans
from coterie.passes import measure_rows
from coterie.rows import as_rows
from coterie.seeding import k_means_plus_plus
from coterie.seeding.split_merge import (
    choose_swaps,
    merge_costs,
    nearest_partners,
    seed_by_split_and_merge,
)
from tests.reference import k_means as reference


def uneven_blobs(seed, n_clusters=20, n_columns=6):
    """Return blobs of unlike sizes and widths."""
    random = np.random.default_rng(seed)
    centers = 8 * random.normal(size=(n_clusters, n_columns))
    labels = random.choice(n_clusters, 1200, p=random.dirichlet(np.full(n_clusters, 2.0)))
    widths = random.uniform(0.3, 1.5, n_clusters)
    return centers[labels] + widths[labels, None] * random.normal(size=(1200, n_columns))


def seed_centers(X, n_clusters, random, weights=None, unit_length=False, n_threads=1, centers=None):
    data = measure_rows(as_rows(X), weights, n_clusters=n_clusters, n_threads=n_threads)
    return seed_by_split_and_merge(data, n_clusters, random, centers=centers, unit_length=unit_length)


@pytest.mark.parametrize(("unit_length", "weighted"), [(False, True), (True, False)])
@pytest.mark.parametrize("seed", range(2))
def test_centers_are_those_of_the_reference(unit_length, weighted, seed):
    X = uneven_blobs(seed)
    X = X / np.linalg.norm(X, axis=1, keepdims=True) if unit_length else X
    weights = np.random.default_rng(seed).integers(1, 4, len(X)).astype(float) if weighted else None
    random = np.random.RandomState(seed)
    first, _ = k_means_plus_plus(X, 20, random_state=random, sample_weight=weights)
    own_weights, same = np.ones(len(X)) if weights is None else weights, copy.deepcopy(random)
    expected = reference.split_and_merge(X, first, own_weights, random, unit_length=unit_length)
    found = seed_centers(X, 20, same, weights, unit_length, centers=first)
    # Which of two merged clusters is freed is a tie.
    np.testing.assert_allclose(
        *(centers[centers[:, 0].argsort()] for centers in (found, expected)), atol=1e-9
    )
    assert not np.allclose(first, found)


@pytest.mark.parametrize("unit_length", [False, True])
def test_merge_costs_are_differences_of_inertia(unit_length):
    random = np.random.default_rng(0)
    X, labels = random.normal(size=(60, 3)) + 2, np.repeat(np.arange(6), 10)
    X = X / np.linalg.norm(X, axis=1, keepdims=True) if unit_length else X
    weights, shift = random.integers(1, 4, 60), X.mean(axis=0)
    sums, masses = reference.cluster_sums(X, labels, weights, shift, 6)

    def inertia(rows):
        center = weights[rows] @ X[rows] / weights[rows].sum()
        center = center / np.linalg.norm(center) if unit_length else center
        return weights[rows] @ np.sum((X[rows] - center) ** 2, axis=1)

    of = [np.flatnonzero(labels == j) for j in range(6)]
    costs = np.array([[inertia(np.r_[a, b]) - inertia(a) - inertia(b) for b in of] for a in of])
    np.fill_diagonal(costs, np.inf)
    origin = shift if unit_length else None
    partners = nearest_partners(sums, masses, origin)
    np.testing.assert_array_equal(partners, costs.argmin(axis=1))
    found = merge_costs((sums, masses), (sums[partners], masses[partners]), origin)
    np.testing.assert_allclose(found, costs.min(axis=1), rtol=1e-9)


def test_swaps_share_no_cluster_and_gain_more_than_they_cost():
    gains, costs = np.array([9.0, 1, 5, 0, 4, 3]), np.array([7.0, 2, 6, 2, 3, 6])
    split, merged = choose_swaps(gains, costs, np.array([1, 3, 0, 1, 5, 4]))
    np.testing.assert_array_equal((split, merged), ([0, 2], [1, 4]))


def test_rounds_end_if_swaps_gain_less_than_they_seem_to(monkeypatch):
    def costs(some, *_):
        return 1e9 * np.arange(len(some[1]))

    monkeypatch.setattr("coterie.seeding.split_merge.merge_costs", costs)
    assert seed_centers(uneven_blobs(0), 20, np.random.RandomState(0)).shape == (20, 6)


def test_inertia_is_lower_than_from_k_means_plus_plus():
    inertias = {"k-means++": 0.0, "split-merge": 0.0}
    for seed in range(5):
        X = uneven_blobs(seed)
        best = KMeans(20, n_init=20, random_state=100).fit(X).inertia_
        for init in inertias:
            inertias[init] += KMeans(20, init=init, random_state=seed).fit(X).inertia_ / best - 1
    assert inertias["split-merge"] < 0.3 * inertias["k-means++"]


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_sparse_rows(metric):
    X = np.maximum(uneven_blobs(1), 0) + 1e-3
    models = [
        KMeans(20, init="split-merge", metric=metric, random_state=0).fit(rows)
        for rows in (X, scipy.sparse.csr_array(X))
    ]
    np.testing.assert_array_equal(models[0].labels_, models[1].labels_)


@pytest.mark.parametrize("n_clusters", [1, 2, 3, 5])
def test_few_distinct_rows(n_clusters):
    X = np.repeat([[0.0, 0], [1, 0], [0, 3]], 5, axis=0)
    centers = seed_centers(X, n_clusters, np.random.RandomState(0))
    assert centers.shape == (n_clusters, 2)
    assert np.isfinite(centers).all()
