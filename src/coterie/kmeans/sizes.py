"""Bounds of the sizes of clusters: what estimators that have them share."""

from __future__ import annotations

from typing import Any

import numpy as np

from coterie.arrays import Array, FloatArray, IntArray
from coterie.blocks.dataset import Dataset, total_weight
from coterie.centers.frame import CenterFrame
from coterie.centers.sized import SizedSearch, sized_labels_and_squares
from coterie.centers.sizes import SizeBounds, check_sizes
from coterie.estimators.declared import Absent, Declared, Numbers
from coterie.fitting.deadline import Deadline
from coterie.rows import RowSource

__all__ = ["SIZE_ATTRIBUTES", "SizeBounded"]

# What the history of a fit with such bounds has beside the rest.
_SIZE_FIELDS = (("gap", np.float64),)

SIZE_ATTRIBUTES: dict[str, Declared] = {
    "size_range_": Numbers((2,), least=0, needed=False),
    "_search": Absent(),
}


class SizeBounded:
    """An estimator with `size_min`, `size_max` and `size_gap`, or one without: see `coterie.KMeans`."""

    n_clusters: int
    size_min: float | None = None
    size_max: float | None = None
    size_gap: float = 1e-3
    _search: SizedSearch | None = None

    @property
    def _is_sized(self) -> bool:
        return self.size_min is not None or self.size_max is not None

    def _check_sizes(self) -> None:
        check_sizes(self.size_min, self.size_max)
        if not 0 <= self.size_gap < np.inf:
            raise ValueError(f"size_gap must be a finite number, 0 or more, got {self.size_gap!r}.")

    def _check_fractions(self) -> None:
        """Raise a ValueError if bounds are numbers of rows where nobody knows how many will come."""
        for name in ("size_min", "size_max"):
            size = getattr(self, name)
            if size is not None and size >= 1:
                raise ValueError(
                    f"{name}={size!r} is a number of rows, and partial_fit does not know how many there will be: "
                    "give a fraction of them, such as 0.5 / n_clusters."
                )

    def _size_search(
        self, n_rows: int, weights: Array | None, n_threads: int, deadline: Deadline | None = None
    ) -> SizedSearch | None:
        """Return what assigns so many rows, or samples of them, within the bounds; None where there are none."""
        if not self._is_sized:
            return None
        total = total_weight(n_rows, weights)
        bounds = SizeBounds.of(self.size_min, self.size_max, total)
        bounds.check(self.n_clusters, total)
        gap = float(self.size_gap)
        return SizedSearch(bounds, total, self.n_clusters, gap=gap, n_threads=n_threads, deadline=deadline)

    def _labels_within(
        self, rows: RowSource, weights: Array | None, centers: Array, search: SizedSearch
    ) -> tuple[IntArray, FloatArray]:
        """Return labels of all rows within the bounds, and squared distances to these centroids."""
        data = Dataset(rows, weights, n_clusters=len(centers), n_threads=search.n_threads)
        frame = CenterFrame(centers.astype(data.dtype, copy=False), data.shift, data.n_threads)
        return sized_labels_and_squares(data, frame, search)

    def _history_fields(self, fields: tuple[tuple[str, Any], ...]) -> tuple[tuple[str, Any], ...]:
        """Return what the history of a fit has: the gap as well, where there are bounds."""
        return (*fields, *_SIZE_FIELDS) if self._is_sized else fields

    def _note_sizes(self, labels: IntArray, weights: Array | None) -> None:
        """Store the smallest and the largest size."""
        self.__dict__.pop("size_range_", None)
        if self._is_sized:
            sizes = np.bincount(labels, weights, minlength=self.n_clusters)
            self.size_range_ = np.array([sizes.min(), sizes.max()], dtype=np.float64)
