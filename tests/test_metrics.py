"""Metrics against hand-counted answers and against their plain definitions."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from coterie import metrics


@pytest.mark.parametrize(
    ("truth", "predicted", "accuracy", "pure"),
    [
        ([0, 0, 1, 1], [1, 1, 0, 0], 1.0, 1.0),  # the names of clusters do not matter
        ([0, 0, 1, 1], [0, 0, 0, 0], 0.5, 0.5),
        ([0, 0, 1, 1], [0, 1, 2, 3], 0.5, 1.0),  # one-to-one: two clusters are left without a class
        ([0, 0, 0, 1, 1, 2], [0, 0, 1, 1, 1, 1], 4 / 6, 4 / 6),
        (["a", "a", "b"], [7, 7, -1], 1.0, 1.0),
        ([3], [9], 1.0, 1.0),
    ],
)
def test_scores_of_a_small_example_by_hand(truth, predicted, accuracy, pure):
    assert metrics.clustering_accuracy(truth, predicted) == pytest.approx(accuracy)
    assert metrics.purity(truth, predicted) == pytest.approx(pure)


labels = st.integers(1, 30).flatmap(
    lambda n: st.tuples(*[st.lists(st.integers(0, 3), min_size=n, max_size=n)] * 2)
)


@given(labels)
def test_accuracy_is_the_best_of_all_one_to_one_matches(pair):
    truth, predicted = map(np.array, pair)
    best = max(np.mean(np.array(match)[predicted] == truth) for match in itertools.permutations(range(4)))
    assert metrics.clustering_accuracy(truth, predicted) == pytest.approx(best)
    by_hand = sum(np.bincount(truth[predicted == c]).max() for c in np.unique(predicted)) / len(truth)
    assert metrics.purity(truth, predicted) == pytest.approx(by_hand)


@pytest.mark.parametrize(
    ("truth", "predicted", "message"),
    [
        ([], [], "empty"),
        ([0, 1], [0], "inconsistent"),
        ([[0, 1]], [0, 1], "1d"),
    ],
)
@pytest.mark.parametrize("metric", [metrics.clustering_accuracy, metrics.purity])
def test_bad_labels(metric, truth, predicted, message):
    with pytest.raises(ValueError, match=message):
        metric(truth, predicted)


def plain_quantization_error(X, centers, weights):
    squared = ((X[:, None, :].astype(float) - centers[None].astype(float)) ** 2).sum(-1).min(1)
    return np.average(squared, weights=weights)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.uint8])
@pytest.mark.parametrize("shape", [(1, 1), (7, 3), (9000, 5)])
@pytest.mark.parametrize("weighted", [False, True])
def test_quantization_error_is_the_plain_mean(dtype, shape, weighted):
    rng = np.random.default_rng(3)
    X = (rng.random(shape) * 20).astype(dtype)
    centers = rng.random((4, shape[1])) * 20
    weights = rng.random(shape[0]) + 0.1 if weighted else None
    expected = plain_quantization_error(X, centers, weights)
    assert metrics.quantization_error(X, centers, weights) == pytest.approx(expected, rel=1e-5)


def test_quantization_error_of_sparse_rows_and_of_row_sources():
    from coterie.rows import as_rows

    rng = np.random.default_rng(4)
    X = rng.random((500, 20)) * (rng.random((500, 20)) < 0.2)
    centers = rng.random((6, 20))
    expected = plain_quantization_error(X, centers, None)
    for rows in (sp.csr_matrix(X), sp.csc_array(X), as_rows(X), as_rows(sp.csr_array(X))):
        assert metrics.quantization_error(rows, centers) == pytest.approx(expected, rel=1e-9)


def test_weights_are_repetitions():
    X = np.array([[0.0, 1.0], [2.0, 2.0], [5.0, 1.0]])
    centers = np.array([[0.0, 0.0], [4.0, 1.0]])
    repeated = np.repeat(X, [1, 3, 2], axis=0)
    assert metrics.quantization_error(X, centers, [1, 3, 2]) == pytest.approx(
        metrics.quantization_error(repeated, centers)
    )


@pytest.mark.parametrize(
    ("centers", "weights", "message"),
    [
        (np.zeros((2, 4)), None, r"centers must have shape \(k, 3\)"),
        (np.zeros(3), None, "2D"),
        (np.full((1, 3), np.nan), None, "NaN"),
        (np.zeros((1, 3)), [1.0], "sample_weight"),
        (np.zeros((1, 3)), [1, 1, 1, 1, -1], "Negative"),
    ],
)
def test_bad_centers_and_weights(centers, weights, message):
    with pytest.raises(ValueError, match=message):
        metrics.quantization_error(np.ones((5, 3)), centers, weights)
