"""Row e: one assignment of all rows, against the machine's product."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness.benchmark import Benchmark
from benchmarks.harness.cells import range_cell
from benchmarks.harness.contenders import Contender
from benchmarks.harness.limits import CUBE, gemm_rate
from benchmarks.harness.measuring import measured
from benchmarks.harness.rounds import Result, Summaries
from benchmarks.kmeans.rows import FitRow

ASSIGNMENT_ROWS = [FitRow("mnist", 70_000, 50, 1), FitRow("embeddings", 100_000, 1000, 1)]
KERNEL, PREDICT = "coterie kernel", "coterie predict"


def _coterie_predict(X: np.ndarray, centers: np.ndarray, n_threads: int) -> Callable[[], object]:
    from coterie import KMeans

    model = KMeans(len(centers), init=centers, n_init=1, max_iter=1, n_threads=n_threads)
    return partial(model.fit(X[: max(1000, 2 * len(centers))]).predict, X)


def _coterie_kernel(X: np.ndarray, centers: np.ndarray, n_threads: int) -> Callable[[], object]:
    from coterie import _kernels

    rows = _kernels.dense_rows(X)
    offsets = np.einsum("ij,ij->i", centers, centers)
    labels, scores = np.empty((len(X), 1), np.int32), np.empty((len(X), 1), np.float32)
    return partial(_kernels.nearest, rows, centers, offsets, labels, scores, n_threads)


def _scikit_learn_predict(X: np.ndarray, centers: np.ndarray, n_threads: int) -> Callable[[], object]:
    from sklearn.cluster import KMeans

    model = KMeans(len(centers), init=centers, n_init=1, max_iter=1)
    return partial(model.fit(X[: max(1000, 2 * len(centers))]).predict, X)


def _faiss_search(X: np.ndarray, centers: np.ndarray, n_threads: int) -> Callable[[], object]:
    import faiss

    faiss.omp_set_num_threads(n_threads)
    index = faiss.IndexFlatL2(X.shape[1])
    index.add(centers)
    return partial(index.search, X, 1)


def _superkmeans_assign(X: np.ndarray, centers: np.ndarray, n_threads: int) -> Callable[[], object]:
    from superkmeans import SuperKMeans

    return partial(SuperKMeans(len(centers), X.shape[1], n_threads=n_threads).assign, X, centers)


# "machine" lines are no peers: they are the limit, once on large squares and once on the very shape.
CUBE_LINE, SHAPE_LINE = "machine: sgemm, 2048 cubed", "machine: sgemm, this shape"

ASSIGNMENTS: dict[str, Contender] = {
    CUBE_LINE: Contender("numpy", lambda X, centers: CUBE),
    SHAPE_LINE: Contender("numpy", lambda X, centers: (*X.shape, len(centers))),
    PREDICT: Contender("coterie", _coterie_predict),
    KERNEL: Contender("coterie", _coterie_kernel),
    "scikit-learn predict": Contender("sklearn", _scikit_learn_predict),
    "faiss search": Contender("faiss", _faiss_search),
    "superkmeans assign": Contender("superkmeans", _superkmeans_assign),
}


def run_assignment(
    name: str, data: Path, first_centers: Path, n_threads: int, passes: int = 5
) -> dict[str, Any]:
    """Assign every row once, several times over; return the median seconds and the rate in GFLOP/s."""
    X, centers = np.load(data), np.load(first_centers)
    if name in (CUBE_LINE, SHAPE_LINE):
        shape = ASSIGNMENTS[name].call(X, centers)
        rate = gemm_rate(n_threads, shape, np.float32, "numpy")
        seconds = 2e-9 * shape[0] * shape[1] * shape[2] / rate
        return {"seconds": seconds, "gflops": rate, "other_seconds": 0.0}
    assign = ASSIGNMENTS[name].call(X, centers, n_threads)
    assign()
    costs = []
    for _ in range(passes):
        with measured() as cost:
            assign()
        costs.append(cost)
    middle = sorted(costs, key=lambda cost: cost.seconds)[passes // 2]
    return vars(middle) | {"gflops": 2e-9 * X.size * len(centers) / middle.seconds}


# --- tables


def measure_assignments(benchmark: Benchmark, key: str) -> None:
    """Compare assignments."""
    benchmark.measure_limit()
    left_out = [CUBE_LINE] if benchmark.options.quick else []
    for usual in ASSIGNMENT_ROWS:
        row = usual.for_options(benchmark)
        data, centers = row.files(benchmark)
        title = f"one assignment: {row.data}, {row.n_rows:,} rows, k = {row.n_clusters:,}"

        def run(name: str, _repeat: int, files: tuple[Path, Path] = (data, centers)) -> Result:
            return benchmark.isolated(run_assignment, name, *files, benchmark.options.threads)

        names = [name for name in benchmark.select(ASSIGNMENTS) if name not in left_out]
        summaries = benchmark.measure(f"{key}: {title}", names, run)
        _table(benchmark, key, title, row, summaries)


def _table(benchmark: Benchmark, key: str, title: str, row: FitRow, summaries: Summaries) -> None:
    limit = max(benchmark.sgemm, summaries.get(CUBE_LINE, {}).get("gflops", 0.0))

    def cells(name: str, s: Result) -> list[str]:
        return [range_cell(s), f"{s['gflops']:.0f}", f"{s['gflops'] / limit:.0%}"]

    benchmark.table(key, title, ["seconds (range)", "GFLOP/s", "of sgemm"], summaries, cells)
