"""Parameters that are numbers of NumPy: `k = y.max() + 1` of uint8 labels, a float32 from a search.

Source: https://github.com/nicodv/kmodes/issues/85 (numbers of clusters counted in uint8); labels of MNIST are uint8.
"""

import warnings

import numpy as np
import pytest

import coterie
from coterie.estimators.parameters import parameters_of
from coterie.methods import methods

X = np.random.default_rng(0).normal(size=(120, 4))

# Beside their defaults: what is None there, and what would fail on these rows.
VALUES = {"size_min": 10, "max_time": 100, "coreset_size": 100, "n_threads": 1, "random_state": 3}


def _estimators():
    return [coterie.ConvexClustering, *(method.estimator for method in methods())]


def _numbers(estimator):
    """The numeric parameters of an estimator with small whole values."""
    found = {}
    for name, parameter in parameters_of(estimator).items():
        value = 5 if name in ("n_clusters", "n_components") else VALUES.get(name, parameter.default)
        if type(value) is int and value <= 127 and {int, float} & set(parameter.types):
            found[name] = value
    return found


@pytest.mark.parametrize("dtype", ["u1", "i1", "i2", "u8", "f4"])
@pytest.mark.parametrize("estimator", _estimators(), ids=lambda one: one.__name__)
def test_parameters_of_any_numpy_type(estimator, dtype):
    numbers = _numbers(estimator)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        plain = estimator(**numbers).fit(X)
        model = estimator(**{name: np.dtype(dtype).type(value) for name, value in numbers.items()}).fit(X)
    np.testing.assert_array_equal(model.labels_, plain.labels_)
    values = model.get_params()
    assert {name: values[name] for name in numbers} == numbers
    assert all(type(values[name]) in (int, float) for name in numbers)


def test_switches_of_numpy():
    model = coterie.BisectingKMeans(3, verbose=np.bool_(False), random_state=0).fit(X)
    assert type(model.verbose) is bool


@pytest.mark.parametrize("seeding", ["k_means_plus_plus", "afk_mc2", "random_rows"])
def test_seedings(seeding):
    found = getattr(coterie.seeding, seeding)(X, np.uint8(100), random_state=0)
    np.testing.assert_array_equal(
        found[1], getattr(coterie.seeding, seeding)(X, 100, random_state=0)[1], strict=True
    )
