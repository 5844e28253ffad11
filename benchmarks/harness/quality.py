"""How good centers are, computed by one function for all."""

from __future__ import annotations

import numpy as np


def inertia(X: np.ndarray, centers: np.ndarray, rows_per_block: int = 8192) -> float:
    """Return the sum of squared distances to the nearest centroid, summed in float64."""
    centers = np.ascontiguousarray(centers, np.float32)
    squares = np.einsum("ij,ij->i", centers, centers)
    total = 0.0
    for start in range(0, len(X), rows_per_block):
        block = X[start : start + rows_per_block]
        nearest = (squares - 2 * (block @ centers.T)).argmin(axis=1)
        gap = block - centers[nearest]
        total += float(np.einsum("ij,ij->", gap, gap, dtype=np.float64))
    return total
