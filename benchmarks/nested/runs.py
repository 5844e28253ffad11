"""The runs that record a contender, each in a process of its own.

A run leaves a time-energy curve. The energies of the copies of the centroids on the validation rows are computed when
the fit is over.
"""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

from benchmarks.harness.data.splits import load_rows
from benchmarks.harness.measuring import clock, measured
from benchmarks.nested.contenders import CURVES, SETTINGS
from benchmarks.nested.energies import energies, first_rows
from benchmarks.nested.recorder import K_MEANS_PLUS_PLUS, Recorder, Task

WARM_UP_SECONDS = 0.05


def run_curve(
    name: str,
    data: Path,
    valid: Path,
    start: str,
    sizes: tuple[int, int],
    seed: int,
    n_threads: int,
    budget: float,
) -> dict[str, Any]:
    """Fit one contender and return its curve, a list of (seconds, validation energy).

    `start` is "random" (distinct rows, the same for all contenders of a seed) or "k-means++"; `sizes` are the
    number of clusters and the batch size. Seconds are those of the clock, or of the processor where there is one
    thread.
    """
    task = _task(load_rows(data), start, sizes, seed, n_threads)
    _warm_up(name, task)
    recorder = Recorder(budget, clock=clock(n_threads))
    with measured(n_threads) as cost:
        recorder.start()
        (CURVES | SETTINGS)[name].call(task, recorder)
    found = energies(load_rows(valid), (centers for _, centers in recorder.points))
    curve = [(round(seconds, 6), energy) for (seconds, _), energy in zip(recorder.points, found)]
    # What is disturbed is judged by the seconds that count.
    other = cost.other_seconds * recorder.seconds / cost.seconds
    return {
        "seconds": recorder.seconds,
        "cpu_seconds": cost.cpu_seconds,
        "other_seconds": other,
        "cut": recorder.cut,
        "curve": curve,
    }


def _task(rows: Any, start: str, sizes: tuple[int, int], seed: int, n_threads: int) -> Task:
    n_clusters, batch_size = sizes
    first = start if start == K_MEANS_PLUS_PLUS else first_rows(rows, n_clusters, seed)
    return Task(rows, first, batch_size, n_clusters, seed, n_threads)


def _warm_up(name: str, task: Task) -> None:
    """Load the package and start its threads on a few rows."""
    rows = task.rows[: 4 * task.n_clusters]
    start = task.start if task.given is None else task.start.copy()
    small = Task(rows, start, min(task.batch_size, rows.shape[0]), task.n_clusters, task.seed, task.n_threads)
    (CURVES | SETTINGS)[name].call(small, Recorder(WARM_UP_SECONDS, keep=False))
    gc.collect()
