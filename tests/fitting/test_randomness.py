"""Streams are scikit-learn's."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.utils import check_random_state

from coterie.fitting.randomness import random_stream


@pytest.mark.parametrize("seed", [0, 1, 42, 2**32 - 1, np.int64(7), np.uint32(2**31)])
def test_a_number_gives_scikit_learns_stream(seed):
    stream, expected = random_stream(seed), check_random_state(seed)
    np.testing.assert_array_equal(stream.normal(size=2000), expected.normal(size=2000))
    again = pickle.loads(pickle.dumps(stream))
    np.testing.assert_array_equal(again.permutation(100), expected.permutation(100))


def test_streams_of_one_seed_are_apart():
    first, second = random_stream(3), random_stream(3)
    first.uniform(size=10)
    assert second.uniform() == np.random.RandomState(3).uniform()


def test_a_stream_is_returned_as_it_is_and_none_is_numpys_own():
    stream = np.random.RandomState(0)
    assert random_stream(stream) is stream
    assert random_stream(None) is check_random_state(None)


@pytest.mark.parametrize("seed", [-1, 2**32, "a", 1.5, np.random.default_rng(0)])
def test_anything_else_is_refused(seed):
    with pytest.raises(ValueError, match=r"[Ss]eed"):
        random_stream(seed)
