"""Exact search by products of bytes beside products of floats: seconds, survivors, rate and equality of results.

    COTERIE_DATA=folder python -m benchmarks.exact_int8 [--quick] [--only labels fits] [--instruction-set avx2]

Both filters run in turns in one process, on one thread by its CPU seconds; the least of several runs counts. "floats"
is the same search with the filter of floats, whose labels are the same. The rate counts 2 n k d operations a pass.
"""

import argparse
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np

from benchmarks.harness.data.images import mnist
from benchmarks.harness.reporting import Report, command_line
from benchmarks.machine import SIDE, sgemm_rate
from coterie import KMeans, _kernels
from coterie.blocks.kernel_rows import kernel_rows
from coterie.centers.frame import CenterFrame
from coterie.graphs import nearest_neighbors

FLOATS = 2  # the filter of `_kernels.assign`
SEEDS = 5


def grouped(
    n_rows: int, n_columns: int, n_groups: int, seed: int = 0, *, unit_length: bool = False
) -> np.ndarray:
    """Return normal rows about normal centers, whose spread is 0.7 of that of the rows."""
    random = np.random.default_rng(seed)
    centers = 0.7 * random.standard_normal((n_groups, n_columns), dtype=np.float32)
    rows = centers[random.integers(n_groups, size=n_rows)]
    rows += random.standard_normal(rows.shape, dtype=np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True) if unit_length else rows


@contextmanager
def by_floats() -> Iterator[None]:
    """Turn products of bytes off."""
    kept = _kernels.assign, _kernels.bounded_options, _kernels.byte_limits
    _kernels.assign = lambda *arguments: kept[0](*arguments, FLOATS)
    _kernels.bounded_options = lambda *arguments: kept[1](*arguments[:-1], False)
    _kernels.byte_limits = lambda: (0, 0, 0)
    try:
        yield
    finally:
        _kernels.assign, _kernels.bounded_options, _kernels.byte_limits = kept


def compared(run: Callable[[], Any], n_rounds: int) -> tuple[float, float, bool]:
    """Return the least CPU seconds by bytes and by floats, in turns, and whether the results are equal."""
    seconds, results = [[], []], []
    for _ in range(n_rounds):
        for place, context in enumerate((None, by_floats())):
            begin = time.process_time()
            if context is None:
                results.append(run())
            else:
                with context:
                    results.append(run())
            seconds[place].append(time.process_time() - begin)
    equal = all(np.array_equal(result, results[0]) for result in results)
    return min(seconds[0]), min(seconds[1]), equal


def labels_of(X: np.ndarray, frame: CenterFrame) -> np.ndarray:
    labels = np.empty(len(X), dtype=np.int32)
    frame.nearest(kernel_rows(X), labels)
    return labels


def measure_labels(report: Report, quick: bool) -> None:
    """One pass: labels of all rows, with centers that are random rows, and with those of two iterations."""
    divide = 20 if quick else 1
    cases = {
        "digits 20,000 x 784, k = 1,000": (mnist(20_000 // divide), 1000),
        "unit vectors 80,000 x 384, k = 1,000": (
            grouped(80_000 // divide, 384, 1000, unit_length=True),
            1000,
        ),
        "normal 20,000 x 768, k = 1,000": (grouped(20_000 // divide, 768, 300), 1000),
        "normal 50,000 x 128, k = 256": (grouped(50_000 // divide, 128, 256), 256),
        "normal 100,000 x 64, k = 1,000": (grouped(100_000 // divide, 64, 1000), 1000),
        "normal 200,000 x 32, k = 1,000": (grouped(200_000 // divide, 32, 1000), 1000),
        "normal 200,000 x 16, k = 256": (grouped(200_000 // divide, 16, 256), 256),
        "normal 200,000 x 8, k = 256": (grouped(200_000 // divide, 8, 256), 256),
    }
    rows = []
    for name, (X, k) in cases.items():
        k = min(k, len(X) // 4)
        start = X[np.random.default_rng(1).choice(len(X), k, replace=False)]
        moved = KMeans(k, init=start, max_iter=2, tol=0, n_threads=1).fit(X).cluster_centers_
        for kind, centers in (("random rows", start), ("moved twice", moved)):
            frame = CenterFrame(centers, X.mean(axis=0, dtype=np.float64))
            bytes_, floats, equal = compared(partial(labels_of, X, frame), 2 if quick else 5)
            n_compared = frame.nearest(kernel_rows(X), np.empty(len(X), dtype=np.int32))
            rate = 2e-9 * X.size * k / bytes_
            figures = [
                f"{floats:.3f}",
                f"{bytes_:.3f}",
                f"{floats / bytes_:.2f}",
                f"{n_compared / len(X):.2f}",
            ]
            rows.append([name, kind, *figures, f"{rate:.0f}", "yes" if equal else "NO"])
    header = [
        "rows",
        "centers",
        "floats, s",
        "bytes, s",
        "ratio",
        "compared a row",
        "GFLOP/s",
        "equal labels",
    ]
    report.table("Labels: one pass, one thread", header, rows)


def measure_fits(report: Report, quick: bool) -> None:
    """Ten iterations of k-means from equal starts; medians and ranges over five starts."""
    divide = 20 if quick else 1
    cases = {
        "digits 20,000 x 784, k = 1,000": (mnist(20_000 // divide), 1000),
        "normal 100,000 x 768, k = 1,000": (grouped(100_000 // divide, 768, 1000), 1000),
        "unit vectors 80,000 x 384, k = 1,000": (
            grouped(80_000 // divide, 384, 1000, unit_length=True),
            1000,
        ),
        "normal 1,000,000 x 32, k = 1,000": (grouped(1_000_000 // divide, 32, 1000), 1000),
    }
    rows = []
    for name, (X, k) in cases.items():
        k = min(k, len(X) // 4)
        found = []
        for seed in range(2 if quick else SEEDS):
            start = X[np.random.default_rng(seed).choice(len(X), k, replace=False)]
            fit = KMeans(k, init=start, max_iter=10, tol=0, n_threads=1)
            found.append(compared(lambda fit=fit, X=X: fit.fit(X).labels_, 1))
        bytes_, floats, equal = np.array(found).T
        ratios = floats / bytes_
        spread = f"{np.median(ratios):.2f} ({ratios.min():.2f} to {ratios.max():.2f})"
        rows.append(
            [
                name,
                f"{np.median(floats):.2f}",
                f"{np.median(bytes_):.2f}",
                spread,
                "yes" if equal.all() else "NO",
            ]
        )
    report.table(
        "Fits: 10 iterations, one thread", ["rows", "floats, s", "bytes, s", "ratio", "equal labels"], rows
    )


def measure_neighbors(report: Report, quick: bool) -> None:
    """The exact 15 nearest rows of each row."""
    digits = mnist(2_000 if quick else 70_000)
    cases = {
        "digits 20,000 x 784": (digits[:20_000], 2),
        "digits 70,000 x 784": (digits, 1),
        "normal 20,000 x 768": (grouped(1_000 if quick else 20_000, 768, 300), 2),
        "normal 50,000 x 32": (grouped(1_000 if quick else 50_000, 32, 300), 2),
    }
    rows = []
    for name, (X, n_rounds) in cases.items():
        search = partial(nearest_neighbors, X, 15, method="exact", n_threads=1)
        bytes_, floats, equal = compared(lambda search=search: search()[0], n_rounds)
        rate = 2e-9 * X.size * len(X) / bytes_
        figures = [f"{floats:.2f}", f"{bytes_:.2f}", f"{floats / bytes_:.2f}", f"{rate:.0f}"]
        rows.append([name, *figures, "yes" if equal else "NO"])
    report.table(
        "Exact 15 nearest rows, one thread",
        ["rows", "floats, s", "bytes, s", "ratio", "GFLOP/s", "equal"],
        rows,
    )


PARTS = {"labels": measure_labels, "fits": measure_fits, "neighbors": measure_neighbors}


if __name__ == "__main__":
    parser = argparse.ArgumentParser("python -m benchmarks.exact_int8", description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small data, to see that everything runs")
    parser.add_argument("--only", nargs="*", choices=PARTS, default=list(PARTS))
    parser.add_argument("--instruction-set", choices=_kernels.available_instruction_sets())
    arguments = parser.parse_args()
    if arguments.instruction_set:
        _kernels.use_instruction_set(arguments.instruction_set)
    report = Report("exact_int8", command_line("exact_int8"))
    peak = sgemm_rate(1, 512 if arguments.quick else SIDE)
    report.say("", f"{_kernels.instruction_set()}; NumPy's float32 product: {peak:.0f} GFLOP/s")
    for part in arguments.only:
        PARTS[part](report, arguments.quick)
    report.say("", f"Written to {report.save().name}")
