"""The limits of this machine: floating-point rate of the BLAS product and memory bandwidth.

Systems print the fraction of them that they reach; ``python -m benchmarks.machine`` prints the limits alone.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from threadpoolctl import threadpool_limits

CUBE, QUICK_CUBE = (2048, 2048, 2048), (512, 512, 512)
BANDWIDTH_BYTES = 2**28
REPEATS = 7


def sgemm_rate(n_threads: int, shape: tuple[int, int, int] = CUBE) -> float:
    """Return the rate of NumPy's float32 product in GFLOP/s.

    The product is (n_rows x n_columns) times (n_columns x n_clusters), the right factor stored as n_clusters rows.
    """
    n_rows, n_columns, n_clusters = shape
    rng = np.random.default_rng(0)
    rows = rng.random((n_rows, n_columns)).astype(np.float32)
    centers = rng.random((n_clusters, n_columns)).astype(np.float32)
    out = np.empty((n_rows, n_clusters), np.float32)
    with threadpool_limits(n_threads, user_api="blas"):
        seconds = best_seconds(lambda: np.matmul(rows, centers.T, out=out))
    return 2e-9 * n_rows * n_columns * n_clusters / seconds


def memory_bandwidth(n_threads: int) -> dict[str, float]:
    """Return GB/s: ``read`` (sum of products over one array), ``copy`` (bytes read plus bytes written)."""
    source = np.ones(BANDWIDTH_BYTES // 4, np.float32)
    target = np.zeros_like(source)
    parts = list(zip(np.array_split(source, n_threads), np.array_split(target, n_threads)))
    with threadpool_limits(1, user_api="blas"), ThreadPoolExecutor(n_threads) as pool:
        # NumPy releases the interpreter lock in both calls, so Python threads suffice.
        read = best_seconds(lambda: list(pool.map(lambda part: np.dot(part[0], part[0]), parts)))
        copy = best_seconds(lambda: list(pool.map(lambda part: np.copyto(part[1], part[0]), parts)))
    return {"read": 1e-9 * source.nbytes / read, "copy": 2e-9 * source.nbytes / copy}


def best_seconds(function: Callable[[], object]) -> float:
    """Return the shortest of several calls, after one that is not counted: the limit, not the average."""
    function()
    seconds = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        function()
        seconds.append(time.perf_counter() - start)
    return min(seconds)
