"""The runs that find neighbors and say how many of them are the true ones, each in a process of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.graphs.contenders import GRAPHS, SEED
from benchmarks.harness.measuring import measured

RECALL_ROWS = 1000  # whose neighbors are found exactly
WARM_UP_ROWS = 3000


def run_graph(name: str, data: Path, n_neighbors: int, n_threads: int) -> dict[str, Any]:
    """Find the neighbors of all rows and measure it; the recall is that of a sample of the rows."""
    X = np.load(data)
    find = GRAPHS[name].call
    find(X[:WARM_UP_ROWS], n_neighbors, n_threads)
    with measured() as cost:
        ids = find(X, n_neighbors, n_threads)
    return vars(cost) | {"recall": recall(X, np.asarray(ids)), "input_bytes": X.nbytes}


def run_part(data: Path, n_neighbors: int, n_threads: int, n_rows: int) -> dict[str, Any]:
    """Search exactly for the neighbors of the first rows among all; the seconds are those of all rows."""
    from coterie.graphs import nearest_neighbors

    X = np.load(data)
    with measured() as cost:
        ids, _ = nearest_neighbors(X, n_neighbors, queries=X[:n_rows], method="exact", n_threads=n_threads)
    share = len(X) / len(ids)
    times = {name: share * vars(cost)[name] for name in ("seconds", "cpu_seconds", "other_seconds")}
    return vars(cost) | times | {"recall": 1.0, "input_bytes": X.nbytes}


def recall(X: np.ndarray, ids: np.ndarray) -> float:
    """Return the share of the nearest rows that were found, over a sample; equal distances count as found."""
    from coterie.graphs import nearest_neighbors

    m = ids.shape[1]
    sample = np.sort(np.random.default_rng(SEED).choice(len(X), RECALL_ROWS, replace=False))
    _, true_squares = nearest_neighbors(X, m + 1, queries=X[sample], method="exact")
    squares = np.array(
        [np.sum((X[i].astype(np.float64) - X[found]) ** 2, axis=1) for i, found in zip(sample, ids[sample])]
    )
    # One of the m + 1 is the row itself.
    return float(np.mean(squares <= true_squares[:, m:] * (1 + 1e-6)))
