"""Nested mini-batches on a cluster: the sample, the rounds and the clusters of one machine."""

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

from coterie.dask import NestedMiniBatchKMeans  # noqa: E402
from coterie.dask.worker import SESSIONS  # noqa: E402

K = 6


def rows(dtype=np.float32, n=4000, seed=0):
    random = np.random.default_rng(seed)
    centers = random.normal(size=(K, 5)) * 2
    return (centers[random.integers(K, size=n)] + random.normal(size=(n, 5))).astype(dtype)


def in_chunks(X, size=900):
    return da.from_array(X, chunks=(size, X.shape[1]))


def both(X, weights=None, **options):
    options = {"batch_size": 200, "random_state": 0} | options
    here = coterie.NestedMiniBatchKMeans(K, **options).fit(X, sample_weight=weights)
    there = NestedMiniBatchKMeans(K, **options).fit(in_chunks(X), sample_weight=weights)
    return here, there


@pytest.mark.parametrize("bounds", ["off", "yinyang"])
def test_float32_rows_give_the_bits_of_one_machine(client, bounds):
    here, there = both(rows(), bounds=bounds)
    assert here.history_.batch_size[-1] == 4000
    for name in ("cluster_centers_", "labels_", "n_iter_"):
        np.testing.assert_array_equal(getattr(there, name), getattr(here, name))
    for name in ("batch_size", "n_changed"):
        np.testing.assert_array_equal(there.history_[name], here.history_[name])
    np.testing.assert_allclose(there.counts_, here.counts_, rtol=1e-12)
    assert there.inertia_ == pytest.approx(here.inertia_, rel=1e-12)
    assert not SESSIONS


@pytest.mark.parametrize("options", [{"metric": "cosine"}, {"init": "afk-mc2"}])
def test_float64_rows_and_weights(client, options):
    X = rows(np.float64)
    weights = np.random.default_rng(1).integers(0, 3, size=len(X)).astype(float)
    here, there = both(X, weights, **options)
    np.testing.assert_array_equal(there.labels_, here.labels_)
    np.testing.assert_allclose(there.cluster_centers_, here.cluster_centers_, rtol=1e-6)
    np.testing.assert_array_equal(there.history_.batch_size, here.history_.batch_size)


def test_rows_where_rounding_decides(client):
    X = rows(np.float64)
    X[:1500] += 1e9
    here, there = both(X)
    np.testing.assert_array_equal(there.labels_, here.labels_)


def test_a_stream_goes_on(client):
    X = rows(n=6000)
    options = {"batch_size": 300, "random_state": 0}
    here, there = coterie.NestedMiniBatchKMeans(K, **options), NestedMiniBatchKMeans(K, **options)
    for part in np.split(X, 3):
        here.partial_fit(part)
        there.partial_fit(in_chunks(part))
    np.testing.assert_array_equal(there.cluster_centers_, here.cluster_centers_)
    np.testing.assert_allclose(there.counts_, here.counts_)


def test_workers_do_not_change_the_bits():
    X, found = rows(np.float64), []
    for n_workers in (1, 3):
        with contextlib.ExitStack() as stack:
            in_threads(stack, n_workers)
            found.append(NestedMiniBatchKMeans(K, batch_size=200, random_state=0).fit(in_chunks(X, 500)))
    np.testing.assert_array_equal(found[0].cluster_centers_, found[1].cluster_centers_)
    np.testing.assert_array_equal(found[0].labels_, found[1].labels_)
    np.testing.assert_array_equal(found[0].counts_, found[1].counts_)


def test_no_rows_travel_but_the_first(client):
    X = rows()
    _, there = both(X, compute_labels=False)
    assert not hasattr(there, "labels_")
    votes = there.traffic_[there.traffic_.name == "vote"]
    assert np.all(votes.n_tasks == 2)
    assert np.all(votes.n_received <= 2 * 16 * K * (X.shape[1] + 4) + 8 * 5)
    assert votes.n_sent.sum() <= 4 * len(X) + len(votes) * 2 * (4 * K * 5 + 100)


def test_saved_and_kept_after_each_round(client, tmp_path):
    X, path = rows(), tmp_path / "kept.coterie"
    model = NestedMiniBatchKMeans(K, batch_size=200, random_state=0, checkpoint=path).fit(in_chunks(X))
    kept = coterie.load(path)
    np.testing.assert_array_equal(kept.cluster_centers_, model.cluster_centers_)
    model.save(tmp_path / "model.coterie")
    loaded = coterie.load(tmp_path / "model.coterie")
    assert type(loaded) is coterie.NestedMiniBatchKMeans
    np.testing.assert_array_equal(loaded.predict(X), model.labels_)
    np.testing.assert_array_equal(model.predict(in_chunks(X, 500)).compute(), model.labels_)


@pytest.mark.parametrize("stop", [1, 6, 14])
def test_a_fit_goes_on_from_a_checkpoint(client, tmp_path, stop):
    X, path = rows(np.float64), tmp_path / "kept.coterie"
    weights = np.random.default_rng(1).integers(0, 3, size=len(X)).astype(float)
    options = {"batch_size": 200, "random_state": 0, "bounds": "yinyang", "least_gain": 1e-6}
    whole = NestedMiniBatchKMeans(K, **options).fit(in_chunks(X), sample_weight=weights)
    assert whole.n_iter_ > 14
    options["checkpoint"] = path
    NestedMiniBatchKMeans(K, max_iter=stop, **options).fit(in_chunks(X), sample_weight=weights)
    options |= {"random_state": 5, "init": coterie.load(path)}
    rest = NestedMiniBatchKMeans(K, **options).fit(in_chunks(X), sample_weight=weights)
    assert rest.n_iter_ == whole.n_iter_ - stop + 1  # the last round is begun again
    for name in ("cluster_centers_", "labels_", "counts_", "inertia_"):
        np.testing.assert_array_equal(getattr(rest, name), getattr(whole, name))
    np.testing.assert_array_equal(rest.history_.objective, whole.history_.objective[stop - 1 :])


def test_a_fit_goes_on_where_rounding_decides(client, tmp_path):
    X, path = rows(np.float64), tmp_path / "kept.coterie"
    X[:1500] += 1e9
    options = {"batch_size": 200, "random_state": 0, "checkpoint": path}
    whole = NestedMiniBatchKMeans(K, **options).fit(in_chunks(X))
    NestedMiniBatchKMeans(K, max_iter=3, **options).fit(in_chunks(X))
    rest = NestedMiniBatchKMeans(K, **options | {"init": coterie.load(path)}).fit(in_chunks(X))
    np.testing.assert_array_equal(rest.cluster_centers_, whole.cluster_centers_)
    np.testing.assert_array_equal(rest.labels_, whole.labels_)


@pytest.mark.parametrize("other", ["rows", "weights", "batch"])
def test_of_other_rows_a_checkpoint_is_but_centroids(client, tmp_path, other):
    X, path, weights = rows(), tmp_path / "kept.coterie", None
    options = {"batch_size": 200, "random_state": 0}
    NestedMiniBatchKMeans(K, max_iter=9, checkpoint=path, **options).fit(in_chunks(X))
    kept = coterie.load(path)
    if other == "rows":
        X[-1] += 0.5
    elif other == "weights":
        weights = np.linspace(1, 2, len(X))
    else:
        options["batch_size"] = 300
    found = NestedMiniBatchKMeans(K, init=kept, **options).fit(in_chunks(X), sample_weight=weights)
    expected = NestedMiniBatchKMeans(K, init=kept.cluster_centers_, **options)
    expected.fit(in_chunks(X), sample_weight=weights)
    np.testing.assert_array_equal(found.cluster_centers_, expected.cluster_centers_)
    np.testing.assert_array_equal(found.history_.batch_size, expected.history_.batch_size)


def test_the_last_model_is_kept_where_time_is_limited(client, monkeypatch):
    X = in_chunks(rows())
    begun = lost_in(monkeypatch, "vote", 4)
    with pytest.raises(ConnectionError, match="is lost"):
        NestedMiniBatchKMeans(K, batch_size=200, random_state=0).fit(X)
    begun.clear()
    with pytest.warns(ConvergenceWarning, match="is lost. What is left is the model of iteration"):
        model = NestedMiniBatchKMeans(K, batch_size=200, random_state=0, max_time=60).fit(X)
    monkeypatch.undo()
    expected = NestedMiniBatchKMeans(K, batch_size=200, random_state=0, max_iter=model.n_iter_).fit(X)
    np.testing.assert_array_equal(model.cluster_centers_, expected.cluster_centers_)
    assert model.n_iter_ >= 3
    assert not hasattr(model, "labels_")
    assert model.predict(X).compute().shape == (4000,)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"bounds": "best"}, "bounds must be one of"),
        ({"batch_size": 0}, "batch_size"),
        ({"init": "k-means||"}, r"init must be one of 'k-means\+\+', 'afk-mc2', 'random'"),
        (
            {"zero_rows": "ignore", "metric": "cosine"},
            "zero_rows='ignore' is for coterie.NestedMiniBatchKMeans",
        ),
    ],
)
def test_wrong_arguments(client, options, message):
    with pytest.raises(ValueError, match=message):
        NestedMiniBatchKMeans(K, **options).fit(in_chunks(rows()))


@pytest.mark.slow
def test_a_worker_is_killed_while_the_sample_grows():
    X = rows(np.float64, n=20_000)
    chunks = in_chunks(X, 2000)
    options = {"batch_size": 200, "random_state": 0, "bounds": "yinyang"}
    with contextlib.ExitStack() as stack:
        cluster, client = in_processes(stack, 2)
        expected = NestedMiniBatchKMeans(K, **options).fit(chunks)
        for number, at in enumerate((2, 5)):

            def kill(progress, at=at):
                if progress.iteration == at:
                    os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)

            found = NestedMiniBatchKMeans(K, **options, callback=kill).fit(chunks)
            np.testing.assert_array_equal(found.cluster_centers_, expected.cluster_centers_)
            np.testing.assert_array_equal(found.labels_, expected.labels_)
            np.testing.assert_array_equal(found.history_.n_changed, expected.history_.n_changed)
            assert found.traffic_.n_opened.sum() > 10
            cluster.scale(3 + number)
            client.wait_for_workers(2, timeout=240)
