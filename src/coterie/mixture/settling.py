"""When EM has settled: by the change of the free energy, and by what a coreset can tell."""

from __future__ import annotations

import math

from coterie.arrays import Array

__all__ = ["Settling", "effective_size"]

# Iterations over which gains are averaged at the least: those that search gain more than others.
_WINDOW = 3


class Settling:
    """Watch the free energy of one run, iteration by iteration.

    Parameters
    ----------
    tol : float
        A change by less than this, relative to the free energy, ends the run.
    least_left : float
        So do later iterations that would gain less than this in all, as it seems; 0 for a run to its very end.
    cycle : int
        One in so many E-steps searches.
    """

    def __init__(self, tol: float, least_left: float, cycle: int) -> None:
        self._tol, self._least_left = tol, least_left
        self._window = max(_WINDOW, cycle)
        self._bounds: list[float] = []

    def begin(self, bound: float) -> None:
        """Take the free energy before the first iteration."""
        self._bounds = [bound]

    def closeness(self, bound: float) -> float:
        """Take the free energy after an iteration; return how far the run is from its end, which is below 1."""
        change, enough = abs(bound - self._bounds[-1]), self._tol * abs(bound)
        self._bounds.append(bound)
        by_change = change / enough if enough > 0 else math.inf
        return min(by_change, self._left() / self._least_left if self._least_left > 0 else math.inf)

    def _left(self) -> float:
        """Foretell what later iterations would gain.

        Gains of EM fall about as 1 / t^2, t being the iteration, or faster: then no more is left than t times the
        gain of the last one.
        """
        n_iterations = len(self._bounds) - 1
        if n_iterations <= self._window:  # the first ones have random candidates
            return math.inf
        gain = (self._bounds[-1] - self._bounds[-1 - self._window]) / self._window
        return max(gain, 0.0) * n_iterations


def effective_size(weights: Array) -> float:
    """Return of how many rows of equal weight a mean varies as much as of these (Kish 1965)."""
    total = float(weights.sum(dtype="float64"))
    return total * total / float((weights.astype("float64") ** 2).sum())
