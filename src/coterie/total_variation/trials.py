"""Trials of total variation clustering: descents of the relaxed energy, each from its own start."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from coterie.arrays import Array, IntArray
from coterie.fitting.monitor import FitMonitor
from coterie.total_variation.descent import TotalVariationDescent

__all__ = ["HISTORY_FIELDS", "Trial", "Trials"]


# What is known of an outer step, besides what is known of every iteration.
HISTORY_FIELDS = (("n_inner", np.int64), ("descended", np.bool_), ("cut", np.float64))

# Outer steps that change little, one after the other, until a trial has converged: a single one may be short.
_STILL_STEPS = 2

# A trial ends after so many times the iterations that found its clusters, and no fewer than these.
_PATIENCE, _FEWEST_INNER = 2, 300


@dataclass(frozen=True)
class Trial:
    """What one start led to.

    Attributes
    ----------
    energy : float
        (P) of the labels.
    relaxed_energy : float
        Of the memberships.
    labels : ndarray of shape (n,), int32
        Column of the largest membership of each row.
    memberships : ndarray of shape (n, R)
        Rows in the simplex.
    converged : bool
        Whether there was nothing left to gain.
    n_inner : int
        Inner iterations.
    history : record array, or None
        The outer steps.
    """

    energy: float
    relaxed_energy: float
    labels: IntArray
    memberships: Array
    converged: bool = True
    n_inner: int = 0
    history: Array | None = None

    def rank(self) -> tuple[float, float]:
        """Return what is to be small."""
        return self.energy, self.relaxed_energy


class Trials:
    """Descents on one graph.

    Parameters
    ----------
    descent : TotalVariationDescent
        Carries them out.
    known : ndarray of shape (n,), int32
        Known classes, -1 elsewhere: those rows stay in their columns.
    eps, tol, max_iter
        See `TotalVariationClustering`.
    monitor : FitMonitor
        Is told of every outer step; says when to stop.
    """

    def __init__(
        self,
        descent: TotalVariationDescent,
        known: IntArray,
        *,
        eps: float,
        tol: float,
        max_iter: int,
        monitor: FitMonitor,
    ) -> None:
        self._descent, self._known, self._monitor = descent, known, monitor
        self._eps, self._tol, self._max_iter = eps, tol, max_iter

    def run(self, memberships: Array) -> Trial | None:
        """Descend from a start, as long as better clusters are found; None if one of its columns is constant.

        What counts is the cut that memberships round to. Their relaxed energy falls on where two columns share two
        clusters, and rounding is the worse for it; so a trial ends with the best of all its roundings.

        Parameters
        ----------
        memberships : ndarray of shape (n, R)
            Rows in the simplex.
        """
        descent, monitor, fixed = self._descent, self._monitor, self._known >= 0
        start = memberships.copy()
        start[fixed] = np.eye(start.shape[1])[self._known[fixed]]
        energy = descent.start(start, fixed)
        if not np.isfinite(energy):
            return None
        monitor.start_run()
        labels, cut = descent.rounded()
        best = Trial(cut, energy, labels, descent.memberships)
        n_inner, n_best, n_still, converged = 0, 0, 0, False
        while n_inner < self._max_iter and not converged:
            before = energy
            result = descent.outer_step(self._eps, self._max_iter - n_inner)
            n_inner += result.n_inner
            if not result.is_valid:
                break
            if result.energy > before:
                # There are no iterations left, for otherwise they had gone on.
                descent.undo()
            energy = min(result.energy, before)
            labels, cut = descent.rounded()
            if cut < (1 - self._tol) * best.energy:
                n_best = n_inner
            # The last of equal ones: memberships become sharper.
            if cut <= best.energy:
                best = Trial(cut, energy, labels, descent.memberships)
            stop = monitor.report(
                energy,
                lambda: descent.memberships,
                n_inner=result.n_inner,
                descended=result.descended,
                cut=cut,
            )
            n_still = n_still + 1 if abs(before - energy) <= self._tol * abs(before) else 0
            converged = n_still == _STILL_STEPS or n_inner >= max(_PATIENCE * n_best, _FEWEST_INNER)
            if stop:
                break
        return replace(best, converged=converged, n_inner=n_inner, history=monitor.history())
