"""What a fit of total variation is told of its rows: known classes, or memberships to begin with."""

from __future__ import annotations

from typing import Any

import numpy as np

from coterie.arrays import Array, FloatArray, IntArray

__all__ = ["given_memberships", "known_labels"]


def known_labels(y: Any, n: int, n_clusters: int) -> IntArray:
    """Return the known classes of n rows, -1 elsewhere, or say what is wrong with them."""
    unknown = np.full(n, -1, dtype=np.int32)
    if y is None:
        return unknown
    labels = np.asarray(y)
    if labels.shape != (n,):
        raise ValueError(f"y must have one label for each of the {n} rows, got shape {labels.shape}.")
    if labels.dtype.kind not in "iuf":
        _check_names(labels)
        return unknown
    if labels.dtype.kind == "f" and np.isnan(labels).any():
        raise ValueError("y holds NaN: a class that is not known is -1.")
    if not np.any(labels == -1):
        return unknown
    if np.any(labels != np.floor(labels)) or labels.min() < -1 or labels.max() >= n_clusters:
        raise ValueError(
            f"y must hold classes from 0 to n_clusters - 1 = {n_clusters - 1}, and -1 where they are not "
            f"known, got {np.unique(labels)[:10].tolist()}."
        )
    return labels.astype(np.int32)


def given_memberships(init: Any, n: int, n_clusters: int) -> FloatArray | None:
    """Return the memberships that a fit is told to begin with, checked; None where it draws its starts."""
    if isinstance(init, str):
        return None
    given = np.array(init, dtype=np.float64)
    if given.shape != (n, n_clusters):
        raise ValueError(f"init must be 'diffusion' or have shape {n, n_clusters}, got {given.shape}.")
    if not np.all(np.isfinite(given)) or given.min() < 0 or np.abs(given.sum(axis=1) - 1).max() > 1e-5:
        raise ValueError("init must hold memberships: non-negative rows that sum to 1.")
    return given


def _check_names(labels: Array) -> None:
    """Raise a ValueError for names of classes some of which are not known: clusters have numbers.

    All names are known where scikit-learn's tools hand them over, and then ignored.
    """
    unknown = (None, -1, "-1", "", "nan")
    if any(name in unknown or name != name for name in labels.tolist()):
        raise ValueError(
            f"y must hold whole numbers, -1 where a class is not known, not {labels.dtype}. Number the names of "
            "classes from 0: numpy.unique(names, return_inverse=True)."
        )
