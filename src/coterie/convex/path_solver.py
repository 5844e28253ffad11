"""One gamma after the other: each from the duals of the last ones, and in fewer columns where few clusters are left."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from coterie.arrays import FloatArray
from coterie.convex.distinct import RepeatedRows
from coterie.convex.fusion import Certificate, Fuser
from coterie.convex.single_precision import SinglePrecision, pays_in_single_precision
from coterie.convex.solvers import AMA, Solver, solve
from coterie.convex.span import SpanProblem, missed_by_span, parts_of_duals, span_of_means
from coterie.convex.warm_start import WarmStart

__all__ = ["PathSolver", "Solved"]


# From how many columns on it pays to have fewer, and how many of them may be left; always, where a row of what is left
# fits in a register.
_FEWEST_COLUMNS, _LEFT, _SHORT = 16, 0.5, 4

# Which share of the gap that is allowed may be lost with the columns.
_MAY_MISS = 0.3

# Columns come back where this share of the gap is not to be closed without them.
_NOT_OURS = 0.9


@dataclass
class _Level:
    """A problem and what solves it; `basis` takes columns of the level before to its own, from `least_gamma` on."""

    solver: Solver
    fuser: Fuser
    warm_start: WarmStart
    basis: FloatArray | None = None
    least_gamma: float = 0.0


class Solved(NamedTuple):
    """What was found for one gamma.

    Attributes
    ----------
    certificate : Certificate
        In the columns that were left.
    centroids : RepeatedRows
        Those of the certificate, in the columns of the problem.
    n_steps : int
        Iterations.
    """

    certificate: Certificate
    centroids: RepeatedRows
    n_steps: int


class PathSolver:
    """Solves for ascending gammas.

    Parameters
    ----------
    solver, fuser : Solver, Fuser
        Of the problem. Columns become fewer where its norm is the Euclidean one and the solver is AMA.
    tol, max_iter
        See `coterie.ConvexClusterPath`.
    has_even_steps : bool
        Whether gammas are even; see `WarmStart`.
    is_late : callable
        Whether to end at once.
    has_settled : callable, optional
        See `solve`.
    """

    def __init__(
        self,
        solver: Solver,
        fuser: Fuser,
        *,
        tol: float,
        max_iter: int,
        has_even_steps: bool,
        is_late: Callable[[], bool],
        has_settled: Callable[[], bool] | None = None,
    ) -> None:
        self._levels = [_Level(solver, fuser, WarmStart(solver, has_even_steps=has_even_steps))]
        self.tol, self._max_iter = tol, max_iter
        self._is_late, self._has_settled = is_late, has_settled
        is_euclidean = solver.problem.is_euclidean
        self._may_narrow = is_euclidean and isinstance(solver, AMA) and has_settled is None
        self._single: SinglePrecision | None = None
        if self._may_narrow and pays_in_single_precision(solver.problem, tol):
            assert isinstance(solver, AMA)
            self._single = SinglePrecision(solver, has_even_steps=has_even_steps)

    @property
    def n_columns(self) -> int:
        """In how many columns the next gamma will be solved for."""
        return self._levels[-1].solver.problem.rows.shape[1]

    def solve(self, gamma: float) -> Solved:
        """Solve for the next gamma."""
        while gamma < self._levels[-1].least_gamma:
            self._widen(gamma)
        if self._single is not None:
            certificate, n_steps, converged = self._iterate_in_single_precision(self._single, gamma)
        else:
            self._levels[-1].warm_start.predict(gamma)
            certificate, n_steps, converged = self._iterate(gamma, self.tol, self._max_iter)
        while not converged and len(self._levels) > 1 and n_steps < self._max_iter and not self._is_late():
            self._widen(gamma)
            certificate, more, converged = self._iterate(gamma, self.tol, self._max_iter - n_steps)
            n_steps += more
        centroids = self._in_all_columns(certificate)
        if converged and self._may_narrow:
            n_steps += self._narrow(gamma, certificate, self._max_iter - n_steps)
        return Solved(certificate, centroids, n_steps)

    def _iterate(self, gamma: float, tol: float, max_iter: int) -> tuple[Certificate, int, bool]:
        level = self._levels[-1]
        return solve(
            level.solver, level.fuser, gamma, tol=tol, max_iter=max_iter, is_stopped=self._needs_columns(gamma),
            is_late=self._is_late, has_settled=self._has_settled,
        )  # fmt: skip

    def _iterate_in_single_precision(
        self, single: SinglePrecision, gamma: float
    ) -> tuple[Certificate, int, bool]:
        """Do as `_iterate`, in single precision as far as that goes."""
        level = self._levels[-1]
        assert isinstance(level.solver, AMA)
        n_steps = single.improve(
            level.solver, gamma, tol=self.tol, max_iter=self._max_iter, is_late=self._is_late
        )
        certificate, _, converged = self._iterate(gamma, self.tol, 0)
        if not converged and n_steps < self._max_iter and not self._is_late():
            self._single = None
            level.warm_start.begin_anew(gamma)
            certificate, more, converged = self._iterate(gamma, self.tol, self._max_iter - n_steps)
            n_steps += more
        return certificate, n_steps, converged

    def _needs_columns(self, gamma: float) -> Callable[[Certificate, int], bool]:
        """Return what tells whether the gap cannot be closed in the columns that are left."""
        solver = self._levels[-1].solver
        problem = solver.problem
        if not isinstance(problem, SpanProblem):
            return lambda best, n_steps: False

        def is_stuck(best: Certificate, n_steps: int) -> bool:
            if best.gap <= self.tol * best.objective:
                return False
            own = problem.own_gap(gamma, best.centroids, solver.duals, solver.origin())
            return own < (1 - _NOT_OURS) * best.gap

        return is_stuck

    def _narrow(self, gamma: float, certificate: Certificate, max_iter: int) -> int:
        """Leave out columns that the clusters to come do not need; return the iterations that this took."""
        level = self._levels[-1]
        solver, n_clusters = level.solver, certificate.n_clusters
        if n_clusters < 2 or not self._are_worth_leaving(n_clusters - 1):
            return 0
        assert isinstance(solver, AMA)
        basis = _padded(span_of_means(solver.problem.rows, certificate.labels, n_clusters))
        most, n_steps = _MAY_MISS * self.tol * certificate.objective, 0
        if missed_by_span(solver.problem, basis, solver.points) > most:
            _, n_steps, _ = self._iterate(gamma, _MAY_MISS * self.tol, max_iter)
            if missed_by_span(solver.problem, basis, solver.points) > most:
                return n_steps
        inside, taken = parts_of_duals(solver.duals, basis)
        problem = SpanProblem(solver.problem, basis, taken, solver.points)
        narrow = solver.on(problem, inside)
        warm_start = (self._single or level).warm_start.on(narrow, basis)
        self._single = None
        self._levels.append(_Level(narrow, level.fuser.on(problem), warm_start, basis, gamma))
        return n_steps

    def _are_worth_leaving(self, n_left: int) -> bool:
        """Tell whether it pays to be left with so many columns."""
        if n_left <= _SHORT < self.n_columns:
            return True
        return self.n_columns >= _FEWEST_COLUMNS and n_left <= _LEFT * self.n_columns

    def _widen(self, gamma: float) -> None:
        """Take back the columns that were left out last."""
        narrow, level = self._levels.pop(), self._levels[-1]
        basis = narrow.basis
        assert basis is not None
        duals = level.solver.duals
        level.solver.resume(duals + (narrow.solver.duals - duals @ basis) @ basis.T)
        level.warm_start.begin_anew(gamma)

    def _in_all_columns(self, certificate: Certificate) -> RepeatedRows:
        """Return a copy of the centroids in the columns of the first problem."""
        n_rows = len(certificate.centroids)
        if certificate.n_clusters == n_rows and len(self._levels) == 1:
            return RepeatedRows(certificate.centroids.copy(), np.arange(n_rows))
        found = RepeatedRows.of(certificate.centroids)
        distinct = found.distinct
        for level in reversed(self._levels[1:]):
            assert level.basis is not None
            distinct = distinct @ level.basis.T
        return RepeatedRows(distinct.astype(found.distinct.dtype, copy=False), found.places)


def _padded(basis: FloatArray) -> FloatArray:
    """Return a basis of 3 columns with one of zeros besides: kernels are faster in 4."""
    return np.pad(basis, ((0, 0), (0, 1))) if basis.shape[1] == _SHORT - 1 else basis
