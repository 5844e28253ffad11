"""The graphs, and which labels are known."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from benchmarks.harness.data.files import arrays_of, csr_of, real_file, snippets
from benchmarks.harness.data.images import upright_digits
from benchmarks.harness.data.labeled import labeled

DATA = ("4moons", "optdigits", "pendigits", "mnist", "mnist-upright", "webkb4", "20news", "snippets")
N_NEIGHBORS = 10
FILES = {
    "20news": "20news_graph.npz",
    "webkb4": "webkb4.npz",
    "4moons": "four_moons_regen.npz",
    "mnist-upright": "mnist.npz",
    "snippets": "searchsnippets.parquet",
}


def graph_file(name: str) -> Path | None:
    """Return the file that a graph is made from, or None."""
    return real_file(FILES.get(name, f"graphs/{name}.npz"))


@lru_cache(maxsize=2)
def load_graph(name: str) -> tuple[sp.csr_array, np.ndarray]:
    """Return a graph and the classes of its vertices; digits of scikit-learn stand in where there is no such file."""
    if name in FILES or graph_file(name) is None:
        rows = load_rows(name)
        if rows is not None:
            return _graph_of_rows(rows, _classes(name))
    matrix, classes = csr_of(FILES.get(name, f"graphs/{name}.npz"))
    return _graph_of_counts(matrix, classes) if name == "webkb4" else (matrix, classes)


def _classes(name: str) -> np.ndarray:
    if graph_file(name) is None:
        return labeled("digits")[1]
    return snippets()[1] if name == "snippets" else arrays_of(FILES[name])[1]


@lru_cache(maxsize=2)
def load_rows(name: str) -> np.ndarray | None:
    """Return the rows that a graph of `load_graph` is made of, or None where they are not dense, or not here."""
    if graph_file(name) is None:
        return labeled("digits")[0]
    if name == "snippets":
        return snippets()[0]
    file = FILES.get(name, f"{name}.npz")
    path = real_file(file)
    if path is None or "X" not in np.load(path):
        return None
    rows = arrays_of(file)[0]
    return upright_digits(rows) if name == "mnist-upright" else rows


def _graph_of_rows(rows: np.ndarray, classes: np.ndarray) -> tuple[sp.csr_array, np.ndarray]:
    from coterie.graphs import knn_graph

    # Neighbors of many rows are approximate: all contenders get the same ones.
    return knn_graph(rows, N_NEIGHBORS, random_state=0), classes


def _graph_of_counts(counts: sp.csr_array, classes: np.ndarray) -> tuple[sp.csr_array, np.ndarray]:
    """Join each document to the 10 with the smallest angle, as terms weighted by log(1 + count) log(n / documents)."""
    from coterie.graphs import knn_graph

    has_terms = np.diff(counts.indptr) > 0
    weighted, classes = counts[has_terms], classes[has_terms]
    documents = np.maximum(np.bincount(weighted.indices, minlength=weighted.shape[1]), 1)
    weighted.data = np.log1p(weighted.data) * np.log(weighted.shape[0] / documents)[weighted.indices]
    graph = knn_graph(weighted, N_NEIGHBORS, metric="cosine", random_state=0)
    return graph.astype(np.float32), classes


def known_labels(classes: np.ndarray, share: float, seed: int) -> np.ndarray:
    """Draw labels: so many of each class (1 or more), or a share of each (less than 1)."""
    random = np.random.default_rng(seed)
    labels = np.full(len(classes), -1)
    for label in np.unique(classes):
        rows = np.flatnonzero(classes == label)
        n_known = int(share) if share >= 1 else max(1, round(share * len(rows)))
        labels[random.choice(rows, n_known, replace=False)] = label
    return labels
