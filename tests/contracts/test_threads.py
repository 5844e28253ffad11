"""The number of threads makes no difference, to the bit."""

import numpy as np
import pytest
import scipy.sparse as sp

from tests.support.bits import same_bits, same_fits
from tests.support.estimators import every_case

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def check_threads(case, X, **others):
    models = [case.make(n_threads=n).fit(X, **others) for n in (1, 3)]
    same_fits(*models)
    return models


@every_case()
def test_dense_rows(case):
    X = case.rows()
    models = check_threads(case, X)
    for method in ("predict", "transform", "responsibilities", "score_samples"):
        if hasattr(models[0], method):
            same_bits(*(getattr(model, method)(X[::2]) for model in models), method)
    if hasattr(case.estimator, "cluster_scales_") and hasattr(case.estimator, "predict"):
        same_bits(*(model.predict(X[::2], return_distance=True) for model in models))


@every_case(lambda case: case.takes_sparse)
def test_sparse_rows(case):
    check_threads(case, sp.csr_array(np.maximum(case.rows(), 0).astype(np.float32)))


@every_case(lambda case: case.takes_weights)
def test_weighted_rows(case):
    check_threads(case, case.rows().astype(np.float32), **case.weights(True))
