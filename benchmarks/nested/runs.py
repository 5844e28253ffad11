"""The runs that record a contender, each in a process of its own.

A run leaves a time-energy curve. The energies of the copies of the centroids on the validation rows are computed when
the fit is over.
"""

from __future__ import annotations

import gc
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness.data.splits import load_rows
from benchmarks.harness.measuring import clock, measured
from benchmarks.harness.quality import inertia
from benchmarks.nested.contenders import CURVES, K_MEANS_PLUS_PLUS, SETTINGS, Recorder, Task

WARM_UP_SECONDS = 0.05


def run_curve(
    name: str, data: Path, valid: Path, start: str, sizes: tuple[int, int], seed: int, n_threads: int, budget: float
) -> dict[str, Any]:  # fmt: skip
    """Fit one contender and return its curve, a list of (seconds, validation energy).

    `start` is "random" (distinct rows, the same for all contenders of a seed) or "k-means++"; `sizes` are the
    number of clusters and the batch size. Seconds are those of the clock, or of the processor where there is one
    thread.
    """
    rows, (n_clusters, batch_size) = load_rows(data), sizes
    first = start if start == K_MEANS_PLUS_PLUS else first_rows(rows, n_clusters, seed)
    task = Task(rows, first, batch_size, n_clusters, seed, n_threads)
    _warm_up(name, task)
    recorder = Recorder(budget, clock(n_threads))
    with measured(n_threads) as cost:
        recorder.start()
        (CURVES | SETTINGS)[name].call(task, recorder)
    held_out = load_rows(valid)
    found = [inertia(held_out, centers) / held_out.shape[0] for _, centers in recorder.points]
    return {
        "seconds": recorder.seconds,
        "cpu_seconds": cost.cpu_seconds,
        # What is disturbed is judged by the seconds that count.
        "other_seconds": cost.other_seconds * recorder.seconds / cost.seconds,
        "curve": [(round(seconds, 6), energy) for (seconds, _), energy in zip(recorder.points, found)],
    }


def _warm_up(name: str, task: Task) -> None:
    """Load the package and start its threads on a few rows."""
    rows = task.rows[: 4 * task.n_clusters]
    start = task.start if task.given is None else task.start.copy()
    small = replace(task, rows=rows, start=start, batch_size=min(task.batch_size, rows.shape[0]))
    (CURVES | SETTINGS)[name].call(small, Recorder(WARM_UP_SECONDS))
    gc.collect()


def first_rows(rows: Any, n_clusters: int, seed: int) -> np.ndarray:
    """Return the initial centroids: distinct rows, drawn uniformly."""
    chosen = np.random.default_rng(seed).choice(rows.shape[0], n_clusters, replace=False)
    first = rows[np.sort(chosen)]
    return np.ascontiguousarray(first if isinstance(first, np.ndarray) else first.toarray())
