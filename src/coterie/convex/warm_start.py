"""Where the duals of the next gamma of a path begin."""

from __future__ import annotations

from copy import copy

import numpy as np

from coterie.arrays import Array
from coterie.convex.solvers import Solver

__all__ = ["WarmStart"]


# Numbers that are predicted at a time: what is needed besides stays small, and in the cache.
_NUMBERS_AT_A_TIME = 1 << 16


class WarmStart:
    """Goes on in the direction of the last two gammas.

    The dual of an edge whose ends are apart is on the rim of its ball, which grows with gamma; in a fused set duals
    need not grow. Both are continued along a line; the solver makes them feasible.
    """

    def __init__(self, solver: Solver, *, has_even_steps: bool) -> None:
        self._solver = solver
        self._has_even_steps = has_even_steps
        self._gamma: float | None = None
        self._ratio: float | None = None
        self._step = 0.0
        self._before: Array | None = None

    def on(self, solver: Solver, basis: Array) -> WarmStart:
        """Return one that goes on for another solver, whose columns are coordinates in this basis."""
        other = copy(self)
        other._solver = solver
        if self._before is not None:
            other._before = (self._before @ basis).astype(solver.duals.dtype, copy=False)
        return other

    def begin_anew(self, gamma: float) -> None:
        """Forget all but the last gamma."""
        self._gamma, self._ratio, self._step = gamma, None, 0.0

    def predict(self, gamma: float) -> None:
        """Replace the solver's duals, those of the last gamma, by a guess for the next one."""
        if self._gamma is not None and self._gamma > 0:
            longer = 1.0 if self._has_even_steps or self._step == 0 else (gamma - self._gamma) / self._step
            self._continue(gamma / self._gamma, longer)
            self._step = gamma - self._gamma
        self._gamma = gamma

    def _continue(self, ratio: float, longer: float) -> None:
        solver = self._solver
        assert self._gamma is not None
        if self._before is None:
            self._before = np.zeros_like(solver.duals)
        lengths = solver.problem.split_lengths(self._gamma, solver.points, solver.duals)
        widths = np.diff(solver.problem.group_starts) if solver.problem.n_groups > 1 else 1
        at_a_time = max(1, _NUMBERS_AT_A_TIME // solver.duals.shape[1])
        for first in range(0, len(solver.duals), at_a_time):
            part = slice(first, first + at_a_time)
            is_apart = np.repeat(lengths[:, part].T > 0, widths, axis=1)
            found, before = solver.duals[part].copy(), self._before[part]
            start = solver.duals[part]
            start *= np.where(is_apart, ratio, 1.0)
            if self._ratio is not None:
                start += longer * (found - before * np.where(is_apart, self._ratio, 1.0))
            before[:] = found
        self._ratio = ratio
