"""Mixtures of rows on workers: about the model of one machine, bit-identical for any workers."""

import contextlib
import os
import signal

import numpy as np
import pytest

import coterie
from coterie import TruncatedGaussianMixture
from tests.dask.clusters import in_processes, in_threads

distributed = pytest.importorskip("distributed", reason="fits on a cluster need the extra dask")
da = pytest.importorskip("dask.array")

import coterie.dask  # noqa: E402
from coterie.dask.passes import WorkerPasses  # noqa: E402

C = 8


def rows(dtype=np.float32, n=3000, seed=0):
    random = np.random.default_rng(seed)
    centers = random.normal(size=(C, 4)) * 3
    return (centers[random.integers(C, size=n)] + random.normal(size=(n, 4))).astype(dtype)


def on_workers(X, size=700):
    return coterie.dask.rows(da.from_array(X, chunks=(size, X.shape[1])))


@pytest.mark.parametrize(
    ("covariance_type", "dtype"),
    [
        ("tied_spherical", np.float32),
        ("spherical", np.float64),
        ("diag", np.float64),
        ("factors", np.float64),
    ],
)
def test_fit_with_all_candidates_equals_that_of_one_machine(client, covariance_type, dtype):
    X = rows(dtype)
    weights = np.random.default_rng(1).integers(0, 3, size=len(X)).astype(float)
    options = {
        "covariance_type": covariance_type,
        "n_factors": 2,
        "n_candidates": C,
        "init": X[:C],
        "tol": 0,
        "max_iter": 8,
    }
    here = TruncatedGaussianMixture(C, **options).fit(X, sample_weight=weights)
    there = TruncatedGaussianMixture(C, **options).fit(on_workers(X), sample_weight=weights)
    rtol = 1e-6 if dtype == np.float64 else 1e-4
    np.testing.assert_allclose(there.means_, here.means_, rtol=rtol, atol=rtol)
    np.testing.assert_allclose(there.covariances_, here.covariances_, rtol=rtol)
    np.testing.assert_allclose(there.weights_, here.weights_, rtol=rtol)
    np.testing.assert_allclose(there.lower_bounds_, here.lower_bounds_, rtol=1e-6)
    assert np.mean(there.labels_ == here.labels_) > 0.999
    np.testing.assert_allclose(there.outlier_scores_, here.outlier_scores_, rtol=0.01)


def test_few_candidates_reach_a_similar_likelihood(client):
    X = rows(n=6000)
    options = {"n_candidates": 3, "n_neighbors": 4, "random_state": 0, "n_init": 2}
    here = TruncatedGaussianMixture(C, **options).fit(X)
    there = TruncatedGaussianMixture(C, **options).fit(on_workers(X))
    assert abs(there.lower_bound_ - here.lower_bound_) < 0.02 * abs(here.lower_bound_)
    assert np.all(np.diff(there.lower_bounds_) > -1e-6)
    assert len(there.history_.n_distances) == there.n_iter_


def test_means_begin_with_k_means_of_a_sample(client):
    X = rows(np.float64)
    options = {"init": "k-means", "covariance_type": "factors", "n_factors": 1, "random_state": 0}
    here, there = (TruncatedGaussianMixture(C, **options).fit(data) for data in (X, on_workers(X)))
    assert abs(there.lower_bound_ - here.lower_bound_) < 0.02 * abs(here.lower_bound_)


@pytest.mark.parametrize("covariance_type", ["diag", "factors"])
def test_bits_do_not_depend_on_workers(covariance_type):
    X, found = rows(np.float64), []
    options = {
        "covariance_type": covariance_type,
        "n_factors": 2,
        "n_candidates": 3,
        "n_neighbors": 3,
        "random_state": 0,
        "random_candidate": True,
    }
    for n_workers in (1, 3):
        with contextlib.ExitStack() as stack:
            in_threads(stack, n_workers)
            found.append(TruncatedGaussianMixture(C, **options).fit(on_workers(X, 300)))
    for name in ("means_", "covariances_", "weights_", "labels_", "lower_bounds_", "neighbors_"):
        np.testing.assert_array_equal(getattr(found[0], name), getattr(found[1], name))


def test_coreset(client):
    X = rows(n=6000)
    models = [
        TruncatedGaussianMixture(C, coreset_size=1500, random_state=0, n_init=2).fit(on_workers(X))
        for _ in range(2)
    ]
    np.testing.assert_array_equal(models[0].means_, models[1].means_)
    assert len(models[0].labels_) == len(X)
    whole = TruncatedGaussianMixture(C, random_state=0, n_init=3).fit(X)
    assert models[0].score(on_workers(X)) > whole.score(X) - 0.1


def test_methods_of_a_fitted_model(client):
    X = rows()
    model = TruncatedGaussianMixture(C, random_state=0, covariance_type="spherical").fit(on_workers(X))
    others = on_workers(X, 400)
    np.testing.assert_array_equal(model.predict(others).compute(), model.labels_)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    lazy = model.responsibilities(others)
    assert lazy.shape == (len(X), C)
    assert (lazy.compute() != model.responsibilities(X)).nnz == 0
    for method in ("predict_proba", "score_samples"):
        found = getattr(model, method)(others).compute()
        np.testing.assert_allclose(found, getattr(model, method)(X), rtol=1e-10, atol=1e-12)
    for method in ("score", "bic", "aic"):
        assert getattr(model, method)(others) == pytest.approx(getattr(model, method)(X), rel=1e-10)


@pytest.mark.slow
def test_a_worker_is_killed_between_e_steps(monkeypatch):
    run, running = WorkerPasses.run, []
    monkeypatch.setattr(
        WorkerPasses, "run", lambda passes, *args, **kw: running.append(passes) or run(passes, *args, **kw)
    )
    X = rows(np.float64, n=10_000)
    options = {"n_candidates": 3, "n_neighbors": 4, "random_state": 0, "tol": 0, "max_iter": 9}
    with contextlib.ExitStack() as stack:
        cluster, client = in_processes(stack, 2)
        chunks = on_workers(X, 1000)
        expected = TruncatedGaussianMixture(C, **options).fit(chunks)
        for number, at in enumerate((2, 6)):

            def kill(progress, at=at):
                if progress.iteration == at:
                    # One that has chunks: those started since may have none.
                    worker = running[-1]._homes[0]
                    os.kill(client.run(os.getpid, workers=[worker])[worker], signal.SIGKILL)

            found = TruncatedGaussianMixture(C, **options, callback=kill).fit(chunks)
            for name in ("means_", "labels_", "lower_bounds_", "neighbors_"):
                np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
            cluster.scale(3 + number)
            client.wait_for_workers(2, timeout=240)
