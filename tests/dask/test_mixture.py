"""Mixtures on a cluster: the loop of one machine, the same bits for any workers, rows that are labelled elsewhere."""

import contextlib
import os
import signal

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import coterie
from tests.dask.clusters import in_processes, in_threads, lost_in

distributed = pytest.importorskip("distributed", reason="fits on a cluster need the extra dask")
da = pytest.importorskip("dask.array")

from coterie.dask import TruncatedGaussianMixture  # noqa: E402
from coterie.dask.worker import SESSIONS  # noqa: E402

C = 8


def rows(dtype=np.float32, n=3000, seed=0):
    random = np.random.default_rng(seed)
    centers = random.normal(size=(C, 4)) * 3
    return (centers[random.integers(C, size=n)] + random.normal(size=(n, 4))).astype(dtype)


def in_chunks(X, size=700):
    return da.from_array(X, chunks=(size, X.shape[1]))


@pytest.mark.parametrize(
    ("covariance_type", "dtype"),
    [("tied_spherical", np.float32), ("spherical", np.float64), ("diag", np.float64)],
)
def test_where_all_candidates_are_kept_it_is_that_of_one_machine(client, covariance_type, dtype):
    X = rows(dtype)
    weights = np.random.default_rng(1).integers(0, 3, size=len(X)).astype(float)
    options = {
        "covariance_type": covariance_type,
        "n_candidates": C,
        "means_init": X[:C],
        "tol": 0,
        "max_iter": 8,
    }
    here = coterie.TruncatedGaussianMixture(C, **options).fit(X, sample_weight=weights)
    there = TruncatedGaussianMixture(C, **options).fit(in_chunks(X), sample_weight=weights)
    rtol = 1e-6 if dtype == np.float64 else 1e-4
    np.testing.assert_allclose(there.means_, here.means_, rtol=rtol, atol=rtol)
    np.testing.assert_allclose(there.covariances_, here.covariances_, rtol=rtol)
    np.testing.assert_allclose(there.weights_, here.weights_, rtol=rtol)
    np.testing.assert_allclose(there.lower_bounds_, here.lower_bounds_, rtol=1e-6)
    assert np.mean(there.labels_ == here.labels_) > 0.999
    np.testing.assert_allclose(there.outlier_scores_, here.outlier_scores_, rtol=0.01)


def test_few_candidates_do_about_as_well(client):
    X = rows(n=6000)
    options = {"n_candidates": 3, "n_neighbors": 4, "random_state": 0, "n_init": 2}
    here = coterie.TruncatedGaussianMixture(C, **options).fit(X)
    there = TruncatedGaussianMixture(C, **options).fit(in_chunks(X))
    assert abs(there.lower_bound_ - here.lower_bound_) < 0.02 * abs(here.lower_bound_)
    assert np.all(np.diff(there.lower_bounds_) > -1e-6)
    assert len(there.history_.n_distances) == there.n_iter_


def test_workers_do_not_change_the_bits():
    X, found = rows(np.float64), []
    options = {"n_candidates": 3, "n_neighbors": 3, "random_state": 0, "random_candidate": True}
    for n_workers in (1, 3):
        with contextlib.ExitStack() as stack:
            in_threads(stack, n_workers)
            found.append(
                TruncatedGaussianMixture(C, covariance_type="diag", **options).fit(in_chunks(X, 300))
            )
    for name in ("means_", "covariances_", "weights_", "labels_", "lower_bounds_", "neighbors_"):
        np.testing.assert_array_equal(getattr(found[0], name), getattr(found[1], name))


def test_by_a_coreset(client):
    X = rows(n=6000)
    models = [
        TruncatedGaussianMixture(C, coreset_size=1500, random_state=0, n_init=2).fit(in_chunks(X))
        for _ in range(2)
    ]
    np.testing.assert_array_equal(models[0].means_, models[1].means_)
    assert len(models[0].labels_) == len(X)
    whole = coterie.TruncatedGaussianMixture(C, random_state=0, n_init=3).fit(X)
    assert models[0].score(in_chunks(X)) > whole.score(X) - 0.1


def test_what_it_says_of_other_rows(client):
    X = rows()
    model = TruncatedGaussianMixture(C, random_state=0, covariance_type="spherical").fit(in_chunks(X))
    local, others = model.to_local(), in_chunks(X, 400)
    assert type(local) is coterie.TruncatedGaussianMixture
    np.testing.assert_array_equal(model.predict(others).compute(), model.labels_)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    lazy = model.responsibilities(others)
    assert lazy.shape == (len(X), C)
    assert (lazy.compute() != local.responsibilities(X)).nnz == 0
    for method in ("predict_proba", "score_samples"):
        found = getattr(model, method)(others).compute()
        np.testing.assert_allclose(found, getattr(local, method)(X), rtol=1e-10, atol=1e-12)
    for method in ("score", "bic", "aic"):
        assert getattr(model, method)(others) == pytest.approx(getattr(local, method)(X), rel=1e-10)
    with pytest.raises(ValueError, match="return_distance is for rows of this process"):
        model.predict(others, return_distance=True)


def test_kept_after_each_iteration(client, tmp_path):
    X, path = rows(), tmp_path / "kept.coterie"
    options = {"random_state": 0, "covariance_type": "diag", "checkpoint": path, "tol": 0}
    model = TruncatedGaussianMixture(C, max_iter=4, **options).fit(in_chunks(X))
    kept = coterie.load(path)
    np.testing.assert_array_equal(kept.means_, model.means_)
    np.testing.assert_array_equal(kept.covariances_, model.covariances_)
    rest = TruncatedGaussianMixture(C, max_iter=3, init=kept, random_state=1, covariance_type="diag").fit(
        in_chunks(X)
    )
    assert rest.lower_bounds_[-1] > model.lower_bounds_[-1]


def equal(found, expected):
    for name in ("means_", "covariances_", "weights_", "neighbors_", "labels_"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
    np.testing.assert_array_equal(found.lower_bounds_, expected.lower_bounds_[-len(found.lower_bounds_) :])


@pytest.mark.parametrize(
    ("options", "stops"),
    [
        ({"covariance_type": "diag"}, (1, 6)),  # the first of them while variances are shared
        ({"random_candidate": True, "search_group_size": 1, "search_every": 2}, (4,)),
    ],
)
def test_one_that_goes_on_has_the_bits_of_one_that_was_never_stopped(client, tmp_path, options, stops):
    X, path, weights = in_chunks(rows(), 1100), tmp_path / "kept.coterie", np.arange(3000) % 3 + 1.0
    options = {"n_candidates": 3, "n_neighbors": 4, "tol": 0, "checkpoint": path, "random_state": 0} | options
    whole = TruncatedGaussianMixture(20, max_iter=8, **options).fit(X, sample_weight=weights)
    for stop in stops:
        TruncatedGaussianMixture(20, max_iter=stop, compute_labels=False, **options).fit(
            X, sample_weight=weights
        )
        kept = coterie.load(path)
        rest = TruncatedGaussianMixture(20, max_iter=8 - stop, **options | {"init": kept, "random_state": 1})
        equal(rest.fit(X, sample_weight=weights), whole)
        assert not hasattr(rest, "_unfinished")


def test_one_that_goes_on_after_chunks_were_lost(client, tmp_path):
    X, path = in_chunks(rows(), 1100), tmp_path / "kept.coterie"
    options = {"n_candidates": 3, "n_neighbors": 4, "tol": 0, "random_state": 0}
    whole = TruncatedGaussianMixture(20, max_iter=7, checkpoint=path, **options).fit(X)
    TruncatedGaussianMixture(20, max_iter=4, checkpoint=path, **options).fit(X)

    def lose(progress):
        if progress.iteration == 2:
            session = max(SESSIONS.values(), key=lambda held: len(held.chunks))
            session.chunks.clear()

    kept = coterie.load(path)
    for again in (
        {},
        {"checkpoint": path},
    ):  # with checkpoints one step is repeated, else all since the last one
        rest = TruncatedGaussianMixture(
            20, max_iter=3, callback=lose, **options | {"init": kept} | again
        ).fit(X)
        equal(rest, whole)
        assert rest.traffic_.n_opened.sum() > 3


def test_a_checkpoint_of_other_rows_is_a_start(client, tmp_path):
    path, options = tmp_path / "kept.coterie", {"n_candidates": 3, "tol": 0, "random_state": 0, "max_iter": 2}
    TruncatedGaussianMixture(20, checkpoint=path, **options).fit(in_chunks(rows()))
    kept, start = coterie.load(path), coterie.load(path)
    del start._unfinished
    for X in (in_chunks(rows(seed=1)), in_chunks(rows(), 500)):
        found = TruncatedGaussianMixture(20, init=kept, **options).fit(X)
        equal(found, TruncatedGaussianMixture(20, init=start, **options).fit(X))


def test_what_travels(client):
    X = rows()
    model = TruncatedGaussianMixture(C, random_state=0, compute_labels=False, max_iter=5, tol=0).fit(
        in_chunks(X, 200)
    )
    assert not hasattr(model, "labels_")
    of_neighbors, of_moments = C * (5 * 4 + 16), 16 * C * (2 + X.shape[1])
    for name, most in (("e-step", of_neighbors), ("moments", of_moments)):
        passes = model.traffic_[model.traffic_.name == name]
        assert np.all(passes.n_tasks == 2)
        assert np.all(passes.n_received <= 2 * most + 24 * 15)


def test_the_last_model_is_kept_where_time_is_limited(client, monkeypatch):
    X = in_chunks(rows())
    begun = lost_in(monkeypatch, "e-step", 6)
    with pytest.raises(ConnectionError, match="is lost"):
        TruncatedGaussianMixture(C, tol=0, random_state=0).fit(X)
    begun.clear()
    with pytest.warns(ConvergenceWarning, match="is lost. What is left is the model of iteration"):
        model = TruncatedGaussianMixture(C, tol=0, random_state=0, max_time=60).fit(X)
    monkeypatch.undo()
    expected = TruncatedGaussianMixture(C, tol=0, random_state=0, max_iter=model.n_iter_).fit(X)
    np.testing.assert_array_equal(model.means_, expected.means_)
    assert model.n_iter_ >= 3
    assert not hasattr(model, "labels_")
    assert model.predict(X).compute().shape == (3000,)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"init": "best"}, r"init must be one of k-means\+\+, k-means\|\|"),
        ({"coreset_size": 50, "checkpoint": "c"}, "checkpoint is for fits of all rows"),
        ({"coreset_size": 50, "init": "k-means||"}, "is for fits of all rows"),
        ({"coreset_size": 5}, "coreset_size=5 should be >= n_components=8"),
        ({"covariance_type": "full"}, "covariance_type must be one of"),
    ],
)
def test_wrong_arguments(client, options, message):
    with pytest.raises(ValueError, match=message):
        TruncatedGaussianMixture(C, **options).fit(in_chunks(rows()))


@pytest.mark.slow
def test_a_worker_is_killed_between_e_steps():
    X = rows(np.float64, n=10_000)
    chunks = in_chunks(X, 1000)
    options = {"n_candidates": 3, "n_neighbors": 4, "random_state": 0, "tol": 0, "max_iter": 9}
    with contextlib.ExitStack() as stack:
        cluster, client = in_processes(stack, 2)
        expected = TruncatedGaussianMixture(C, **options).fit(chunks)
        for number, at in enumerate((2, 6)):

            def kill(progress, at=at):
                if progress.iteration == at:
                    os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)

            found = TruncatedGaussianMixture(C, **options, callback=kill).fit(chunks)
            for name in ("means_", "labels_", "lower_bounds_", "neighbors_"):
                np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
            assert found.traffic_.n_opened.sum() > 10
            cluster.scale(3 + number)
            client.wait_for_workers(2, timeout=240)
