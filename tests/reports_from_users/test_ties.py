"""Discrete data: answers on scales, integers, flags, rounded coordinates and repeated rows.

Sources: https://github.com/lmcinnes/umap/issues/284 (more equal rows than neighbors),
https://github.com/lmcinnes/umap/issues/840 (ties among small variations and flags),
https://github.com/nmslib/nmslib/issues/328 (an index of duplicates takes without end).
"""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score

import coterie

Y = np.repeat([0, 1, 2], 400)


def _models(k):
    return [
        coterie.MultilevelGraphClustering(k),
        coterie.TotalVariationClustering(k, random_state=0),
        coterie.LaplacianKModes(k, random_state=0),
        coterie.DensityClustering(),
    ]


def _scale(rng):
    centers = np.array([[1.5, 4.5, 3], [4.5, 1.5, 3], [3, 3, 4.8]])
    return np.clip(np.round(centers[Y] + rng.normal(0, 0.5, (1200, 3))), 1, 5), 0.9


def _coordinates(rng):
    cities = np.array([[48.2, 16.4], [40.7, -74.0], [35.7, 139.7]])
    return np.round(cities[Y] + rng.normal(0, 0.05, (1200, 2)), 1), 1


def _ages(rng):
    return np.round(np.array([20, 45, 70])[Y] + rng.normal(0, 2, 1200))[:, None], 1


def _flags(rng):
    chances = np.full((3, 6), 0.03)
    chances[[0, 0, 1, 1, 2, 2], np.arange(6)] = 0.97
    return (rng.random((1200, 6)) < chances[Y]).astype(float), 0.93


def _three_rows(rng):
    return np.repeat([[1.0, 1], [3, 3], [5, 5]], 400, axis=0), 1


@pytest.mark.parametrize("number", range(3))
@pytest.mark.parametrize("data", [_scale, _coordinates, _ages, _flags, _three_rows])
def test_groups_in_discrete_data_are_found(data, number):
    X, least = data(np.random.default_rng(0))
    assert adjusted_rand_score(Y, _models(3)[number].fit(X).labels_) >= least


@pytest.mark.parametrize("data", [_coordinates, _ages, _flags])
def test_density_finds_groups_in_discrete_data(data):
    X, _ = data(np.random.default_rng(0))
    assert adjusted_rand_score(Y, coterie.DensityClustering().fit(X).labels_) > 0.7


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("kind", ["ages", "flags", "one-hot", "imputed"])
@pytest.mark.parametrize("k", [1, 3])
def test_repeated_values_of_a_column_split_no_clusters(k, kind, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(1200, 3)) + 9 * np.eye(3)[:k][Y % k]
    if kind == "imputed":
        X[rng.random(1200) < 0.3, 0] = np.median(X[:, 0])
    else:
        one = {"ages": rng.normal(40, 2, 1200).round(), "flags": rng.random(1200) < 0.3}.get(kind)
        X = np.c_[X, np.eye(3)[rng.integers(0, 3, 1200)] if one is None else one]
    order, model = rng.permutation(1200), coterie.DensityClustering(space="rows")
    labels = model.fit_predict(X)
    assert adjusted_rand_score(Y % k, labels) > 0.9
    assert adjusted_rand_score(labels[order], model.fit_predict(3 * X[order])) == 1
    np.testing.assert_array_equal(model.predict(3 * X), model.labels_[np.argsort(order)])


def test_a_value_that_is_taken_for_imputed_is_named():
    X = np.random.default_rng(0).normal(size=(600, 3)) + 9 * np.eye(3)[np.arange(600) % 3]
    X[::4, 1] = 0.25
    with pytest.warns(UserWarning, match="0.25 in column 1.*min_cluster_size"):
        coterie.DensityClustering().fit(X)
    with warnings.catch_warnings(action="error"):
        coterie.DensityClustering(min_cluster_size=20).fit(X)


@pytest.mark.parametrize("number", range(3))
def test_copies_of_rows_do_not_change_the_clusters(number):
    rng = np.random.default_rng(0)
    centers, y = rng.normal(size=(5, 64)), np.repeat(range(5), 100)
    X = centers[y] + rng.normal(size=(500, 64))
    piles = rng.integers(500, size=10)
    labels = _models(5)[number].fit(np.r_[X, np.repeat(X[piles], 30, axis=0)]).labels_
    assert adjusted_rand_score(y, labels[:500]) == 1
    np.testing.assert_array_equal(labels[500:], np.repeat(labels[piles], 30))


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 2**32 - 1), st.integers(2, 7), st.integers(1, 5), st.integers(0, 3))
def test_equal_rows_have_equal_labels(seed, levels, d, number):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, levels, (150, d)).astype(float)
    X = X[rng.integers(0, 150, 150)]
    k = min(4, len(np.unique(X, axis=0)))
    model = _models(k)[number].fit(X)
    _, places = np.unique(X, axis=0, return_inverse=True)
    pairs = np.unique(np.c_[places.ravel(), model.labels_], axis=0)
    assert len(pairs) == places.max() + 1
    np.testing.assert_array_equal(model.predict(X), model.labels_)


@pytest.mark.parametrize("number", range(3))
def test_fewer_distinct_rows_than_clusters(number):
    X = np.repeat([[0.0, 0], [5, 5], [9, 0]], 10, axis=0)
    with pytest.warns(UserWarning, match="3 distinct rows"):
        model = _models(5)[number].fit(X)
    assert adjusted_rand_score(np.repeat([0, 1, 2], 10), model.labels_) == 1
    np.testing.assert_array_equal(model.predict(X), model.labels_)


def test_known_classes_of_equal_rows_stay():
    X = np.repeat(np.arange(12.0), 10)[:, None] + np.repeat([0, 50], 60)[:, None]
    known = np.full(120, -1)
    known[[0, 119]], known[[1, 2]] = [0, 1], [1, 0]  # the rows 0, 1 and 2 are equal
    labels = coterie.TotalVariationClustering(2, random_state=0).fit(X, known).labels_
    assert labels[[0, 1, 2, 119]].tolist() == [0, 1, 0, 1]
    assert np.all(labels[3:60] == 0)
    assert np.all(labels[60:] == 1)


def test_sizes_can_split_equal_rows():
    X = np.repeat([[0.0], [1], [9]], [80, 10, 30], axis=0)
    model = coterie.TotalVariationClustering(2, size_min=60, size_max=60, random_state=0).fit(X)
    assert np.bincount(model.labels_).tolist() == [60, 60]
