"""A fitted model survives pickle, joblib and its own files: every attribute, to the bit."""

import pickle
from functools import cache

import joblib
import numpy as np
import pytest

import coterie
from tests.support.bits import same_bits, same_fits
from tests.support.estimators import every_case, every_estimator

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def through_its_file(model, folder):
    model.save(folder / "model.coterie")
    return coterie.load(folder / "model.coterie")


def through_pickle(model, folder):
    return pickle.loads(pickle.dumps(model))


def through_joblib(model, folder):
    joblib.dump(model, folder / "model.joblib")
    return joblib.load(folder / "model.joblib")


@cache
def fitted(case):
    X = case.rows().astype(np.float32)
    return X, case.make().fit(X)


@every_case()
def test_file(case, tmp_path):
    check_copy(through_its_file, case, tmp_path)


@every_estimator()
@pytest.mark.parametrize("way", [through_pickle, through_joblib])
def test_pickle_and_joblib(case, way, tmp_path):
    check_copy(way, case, tmp_path)


def check_copy(way, case, folder):
    """Check that a model that was written and read equals the fitted one."""
    X, model = fitted(case)
    loaded = way(model, folder)
    assert type(loaded) is type(model)
    assert loaded.get_params() == model.get_params()
    same_fits(loaded, model)
    if case.iterates:
        same_bits(loaded.history_.seconds, model.history_.seconds)
    for method in ("predict", "transform", "score", "responsibilities", "score_samples"):
        if hasattr(model, method):
            same_bits(getattr(loaded, method)(X), getattr(model, method)(X), method)
    if hasattr(case.estimator, "cluster_scales_") and hasattr(case.estimator, "predict"):
        same_bits(loaded.predict(X, return_distance=True), model.predict(X, return_distance=True))
    if hasattr(model, "sample"):
        same_bits(loaded.sample(9), model.sample(9))
