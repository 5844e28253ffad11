"""Cases of what the systems share: graphs, seeds, coresets, metrics, data sets."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from benchmarks.fingerprints.data import (
    as_bytes,
    blobs,
    digits,
    integer_weights,
    overlapping_windows,
    sparse_blobs,
)
from benchmarks.fingerprints.runs import Case, Cases, on_threads
from benchmarks.fingerprints.storages import from_file
from coterie import coresets, datasets, graphs, metrics, seeding

Array = npt.NDArray[Any]

WEIGHTS: dict[str, Any] = {name: name for name in ("binary", "distance", "gaussian")}
WEIGHTS["function"] = lambda squares: 1 / (1 + squares)


def neighbors(X: Any, n_neighbors: int = 10, **options: Any) -> Case:
    """Return the case of a search for nearest neighbors."""
    return partial(graphs.nearest_neighbors, X, n_neighbors, random_state=0, **options)


def graph_cases() -> Cases:
    """Neighbors, graphs and what is asked of them."""
    X, others, words = blobs(4_000, 20), blobs(500, 20, seed=1), sparse_blobs()
    with_zeros, many = np.vstack([X[:600], np.zeros((3, 20))]), blobs(40_000, 20)
    small, small_words = X.astype(np.float32), words.astype(np.float32)
    return {
        "neighbors": neighbors(X),
        "neighbors, float32": neighbors(small),
        "neighbors, cosine": neighbors(with_zeros, metric="cosine"),
        "neighbors, bytes": neighbors(as_bytes(X)),
        "neighbors, wide": neighbors(blobs(2_000, 300)),
        "neighbors, equal rows": neighbors(np.repeat(X[:200], 4, axis=0) + 1e4),
        "neighbors, sparse": neighbors(words),
        "neighbors, sparse, float32, cosine": neighbors(small_words, metric="cosine"),
        "neighbors, file": partial(from_file, "parquet", X, lambda rows: neighbors(rows, metric="cosine")()),
        "neighbors of others": neighbors(X, queries=others),
        "neighbors of others, cosine": neighbors(with_zeros, queries=others, metric="cosine"),
        "neighbors of others, sparse": neighbors(words, queries=words[::9] * 1.1),
        "neighbors of others, 40,000 rows": neighbors(many, queries=many[:2_000] + 0.1),
        "approximate": neighbors(X, method="approximate"),
        "approximate, cosine": neighbors(with_zeros, method="approximate", metric="cosine"),
        "approximate, of others": neighbors(X, queries=others, method="approximate"),
        "approximate, 40,000 rows, float32": neighbors(many.astype(np.float32), method="approximate"),
        **{f"graph, {name}": partial(symmetrized, X[:900], weights) for name, weights in WEIGHTS.items()},
        "graph, cosine, sparse": partial(graphs.knn_graph, words, 5, metric="cosine", weights="distance"),
        "graph of neighbors": partial(of_distances, X[:900]),
        "bridges": partial(bridged, X[:900], weights="distance"),
        "bridges, gaussian": partial(bridged, small[:900], weights="gaussian", bandwidth=3.0),
        "bridges, sparse": partial(bridged, words[:600], metric="cosine"),
        "matrices": partial(matrices, X[:900]),
        "threads": on_threads(lambda n: neighbors(X, n_threads=n)()),
        "threads, sparse": on_threads(lambda n: neighbors(words, n_threads=n)()),
        "threads, approximate": on_threads(lambda n: neighbors(X, method="approximate", n_threads=n)()),
        "threads, bridges": on_threads(lambda n: bridged(X[:900], n_threads=n)),
    }


def symmetrized(X: Array, weights: Any) -> list[Any]:
    """Return graphs of nearest neighbors, made symmetric in all ways, with loops and without."""
    return [
        graphs.knn_graph(X, 7, weights=weights, symmetrize=symmetrize, include_self=include_self)
        for symmetrize in ("max", "mean", "none")
        for include_self in (False, True)
    ]


def of_distances(X: Array) -> list[Any]:
    """Return what is made of distances that are known."""
    ids, squares = graphs.nearest_neighbors(X, 5)
    graph = graphs.graph_of_neighbors(ids, squares, weights="gaussian", bandwidth=2.0, include_self=True)
    return [graph, graphs.gaussian_bandwidth(squares), graphs.edge_weights(squares, "gaussian")]


def bridged(X: Any, **options: Any) -> list[Any]:
    """Return the components of a graph, the same graph with bridges between them, and its components."""
    graph = graphs.knn_graph(X, 2, metric=options.get("metric", "euclidean"))
    joined = graphs.bridge_components(graph, X, **options)
    return [graphs.connected_components(graph), joined, graphs.connected_components(joined)]


def matrices(X: Array) -> list[Any]:
    """Return the matrices of a graph."""
    graph = graphs.knn_graph(X, 6, weights="gaussian")
    return [
        *(graphs.graph_laplacian(graph, normalized) for normalized in (False, True)),
        *(graphs.incidence_matrix(graph, entries=entries) for entries in ("weights", "roots", "ones")),
        graphs.check_graph(sp.coo_array(graph), symmetric=True),
    ]


def seeding_cases() -> Cases:
    """Seeds of all kinds."""
    X, words, weights = blobs(6_000, 20), sparse_blobs(), integer_weights(6_000)
    data: dict[str, tuple[Any, Any]] = {
        "float64": (X, None),
        "float32": (X.astype(np.float32), None),
        "weights": (X, weights),
        "sparse": (words, None),
        "sparse, weights": (words, weights[:3_000]),
        "several blocks": (overlapping_windows(60_000), None),
    }
    functions = seeding.k_means_plus_plus, seeding.afk_mc2, seeding.random_rows
    return {
        **{
            f"{seeds.__name__}, {name}": partial(seeds, rows, 40, sample_weight=weights, random_state=0)
            for seeds in functions
            for name, (rows, weights) in data.items()
        },
        "not greedy": partial(seeding.k_means_plus_plus, X, 100, n_local_trials=1, random_state=0),
        "short chains": partial(seeding.afk_mc2, X, 300, chain_length=5, random_state=0),
        "threads": on_threads(
            lambda n: [
                seeds(X, 40, sample_weight=weights, random_state=0, n_threads=n) for seeds in functions
            ]
        ),
    }


def coreset(X: Any, size: int, **options: Any) -> Case:
    """Return the case of a coreset."""
    return partial(coresets.lightweight_coreset, X, size, random_state=0, **options)


def coreset_cases() -> Cases:
    """Coresets, at once and block by block."""
    X, weights, words, tall = (
        blobs(6_000, 20),
        integer_weights(6_000),
        sparse_blobs(),
        overlapping_windows(40_000),
    )
    return {
        "float64": coreset(X, 500),
        "float32, weights": coreset(X.astype(np.float32), 500, sample_weight=weights),
        "sparse": coreset(words, 400),
        "sparse, weights": coreset(words, 400, sample_weight=weights[:3_000]),
        "several blocks": coreset(tall, 2_000),
        "by blocks": partial(coreset_by_blocks, X, weights),
        "file": partial(from_file, "parquet", X, lambda rows: coreset(rows, 500)()),
        "threads": on_threads(lambda n: coreset(tall, 500, n_threads=n)()),
    }


def coreset_by_blocks(X: Array, weights: Array) -> list[Any]:
    """Make a coreset by the steps that other machines could do."""
    random = np.random.RandomState(0)
    blocks = list(zip(np.array_split(X, 7), np.array_split(weights, 7)))
    moments = [coresets.block_moments(*block) for block in blocks]
    total = coresets.merge_moments(moments)
    draws = coresets.split_draws(moments, total, 500, random)
    drawn = [
        coresets.draw_from_block(*block, total, 500, n_draws, seed)
        for seed, (block, n_draws) in enumerate(zip(blocks, draws))
    ]
    return [moments, total, draws, drawn]


def measure_cases() -> Cases:
    """Metrics, and the data sets that ship."""
    X, y = digits()
    words, found = sparse_blobs(), np.random.default_rng(7).integers(12, size=len(y))
    scores = "clustering_accuracy", "purity", "normalized_mutual_info_score", "adjusted_rand_score"
    return {
        "scores": lambda: [getattr(metrics, score)(y, found) for score in scores],
        "cut": lambda: metrics.balanced_cut(graphs.knn_graph(X, 5, weights="gaussian"), y),
        "error": partial(metrics.quantization_error, X, X[:10]),
        "error, weights": partial(
            metrics.quantization_error, X.astype(np.float32), X[:10], sample_weight=integer_weights(len(X))
        ),
        "error, sparse": partial(metrics.quantization_error, words, words[:7].toarray()),
        "data sets": lambda: [
            datasets.load_iris(),
            datasets.load_digits(),
            datasets.load_mammals(),
            datasets.load_senate(),
            datasets.load_senate(complete=True),
            datasets.make_moved_digits(500, random_state=0),
        ],
    }
