"""Exact search by products of bytes beside products of floats; writes docs/benchmarks/exact_int8.md.

    COTERIE_DATA=folder python -m benchmarks.exact_int8 [--quick]

Both filters run in turns in one process. "Floats" is the same exact search with the filter of floats, whose results
are the same. Seconds are those of the processor with one thread, the least of several rounds; of "Two threads" they are
of a clock. The rate counts 2 n k d operations a pass. With --quick data are small, and nothing is written.
"""

import argparse
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.harness.data.images import mnist
from benchmarks.harness.measuring import seconds_of
from benchmarks.harness.reporting import DOCS, machine_line, markdown_table, write_parts
from coterie import KMeans, _kernels
from coterie.blocks.kernel_rows import kernel_rows
from coterie.centers.frame import CenterFrame
from coterie.graphs import nearest_neighbors

PAGE = DOCS / "benchmarks" / "exact_int8.md"
FLOATS = 2  # the filter of `_kernels.assign`
SEEDS = 5
NAMES = {"avx512vnni": "VNNI", "avx512": "AVX-512", "avx2": "AVX2"}

# Of NumPy's float32 product.
SIDE, N_PRODUCTS = 2048, 7

Table = tuple[Sequence[str], list[list[str]]]


def grouped(n_rows: int, n_columns: int, n_groups: int, *, unit_length: bool = False) -> np.ndarray:
    """Return normal rows about normal centers, whose spread is 0.7 of that of the rows."""
    random = np.random.default_rng(0)
    centers = 0.7 * random.standard_normal((n_groups, n_columns), dtype=np.float32)
    rows = centers[random.integers(n_groups, size=n_rows)]
    rows += random.standard_normal(rows.shape, dtype=np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True) if unit_length else rows


@contextmanager
def by_floats() -> Iterator[None]:
    """Turn products of bytes off."""
    kept = _kernels.assign, _kernels.bounded_options, _kernels.byte_limits
    _kernels.assign = lambda *arguments: kept[0](*arguments[:5], FLOATS, *arguments[6:])
    _kernels.bounded_options = lambda *arguments: kept[1](*arguments[:-1], False)
    _kernels.byte_limits = lambda: (0, 0, 0, 0)
    try:
        yield
    finally:
        _kernels.assign, _kernels.bounded_options, _kernels.byte_limits = kept


def compared(run: Callable[[], np.ndarray], n_rounds: int) -> tuple[float, float]:
    """Return the least CPU seconds by bytes and by floats, in turns; their results must be equal."""
    seconds: tuple[list[float], list[float]] = ([], [])
    results: list[np.ndarray] = []
    for _ in range(n_rounds):
        seconds[0].append(seconds_of(lambda: results.append(run()), n_threads=1))
        with by_floats():
            seconds[1].append(seconds_of(lambda: results.append(run()), n_threads=1))
    assert all(np.array_equal(result, results[0]) for result in results)
    return min(seconds[0]), min(seconds[1])


@contextmanager
def using(name: str) -> Iterator[None]:
    before = _kernels.instruction_set()
    _kernels.use_instruction_set(name)
    try:
        yield
    finally:
        _kernels.use_instruction_set(before)


def cells(floats: float, bytes_: float, digits: int = 3) -> list[str]:
    return [f"{floats:.{digits}f}", f"{bytes_:.{digits}f}", f"{floats / bytes_:.1f}"]


def labels_of(X: np.ndarray, frame: CenterFrame) -> np.ndarray:
    labels = np.empty(len(X), dtype=np.int32)
    frame.nearest(kernel_rows(X), labels)
    return labels


def measure_labels(divide: int, sets: list[str]) -> Table:
    cases = {
        "MNIST 20,000 x 784, 1,000": (mnist(20_000 // divide), 1000),
        "unit vectors 80,000 x 384, 1,000": (grouped(80_000 // divide, 384, 1000, unit_length=True), 1000),
        "normal 20,000 x 768, 1,000": (grouped(20_000 // divide, 768, 300), 1000),
        "normal 50,000 x 128, 256": (grouped(50_000 // divide, 128, 256), 256),
        "normal 100,000 x 64, 1,000": (grouped(100_000 // divide, 64, 1000), 1000),
        "normal 200,000 x 32, 1,000": (grouped(200_000 // divide, 32, 1000), 1000),
    }
    rows = []
    for name, (X, k) in cases.items():
        k = min(k, len(X) // 4)
        start = X[np.random.default_rng(1).choice(len(X), k, replace=False)]
        moved = KMeans(k, init=start, max_iter=2, tol=0, n_threads=1).fit(X).cluster_centers_
        frames = [CenterFrame(centers, X.mean(axis=0, dtype=np.float64)) for centers in (start, moved)]
        counts = [f"{frame.nearest(kernel_rows(X), labels_of(X, frame)) / len(X):.1f}" for frame in frames]
        row = [name, *counts]
        for instruction_set in sets:
            with using(instruction_set):
                bytes_, floats = compared(partial(labels_of, X, frames[1]), 5)
            if instruction_set == sets[0]:
                row += [*cells(floats, bytes_), f"{2e-9 * X.size * k / bytes_:.0f}"]
            else:
                row.append(f"{floats / bytes_:.1f}")
        rows.append(row)
    header = [
        "rows, k",
        "compared: random",
        "moved",
        f"{NAMES[sets[0]]}: floats, s",
        "bytes, s",
        "ratio",
        "GFLOP/s",
    ]
    return [*header, *(f"ratio, {NAMES[name]}" for name in sets[1:])], rows


def measure_fits(divide: int, sets: list[str]) -> Table:
    cases = {
        "MNIST 20,000 x 784, 1,000": (mnist(20_000 // divide), 1000),
        "normal 40,000 x 768, 1,000": (grouped(40_000 // divide, 768, 1000), 1000),
        "unit vectors 40,000 x 384, 1,000": (grouped(40_000 // divide, 384, 1000, unit_length=True), 1000),
        "normal 200,000 x 32, 1,000": (grouped(200_000 // divide, 32, 1000), 1000),
    }
    rows = []
    for name, (X, k) in cases.items():
        k, found = min(k, len(X) // 4), []
        for seed in range(SEEDS):
            start = X[np.random.default_rng(seed).choice(len(X), k, replace=False)]
            fit = KMeans(k, init=start, max_iter=10, tol=0, n_threads=1)
            found.append(compared(lambda fit=fit, X=X: fit.fit(X).labels_, 1))
        bytes_, floats = np.array(found).T
        ratios = floats / bytes_
        spread = f"{np.median(ratios):.1f} ({ratios.min():.1f} to {ratios.max():.1f})"
        rows.append([name, f"{np.median(floats):.2f}", f"{np.median(bytes_):.2f}", spread])
    return ["rows, k", "floats, s", "bytes, s", "ratio"], rows


def measure_neighbors(divide: int, sets: list[str]) -> Table:
    digits = mnist(70_000 // divide)
    cases = [("MNIST 30,000 x 784", digits[: 30_000 // divide], name) for name in sets]
    cases += [
        ("MNIST 70,000 x 784", digits, sets[0]),
        ("normal 130,000 x 64", grouped(130_000 // divide, 64, 300), sets[0]),
    ]
    rows = []
    for name, X, instruction_set in cases:
        with using(instruction_set):
            bytes_, floats = compared(lambda X=X: nearest_neighbors(X, 15, method="exact", n_threads=1)[0], 1)
        rate = f"{2e-9 * X.size * len(X) / bytes_:.0f}"
        rows.append([name, NAMES[instruction_set], *cells(floats, bytes_, 2), rate])
    return ["rows", "instruction set", "floats, s", "bytes, s", "ratio", "GFLOP/s"], rows


def measure_two_threads(divide: int, sets: list[str]) -> Table:
    """Seconds of a clock with two threads: the least of three, of k-means the median of five starts with the range."""
    digits, wide = mnist(70_000 // divide), grouped(100_000 // divide, 768, 1000)
    units = grouped(80_000 // divide, 384, 1000, unit_length=True)
    million = grouped(1_000_000 // divide, 32, 1000)

    def k_means(X: np.ndarray, max_iter: int | None) -> str:
        seconds, k = [], min(1000, len(X) // 4)
        for seed in range(SEEDS):
            start = X[np.random.default_rng(seed).choice(len(X), k, replace=False)]
            options = {"max_iter": max_iter, "tol": 0, "init": start} if max_iter else {}
            model = KMeans(k, n_threads=2, random_state=seed, **options)
            seconds.append(seconds_of(partial(model.fit, X)))
        return f"{np.median(seconds):.2f} ({min(seconds):.2f} to {max(seconds):.2f})"

    def least(run: Callable[[], Any], n_rounds: int = 3) -> str:
        return f"{min(seconds_of(run) for _ in range(n_rounds)):.2f}"

    k = min(1000, len(units) // 4)
    model = KMeans(k, init=units[:k], max_iter=2, n_threads=2).fit(units)
    graph = partial(nearest_neighbors, n_neighbors=15, random_state=0, n_threads=2)
    cases: dict[str, Callable[[], str]] = {
        "`predict`, unit vectors 80,000 x 384, k = 1,000": lambda: least(lambda: model.predict(units)),
        "exact 15 neighbors, MNIST 70,000": lambda: least(lambda: graph(digits, method="exact"), 1),
        "10 iterations, normal 100,000 x 768, k = 1,000": lambda: k_means(wide, 10),
        "10 iterations, MNIST 20,000, k = 1,000": lambda: k_means(digits[: 20_000 // divide], 10),
        "default fit, unit vectors 80,000 x 384, k = 1,000": lambda: k_means(units, None),
        "10 iterations, normal 1,000,000 x 32, k = 1,000": lambda: k_means(million, 10),
        "approximate graph, MNIST 70,000": lambda: least(lambda: graph(digits, method="approximate")),
        "approximate graph, normal 20,000 x 768": lambda: least(
            lambda: graph(wide[: 20_000 // divide], method="approximate")
        ),
    }
    return ["work", "s"], [[name, run()] for name, run in cases.items()]


PARTS = {
    "labels": measure_labels,
    "fits": measure_fits,
    "neighbors": measure_neighbors,
    "two threads": measure_two_threads,
}


def sgemm_rate(side: int) -> float:
    """Return the rate of NumPy's float32 product of two square matrices by one thread, in GFLOP/s, at best."""
    left, right = np.random.default_rng(0).random((2, side, side), dtype=np.float32)
    with threadpool_limits(1, user_api="blas"):
        seconds = min(seconds_of(lambda: np.matmul(left, right.T)) for _ in range(N_PRODUCTS))
    return 2e-9 * side**3 / seconds


def main() -> None:
    parser = argparse.ArgumentParser("python -m benchmarks.exact_int8", description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small data, to see that everything runs")
    quick = parser.parse_args().quick
    sets = [name for name in NAMES if name in _kernels.available_instruction_sets()]
    peak = sgemm_rate(512 if quick else SIDE)
    found = {
        "machine": f"{machine_line()}; NumPy's float32 product reaches {peak:.0f} GFLOP/s with one thread."
    }
    for name, measure in PARTS.items():
        found[name] = "\n".join(markdown_table(*measure(20 if quick else 1, sets)))
        print(name, found[name], sep="\n\n", flush=True)
    if not quick:
        write_parts(PAGE, found)


if __name__ == "__main__":
    main()
