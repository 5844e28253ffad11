"""The first gammas of a path of many columns in single precision: half of the bytes, certified in double precision.

An iteration in many columns waits for the memory. While rows fuse, steps of the duals are large beside their rounding;
later, where duals are long and steps short, they would be lost, so there iterations are in double precision.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from coterie.convex.fusion import Certificate, Fuser
from coterie.convex.problem import ConvexProblem
from coterie.convex.solvers import AMA, solve
from coterie.convex.warm_start import WarmStart

__all__ = ["SinglePrecision", "pays_in_single_precision"]


# Bytes of duals that stay in the cache of a core.
_CACHE = 1 << 23

# Relative gaps are told apart in single precision down to so many of its roundings.
_ROUNDINGS = 50

# Sizes of rows and weights whose squares, times gamma, neither overflow nor vanish.
_LEAST, _LARGEST = 1e-6, 1e6

# The gap in single precision that is taken for one within the tolerance.
_SURELY = 0.9

# Iterations are in vain where the last half of this many, or of all, has not lessened the gap by a tenth.
_PATIENCE, _LESSENS = 200, 0.9


def pays_in_single_precision(problem: ConvexProblem, tol: float) -> bool:
    """Tell whether iterations wait for the memory, and single precision can tell gaps within the tolerance."""
    if not problem.is_euclidean or np.prod(problem.dual_shape) * problem.rows.itemsize <= _CACHE:
        return False
    sizes = np.append(np.sqrt(2 * problem.energy / problem.rows.size), problem.edges.weights)
    in_range = sizes.min() >= _LEAST and sizes.max() <= _LARGEST
    is_double = problem.rows.dtype == np.float64
    return bool(is_double and in_range and tol >= _ROUNDINGS * np.finfo(np.float32).eps)


class SinglePrecision:
    """Iterates in single precision beside a solver that certifies.

    Parameters
    ----------
    solver : AMA
        In double precision.
    has_even_steps : bool
        See `WarmStart`.
    """

    def __init__(self, solver: AMA, *, has_even_steps: bool) -> None:
        problem = solver.problem.in_single_precision()
        self._solver = solver.on(problem, solver.duals)
        self._fuser = Fuser(problem)
        self.warm_start = WarmStart(self._solver, has_even_steps=has_even_steps)

    def improve(
        self, solver: AMA, gamma: float, *, tol: float, max_iter: int, is_late: Callable[[], bool]
    ) -> int:
        """Give the solver better duals, from those of the last gamma; return the iterations that this took."""
        self.warm_start.predict(gamma)
        _, n_steps, _ = solve(
            self._solver, self._fuser, gamma, tol=_SURELY * tol, max_iter=max_iter, is_stopped=_Stalling(),
            is_late=is_late,
        )  # fmt: skip
        solver.resume(self._solver.duals)
        return n_steps


class _Stalling:
    """Tells that a gap has not become less for long."""

    def __init__(self) -> None:
        self._least, self._since = np.inf, 0

    def __call__(self, best: Certificate, n_steps: int) -> bool:
        if best.gap < _LESSENS * self._least:
            self._least, self._since = best.gap, n_steps
        return n_steps - self._since > 0.5 * max(_PATIENCE, n_steps)
