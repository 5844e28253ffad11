"""What is timed: `python cases.py NAME` prints CPU seconds and a hash of the result, with the coterie on the path."""

from __future__ import annotations

import hashlib
import sys
import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import coterie

__all__ = ["CASES"]


def _rows(n_rows: int, n_columns: int) -> np.ndarray:
    rng = np.random.default_rng(0)
    centers = rng.normal(size=(50, n_columns))
    return (centers[rng.integers(50, size=n_rows)] + rng.normal(size=(n_rows, n_columns))).astype(np.float32)


def _k_means(algorithm: str) -> Callable[[], Any]:
    rows = _rows(6_000, 784)
    model = coterie.KMeans(500, init=rows[:500], algorithm=algorithm, max_iter=4, tol=0, n_threads=1)
    return lambda: model.fit(rows).cluster_centers_


def _mixture() -> Callable[[], Any]:
    rows = _rows(20_000, 62)
    model = coterie.TruncatedGaussianMixture(500, init=rows[:500], max_iter=8, random_state=0, n_threads=1)
    return lambda: model.fit(rows).means_


def _neighbors(method: str) -> Callable[[], Any]:
    rows = _rows(8_000, 200)
    return lambda: (
        coterie.graphs.nearest_neighbors(
            rows, 15, method=method, random_state=0, n_threads=1
        ).square_distances
    )


def _total_variation() -> Callable[[], Any]:
    rows = _rows(3_000, 16)
    model = coterie.TotalVariationClustering(10, n_init=1, random_state=0, n_threads=1)
    return lambda: model.fit(rows).memberships_


def _convex() -> Callable[[], Any]:
    rows = _rows(12_000, 2).astype(np.float64)
    model = coterie.ConvexClustering(1.0, max_iter=300, n_threads=1)
    return lambda: model.fit(rows).centroids_


CASES: dict[str, Callable[[], Callable[[], Any]]] = {
    **{name: partial(_k_means, name) for name in ("lloyd", "elkan", "yinyang")},
    "mixture": _mixture,
    "exact graph": partial(_neighbors, "exact"),
    "approximate graph": partial(_neighbors, "approximate"),
    "total variation": _total_variation,
    "convex": _convex,
}


def main() -> None:
    """Time the second run of a case: the first one loads modules, with or without compiled bytecode."""
    warnings.simplefilter("ignore")
    work = CASES[sys.argv[1]]()
    work()
    begin = time.process_time()
    result = np.ascontiguousarray(work())
    print(time.process_time() - begin, hashlib.sha256(result.tobytes()).hexdigest()[:16])


if __name__ == "__main__":
    main()
