"""Cases of k-means: exact, nested mini-batches, mini-batches."""

from __future__ import annotations

from functools import partial

import numpy as np

from benchmarks.fingerprints.data import (
    TALL,
    as_bytes,
    blobs,
    digits,
    drawn_rows,
    integer_weights,
    overlapping_windows,
    sparse_blobs,
)
from benchmarks.fingerprints.runs import Cases, fit, fit_on_threads, stream, watch
from coterie import KMeans, MiniBatchKMeans, NestedMiniBatchKMeans

USES = "predict", "transform", "score"


def kmeans_cases() -> Cases:
    """Algorithms, starts, float types, weights, sizes."""
    X, others = blobs(6_000, 20), blobs(500, 20, seed=1)
    weights, words, wide = integer_weights(6_000), sparse_blobs(), blobs(2_000, 300)
    small = words.astype(np.float32)
    model = KMeans(5, random_state=0).fit(X[:900])
    inits = {"array": X[:5], "fitted model": model, "function": drawn_rows}
    inits |= {name: name for name in ("k-means++", "afk-mc2", "random")}
    return {
        **{
            f"{algorithm}, {dtype}": fit(
                KMeans(40, algorithm=algorithm, tol=0), X.astype(dtype), others.astype(dtype), *USES
            )
            for algorithm in ("lloyd", "elkan", "yinyang", "hamerly", "auto")
            for dtype in ("float32", "float64")
        },
        **{f"init {name}": fit(KMeans(5, init=init), X) for name, init in inits.items()},
        "five starts": fit(KMeans(12, n_init=5, max_iter=20), X),
        "weights": fit(KMeans(12), X, others, *USES, sample_weight=weights),
        "weights, elkan, float32": fit(
            KMeans(12, algorithm="elkan"), X.astype(np.float32), sample_weight=weights
        ),
        "coreset": fit(KMeans(12, coreset_size=800), X, others, *USES),
        "coreset, weights": fit(KMeans(12, coreset_size=800), X, sample_weight=weights),
        "coreset, sparse": fit(KMeans(8, coreset_size=500), words),
        "one cluster": fit(KMeans(1), X, others, *USES),
        "wide": fit(KMeans(100, tol=0), wide, wide[::7] + 1, *USES),
        "wide, float32": fit(KMeans(300, max_iter=10), wide.astype(np.float32)),
        "bytes": fit(KMeans(30), as_bytes(X), as_bytes(others), *USES),
        "int64": fit(KMeans(30), (X * 100).astype(np.int64)),
        "float16": fit(KMeans(30), X.astype(np.float16)),
        "sparse": fit(KMeans(25, tol=0), words, words[::9], *USES),
        "sparse, float32": fit(KMeans(25), small, small[::9], *USES),
        "sparse, elkan": fit(KMeans(25, algorithm="elkan"), words),
        "sparse, hamerly, float32": fit(KMeans(25, algorithm="hamerly"), small),
        "sparse, weights": fit(KMeans(25), words, sample_weight=weights[:3_000]),
        "duplicates": fit(KMeans(9, n_init=2), np.repeat(X[:5], 40, axis=0), others, "predict"),
        "empty clusters": fit(KMeans(6, init=X[:6] + 40 * np.arange(6)[:, None]), X),
        "empty clusters, elkan": fit(
            KMeans(6, init=X[:6] + 40 * np.arange(6)[:, None], algorithm="elkan"), X
        ),
        "empty clusters, sparse": fit(KMeans(6, init=np.eye(6, 400) * 50), words),
        "digits": fit(KMeans(10, n_init=3), digits()[0]),
        "fit_predict": lambda: KMeans(10, random_state=0).fit_predict(X, sample_weight=weights),
        "fit_transform": lambda: KMeans(10, random_state=0).fit_transform(X),
        "several blocks": fit(KMeans(8, max_iter=4), overlapping_windows(60_000)),
        "not kept in memory": fit(KMeans(4, init="random", n_init=1, max_iter=1), overlapping_windows(TALL)),
        "callback": watch(KMeans(12, n_init=2), X),
        "threads": fit_on_threads(KMeans(40), X, others, *USES, sample_weight=weights),
        "threads, elkan": fit_on_threads(KMeans(40, algorithm="elkan"), X),
        "threads, sparse": fit_on_threads(KMeans(25), words, words[::9], *USES),
    }


def nested_cases() -> Cases:
    """Batches, bounds, streams."""
    X, others = blobs(20_000, 12, 30), blobs(500, 12, 30, seed=1)
    weights, words = integer_weights(20_000), sparse_blobs()
    nested = partial(NestedMiniBatchKMeans, 20, batch_size=300)
    return {
        "defaults": fit(NestedMiniBatchKMeans(), X, others, *USES),
        "float32": fit(nested(), X.astype(np.float32), others, "predict"),
        "bytes": fit(nested(), as_bytes(X), as_bytes(others), "predict"),
        "many clusters": fit(NestedMiniBatchKMeans(200, batch_size=1_000), X),
        "few clusters": fit(NestedMiniBatchKMeans(3, batch_size=100), X),
        "wide": fit(NestedMiniBatchKMeans(16, batch_size=100), blobs(2_000, 300)),
        "weights": fit(nested(), X, others, "predict", sample_weight=weights),
        "random, threshold 1": fit(nested(init="random", doubling_threshold=1), X),
        "threshold 0, tol 0": fit(nested(doubling_threshold=0, tol=0), X),
        "array": fit(nested(init=X[:20], max_iter=15), X),
        "function": fit(nested(init=drawn_rows), X),
        "fitted model": lambda: fit(nested(init=KMeans(20, random_state=0).fit(X[:900])), X)(),
        "empty clusters": fit(nested(init=X[:20] + 40 * np.arange(20)[:, None]), X),
        "no labels": fit(nested(compute_labels=False), X, others, "predict"),
        "sparse": fit(nested(), words, words[::9], *USES),
        "sparse, weights": fit(nested(), words.astype(np.float32), sample_weight=weights[:3_000]),
        "stream": stream(nested(), others, X[:5_000], X[5_000:6_000], X[6_000:], weights=weights),
        "stream, sparse": stream(nested(), words[::9], words[:900], words[900:]),
        "stream, dense and sparse": stream(
            nested(), words, words[:900].toarray(), words[900:], words[:90].toarray()
        ),
        "drawn in runs": fit(
            nested(batch_size=20_000, max_iter=6, doubling_threshold=10, compute_labels=False),
            overlapping_windows(TALL),
        ),
        "callback": watch(nested(), X),
        "threads": fit_on_threads(nested(), X, others, "predict", sample_weight=weights),
        "threads, sparse": fit_on_threads(nested(), words, words[::9], "predict"),
    }


def mini_batch_cases() -> Cases:
    """Fits and streams."""
    X, others = blobs(20_000, 12, 30), blobs(500, 12, 30, seed=1)
    weights, words = integer_weights(20_000), sparse_blobs()
    batches = partial(MiniBatchKMeans, 20, batch_size=200)
    return {
        "defaults": fit(MiniBatchKMeans(), X, others, *USES),
        "float32": fit(batches(), X.astype(np.float32), others, "predict"),
        "weights": fit(batches(), X, others, "predict", sample_weight=weights),
        "random, three draws": fit(batches(init="random", init_size=300), X),
        "k-means++, two draws": fit(batches(n_init=2), X),
        "afk-mc2": fit(batches(init="afk-mc2", max_iter=2), X),
        "array": fit(batches(init=X[:20], max_iter=2), X),
        "no early stop": fit(batches(max_no_improvement=None, max_iter=4), X),
        "tol": fit(batches(max_no_improvement=None, tol=1e-3), X),
        "reassignment": fit(batches(init=np.tile(X[:1], (20, 1)), reassignment_ratio=0.3), X),
        "no reassignment": fit(batches(reassignment_ratio=0), X),
        "no labels": fit(batches(compute_labels=False), X, others, "predict"),
        "sparse": fit(batches(), words, words[::9], *USES),
        "sparse, array, tol": fit(batches(init=words[:20].toarray(), tol=1e-3), words),
        "sparse, weights": fit(batches(), words.astype(np.float32), sample_weight=weights[:3_000]),
        "stream": stream(batches(), others, *np.split(X, 10), weights=weights),
        "stream, dense and sparse": stream(
            batches(), words, words[:900].toarray(), words[900:], words[:90].toarray()
        ),
        "stream, no labels": stream(batches(compute_labels=False), others, *np.split(X, 10)),
        "drawn in runs": fit(
            batches(batch_size=20_000, max_no_improvement=1, compute_labels=False), overlapping_windows(TALL)
        ),
        "callback": watch(batches(), X),
        "threads": fit_on_threads(batches(), X, others, "predict", sample_weight=weights),
        "threads, sparse": fit_on_threads(batches(), words, words[::9], "predict"),
    }
