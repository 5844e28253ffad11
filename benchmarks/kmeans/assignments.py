"""Row e: one assignment of all rows; `python -m benchmarks.machine` measures the limit."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness.benchmark import Benchmark
from benchmarks.harness.cells import number, seconds_cell
from benchmarks.harness.contenders import Contender, faiss_with, threaded
from benchmarks.harness.measuring import measured
from benchmarks.kmeans.rows import FitRow

ASSIGNMENT_ROWS = [FitRow("mnist", 70_000, 50), FitRow("embeddings", 100_000, 1000)]
N_PASSES = 5


def _predict(X: np.ndarray, centers: np.ndarray, n_threads: int, *, path: str) -> Callable[[], object]:
    model = threaded(path, len(centers), n_threads=n_threads, init=centers, n_init=1, max_iter=1)
    return partial(model.fit(X[: max(1000, 2 * len(centers))]).predict, X)


def _kernel(X: np.ndarray, centers: np.ndarray, n_threads: int) -> Callable[[], object]:
    from coterie import _kernels

    rows = _kernels.dense_rows(X)
    offsets = np.einsum("ij,ij->i", centers, centers)
    labels, scores = np.empty((len(X), 1), np.int32), np.empty((len(X), 1), np.float32)
    return partial(_kernels.nearest, rows, centers, offsets, labels, scores, n_threads)


def _faiss_search(X: np.ndarray, centers: np.ndarray, n_threads: int) -> Callable[[], object]:
    index = faiss_with(n_threads).IndexFlatL2(X.shape[1])
    index.add(centers)
    return partial(index.search, X, 1)


def _superkmeans_assign(X: np.ndarray, centers: np.ndarray, n_threads: int) -> Callable[[], object]:
    from superkmeans import SuperKMeans

    return partial(SuperKMeans(len(centers), X.shape[1], n_threads=n_threads).assign, X, centers)


ASSIGNMENTS: dict[str, Contender] = {
    "coterie predict": Contender("coterie", partial(_predict, path="coterie.KMeans")),
    "coterie kernel": Contender("coterie", _kernel),
    "scikit-learn predict": Contender("sklearn", partial(_predict, path="sklearn.cluster.KMeans")),
    "faiss search": Contender("faiss", _faiss_search),
    "superkmeans assign": Contender("superkmeans", _superkmeans_assign),
}


def run_assignment(name: str, data: Path, first_centers: Path, n_threads: int) -> dict[str, Any]:
    """Assign every row once, several times over; return the median seconds and the rate in GFLOP/s."""
    X, centers = np.load(data), np.load(first_centers)
    assign = ASSIGNMENTS[name].call(X, centers, n_threads)
    assign()
    costs = []
    for _ in range(N_PASSES):
        with measured() as cost:
            assign()
        costs.append(cost)
    middle = sorted(costs, key=lambda cost: cost.seconds)[N_PASSES // 2]
    return vars(middle) | {"gflops": 2e-9 * X.size * len(centers) / middle.seconds}


def measure_assignments(benchmark: Benchmark, key: str) -> None:
    """Compare assignments."""
    for usual in ASSIGNMENT_ROWS:
        row = usual.for_options(benchmark)
        run = partial(_run, benchmark, *row.files(benchmark))
        title = f"{key}. one assignment: {row.title}"
        summaries = benchmark.measure(title, benchmark.select(ASSIGNMENTS), run, repeat_slow=False)
        columns = {"seconds (range)": seconds_cell, "GFLOP/s": number("gflops", ".0f")}
        benchmark.table(title, columns, summaries)


def _run(benchmark: Benchmark, data: Path, centers: Path, name: str, _: int) -> dict[str, Any]:
    return benchmark.isolated(run_assignment, name, data, centers, benchmark.threads)
