"""Rows asked in batches for those nearest to others: an index that is built once, and a call for each batch.

``python -m benchmarks.graphs.index`` prints a table: processor seconds of one thread. MNIST from COTERIE_DATA, and rows
drawn here.
"""

from collections.abc import Callable, Iterator
from statistics import median
from time import process_time
from typing import Any

import numpy as np

from benchmarks.harness.data.files import real_file
from benchmarks.harness.data.images import mnist
from benchmarks.harness.reporting import markdown_table
from coterie.graphs import NeighborIndex, nearest_neighbors

N_BATCHES, N_QUERIES, N_NEIGHBORS, N_SINGLE = 10, 10_000, 10, 20
N_JUDGED = 1000


def _line(name: str, X: Any, queries: Any, method: str, furthest: Any) -> list[str]:
    how: dict[str, Any] = dict(method=method, random_state=0, n_threads=1)
    batches = np.array_split(queries, N_BATCHES)
    calls, _ = _timed(lambda: [nearest_neighbors(X, N_NEIGHBORS, queries=batch, **how) for batch in batches])
    build, index = _timed(lambda: NeighborIndex(X, N_NEIGHBORS, **how))
    asked, found = _timed(lambda: [index.query(batch) for batch in batches])
    single = median(_timed(lambda: index.query(queries[i : i + 1]))[0] for i in range(N_SINGLE))  # noqa: B023
    recall = np.mean(np.concatenate([part.square_distances for part in found])[:N_JUDGED] <= furthest)
    times = [f"{seconds:.2f}" for seconds in (build, asked, build + asked, calls)]
    return [name, method, *times, f"{1000 * single:.1f} ms", f"{recall:.3f}", f"{index.recall:.3f}"]


def _timed(call: Callable[[], Any]) -> tuple[float, Any]:
    begin = process_time()
    result = call()
    return process_time() - begin, result


def _rows() -> Iterator[tuple[str, Any, Any]]:
    random = np.random.default_rng(0)
    if real_file("mnist.npz"):
        images = mnist()
        yield "MNIST", *_split(images[random.permutation(len(images))])
    centers = 3 * random.normal(size=(200, 32))
    blobs = centers[random.integers(200, size=200_000 + N_QUERIES)]
    yield "blobs", *_split((blobs + random.normal(size=blobs.shape)).astype(np.float32))
    yield "Gaussian", *_split(random.normal(size=(30_000 + N_QUERIES, 100)).astype(np.float32))


def _split(rows: Any) -> tuple[Any, Any]:
    return np.ascontiguousarray(rows[N_QUERIES:]), np.ascontiguousarray(rows[:N_QUERIES])


if __name__ == "__main__":
    lines = []
    for name, X, queries in _rows():
        true = nearest_neighbors(X, N_NEIGHBORS, queries=queries[:N_JUDGED], method="exact")
        furthest = true.square_distances[:, -1:] * (1 + 1e-5)
        shape = f"{name}, {len(X):,} x {X.shape[1]}"
        lines += [_line(shape, X, queries, method, furthest) for method in ("approximate", "exact")]
    headers = ["rows", "method", "build", "10 batches", "together", "10 calls", "one row", "recall", "told"]
    print("\n".join(markdown_table(headers, lines, 2)))
