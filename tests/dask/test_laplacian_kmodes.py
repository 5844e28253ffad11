"""Laplacian K-modes with a graph that workers make: the clusters of one machine."""

import numpy as np
import pytest

import coterie
from coterie import LaplacianKModes

pytest.importorskip("distributed", reason="fits on a cluster need the extra dask")
da = pytest.importorskip("dask.array")

import coterie.dask  # noqa: E402
from coterie.dask.tasks import SESSIONS  # noqa: E402

L = 3


def rows(dtype=np.float32, n=300):
    random = np.random.default_rng(1)
    return (random.normal(size=(n, 4)) + 4 * random.integers(L, size=n)[:, None]).astype(dtype)


def on_workers(X, size=64):
    return coterie.dask.rows(da.from_array(X, chunks=(size, X.shape[1])))


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"weights": "gaussian", "symmetrize": "mean", "n_neighbors": 7, "init": "k-means++"},
        {"mode_update": "mean_shift", "metric": "cosine"},
    ],
)
def test_fit_equals_that_of_one_machine(client, monkeypatch, options):
    monkeypatch.setattr("coterie.dask.backend._READ_BYTES", 1000)
    monkeypatch.setattr("coterie.graphs.worker_neighbors._QUERY_BYTES", 2000)
    X = rows()
    here = LaplacianKModes(L, random_state=0, n_init=2, **options).fit(X)
    there = LaplacianKModes(L, random_state=0, n_init=2, **options).fit(on_workers(X))
    for name in ("labels_", "memberships_", "modes_", "mode_indices_", "objective_", "bandwidth_", "n_iter_"):
        np.testing.assert_array_equal(getattr(there, name), getattr(here, name))
    assert (there.affinity_matrix_ != here.affinity_matrix_).nnz == 0
    assert not SESSIONS


def test_other_rows_and_files(client, tmp_path):
    X, others = rows(), rows(n=100)
    np.save(tmp_path / "rows.npy", X)
    model = LaplacianKModes(L, random_state=0, n_init=1).fit(coterie.dask.rows(str(tmp_path / "rows.npy")))
    np.testing.assert_array_equal(model.predict(on_workers(others)).compute(), model.predict(others))


def test_an_approximate_graph(client, monkeypatch):
    monkeypatch.setattr("coterie.graphs.worker_neighbors._CALL_MULTIPLY_ADDS", 1e4)
    X = rows(n=2000)
    here = LaplacianKModes(L, random_state=0, n_init=1).fit(X)
    monkeypatch.setattr("coterie.graphs.neighbors.LEAST_WORK", 0)
    there = LaplacianKModes(L, random_state=0, n_init=1).fit(on_workers(X, 700))
    assert 0 < (there.affinity_matrix_ != here.affinity_matrix_).nnz < 0.1 * here.affinity_matrix_.nnz
    assert coterie.metrics.clustering_accuracy(here.labels_, there.labels_) > 0.99


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_neighbors": 30}, "n_neighbors=30 should be < n_samples=30"),
        ({"n_clusters": 31}, "n_samples=30 should be >= n_clusters=31"),
        ({"mode_update": "best"}, "mode_update must be one of"),
    ],
)
def test_wrong_arguments(client, options, message):
    model = LaplacianKModes(**{"n_clusters": L} | options)
    with pytest.raises(ValueError, match=message):
        model.fit(on_workers(rows(n=30), 10))
    assert not hasattr(model, "labels_")


def test_rows_that_do_not_fit_this_machine(client, monkeypatch):
    monkeypatch.setattr("coterie.limits.memory._NEGLIGIBLE_BYTES", 0)
    monkeypatch.setattr("coterie.limits.memory.available_memory", lambda: 20_000)
    with pytest.raises(MemoryError, match="take about"):
        LaplacianKModes(L).fit(on_workers(rows()))
