"""What a batch tells, and when batches have gained nothing for some time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

__all__ = ["BatchStep", "SmoothedInertia"]


@dataclass
class BatchStep:
    """What one batch did."""

    inertia: float
    center_shift: float


class SmoothedInertia:
    """An exponentially weighted mean of the inertia per row, and how long it has not fallen."""

    def __init__(self, weight: float, patience: int | None) -> None:
        self._weight = weight
        self._patience = patience
        self._n_batches = 0
        self._value = 0.0
        self._lowest = np.inf
        self._n_without_progress = 0

    def has_stalled(self, inertia: float) -> bool:
        """Take in the next batch; return whether it is time to stop. The first one only tells of the start."""
        self._n_batches += 1
        if self._n_batches == 1 or self._patience is None:
            return False
        first = self._n_batches == 2
        self._value = inertia if first else (1 - self._weight) * self._value + self._weight * inertia
        self._n_without_progress += 1
        if self._value < self._lowest:
            self._lowest = self._value
            self._n_without_progress = 0
        return self._n_without_progress >= self._patience
