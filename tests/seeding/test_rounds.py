"""k-means||: rows that are drawn in rounds, and the sample that takes their place where there are few candidates."""

import numpy as np
import pytest

from coterie.metrics import quantization_error
from coterie.passes import measure_rows
from coterie.rows import as_rows
from coterie.seeding import k_means_plus_plus, rounds


def measured(X, weights=None, n_clusters=10):
    return measure_rows(as_rows(X), weights, n_clusters=n_clusters, n_threads=1)


def seeds(X, n_clusters, weights=None, seed=0):
    return rounds.seed_in_rounds(measured(X, weights, n_clusters), n_clusters, np.random.RandomState(seed))


def test_centers_are_rows_about_as_good_as_those_of_k_means_plus_plus(blobs):
    found = [seeds(blobs, 30, seed=seed) for seed in range(3)]
    assert all((blobs == center).all(axis=1).any() for centers in found for center in centers)
    errors = [quantization_error(blobs, centers) for centers in found]
    expected = [
        quantization_error(blobs, k_means_plus_plus(blobs, 30, random_state=seed)[0]) for seed in range(3)
    ]
    assert np.mean(errors) < 1.5 * np.mean(expected)


def test_rows_of_weight_zero_are_not_chosen(blobs):
    weights = np.zeros(len(blobs))
    weights[100:200] = 1
    assert {tuple(center) for center in seeds(blobs, 10, weights)} <= {tuple(row) for row in blobs[100:200]}


def test_as_many_clusters_as_distinct_rows():
    X = np.repeat(np.arange(6.0)[:, None], 50, axis=0)
    np.testing.assert_array_equal(np.sort(seeds(X, 6).ravel()), np.arange(6))


@pytest.mark.parametrize(
    ("n_bytes", "n_clusters", "size"), [(320, 1, 10), (320, 5, 20), (10**6, 1, 64), (10**6, 2, 100)]
)
def test_a_sample_is_bounded_in_bytes(monkeypatch, n_bytes, n_clusters, size):
    monkeypatch.setattr(rounds, "_SAMPLE_BYTES", n_bytes)
    monkeypatch.setattr(rounds, "_SAMPLE_ROWS", 0)
    X, weights = np.arange(400.0).reshape(100, 4), np.arange(1.0, 101)
    sample = rounds.sample_of(measured(X, weights), n_clusters, np.random.RandomState(0))
    assert sample.n_rows == size
    np.testing.assert_array_equal(sample.weights, sample.rows.take(np.arange(size))[:, 0] / 4 + 1)
