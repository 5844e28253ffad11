"""scikit-learn's own tests of KMeans and MiniBatchKMeans, with coterie's classes in their place.

Nothing of them is copied: the file that is installed beside scikit-learn is imported with other names. What does not
pass, and never will, is listed with its reason, and must go on not passing.
"""

import importlib.util
import inspect
import re
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any
from unittest import mock

import numpy as np
import pytest

import coterie

TESTS = "sklearn.cluster.tests.test_k_means"

_SHAPE = "the message names clusters and columns together"
_PRIVATE = "reads a private attribute"
_WORDS = "reads the words that verbose prints"

# By the beginnings of their names.
EXPECTED = {
    "test_n_init_auto": _PRIVATE,
    "test_kmeans_init_auto_with_initial_centroids": _PRIVATE,
    "test_minibatch_kmeans_init_size": _PRIVATE,
    "test_sample_weight_init": "calls a private method",
    "test_sample_weight_zero": "calls a private method",
    "test_minibatch_reassign": "calls a private function with private attributes",
    "test_kmeans_verbose": _WORDS,
    "test_minibatch_declared_convergence": _WORDS,
    r"test_all_init\[MiniBatchKMeans-random": "fits once, as n_init has no effect",
    r"test_warning_n_init_precomputed_centers\[MiniBatchKMeans": "warns in other words that n_init has no effect",
    "test_minibatch_sensible_reassign": "moves no center that got a copy of another",
    "test_minibatch_iter_steps": "has equal batches, and whole epochs",
    "test_kmeans_warns_less_centers": "gives any of the numbers to an empty cluster",
    r"test_wrong_params\[param3-": _SHAPE,
    r"test_wrong_params\[param4-": _SHAPE,
}


def own_tests() -> ModuleType | None:
    """Return the tests, which get coterie's classes when they import scikit-learn's; None where there are none."""
    try:
        found = importlib.util.find_spec(TESTS)
    except ImportError:
        return None
    if found is None or found.loader is None:
        return None
    module = importlib.util.module_from_spec(found)
    with (
        mock.patch("sklearn.cluster.KMeans", coterie.KMeans),
        mock.patch("sklearn.cluster.MiniBatchKMeans", coterie.MiniBatchKMeans),
    ):
        try:
            found.loader.exec_module(module)
        except ImportError:  # of another version, with other private names
            return None
    return module


def of_classes(module: ModuleType) -> Iterator[tuple[str, Callable[..., Any]]]:
    """Yield the tests that speak of the classes, not of functions beside them."""
    for name, test in vars(module).items():
        if name.startswith("test_") and re.search(r"KMeans\(|Estimator\(|Klass\(", inspect.getsource(test)):
            yield name, test


module = own_tests()
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.skipif(module is None, reason=f"this scikit-learn has no {TESTS} that can be imported"),
]
if module is not None:
    globals().update(of_classes(module))


@pytest.fixture
def global_random_seed() -> int:
    return 42


@pytest.fixture(params=[np.float32, np.float64], ids=["float32", "float64"])
def global_dtype(request: pytest.FixtureRequest) -> Any:
    return request.param


@pytest.fixture(autouse=True)
def expected(request: pytest.FixtureRequest) -> None:
    for pattern, reason in EXPECTED.items():
        if re.match(pattern, request.node.name):
            request.applymarker(pytest.mark.xfail(reason=reason, strict=True))


def test_most_scikit_learn_tests_are_imported():
    assert len(dict(of_classes(module))) >= 40
