"""What a pass takes on many machines, from rates that were measured on one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

__all__ = ["Cluster", "Fit", "bytes_of_pass", "prediction_lines", "straggling", "traveling_seconds"]

# What the bounds of Yinyang take of a worker, at most.
_BOUND_BYTES = 1 << 30


@dataclass(frozen=True)
class Fit:
    """A fit of n x d rows of float32 in k clusters."""

    n_rows: int
    n_columns: int
    n_clusters: int


@dataclass(frozen=True)
class Cluster:
    """Machines of one worker each.

    Attributes
    ----------
    n_workers : int
        How many.
    n_threads : int
        Processors of each.
    rate : float
        Floating-point operations per second of one of them in the assignment (2 n k d in all).
    network : float
        Bytes per second of the client's link, through which all sums come.
    latency : float
        Seconds of a task that does nothing, to the worker and back.
    """

    n_workers: int
    n_threads: int
    rate: float
    network: float
    latency: float


def prediction_lines(fit: Fit, cluster: Cluster) -> Iterator[str]:
    """Yield what a pass costs, in words."""
    sent, received = bytes_of_pass(fit)
    operations = 2.0 * fit.n_rows * fit.n_clusters * fit.n_columns
    computing = operations / (cluster.rate * cluster.n_threads * cluster.n_workers)
    traveling = traveling_seconds(fit, cluster.n_workers, cluster.network)
    rows = 4 * fit.n_rows * fit.n_columns / cluster.n_workers
    held = fit.n_rows / cluster.n_workers
    beside = 12 * held + min(4 * held * max(1, fit.n_clusters // 10), _BOUND_BYTES)
    sums = 3 * 8 * fit.n_clusters * fit.n_columns
    yield f"{fit.n_rows:,} x {fit.n_columns:,}, k = {fit.n_clusters:,} on {cluster.n_workers} machines"
    yield f"bytes per pass: {sent / 1e6:.1f} MB to and at most {received / 1e6:.1f} MB from each worker"
    yield f"seconds per pass: {computing:.1f} computing without bounds, {traveling:.1f} traveling"
    yield (
        f"memory per worker: {rows / 2**30:.1f} GiB rows, {beside / 2**30:.1f} GiB labels and bounds (Yinyang), "
        + (f"{sums / 2**30:.2f} GiB sums")
    )


def traveling_seconds(fit: Fit, n_workers: int, network: float) -> float:
    """Return the seconds that a pass's centroids and sums take through the client's link."""
    sent, received = bytes_of_pass(fit)
    return n_workers * (sent + received) / network


def bytes_of_pass(fit: Fit) -> tuple[int, int]:
    """Return the bytes to and, at most, from a worker in a pass."""
    return 4 * fit.n_clusters * fit.n_columns, 16 * fit.n_clusters * (fit.n_columns + 1)


def straggling(latencies: Sequence[float], n_workers: int, n_passes: int = 2000, seed: int = 0) -> float:
    """Return the mean of the slowest of so many workers' passes over the mean of one, drawn from measured ones."""
    measured = np.asarray(latencies, dtype=float)
    drawn = np.random.default_rng(seed).choice(measured, size=(n_passes, n_workers))
    return float(drawn.max(axis=1).mean() / measured.mean())
