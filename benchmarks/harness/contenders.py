"""What is compared: the function of a package, and the module without which it is skipped.

Peers are imported where they are called, so that all modules can be imported without them.
"""

import argparse
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

EVERY_ROW = 2**31 - 1  # "points per centroid" that no data set exceeds

# Settings with which SuperKMeans does the same work as others: every row, no early stop.
SUPERKMEANS_ALL_ROWS: dict[str, Any] = {
    "hierarchical": False,
    "sampling_fraction": 1.0,
    "max_points_per_cluster": EVERY_ROW,
    "tol": 0.0,
    "early_termination": False,
}


def model_of(path: str, *args: Any, **options: Any) -> Any:
    """Return an object of a class by its dotted path, which is imported now."""
    module, _, name = path.rpartition(".")
    return getattr(import_module(module), name)(*args, **options)


# What packages call the number of threads; others take it from the environment.
_THREADS = {"coterie": "n_threads", "sklearnex": "n_jobs"}


def threaded(path: str, *args: Any, n_threads: int, **options: Any) -> Any:
    """Return an object as `model_of` does, with so many threads where its package takes their number."""
    name = _THREADS.get(path.partition(".")[0])
    return model_of(path, *args, **options, **({name: n_threads} if name else {}))


def faiss_with(n_threads: int) -> Any:
    """Return faiss, which then has so many threads."""
    import faiss

    faiss.omp_set_num_threads(n_threads)
    return faiss


def leiden_on(graph: Any) -> Callable[..., np.ndarray]:
    """Return what finds labels by leidenalg, of a kind of partition and its options, on the edges of a graph."""
    import igraph
    import leidenalg
    import scipy.sparse as sp

    heads, tails = sp.triu(graph, 1).nonzero()
    network = igraph.Graph(graph.shape[0], np.c_[heads, tails].tolist())

    def labels(kind: str, **options: Any) -> np.ndarray:
        return np.asarray(leidenalg.find_partition(network, getattr(leidenalg, kind), **options).membership)

    return labels


def bisected(
    labels_at: Callable[[float], np.ndarray], n_clusters: int, low: float, high: float, n_times: int = 20
) -> np.ndarray:
    """Return the labels of the first resolution tried that gives so many clusters, else of the one that is nearest.

    `low` and `high` are decimal logarithms.
    """
    best, least_gap = np.empty(0, dtype=int), np.inf
    for _ in range(n_times):
        middle = (low + high) / 2
        labels = labels_at(float(10**middle))
        n_found = len(np.unique(labels))
        if abs(n_found - n_clusters) < least_gap:
            best, least_gap = labels, abs(n_found - n_clusters)
        if least_gap == 0:
            break
        low, high = (middle, high) if n_found < n_clusters else (low, middle)
    return best


@dataclass(frozen=True)
class Contender:
    """A package's function and the module without which it is skipped."""

    module: str
    call: Callable[..., Any]

    @property
    def installed(self) -> bool:
        return find_spec(self.module) is not None


def is_peer(name: str) -> bool:
    return not name.startswith("coterie")


def selected(
    contenders: Mapping[str, Contender], options: argparse.Namespace, say: Callable[[str], Any]
) -> list[str]:
    """Return the names that --only and --skip leave, of packages that are installed; say which are missing."""
    names = [
        name
        for name in contenders
        if not any(word in name for word in options.skip)
        and (not options.only or any(word in name for word in options.only))
    ]
    missing = [name for name in names if not contenders[name].installed]
    if missing:
        say("Skipped, not installed: " + ", ".join(missing))
    return [name for name in names if name not in missing]
