"""What every seeding begins with, and what it returns."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from coterie.arrays import Array, IndexArray
from coterie.blocks.dataset import Dataset
from coterie.blocks.kernel_rows import dense
from coterie.fitting.checks import check_positive_integer, check_sample_weight
from coterie.fitting.threads import effective_n_threads
from coterie.rows import as_rows

__all__ = ["dataset_of", "take_rows"]

Seeds = tuple[Array, IndexArray]


def dataset_of(
    X: Any, n_clusters: int, sample_weight: npt.ArrayLike | None, n_threads: int | None
) -> Dataset:
    rows = as_rows(X)
    check_positive_integer("n_clusters", n_clusters)
    if n_clusters > rows.shape[0]:
        raise ValueError(f"n_samples={rows.shape[0]} should be >= n_clusters={n_clusters}.")
    weights = check_sample_weight(sample_weight, rows)
    return Dataset(rows, weights, n_clusters=n_clusters, n_threads=effective_n_threads(n_threads))


def take_rows(data: Dataset, indices: IndexArray) -> Array:
    """Return rows of the data in any order as a dense array of shape (len(indices), d)."""
    sorted_indices, places = np.unique(indices, return_inverse=True)
    block = data.rows.take(sorted_indices)
    return np.ascontiguousarray(dense(block)[places], dtype=data.dtype)
