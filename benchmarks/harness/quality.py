"""How good centers are, computed by one function for all."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np


def nearest_by_block(
    X: np.ndarray, centers: np.ndarray, n_rows: int
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield so many rows at a time, and the number of the nearest centroid of each, found by comparing with all."""
    squares = np.einsum("ij,ij->i", centers, centers)
    for start in range(0, len(X), n_rows):
        block = X[start : start + n_rows]
        yield block, (squares - 2 * (block @ centers.T)).argmin(axis=1)


def inertia(X: np.ndarray, centers: np.ndarray, rows_per_block: int = 8192) -> float:
    """Return the sum of squared distances to the nearest centroid, summed in float64."""
    centers = np.ascontiguousarray(centers, np.float32)
    total = 0.0
    for block, nearest in nearest_by_block(X, centers, rows_per_block):
        gap = block - centers[nearest]
        total += float(np.einsum("ij,ij->", gap, gap, dtype=np.float64))
    return total
