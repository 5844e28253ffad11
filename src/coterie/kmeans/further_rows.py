"""How much more rows can be expected to lower the energy of a model that is fitted to a sample."""

from __future__ import annotations

import numpy as np

__all__ = ["FurtherRows"]


class FurtherRows:
    """What a sample's energy says of rows that are not in it yet.

    Centroids that are fitted to a sample suit other rows less. When rows join the sample, how much less is there to be
    seen, before any centroid has moved. Half of that gap is what the sample's energy is too low by, the other half what
    the centroids are worse by than those fitted to all rows; both fall in proportion to the rows that were fitted.
    """

    def __init__(self) -> None:
        self._loss_times_rows = np.inf

    def note(self, before: float, n_before: float, after: float, n_after: float) -> None:
        """Take in the mean energy of a sample, and that with more rows in it, by the same centroids."""
        gap = (after - before) / (1 - n_before / n_after)
        self._loss_times_rows = max(0.0, gap) / 2 * n_before

    def gain(self, n_rows: float, n_all: float) -> float:
        """Return by how much all rows can be expected to lower the mean energy after so many; infinite if unknown."""
        return self._loss_times_rows * (1 / n_rows - 1 / n_all)
