"""The path solver: ascending gammas, each from the duals of the previous ones, in a subspace of few columns.

Two techniques speed up rows with many columns. (1) When rows have fused to m clusters, the centroids at all larger
gammas lie in the span of the m means, as clusters only fuse further. Outside of this subspace the duals only have to
map each row to the mean of its cluster, which they also do at any larger gamma: these parts are fixed, and reduce the
radius of each edge's ball (`SpanProblem`). (2) The first gammas of wide rows are solved in single precision, which
halves the memory traffic, and certified in double precision. While rows fuse, steps of the duals are large relative to
their rounding; later, iterations continue in double precision (`SinglePrecision`).
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.linalg

from coterie.arrays import Array, FloatArray, IndexArray, IntArray
from coterie.convex.gammas import AdaptiveGammas, GivenGammas
from coterie.convex.linkage import linkage_of_path, n_splits
from coterie.convex.norms import KernelNorm
from coterie.convex.problem import ConvexProblem, OrderedProblem, RepeatedRows, SolverOptions
from coterie.convex.solvers import (
    ADMM,
    AMA,
    Certificate,
    Fuser,
    Solver,
    iterate,
    make_solver,
    residual_test,
)  # fmt: skip
from coterie.fitting.deadline import Deadline
from coterie.fitting.report import Report, Stop

# Least number of columns for a reduction, and the largest fraction that may remain; a reduction to columns that fit
# into one register is always made.
_FEWEST_COLUMNS, _LEFT, _SHORT = 16, 0.5, 4

# Fraction of the allowed gap that the omitted columns may cause.
_MAY_MISS = 0.3

# Omitted columns are restored if this fraction of the gap cannot be closed without them.
_RESTORE_SHARE = 0.9

# Bytes of duals that stay in the cache of a core.
_CACHE = 1 << 23

# Smallest relative gap that single precision resolves, in units of its rounding error.
_ROUNDINGS = 50

# Range of rows and weights whose squares, times gamma, neither overflow nor underflow.
_LEAST, _LARGEST = 1e-6, 1e6

# Gap in single precision, relative to the tolerance, at which double precision certifies.
_CERTIFY_SHARE = 0.9

# Iterations stall if the second half of this number, or of all, has not reduced the gap by a tenth.
_PATIENCE, _REDUCES = 200, 0.9

# Numbers that are processed at a time, so that they stay in the cache.
_PREDICTED, _SUMMED = 1 << 16, 1 << 18


class PathStep(NamedTuple):
    """The minimum for one gamma of a path.

    Attributes
    ----------
    gamma : float
        Strength of the penalty.
    labels : ndarray of shape (n,), int32
        Clusters, numbered by their first rows.
    centroids : RepeatedRows
        U, in the order of the data.
    n_clusters : int
        Number of clusters.
    objective, gap : float
        F(U), and F(U) - D.
    """

    gamma: float
    labels: IntArray
    centroids: RepeatedRows
    n_clusters: int
    objective: float
    gap: float


@dataclass(frozen=True)
class PathResult:
    """Result of a path.

    Attributes
    ----------
    steps : list of PathStep
        One per gamma.
    n_iter : int
        Total number of iterations.
    n_open : int
        Number of gammas that have not converged.
    reason : {"converged", "max_iter", "max_time", "callback"}
        Why the path ended; "max_iter" where some gammas have not converged.
    history : record array
        One row per gamma.
    residuals : list of tuple of float
        Residuals of ADMM for each gamma, relative to their limits; only with stopping by residuals.
    n_splits : ndarray of shape (m,)
        Number of splits of clusters since the previous gamma.
    linkage : ndarray of shape (n - 1, 4)
        The merges.
    """

    steps: list[PathStep]
    n_iter: int
    n_open: int
    reason: str
    history: Array
    residuals: list[tuple[float, float]]
    n_splits: IntArray | IndexArray
    linkage: FloatArray


def follow_path(
    ordered: OrderedProblem,
    gammas: AdaptiveGammas | GivenGammas,
    options: SolverOptions,
    *,
    stop: Stop,
    report: Report,
) -> PathResult:
    """Solve for ascending gammas.

    Parameters
    ----------
    ordered : OrderedProblem
        The problem, with the step sizes of the same options.
    gammas : AdaptiveGammas or GivenGammas
        Source of the gammas.
    options : SolverOptions
        Solver and stopping rule.
    stop : Stop
        Maximum number of iterations of each gamma, and the tolerance of the relative gap or of the residuals.
    report : Report
        Called after each gamma.

    Returns
    -------
    PathResult
    """
    solver, fuser = make_solver(ordered.problem, options), Fuser(ordered.problem)
    has_converged = residual_test(solver, options, stop)
    path = PathSolver(
        solver, fuser, stop=stop, deadline=report.deadline, has_even_steps=isinstance(gammas, GivenGammas),
        has_converged=has_converged,
    )  # fmt: skip
    steps: list[PathStep] = []
    residuals: list[tuple[float, float]] = []
    n_iter, ended = 0, False
    gamma = gammas.following(0, lambda: ordered.problem.rows)
    while gamma is not None and not ended:
        found, centroids, n_steps = path.solve(gamma)
        if has_converged and isinstance(solver, ADMM):
            residuals.append(solver.residuals(stop.tolerance))
        step = PathStep(
            gamma, ordered.labels(found.labels), ordered.centroids(centroids), found.n_clusters, found.objective,
            found.gap,
        )  # fmt: skip
        steps.append(step)
        n_iter += n_steps
        ended = report(
            step.objective, step.centroids.whole, gamma=gamma, n_steps=n_steps, gap=step.gap,
            n_clusters=step.n_clusters,
        )  # fmt: skip
        gamma = gammas.following(step.n_clusters, centroids.whole)
    if has_converged:
        n_open = sum(max(residual) > 1 for residual in residuals)
    else:
        allowed = fuser.enough(0.0, 0.0)
        n_open = sum(step.gap > stop.tolerance * step.objective + allowed for step in steps)
    reason = report.reason if gamma is not None else None
    labels_path = np.array([step.labels for step in steps])
    return PathResult(
        steps, n_iter, n_open, reason or ("max_iter" if n_open else "converged"), report.history(), residuals,
        np.array([0, *(n_splits(*pair) for pair in pairwise(labels_path))]),
        linkage_of_path(np.array([step.gamma for step in steps]), labels_path),
    )  # fmt: skip


@dataclass
class _Level:
    """A problem and its solver, from `least_gamma` on; `basis` maps the columns of the previous level to its own.

    `single` precedes the solver until single precision has failed once.
    """

    solver: Solver
    fuser: Fuser
    warm_start: WarmStart
    basis: FloatArray | None = None
    least_gamma: float = 0.0
    single: SinglePrecision | None = None


class PathSolver:
    """Solver for ascending gammas.

    Parameters
    ----------
    solver, fuser : Solver, Fuser
        Of the problem. Columns are reduced with the Euclidean norm and AMA.
    stop : Stop
        Maximum number of iterations of each gamma, and the tolerance of the relative gap.
    deadline : Deadline
        Time limit.
    has_even_steps : bool
        Whether steps of log gamma are equal; see `WarmStart`.
    has_converged : callable, optional
        See `iterate`.
    """

    def __init__(
        self,
        solver: Solver,
        fuser: Fuser,
        *,
        stop: Stop,
        deadline: Deadline,
        has_even_steps: bool,
        has_converged: Callable[[], bool] | None = None,
    ) -> None:
        level = _Level(solver, fuser, WarmStart(solver, has_even_steps=has_even_steps))
        self._levels = [level]
        self.tol, self._max_iter = stop.tolerance, stop.max_iter
        self._deadline, self._has_converged = deadline, has_converged
        is_euclidean = solver.problem.is_euclidean
        self._may_narrow = is_euclidean and isinstance(solver, AMA) and has_converged is None
        if self._may_narrow and pays_in_single_precision(solver.problem, stop.tolerance):
            assert isinstance(solver, AMA)
            level.single = SinglePrecision(solver, level.warm_start)

    @property
    def n_columns(self) -> int:
        """Number of columns in which the next gamma will be solved."""
        return self._levels[-1].solver.problem.rows.shape[1]

    def solve(self, gamma: float) -> tuple[Certificate, RepeatedRows, int]:
        """Solve for the next gamma; return the certificate, its centroids in all columns, and the iterations."""
        while gamma < self._levels[-1].least_gamma:
            self._widen(gamma)
        single = self._levels[-1].single
        if single is not None:
            certificate, n_steps, converged = self._iterate_in_single_precision(single, gamma)
        else:
            self._levels[-1].warm_start.predict(gamma)
            certificate, n_steps, converged = self._iterate(gamma, self.tol, self._max_iter)
        while (
            not converged
            and len(self._levels) > 1
            and n_steps < self._max_iter
            and not self._deadline.is_over
        ):
            self._widen(gamma)
            certificate, more, converged = self._iterate(gamma, self.tol, self._max_iter - n_steps)
            n_steps += more
        centroids = self._in_all_columns(certificate)
        if converged and self._may_narrow:
            n_steps += self._narrow(gamma, certificate, self._max_iter - n_steps)
        return certificate, centroids, n_steps

    def _iterate(self, gamma: float, tol: float, max_iter: int) -> tuple[Certificate, int, bool]:
        level = self._levels[-1]
        return iterate(
            level.solver, level.fuser, gamma, stop=Stop(max_iter, tol),
            is_stopped=self._needs_columns(level.solver, gamma), deadline=self._deadline,
            has_converged=self._has_converged,
        )  # fmt: skip

    def _iterate_in_single_precision(
        self, single: SinglePrecision, gamma: float
    ) -> tuple[Certificate, int, bool]:
        """Do the same as `_iterate`, in single precision first."""
        level = self._levels[-1]
        assert isinstance(level.solver, AMA)
        stop, stalling = Stop(self._max_iter, _CERTIFY_SHARE * self.tol), _Stalling()
        needs_columns = self._needs_columns(single.solver, gamma)
        single.warm_start.predict(gamma)
        _, n_steps, _ = iterate(
            single.solver, single.fuser, gamma, stop=stop, deadline=self._deadline,
            is_stopped=lambda best, done: stalling(best, done) or needs_columns(best, done),
        )  # fmt: skip
        level.solver.resume(single.solver.duals)
        certificate, _, converged = self._iterate(gamma, self.tol, 0)
        if not converged and n_steps < self._max_iter and not self._deadline.is_over:
            level.single = None
            level.warm_start.reset(gamma)
            certificate, more, converged = self._iterate(gamma, self.tol, self._max_iter - n_steps)
            n_steps += more
        return certificate, n_steps, converged

    def _needs_columns(self, solver: Solver, gamma: float) -> Callable[[Certificate, int], bool]:
        """Return a test of whether the gap cannot be closed in the remaining columns."""
        problem = solver.problem
        if not isinstance(problem, SpanProblem):
            return lambda best, n_steps: False

        def is_stuck(best: Certificate, n_steps: int) -> bool:
            if best.gap <= self.tol * best.objective:
                return False
            own = problem.own_gap(gamma, best.centroids, solver.duals, solver.origin())
            return own < (1 - _RESTORE_SHARE) * best.gap

        return is_stuck

    def _narrow(self, gamma: float, certificate: Certificate, max_iter: int) -> int:
        """Omit columns that later clusters do not need; return the number of iterations that this took."""
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
        former = (level.single or level).warm_start
        new = _Level(narrow, level.fuser.on(problem), former.on(narrow, basis), basis, gamma)
        if level.single is not None and pays_in_single_precision(problem, self.tol):
            new.single = SinglePrecision(narrow, new.warm_start)
        level.single = None
        self._levels.append(new)
        return n_steps

    def _are_worth_leaving(self, n_left: int) -> bool:
        """Return whether a reduction to this number of columns saves time."""
        if n_left <= _SHORT < self.n_columns:
            return True
        return self.n_columns >= _FEWEST_COLUMNS and n_left <= _LEFT * self.n_columns

    def _widen(self, gamma: float) -> None:
        """Restore the columns that were omitted last."""
        narrow, level = self._levels.pop(), self._levels[-1]
        basis = narrow.basis
        assert basis is not None
        duals = level.solver.duals
        level.solver.resume(duals + (narrow.solver.duals - duals @ basis) @ basis.T)
        level.warm_start.reset(gamma)

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


class WarmStart:
    """Extrapolation of duals from the last two gammas.

    The dual of an edge with different ends is on the boundary of its ball, whose radius grows with gamma; within a
    fused set duals need not grow. Both are extrapolated linearly; the solver projects them.
    """

    def __init__(self, solver: Solver, *, has_even_steps: bool) -> None:
        self._solver = solver
        self._has_even_steps = has_even_steps
        self._gamma: float | None = None
        self._ratio: float | None = None
        self._step = 0.0
        self._before: Array | None = None

    def on(self, solver: Solver, basis: Array | None = None) -> WarmStart:
        """Return the warm start of another solver, whose columns may be coordinates in a basis."""
        other = copy(self)
        other._solver = solver
        if self._before is not None:
            before = self._before if basis is None else self._before @ basis
            other._before = before.astype(solver.duals.dtype)
        return other

    def reset(self, gamma: float) -> None:
        """Forget all but the last gamma."""
        self._gamma, self._ratio, self._step = gamma, None, 0.0

    def predict(self, gamma: float) -> None:
        """Replace the solver's duals, those of the last gamma, by the extrapolated ones."""
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
        at_a_time = max(1, _PREDICTED // solver.duals.shape[1])
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


def pays_in_single_precision(problem: ConvexProblem, tol: float) -> bool:
    """Return whether memory bandwidth limits iterations, and single precision resolves the tolerance."""
    if not problem.is_euclidean or np.prod(problem.dual_shape) * problem.rows.itemsize <= _CACHE:
        return False
    sizes = np.append(np.sqrt(2 * problem.energy / problem.rows.size), problem.edges.weights)
    in_range = sizes.min() >= _LEAST and sizes.max() <= _LARGEST
    is_double = problem.rows.dtype == np.float64
    return bool(is_double and in_range and tol >= _ROUNDINGS * np.finfo(np.float32).eps)


class SinglePrecision:
    """Iterations in single precision, from the duals of a solver in double precision.

    Parameters
    ----------
    solver : AMA
        In double precision.
    warm_start : WarmStart
        Of the solver.
    """

    def __init__(self, solver: AMA, warm_start: WarmStart) -> None:
        problem = solver.problem.in_single_precision()
        self.solver, self.fuser = solver.on(problem, solver.duals), Fuser(problem)
        self.warm_start = warm_start.on(self.solver)


class _Stalling:
    """Test of whether the gap has stalled."""

    def __init__(self) -> None:
        self._least, self._since = np.inf, 0

    def __call__(self, best: Certificate, n_steps: int) -> bool:
        if best.gap < _REDUCES * self._least:
            self._least, self._since = best.gap, n_steps
        return n_steps - self._since > 0.5 * max(_PATIENCE, n_steps)


class SpanProblem(ConvexProblem):
    """The part of a problem in a subspace. Its objectives and gaps are those of the whole problem.

    Parameters
    ----------
    whole : ConvexProblem
        With the Euclidean norm.
    basis : ndarray of shape (p, r), float64
        Orthonormal, of the subspace.
    taken : ndarray of shape (n_edges,)
        Squared lengths of the components outside of the subspace of duals that are feasible for the whole problem from
        some gamma on. These components are fixed.
    points : ndarray of shape (n, p)
        X + Delta of these.

    Attributes
    ----------
    missed : float
        Contribution of the subspace to the gap at any gamma: half the squared components of the points outside of it.
    """

    def __init__(self, whole: ConvexProblem, basis: FloatArray, taken: FloatArray, points: Array) -> None:
        columns = np.arange(basis.shape[1], dtype=np.int64)
        norm = KernelNorm(columns, np.array([0, len(columns)], dtype=np.int64))
        inside = (whole.rows @ basis).astype(whole.rows.dtype)
        super().__init__(inside, whole.edges, norm, step_size=whole.steps, n_threads=whole.n_threads)
        self.missed = missed_by_span(whole, basis, points)
        self._outside = 0.5 * float(_squares_outside(whole.rows, basis).sum())
        self._taken = taken.copy()
        if isinstance(whole, SpanProblem):
            self._outside += whole._outside
            self._taken += whole._taken
        self._gamma: float | None = None

    def objectives(self, gamma: float, points: Array) -> FloatArray:
        """See `ConvexProblem.objectives`."""
        return super().objectives(gamma, points) + self._outside

    def gap(self, gamma: float, candidate: Array, duals: Array, points: Array) -> float:
        """See `ConvexProblem.gap`."""
        return super().gap(gamma, candidate, duals, points) + self.missed

    def own_gap(self, gamma: float, candidate: Array, duals: Array, points: Array) -> float:
        """Return the part of the gap that better duals in the subspace could close."""
        whole, self._kernel = self._kernel, self._balls(gamma)
        try:
            return super().gap(gamma, candidate, duals, points)
        finally:
            self._kernel = whole

    def in_single_precision(self) -> Self:
        """See `ConvexProblem.in_single_precision`."""
        other = super().in_single_precision()
        other._gamma = None
        return other

    def _balls(self, gamma: float) -> Any:
        if gamma != self._gamma:
            weights = self.edges.weights.astype(np.float64)
            left = np.sqrt(np.maximum(weights**2 - self._taken / gamma**2, 0.0))
            self._ball_edges = self._edges_of_weights(left.astype(self.edges.weights.dtype))
            self._gamma = gamma
        return self._ball_edges


def span_of_means(rows: Array, labels: IntArray, n_clusters: int) -> FloatArray:
    """Return an orthonormal basis of the span of the clusters' means.

    Parameters
    ----------
    rows : ndarray of shape (n, p)
        Centered, so that one of the means follows from the others.
    labels : ndarray of shape (n,)
        Clusters, from 0.
    n_clusters : int
        Number of clusters, from 2 to p + 1.

    Returns
    -------
    ndarray of shape (p, n_clusters - 1), float64
    """
    counts = np.bincount(labels, minlength=n_clusters)
    order = np.argsort(labels, kind="stable")
    sums = np.add.reduceat(rows[order].astype(np.float64), np.cumsum(counts) - counts, axis=0)
    means = sums / counts[:, None]
    basis: FloatArray = scipy.linalg.qr(means[1:].T, mode="economic")[0]
    return np.ascontiguousarray(basis)


def missed_by_span(problem: ConvexProblem, basis: FloatArray, points: Array) -> float:
    """Return `SpanProblem.missed` of a basis."""
    before = problem.missed if isinstance(problem, SpanProblem) else 0.0
    return before + 0.5 * float(_squares_outside(points, basis).sum())


def parts_of_duals(duals: Array, basis: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the coordinates of the duals in the subspace, and the squared lengths of their components outside of it.

    The latter by Pythagoras, which is exact enough for a comparison with the squared radii of the balls.
    """
    inside, taken = np.empty((len(duals), basis.shape[1])), np.empty(len(duals))
    at_a_time = max(1, _SUMMED // duals.shape[1])
    for first in range(0, len(duals), at_a_time):
        of_edges = slice(first, first + at_a_time)
        part, coordinates = duals[of_edges], inside[of_edges]
        np.matmul(part, basis, out=coordinates)
        squares = np.einsum("ij,ij->i", part, part, dtype=np.float64)
        taken[of_edges] = squares - np.einsum("ij,ij->i", coordinates, coordinates)
    return inside, np.maximum(taken, 0.0, out=taken)


def _squares_outside(vectors: Array, basis: FloatArray) -> FloatArray:
    """Return the squared lengths of the components of vectors outside of the subspace."""
    squares = np.empty(len(vectors))
    at_a_time = max(1, _SUMMED // vectors.shape[1])
    for first in range(0, len(vectors), at_a_time):
        part = vectors[first : first + at_a_time]
        rest = part - (part @ basis) @ basis.T
        squares[first : first + at_a_time] = np.einsum("ij,ij->i", rest, rest, dtype=np.float64)
    return squares


def _padded(basis: FloatArray) -> FloatArray:
    """Append a column of zeros to a basis of 3 columns: kernels are faster with 4."""
    return np.pad(basis, ((0, 0), (0, 1))) if basis.shape[1] == _SHORT - 1 else basis
