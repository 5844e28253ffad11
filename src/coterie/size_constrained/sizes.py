"""Size constraints of clusters: counts or fractions of all rows, and their feasibility."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from coterie.arrays import Array, FloatArray


@dataclass(frozen=True)
class SizeBounds:
    """Bounds of the sizes of all clusters, in the unit of the weights."""

    least: float
    most: float

    @classmethod
    def of(cls, size_min: Any, size_max: Any, total: float) -> SizeBounds:
        """Return bounds from sizes, or fractions of a total weight (below 1); None, or a minimum of 0: no bound."""
        return cls(
            _size(size_min, total) if size_min else 0.0,
            total if size_max is None else _size(size_max, total),
        )

    def check(self, n_clusters: int, total: float) -> None:
        """Raise a ValueError if no assignment of all rows has such sizes."""
        if n_clusters * self.least > total * (1 + 1e-12):
            raise ValueError(
                f"size_min asks for {n_clusters} clusters of {self.least:g} or more, {n_clusters * self.least:g} in "
                f"all, and there are {total:g}: ask for {total / n_clusters:g} at most, or for fewer clusters."
            )
        if self.least > self.most:
            raise ValueError(
                f"size_min is more than size_max: {self.least:g} and {self.most:g} of {total:g} in all."
            )
        if n_clusters * self.most < total * (1 - 1e-12):
            raise ValueError(
                f"size_max allows {n_clusters} clusters of {self.most:g} at most, {n_clusters * self.most:g} in all, "
                f"and there are {total:g}: allow {total / n_clusters:g} or more, or ask for more clusters."
            )

    def allow(self, sizes: Array) -> bool:
        """Tell whether these sizes are within the bounds."""
        return bool(np.all((sizes >= self.least) & (sizes <= self.most)))

    def in_units(self, weight: float, n_clusters: int, n_units: int) -> SizeBounds:
        """Return the bounds in numbers of rows of one weight: whole, and such that there are clusters of such sizes."""
        least, most = np.ceil(self.least / weight - 1e-9), np.floor(self.most / weight + 1e-9)
        return SizeBounds(min(least, n_units // n_clusters), max(most, -(-n_units // n_clusters)))


def check_sizes(size_min: Any, size_max: Any) -> None:
    """Raise a ValueError if size_min exceeds size_max, size_max is 0, or one of them is infinite; None is no bound."""
    if size_max == 0 or np.inf in (size_min, size_max):
        raise ValueError(
            "size_min and size_max must be sizes of at least 1 or fractions of all rows between 0 and 1, got "
            f"size_min={size_min!r}, size_max={size_max!r}."
        )
    if size_min and size_max and (size_min < 1) == (size_max < 1) and size_min > size_max:
        raise ValueError(f"size_min={size_min!r} is more than size_max={size_max!r}.")


def _size(size: Any, total: float) -> float:
    return float(size) if size >= 1 else float(size) * total


def common_weight(weights: Array | None) -> float | None:
    """Return the weight that all rows have which have any; None if they differ."""
    if weights is None:
        return 1.0
    some: FloatArray = weights[weights > 0]
    return float(some[0]) if np.all(some == some[0]) else None
