"""Checks of parameters and weights: what passes, and what the error says."""

import pickle

import numpy as np
import pytest
from sklearn.utils import check_random_state

from coterie.fitting.checks import (
    check_positive_integer,
    check_sample_weight,
    random_stream,
)
from coterie.rows import as_rows

ROWS = as_rows(np.zeros((4, 2), dtype=np.float32))


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1, 2], r"sample_weight.shape == \(2,\), expected \(4,\)"),
        ([1, 1, 1, -1], "[Nn]egative"),
        ([0, 0, 0, 0], "non-zero|0 everywhere"),
        ([1, 1, 1, np.nan], "NaN"),
        ([1, 1, 1, np.inf], "infinity"),
    ],
)
def test_bad_weights(weights, message):
    with pytest.raises(ValueError, match=message):
        check_sample_weight(weights, ROWS)


@pytest.mark.parametrize("value", [0, -1, 2.5, "3", True])
def test_no_positive_integers(value):
    check_positive_integer("n_clusters", np.int64(3))
    with pytest.raises(ValueError, match=f"n_clusters must be a positive integer, got {value!r}"):
        check_positive_integer("n_clusters", value)


@pytest.mark.parametrize("seed", [0, 1, 42, 2**32 - 1, np.int64(7), np.uint32(2**31)])
def test_a_number_gives_scikit_learns_stream(seed):
    stream, expected = random_stream(seed), check_random_state(seed)
    np.testing.assert_array_equal(stream.normal(size=2000), expected.normal(size=2000))
    again = pickle.loads(pickle.dumps(stream))
    np.testing.assert_array_equal(again.permutation(100), expected.permutation(100))


def test_random_stream_is_returned_unchanged_and_none_is_numpys_global_stream():
    stream = np.random.RandomState(0)
    assert random_stream(stream) is stream
    assert random_stream(None) is check_random_state(None)


@pytest.mark.parametrize("seed", [-1, 2**32, "a", 1.5, np.random.default_rng(0)])
def test_invalid_random_state(seed):
    with pytest.raises(ValueError, match=r"[Ss]eed"):
        random_stream(seed)
