"""Cases of Laplacian K-modes."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.fingerprints.data import blobs, digits, sparse_blobs
from benchmarks.fingerprints.runs import Cases, fit, fit_on_threads, fitted, watch
from benchmarks.fingerprints.storages import from_file
from coterie import LaplacianKModes, graphs, select_graph_weight

N_ROWS = 1_200


def laplacian_cases() -> Cases:
    """Modes, graphs, starts, choice of lambda."""
    X, others = np.split(digits()[0], [N_ROWS])
    some_labels = np.where(np.arange(N_ROWS) % 10, -1, digits()[1][:N_ROWS])
    words, larger = sparse_blobs(1_000), blobs(6_000, 20)
    modes = partial(LaplacianKModes, 10, graph_weight=1.3, init="k-means++", n_init=3)
    shifted = partial(modes, mode_update="mean_shift")
    return {
        "byproduct": fit(modes(), X, others, "predict"),
        "ten starts": fit(modes(n_init="auto", metric="cosine"), X, others, "predict"),
        "float32": fit(modes(), X.astype(np.float32), others, "predict"),
        "mean shift": fit(shifted(), X, others, "predict"),
        "mean shift, float32": fit(shifted(metric="cosine"), X.astype(np.float32), others, "predict"),
        **{
            f"init {init}": fit(modes(init=init), X, others, "predict")
            for init in ("k-means", "spectral", "random")
        },
        "given modes": fit(modes(init=X[:10], n_init="auto"), X),
        **{
            f"shift {shift}": fit(modes(diagonal_shift=shift, symmetrize="max"), X) for shift in (True, False)
        },
        "gaussian, mean": fit(
            modes(weights="gaussian", symmetrize="mean", bandwidth=20.0), X, others, "predict"
        ),
        "function of distances": fit(modes(weights=lambda squares: 1 / (1 + squares)), X, others, "predict"),
        "small steps": fit(
            modes(graph_weight=0.1, tol=0, membership_tol=1e-9, init="random", max_iter=12), X
        ),
        "sparse": fit(modes(), words, words[::9], "predict"),
        "sparse, mean shift": fit(shifted(metric="cosine"), words, words[::9], "predict"),
        "precomputed": partial(on_graph, X, n_init=2, max_iter=20),
        "precomputed, given rows": partial(on_graph, X, init=np.arange(10), max_iter=20),
        "file": partial(from_file, "parquet", X, lambda rows: fitted(modes(), rows, others, "predict")),
        "lambdas": partial(selected, X, None),
        "lambdas, some labels": partial(selected, X, some_labels),
        "6,000 rows": fit(modes(n_init=1), larger, larger[::9] + 0.5, "predict"),
        "6,000 rows, mean shift": fit(shifted(n_init=1), larger, larger[::9] + 0.5, "predict"),
        "callback": watch(shifted(), X),
        "threads": fit_on_threads(shifted(), X, others, "predict"),
        "threads, byproduct": fit_on_threads(modes(symmetrize="mean"), larger),
    }


def on_graph(rows: npt.NDArray[Any], **options: Any) -> list[Any]:
    """Fit a graph, sparse and dense; return both models, and labels of some of its rows."""
    graph = graphs.knn_graph(rows, 8, weights="gaussian")
    model = partial(
        LaplacianKModes, 10, **{"graph_weight": 1.0, "init": "random", "affinity": "precomputed"} | options
    )
    return [fitted(model(), given, given[:200], "predict") for given in (graph, graph.toarray())]


def selected(rows: npt.NDArray[Any], labels: npt.NDArray[Any] | None) -> list[Any]:
    """Select a lambda; return all that there is to know of it."""
    start = LaplacianKModes(10, init="k-means++", n_init=2, random_state=0)
    scan = select_graph_weight(start, rows, [1.0, 1.6, 3.0], y=labels)
    scores = scan.accuracy, scan.normalized_mutual_information
    return [scan, scan.best_graph_weight, scan.objectives, scan.sizes, scores, str(scan)]
