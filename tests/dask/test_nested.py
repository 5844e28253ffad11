"""Nested mini-batches of rows on workers: the sample, the rounds and the clusters of one machine."""

import contextlib

import numpy as np
import pytest

import coterie
from coterie import NestedMiniBatchKMeans
from tests.dask.clusters import in_threads

distributed = pytest.importorskip("distributed", reason="fits on a cluster need the extra dask")
da = pytest.importorskip("dask.array")

import coterie.dask  # noqa: E402

K = 6


def rows(dtype=np.float32, n=4000, seed=0):
    random = np.random.default_rng(seed)
    centers = random.normal(size=(K, 5)) * 2
    return (centers[random.integers(K, size=n)] + random.normal(size=(n, 5))).astype(dtype)


def on_workers(X, size=900):
    return coterie.dask.rows(da.from_array(X, chunks=(size, X.shape[1])))


def both(X, weights=None, **options):
    options = {"batch_size": 200, "random_state": 0} | options
    return [
        NestedMiniBatchKMeans(K, **options).fit(data, sample_weight=weights) for data in (X, on_workers(X))
    ]


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
    here, there = both(X, random_state=1)
    np.testing.assert_array_equal(there.labels_, here.labels_)


def test_partial_fit(client):
    X = rows(n=6000)
    here, there = (NestedMiniBatchKMeans(K, batch_size=300, random_state=0) for _ in range(2))
    for part in np.split(X, 3):
        here.partial_fit(part)
        there.partial_fit(on_workers(part))
    np.testing.assert_array_equal(there.cluster_centers_, here.cluster_centers_)
    np.testing.assert_allclose(there.counts_, here.counts_)


def test_bits_do_not_depend_on_workers():
    X, found = rows(np.float64), []
    for n_workers in (1, 3):
        with contextlib.ExitStack() as stack:
            in_threads(stack, n_workers)
            found.append(NestedMiniBatchKMeans(K, batch_size=200, random_state=0).fit(on_workers(X, 500)))
    for name in ("cluster_centers_", "labels_", "counts_"):
        np.testing.assert_array_equal(getattr(found[0], name), getattr(found[1], name))
