"""How good centers are, computed by one function for all."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.metrics import pairwise_distances_argmin_min


def inertia(X: Any, centers: np.ndarray) -> float:
    """Return the sum of squared distances of dense or sparse rows to the nearest centroid, in float64."""
    centers = np.ascontiguousarray(centers, X.dtype)
    return float(pairwise_distances_argmin_min(X, centers, metric="sqeuclidean")[1].sum())
