"""What is given to a fit stays as it was."""

import numpy as np
import pytest
import scipy.sparse as sp

from coterie import KMeans
from tests.support.bits import same_bits
from tests.support.estimators import every_estimator

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def used(case, X, **others):
    """Fit a model, and ask it everything."""
    model = case.make().fit(X, **others)
    for method in ("predict", "transform", "score", "responsibilities", "predict_proba", "score_samples"):
        if hasattr(model, method):
            getattr(model, method)(X)


@every_estimator()
@pytest.mark.parametrize("order", ["C", "F"])
def test_dense_rows(case, order):
    X = np.array(case.rows(), dtype=np.float32, order=order)
    before = X.copy()
    used(case, X)
    same_bits(X, before)


@every_estimator(lambda case: case.takes_sparse)
def test_sparse_rows(case):
    X = sp.csr_array(np.maximum(case.rows(), 0))
    before = X.copy()
    used(case, X)
    same_bits(X, before)


@every_estimator(lambda case: case.takes_weights)
def test_weights(case):
    X, weights = case.rows().copy(), case.weights(True)["sample_weight"]
    before = weights.copy()
    case.make().fit(X, sample_weight=weights)
    same_bits((X, weights), (case.rows(), before))


@every_estimator()
def test_parameters(case):
    model = case.make()
    before = dict(model.get_params())
    model.fit(case.rows()[:300])
    assert model.get_params() == before


def test_copy_x_has_no_effect():
    X = np.random.default_rng(0).normal(size=(300, 3))
    before = X.copy()
    KMeans(5, copy_x=False, random_state=0).fit(X)
    same_bits(X, before)
