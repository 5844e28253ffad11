"""How well rows belong to their clusters, where a method says more of it than a distance."""

from __future__ import annotations

from typing import Any

import numpy as np

from coterie.arrays import FloatArray, IntArray
from coterie.rows import RowSource

__all__ = ["own_memberships", "own_posteriors"]


def own_memberships(model: Any, rows: RowSource, labels: IntArray) -> FloatArray | None:
    """Return the memberships of the rows of the fit in their clusters; None for others, which have none."""
    if not np.array_equal(labels, model.labels_) or not model._are_training_rows(rows):
        return None
    return np.asarray(model.memberships_[np.arange(len(labels)), labels], dtype=np.float64).ravel()


def own_posteriors(model: Any, rows: RowSource, labels: IntArray) -> FloatArray:
    """Return the (truncated) posterior probability of each row's component."""
    found = model.responsibilities(rows)
    return np.asarray(found[np.arange(len(labels)), labels], dtype=np.float64).ravel()
