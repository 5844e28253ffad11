"""What fits say that they take of memory, and what they take."""

import json
import os
import re
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClusterMixin

import coterie
from coterie.cli.models import fit_model
from coterie.estimators import Estimator, Method, Need, methods, register_method
from coterie.estimators import method as register
from coterie.estimators.memory import copy_of_rows
from coterie.limits.memory import limited_memory
from coterie.rows import as_rows
from tests.cli.running import ENVIRONMENT

# Each case is fitted in a process of its own, forked from one that has done nothing but to import coterie.
MEASURE = """
import json, os, sys, warnings
import coterie
import numpy as np
from coterie.rows import as_rows
from tests.support.limited import peak

def measured(name, parameters, shape, dtype):
    reading, writing = os.pipe()
    if os.fork() == 0:
        X = np.random.default_rng(0).random(shape, dtype=np.float32).astype(dtype, copy=False)
        before = peak()
        model = getattr(coterie, name)(n_threads=1, **parameters)
        needs = model._memory_needs(as_rows(X))
        model.fit(X)
        os.write(writing, json.dumps([sum(need.n_bytes for need in needs), peak() - before]).encode())
        os._exit(0)
    os.wait()
    return json.loads(os.read(reading, 1000))

warnings.simplefilter("ignore")
print(json.dumps([measured(*case) for case in json.loads(sys.argv[1])]))
"""

DRAWN = {"init": "random", "n_init": 1, "max_iter": 1}
CASES = [
    ("KMeans", {"n_clusters": 8, "algorithm": "lloyd", **DRAWN}, (1_000_000, 2), "float32"),
    ("KMeans", {"n_clusters": 150, "algorithm": "elkan", **DRAWN}, (50_000, 2), "float64"),
    ("KMeans", {"n_clusters": 200, **DRAWN}, (250, 20_000), "float32"),
    (
        "NestedMiniBatchKMeans",
        {"n_clusters": 150, "bounds": "elkan", "batch_size": 50_000, "max_iter": 1, "init": "random"},
        (50_000, 2),
        "float64",
    ),
    (
        "TruncatedGaussianMixture",
        {"n_components": 20, "max_iter": 1, "init": "random", "search_group_size": 1},
        (150_000, 2),
        "float32",
    ),
    ("LaplacianKModes", {"n_clusters": 150, **DRAWN}, (20_000, 2), "float32"),
    ("ConvexClustering", {"weights": "dense", "max_iter": 10}, (1000, 4), "float64"),
    ("ConvexClusterPath", {"n_gammas": 300, "max_iter": 1}, (2000, 3), "float64"),
    ("ConvexClusterPath", {"n_gammas": 30, "weights": "tree", "norm": "l1"}, (100_000, 2), "float64"),
]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs processes that are forked")
def test_estimates_are_right_within_a_factor_of_about_two():
    command = [sys.executable, "-c", MEASURE, json.dumps(CASES)]
    environment = ENVIRONMENT | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(command, stdout=subprocess.PIPE, env=environment, timeout=300, check=True)
    for case, (estimate, taken) in zip(CASES, json.loads(done.stdout), strict=True):
        assert taken > 15e6, f"{case} takes too little to tell: {taken / 1e6:.0f} MB"
        assert 0.45 < estimate / taken < 2.2, f"{case}: {estimate / 1e6:.0f} MB, it took {taken / 1e6:.0f} MB"


X = np.random.default_rng(0).normal(size=(5000, 3))
FITS = {
    "KMeans": (coterie.KMeans(2000, algorithm="elkan"), "bounds of the distances.*algorithm='lloyd'"),
    "KMeans, coreset": (coterie.KMeans(2, coreset_size=4000), "labels and distances|the coreset"),
    "nested": (coterie.NestedMiniBatchKMeans(2000, bounds="elkan"), "bounds of the distances.*bounds='off'"),
    "mini-batch": (coterie.MiniBatchKMeans(4), "labels and distances"),
    "mixture": (coterie.TruncatedGaussianMixture(50), "candidates of each row.*coreset"),
    "Laplacian K-modes": (coterie.LaplacianKModes(400), "memberships .*fewer clusters"),
    "total variation": (
        coterie.TotalVariationClustering(900, n_init=1),
        "(duals|memberships) .*fewer clusters",
    ),
    "affinities": (
        coterie.TotalVariationClustering(2, affinity="precomputed"),
        "graph of the affinities.*sparse",
    ),
    "convex": (coterie.ConvexClustering(weights="dense"), "edges between rows.*weights='knn'"),
    "path": (coterie.ConvexClusterPath(n_gammas=10**9), r"centroids of 1,000,000,000 gammas.*--gammas"),
}


@pytest.mark.parametrize("name", FITS)
def test_fit_beyond_memory_is_refused_before_it_begins(name):
    model, said = FITS[name]
    with limited_memory(1000), pytest.raises(MemoryError) as caught:
        model.fit(np.eye(5000, dtype=np.int8) if "affinities" in name else X)
    message = str(caught.value)
    assert message.startswith(f"{type(model).__name__} of 5,000 x ")
    assert " rows: needs about " in message
    assert len(message) < 320
    assert re.search(said, message), message
    assert not hasattr(model, "labels_")


def test_every_method_of_ours_has_an_estimate():
    ours = [method for method in methods() if method.estimator.__module__.startswith("coterie.")]
    assert len(ours) >= 8
    for method in ours:
        needs = method.estimator()._memory_needs(as_rows(X))
        assert sum(need.n_bytes for need in needs) > 0
        assert all(need.n_bytes >= 0 and need.what for need in needs)


def test_a_column_far_out_is_refused_where_centroids_are_dense():
    rows = sp.csr_array((np.ones(3), [1, 2, 10**9 - 1], [0, 1, 2, 3]), shape=(3, 10**9))
    with limited_memory(2e9), pytest.raises(MemoryError, match=r"2 centroids of 1,000,000,000 columns"):
        coterie.KMeans(2).fit(rows)


def test_parameters_that_make_no_sense_are_said_first():
    with limited_memory(1000), pytest.raises(ValueError, match="max_iter"):
        coterie.KMeans(2, max_iter=-1).fit(X)
    with pytest.raises(ValueError, match="n_samples=5000 should be >= n_clusters"):
        coterie.KMeans(10**9).fit(X)


def pairs_of_rows(rows):
    return [Need(rows.shape[0] ** 2 * 8.0, "distances of all pairs of rows", "take k-means")]


class Halves(ClusterMixin, Estimator):
    def _memory_needs(self, rows):
        return pairs_of_rows(rows)

    def fit(self, X, y=None):
        rows, columns = self._rows_to_fit(X)
        self._store_fitted(columns | {"labels_": np.arange(rows.shape[0]) * 2 // rows.shape[0]})
        return self


class Foreign(ClusterMixin, BaseEstimator):
    def fit(self, X, y=None):
        self.labels_ = np.zeros(len(X), dtype=int)
        return self


def test_fit_of_an_estimator_from_outside_checks_its_memory():
    Halves().fit(X)
    with (
        limited_memory(10**6),
        pytest.raises(
            MemoryError, match=r"Halves of 5,000 x 3 rows: .* distances of all pairs of rows: take k-means"
        ),
    ):
        Halves().fit(X)


def test_the_command_checks_the_memory_of_a_registered_estimator(monkeypatch):
    monkeypatch.setattr(register, "_methods", dict(register._methods))
    register_method(
        Method("foreign", Foreign, "one cluster", clusters=None, memory=lambda _, rows: pairs_of_rows(rows))
    )
    fit_model(Foreign(), as_rows(X), quiet=True)
    with limited_memory(10**6), pytest.raises(MemoryError, match="Foreign of 5,000 x 3 rows"):
        fit_model(Foreign(), as_rows(X), quiet=True)


def test_copies_of_rows_are_those_that_are_made():
    assert copy_of_rows(as_rows(X)).n_bytes == 0
    assert copy_of_rows(as_rows(X), is_changed=True).n_bytes == X.nbytes
    assert copy_of_rows(as_rows(X.astype(np.int32))).n_bytes == X.nbytes
