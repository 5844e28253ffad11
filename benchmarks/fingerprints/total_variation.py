"""Cases of total variation clustering."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.fingerprints.data import blobs, digits, known_digits, moons, sparse_blobs
from benchmarks.fingerprints.runs import Cases, fit, fit_on_threads, fitted, watch
from benchmarks.fingerprints.storages import from_file
from coterie import TotalVariationClustering, graphs


def total_variation_cases() -> Cases:
    """Starts, labels, swaps, and graphs of so many vertices that these are ordered and cut into blocks."""
    X, known, words = digits()[0], known_digits(), sparse_blobs(1_500)
    others, large = X[::9] + 0.5, blobs(20_000, 8)
    few = np.where(np.arange(20_000) < 10, np.arange(20_000), -1)
    memberships = np.random.default_rng(6).dirichlet(np.ones(10), size=len(X))
    cut = partial(TotalVariationClustering, 10, n_init=2, max_iter=400)
    return {
        "no labels": fit(cut(n_init=4), X, others, "predict"),
        "float32": fit(cut(), X.astype(np.float32), others, "predict"),
        "one label of each class": fit(cut(), X, others, "predict", y=known),
        "labels of some classes": fit(cut(), X, y=np.where(known > 4, -1, known)),
        "swaps": fit(cut(n_swaps=2), X),
        "swaps, labels": fit(cut(n_swaps=2), X, y=known),
        "given memberships": fit(cut(init=memberships), X, others, "predict"),
        "eps 0, tol 0": fit(cut(inner_tol=0, tol=0, n_init=1), X),
        "one cluster": fit(TotalVariationClustering(1), X, others, "predict"),
        "two clusters": fit(TotalVariationClustering(2, n_init=3), moons(250)),
        "dense affinities": partial(on_dense_affinities, 200),
        "cosine": partial(on_graph, cut(), X, metric="cosine", weights="gaussian"),
        "cosine, sparse": partial(
            on_graph, cut(), words, metric="cosine", weights="gaussian", symmetrize="mean"
        ),
        "sparse": fit(cut(), words, words[::9], "predict"),
        "isolated vertices": partial(with_isolated_vertices, cut(affinity="precomputed")),
        "3,000 rows": fit(cut(), large[:3_000], large[3_000:3_400], "predict"),
        "3,000 rows, float32, weights": partial(
            on_graph, cut(), large[:3_000].astype(np.float32), weights="gaussian"
        ),
        "3,000 rows, swaps": fit(cut(n_init=1, n_swaps=1, max_iter=200), large[:3_000]),
        "20,000 rows": fit(cut(n_init=1, max_iter=150), large, large[::50] + 0.5, "predict"),
        "20,000 rows, labels": partial(on_graph, cut(max_iter=150), large, few),
        "file": partial(from_file, "npz, compressed", X, lambda rows: fitted(cut(), rows, rows, "predict")),
        "callback": watch(cut(), X),
        "threads": fit_on_threads(cut(), X, others, "predict"),
        "threads, 3,000 rows": fit_on_threads(cut(n_init=1), large[:3_000].astype(np.float32)),
    }


def on_graph(model: Any, rows: Any, y: Any = None, **options: Any) -> dict[str, Any]:
    """Fit a graph of nearest neighbors that is made outside."""
    graph = graphs.knn_graph(rows, 10, **options)
    return fitted(model.set_params(affinity="precomputed"), graph, graph[:300], "predict", y=y)


def on_dense_affinities(n_rows: int) -> dict[str, Any]:
    """Fit affinities of all pairs."""
    X = moons(n_rows)
    affinities = np.exp(-np.sum((X[:, None] - X[None]) ** 2, axis=2))
    return fitted(TotalVariationClustering(3, n_init=2, affinity="precomputed"), affinities)


def with_isolated_vertices(model: Any) -> dict[str, Any]:
    """Fit a graph of several components, some of one vertex."""
    graph = graphs.knn_graph(blobs(900, 3, 30), 4)
    return fitted(model, sp.csr_array(sp.block_diag([graph, sp.csr_array((5, 5))])))
