"""What a fit is given, and what watches it: copies of its centroids are taken while the clock stands still."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

K_MEANS_PLUS_PLUS = "k-means++"
# The next copy is taken when the clock shows this many times the seconds of the last one.
COPY_GROWTH = 1.05


class Recorder:
    """Keeps copies of the centroids along a fit, with the seconds since its start, and watches its budget.

    `points` are seconds and centroids; `cut` tells whether the budget ended the fit.
    """

    def __init__(
        self, budget: float, keep: bool = True, clock: Callable[[], float] = time.perf_counter
    ) -> None:
        self.budget, self.keep, self.clock = budget, keep, clock
        self.points: list[tuple[float, np.ndarray]] = []
        self.cut = False
        self._next = self._paused = 0.0
        self._begin = self.clock()

    def start(self) -> None:
        """Set the clock to 0."""
        self._begin = self.clock()

    def see(self, centers: np.ndarray) -> bool:
        """Look at the centroids of a fit that goes on; return True if it is to stop. Takes no time."""
        arrived = self.clock()
        seconds = arrived - self._begin - self._paused
        if self.keep and seconds >= self._next:
            self.add(seconds, centers)
            self._next = COPY_GROWTH * seconds
        self.cut = seconds >= self.budget
        self._paused += self.clock() - arrived
        return self.cut

    def finish(self, centers: np.ndarray) -> None:
        """Record the centroids that the fit returned."""
        self.add(self.clock() - self._begin - self._paused, centers)

    def add(self, seconds: float, centers: np.ndarray) -> None:
        """Record centroids that were found after so many seconds."""
        self.points.append((seconds, np.array(centers, np.float32)))

    @property
    def seconds(self) -> float:
        """When the last centroids were recorded."""
        return self.points[-1][0]


@dataclass(frozen=True)
class Task:
    """What a contender is given: `start` is an array of initial centroids, or "k-means++"."""

    rows: Any
    start: Any
    batch_size: int
    n_clusters: int
    seed: int
    n_threads: int

    @property
    def given(self) -> np.ndarray | None:
        """The initial centroids, None where the contender has to find them."""
        return None if isinstance(self.start, str) else self.start
