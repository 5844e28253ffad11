"""What runs in a process of its own: one method on one set."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.graphs_quality.contenders import CONTENDERS, NOISE, Task
from benchmarks.harness.measuring import measured
from benchmarks.harness.results import Cell

_WARM_ROWS, _WARM_CLUSTERS = 300, 3


@cache
def warm_up(method: str) -> None:
    """Import what a method needs and let it compile itself, on rows that do not count; once a process."""
    rows = np.random.RandomState(0).normal(size=(_WARM_ROWS, 5)).astype(np.float32)
    rows[:, 0] += 20 * (np.arange(_WARM_ROWS) % _WARM_CLUSTERS)
    CONTENDERS[method].call(Task(rows, False, _WARM_CLUSTERS, 0))


def run_cell(method: str, data: Path, seed: int) -> Cell:
    """Cluster a set by a method; score the labels, rows that are told to be noise being one cluster more."""
    task, classes = _task(data, seed)
    with measured() as cost:
        labels = np.asarray(CONTENDERS[method].call(task))
    is_noise = labels == NOISE
    return {
        **scores_of(classes, labels),
        "clusters": len(np.unique(labels[~is_noise])),
        "noise": float(is_noise.mean()),
        **vars(cost),
        "n_rows": task.rows.shape[0],
        "n_columns": task.rows.shape[1],
        "classes": task.n_clusters,
    }


def scores_of(classes: np.ndarray, labels: np.ndarray) -> dict[str, float]:
    """Return by what clusters are compared with classes."""
    from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

    from coterie.metrics import clustering_accuracy

    return {
        "accuracy": float(clustering_accuracy(classes, labels - labels.min())),
        "nmi": float(normalized_mutual_info_score(classes, labels)),
        "ari": float(adjusted_rand_score(classes, labels)),
    }


def _task(data: Path, seed: int) -> tuple[Task, np.ndarray]:
    import scipy.sparse as sp

    with np.load(data) as arrays:
        classes = arrays["y"]
        is_graph = "X" not in arrays
        if is_graph:
            parts = tuple(arrays[name] for name in ("data", "indices", "indptr"))
            rows: Any = sp.csr_array(parts, shape=(len(classes), len(classes)))
        else:
            rows = arrays["X"]
        return Task(rows, is_graph, int(classes.max()) + 1, seed), classes
