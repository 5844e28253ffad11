"""Where all fits of a seed begin, and the energy by which they are compared."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np


def first_rows(rows: Any, n_clusters: int, seed: int) -> np.ndarray:
    """Return the initial centroids: distinct rows, drawn uniformly."""
    chosen = np.random.default_rng(seed).choice(rows.shape[0], n_clusters, replace=False)
    first = rows[np.sort(chosen)]
    return np.ascontiguousarray(first if isinstance(first, np.ndarray) else first.toarray())


def energies(rows: Any, centroids: Iterable[np.ndarray], rows_per_block: int = 4096) -> list[float]:
    """Return the mean squared distance of the rows to their nearest centroid, for each set of centroids."""
    shift: Any = 0
    if isinstance(rows, np.ndarray):  # float32 products lose less around the mean
        shift = rows.mean(axis=0, dtype=np.float64).astype(np.float32)
        rows = rows - shift
        squares = np.einsum("ij,ij->i", rows, rows, dtype=np.float64)
    else:
        squares = np.asarray(rows.multiply(rows).sum(axis=1), np.float64).ravel()
    blocks = [rows[start : start + rows_per_block] for start in range(0, rows.shape[0], rows_per_block)]
    total = float(squares.sum())
    return [(total + _nearest_scores(blocks, c - shift)) / rows.shape[0] for c in centroids]


def _nearest_scores(blocks: list[Any], centers: np.ndarray) -> float:
    """Return the sum over all rows x of the least ||c||^2 - 2 x c."""
    offsets = np.einsum("ij,ij->i", centers, centers)
    factors = np.ascontiguousarray(-2 * centers.T)
    total = 0.0
    for block in blocks:
        scores = block @ factors
        scores += offsets
        total += float(scores.min(axis=1).sum(dtype=np.float64))
    return total
