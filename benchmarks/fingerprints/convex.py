"""Cases of convex clustering."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.fingerprints.data import blobs, moons
from benchmarks.fingerprints.runs import Cases, fit, fit_on_threads, fitted, watch
from benchmarks.fingerprints.storages import from_file
from coterie import ConvexClustering, ConvexClusterPath, datasets, graphs

Array = npt.NDArray[Any]


class EuclideanNorm:
    """The norm "l2" as an object, as users may write one."""

    def value(self, vectors: Array) -> Array:
        """Return the length of each row."""
        return np.sqrt(np.sum(vectors**2, axis=1))

    def prox(self, vectors: Array, sigmas: Array) -> Array:
        """Return each row, shortened."""
        return vectors - self.dual_projection(vectors, sigmas)

    def dual_projection(self, vectors: Array, radii: Array) -> Array:
        """Return each row, cut off at its radius."""
        return vectors * np.minimum(1, radii / np.maximum(self.value(vectors), 1e-300))[:, None]


NORMS: dict[str, Any] = {name: name for name in ("l2", "l1", "linf")}
NORMS |= {"groups": [[0, 3], [1, 2, 5], [4, 6, 7]], "object": EuclideanNorm()}
SOLVERS: dict[str, dict[str, Any]] = {
    "accelerated": {},
    "plain": {"solver": "plain-ama"},
    "admm": {"solver": "admm"},
}


def convex_cases() -> Cases:
    """Norms, solvers, graphs; for one gamma and along paths."""
    teeth, votes = datasets.load_mammals().data, datasets.load_senate(complete=True).data
    X, large, larger = blobs(400, 4, 6), moons(4_000), moons(21_000)
    single = X.astype(np.float32)
    one = partial(ConvexClustering, 1.5, distance_decay=0.1)
    path = partial(ConvexClusterPath, n_gammas=10, distance_decay=0.1, connect=True)
    on_moons: dict[str, Any] = {"n_neighbors": 10, "distance_decay": 50.0, "tol": 1e-3}
    return {
        **{
            f"{norm}, {solver}": fit(one(norm=NORMS[norm], **SOLVERS[solver]), teeth)
            for norm in NORMS
            for solver in SOLVERS
        },
        **{f"path, {norm}": fit(path(norm=NORMS[norm]), teeth, 5, "index_at", "labels_at") for norm in NORMS},
        **{f"path, {solver}": fit(path(**SOLVERS[solver]), X) for solver in SOLVERS},
        "votes": fit(ConvexClusterPath(n_gammas=15, distance_decay=0.1, weights="dense"), votes),
        "knn": fit(one(), X),
        "knn, float32": fit(one(tol=1e-3), single),
        "dense": fit(ConvexClustering(0.1, weights="dense", distance_decay=0.2), X),
        "precomputed": partial(on_graph, one(), X),
        "connected": fit(one(connect=True, n_neighbors=3), X),
        "own step": fit(one(step_size=0.01, max_iter=400), X),
        "own step, admm": fit(one(step_size=0.2, solver="admm"), X),
        "gamma 0": fit(ConvexClustering(0.0, distance_decay=0.5), X),
        "path, float32": fit(path(tol=1e-3), single),
        "path, not connected": fit(path(connect=False, n_neighbors=2), X),
        "path, precomputed": partial(on_graph, path(), X),
        "path, given gammas": fit(path([0.0, 0.1, 1.0, 3.0]), X),
        "path, 4,000 rows": fit(ConvexClusterPath([0.5, 1.0, 2.0], **on_moons), large),
        "path, 4,000 rows, float32": fit(
            ConvexClusterPath([0.5, 1.0, 2.0], **on_moons), large.astype(np.float32)
        ),
        "path, 21,000 rows": fit(ConvexClusterPath(n_gammas=3, max_iter=20, **on_moons), larger),
        "admm, 4,000 rows": fit(ConvexClustering(1.0, solver="admm", max_iter=60, **on_moons), large),
        "admm, 21,000 rows": fit(ConvexClustering(1.0, solver="admm", max_iter=5, **on_moons), larger),
        "own phi": fit(ConvexClustering(1.5), teeth),
        "own phi, dense, float32": fit(ConvexClustering(1.5, weights="dense"), single),
        "path, own phi": fit(ConvexClusterPath(), teeth, 5, "index_at", "labels_at"),
        "path, own phi, not connected": fit(
            ConvexClusterPath(n_gammas=20, connect=False, n_neighbors=2), votes
        ),
        "path, tree": fit(
            ConvexClusterPath(n_gammas=20, weights="tree", norm="l1"), large, large[:9], "predict"
        ),
        "path, tree, wide": fit(ConvexClusterPath(n_gammas=9, weights="tree", norm="l1"), blobs(400, 30, 4)),
        "tree": fit(ConvexClustering(1.5, weights="tree", norm="l1"), X),
        "path, wide": fit(ConvexClusterPath(n_gammas=20), blobs(40, 90, 4)),
        "file": partial(from_file, "csv", X, lambda rows: fitted(one(), rows)),
        "callback": watch(one(norm="l1"), X),
        "callback, path": watch(path(), X),
        "threads": fit_on_threads(one(), X),
        "threads, admm": fit_on_threads(one(solver="admm"), X),
        "threads, path": fit_on_threads(ConvexClusterPath([1.0, 2.0], **on_moons), large),
    }


def on_graph(model: Any, rows: Array) -> dict[str, Any]:
    """Fit rows on a graph that is made outside."""
    graph = graphs.knn_graph(rows, 6, weights="gaussian", symmetrize="mean")
    return fitted(model.set_params(weights="precomputed"), rows, graph=graph)
