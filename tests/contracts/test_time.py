"""`max_time` counts from the call of a fit, whatever the fit is doing when it is over."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import coterie
from tests.support.clocks import TickingClock

# Each with work that takes more looks at the clock than the time has.
MODELS = {
    "k-means": coterie.KMeans(60, tol=0, random_state=0),
    "k-means, several starts": coterie.KMeans(60, n_init=50, random_state=0),
    "k-means on a coreset": coterie.KMeans(60, coreset_size=400, random_state=0),
    "k-means, afk-mc2": coterie.KMeans(60, init="afk-mc2", tol=0, random_state=0),
    "k-means, split-merge": coterie.KMeans(60, init="split-merge", tol=0, random_state=0),
    "mini-batch": coterie.MiniBatchKMeans(60, max_iter=1000, batch_size=200, random_state=0),
    "nested": coterie.NestedMiniBatchKMeans(60, batch_size=200, random_state=0),
    "gmm": coterie.TruncatedGaussianMixture(60, tol=0, random_state=0),
    "gmm, factors": coterie.TruncatedGaussianMixture(
        60, covariance_type="factors", n_factors=1, tol=0, random_state=0
    ),
    "gmm, several starts": coterie.TruncatedGaussianMixture(60, n_init=50, random_state=0),
    "laplacian-kmodes": coterie.LaplacianKModes(20, random_state=0),
    "total-variation": coterie.TotalVariationClustering(20, random_state=0),
    "convex": coterie.ConvexClustering(gamma=1.0, tol=1e-12, max_iter=10**6),
    "convex, path": coterie.ConvexClusterPath(tol=1e-12, max_iter=10**6),
}
TICK, MAX_TIME, MOST = 0.01, 1.0, 1.5  # each column of a diffusion looks once more


@pytest.fixture(scope="module")
def rows():
    return np.random.default_rng(0).normal(size=(1500, 4))


@pytest.mark.parametrize("name", MODELS)
def test_a_fit_that_has_no_time_ends_with_a_model(name, rows, monkeypatch):
    max_time = 0.3 if name.startswith("k-means") else MAX_TIME
    model = clone(MODELS[name]).set_params(max_time=max_time)
    clock = TickingClock(monkeypatch, TICK)
    with pytest.warns(ConvergenceWarning, match="max_time"):
        model.fit(rows)
    assert clock.seconds <= MOST * max_time
    assert model.labels_.shape == (1500,)
    assert model.predict(rows[:9]).shape == (9,)
    if hasattr(model, "inertia_"):
        np.testing.assert_array_equal(model.predict(rows), model.labels_)


@pytest.mark.parametrize("name", [name for name in MODELS if "convex" not in name])
def test_a_fit_that_has_time_is_the_one_without_a_limit(name, rows):
    few = rows[:300]
    small = {"n_components" if "gmm" in name else "n_clusters": 5}
    model = clone(MODELS[name]).set_params(**small)
    if "starts" in name:
        model.set_params(n_init=2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        free, limited = model.fit(few), clone(model).set_params(max_time=1e6).fit(few)
    np.testing.assert_array_equal(free.labels_, limited.labels_)
    centers = "memberships_" if hasattr(free, "memberships_") else "cluster_centers_"
    np.testing.assert_array_equal(getattr(free, centers), getattr(limited, centers))
