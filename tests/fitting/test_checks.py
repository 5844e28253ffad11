"""Checks of parameters and weights: what passes, and what the error says."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator

from coterie.fitting.checks import (
    check_iteration_parameters,
    check_option,
    check_positive_integer,
    check_sample_weight,
)
from coterie.rows import as_rows

ROWS = as_rows(np.zeros((4, 2), dtype=np.float32))


def test_weights_come_in_the_type_of_the_rows():
    assert check_sample_weight(None, ROWS) is None
    found = check_sample_weight([1, 0, 2, 3], ROWS)
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, [1, 0, 2, 3])


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


@pytest.mark.parametrize("value", [1, 7, np.int64(3), 2.0])
def test_positive_integers(value):
    check_positive_integer("n_clusters", value)


@pytest.mark.parametrize("value", [0, -1, 2.5, "3", True])
def test_no_positive_integers(value):
    with pytest.raises(ValueError, match=f"n_clusters must be a positive integer, got {value!r}"):
        check_positive_integer("n_clusters", value)


class Iterative(BaseEstimator):
    def __init__(self, max_iter=1, tol=0.0, max_time=None, callback=None):
        self.max_iter = max_iter
        self.tol = tol
        self.max_time = max_time
        self.callback = callback


@pytest.mark.parametrize("parameters", [{}, dict(max_time=0.5, tol=1e-3), dict(callback=print)])
def test_iteration_parameters(parameters):
    check_iteration_parameters(Iterative(**parameters))


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        (dict(max_iter=0), ValueError, "max_iter must be a positive integer"),
        (dict(tol=-1e-9), ValueError, "tol must not be negative, got -1e-09"),
        (dict(tol=np.nan), ValueError, "tol must not be negative"),
        (dict(max_time=0), ValueError, "max_time must be None or a positive number of seconds, got 0"),
        (dict(max_time=np.nan), ValueError, "max_time"),
        (dict(callback=3), TypeError, "callback must be None or callable, got int"),
    ],
)
def test_bad_iteration_parameters(parameters, error, message):
    with pytest.raises(error, match=message):
        check_iteration_parameters(Iterative(**parameters))


def test_options():
    check_option("solver", "ama", ("ama", "admm"))
    for value in ("newton", None, 3, ["ama"]):
        with pytest.raises(ValueError, match=r"solver must be one of 'ama', 'admm', got "):
            check_option("solver", value, ("ama", "admm"))
