"""Arrays larger than the free memory are refused before they are allocated."""

import numpy as np
import pytest
import scipy.sparse as sp

import coterie
from coterie.centers.choice import choose_rules
from coterie.passes import measure_rows
from coterie.rows import as_rows
from tests.support.memory import limited_memory

X = np.random.default_rng(0).normal(size=(5000, 3))


def fit(estimator, *args, rows=X, **parameters):
    return lambda: estimator(*args, **parameters).fit(rows)


# The free memory in bytes beyond that of the process, and what does not fit.
CASES = {
    "labels": (1e3, fit(coterie.KMeans, 2), "labels and distances of all rows"),
    "centers": (1e9, fit(coterie.KMeans, 2, rows=sp.csr_array((3, 10**9))), "the centers.*fewer columns"),
    "bounds": (
        1e7,
        fit(coterie.KMeans, 2000, algorithm="elkan", init="random", n_init=1),
        "bounds .*'lloyd'",
    ),
    "candidates": (
        4e6,
        fit(coterie.TruncatedGaussianMixture, 50, n_candidates=40, init="random"),
        "candidate",
    ),
    "memberships": (1e7, fit(coterie.LaplacianKModes, 400), "memberships .*fewer clusters"),
    "graph": (3e6, fit(coterie.MultilevelGraphClustering, 3, n_neighbors=500), "edges .*fewer neighbors"),
    "edges": (1e8, fit(coterie.ConvexClustering, weights="dense"), "edges between rows.*weights='knn'"),
    "gammas": (1e9, fit(coterie.ConvexClusterPath, n_gammas=10**9), "1,000,000,000 gammas"),
    "affinities": (
        1e8,
        fit(coterie.MultilevelGraphClustering, 3, affinity="precomputed", rows=np.eye(5000, dtype=np.int8)),
        "edges of the graph .*sparse matrix",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_fit_beyond_memory_is_refused(name, monkeypatch):
    free, work, message = CASES[name]
    monkeypatch.setattr("coterie.limits.memory.available_memory", lambda: free)
    with limited_memory(1e15), pytest.raises(MemoryError, match=message):
        work()


def test_distances_beyond_memory_are_refused(monkeypatch):
    model = coterie.KMeans(20, n_init=1, random_state=0).fit(X)
    monkeypatch.setattr("coterie.limits.memory.available_memory", lambda: 1e5)
    with limited_memory(1e15), pytest.raises(MemoryError, match="distances of all rows to all centers"):
        model.transform(X)


def test_a_file_that_must_be_read_at_once(tmp_path, monkeypatch):
    np.save(tmp_path / "rows.npy", np.asfortranarray(X))
    monkeypatch.setattr("coterie.limits.memory.available_memory", lambda: 1e5)
    with limited_memory(1e15), pytest.raises(MemoryError, match="rows, all at once"):
        coterie.open_rows(tmp_path / "rows.npy").read()
    assert as_rows(X).read() is not None


def test_parameters_are_checked_first():
    with limited_memory(1000), pytest.raises(ValueError, match="max_iter"):
        coterie.KMeans(2, max_iter=-1).fit(X)
    with pytest.raises(ValueError, match="n_samples=5000 should be >= n_clusters"):
        coterie.KMeans(10**9).fit(X)


def test_automatic_bounds_beyond_memory_are_not_taken(monkeypatch):
    rows = as_rows(np.random.default_rng(0).normal(size=(2000, 300)))
    data = measure_rows(rows, n_clusters=50, n_threads=1)
    assert any(rule.algorithm != "lloyd" for rule in choose_rules(data, 50, "auto"))
    monkeypatch.setattr("coterie.limits.memory.available_memory", lambda: 1e4)
    with limited_memory(1e15):
        assert all(rule.algorithm == "lloyd" for rule in choose_rules(data, 50, "auto"))
