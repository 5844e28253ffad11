"""Solvers of convex clustering, AMA and ADMM, with a certificate from feasible duals, which bound the objective from
below. The certificate replaces nearly fused points by their mean: the gap then decreases with the square of the error
of the duals, and is otherwise proportional to it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import cg, splu

from coterie.arrays import Array, FloatArray, IntArray
from coterie.convex.problem import ConvexProblem, OrderedProblem, RepeatedRows, SolverOptions
from coterie.fitting.deadline import Deadline
from coterie.fitting.report import FitReport, Stop
from coterie.graphs.matrices import graph_laplacian

# Iterations between checks of the gap: a fraction of those done, and their least and largest number.
_CHECK_SHARE, _FEWEST, _MOST = 0.2, 5, 100

# With AMA the next check is when the gain of an iteration has fallen by the factor by which the gap is too large, to
# this power, but after at most this factor of the usual iterations.
_FALL, _WAITS = 1.3, 2

# Rows from which the linear systems of ADMM are solved by conjugate gradients, and their tolerance.
_MOST_FACTORED = 20_000
_CG_TOLERANCE = 1e-10

# The first length up to which ends are fused as a trial, relative to the spread of the rows; the others relative to the
# first; and the shortest one.
_FIRST_LENGTH = 1e-3
_LADDER = (0.0, 0.3, 3.0)
_LEAST_LENGTH = 1e-9


@dataclass(frozen=True)
class Certificate:
    """Centroids and their clusters, with a bound of their distance from the optimum."""

    centroids: Array  # (n, p): U
    labels: IntArray  # (n,), int32: clusters, numbered in the order of their first nodes
    n_clusters: int
    objective: float  # F(U)
    gap: float  # F(U) - D, never negative


@dataclass(frozen=True)
class _Candidate:
    """Centroids, the contribution of each group of columns to their objective, and the sets of each group."""

    centroids: Array
    objectives: FloatArray
    labels: list[IntArray]
    n_sets: list[int]


class Fuser:
    """Computes fused centroids from dual iterates; keeps the length up to which edges had to be fused."""

    def __init__(self, problem: ConvexProblem) -> None:
        self._problem = problem
        spread = float(np.sqrt(2 * problem.energy / problem.rows.size))
        epsilon = float(np.finfo(problem.rows.dtype).eps)
        self._length, self._least_length = _FIRST_LENGTH * spread, max(_LEAST_LENGTH, 8 * epsilon) * spread
        # Differences below this may be rounding errors.
        self._least_gap = (8 * epsilon) ** 2 * problem.energy

    def certify(self, gamma: float, points: Array, duals: Array, origin: Array, tol: float) -> Certificate:
        """Return the best fused centroids: those of the duals (Eq. 3.11) if their relative gap is at most `tol`."""
        problem = self._problem
        levels = self._levels(gamma, points, problem.split_lengths(gamma, points, duals))
        chosen = next(levels)
        gap = problem.gap(gamma, chosen.centroids, duals, origin)
        if gap > self.enough(float(chosen.objectives.sum()), tol):
            best = self._best([chosen, *levels])
            if best is not chosen:
                chosen, gap = best, problem.gap(gamma, best.centroids, duals, origin)
        labels, n_clusters = self._common_sets(chosen.labels)
        return Certificate(chosen.centroids, labels, n_clusters, float(chosen.objectives.sum()), gap)

    def enough(self, objective: float, tol: float) -> float:
        """Return the largest gap within the tolerance."""
        return tol * objective + self._least_gap

    def _levels(self, gamma: float, points: Array, lengths: Array) -> Iterator[_Candidate]:
        """Yield the points with increasingly long edges fused, first those of length 0 up to rounding."""
        problem = self._problem
        n_nodes, n_groups = len(points), problem.n_groups
        level: _Candidate | None = None
        n_before = -1
        for longest in (max(self._least_length, self._length * step) for step in _LADDER):
            are_joined = lengths <= longest
            if (n_joined := int(np.count_nonzero(are_joined))) != n_before:
                n_before = n_joined
                sets = [problem.join(are_joined[g]) for g in range(n_groups)]
                n_sets = [n for _, n in sets]
            if level is None or n_sets != level.n_sets:
                means = points.copy()
                if min(n_sets) < n_nodes:
                    self._take_means(points, sets, means)
                objectives = problem.objectives(gamma, means)
                level = _Candidate(means, objectives, [labels for labels, _ in sets], n_sets)
            yield level

    def _take_means(self, points: Array, sets: list[tuple[IntArray, int]], out: Array) -> None:
        """Write the means of the sets of each group of columns."""
        starts = self._problem.group_starts
        for (labels, n_sets), first, last in zip(sets, starts, starts[1:]):
            counts = np.bincount(labels, minlength=n_sets)
            for j in range(first, last):
                out[:, j] = (np.bincount(labels, points[:, j], n_sets) / counts)[labels]

    def _best(self, levels: list[_Candidate]) -> _Candidate:
        """Return the best candidate of each group of columns, and fuse similar lengths at the next check."""
        objectives = np.array([level.objectives for level in levels])
        best = int(objectives.sum(axis=1).argmin())
        self._length = max(self._least_length, self._length * (_LADDER[best] or 0.5))
        winners = objectives.argmin(axis=0)
        starts = self._problem.group_starts
        if np.all(winners == 0):
            return levels[0]
        centroids = np.empty_like(levels[0].centroids)
        for winner, first, last in zip(winners, starts, starts[1:]):
            centroids[:, first:last] = levels[winner].centroids[:, first:last]
        return _Candidate(
            centroids,
            objectives.min(axis=0),
            [levels[winner].labels[g] for g, winner in enumerate(winners)],
            [levels[winner].n_sets[g] for g, winner in enumerate(winners)],
        )

    def _common_sets(self, labels: list[IntArray]) -> tuple[IntArray, int]:
        """Return the components of the edges whose ends are in one set in every group."""
        edges = self._problem.edges
        if len(labels) == 1:
            return labels[0], int(labels[0].max()) + 1
        return self._problem.join(
            np.all([label[edges.heads] == label[edges.tails] for label in labels], axis=0)
        )


class AMA:
    """Projected gradient steps of the dual, with Nesterov's acceleration that restarts when the dual decreases; for
    many columns and few edges, coordinate ascent over edges with momentum while that helps. `gain` is the rise of
    the dual in the last iteration.
    """

    def __init__(self, problem: ConvexProblem, *, acceleration: bool, has_given_step: bool = False) -> None:
        self.problem = problem
        self.duals = np.zeros(problem.dual_shape, dtype=problem.rows.dtype)
        self.points = problem.rows.copy()
        self._former = np.zeros_like(self.duals)
        self._spare, self._ahead = np.empty_like(self.points), np.empty_like(self.points)
        self._acceleration, self._has_given_step = acceleration, has_given_step
        self._may_ascend = acceleration and not has_given_step and problem.has_ascent

    def start(self, gamma: float) -> None:
        """Begin with this gamma, from the current duals, projected to be feasible."""
        self._gamma, self.gain = gamma, 0.0
        self.problem.project(gamma, self.duals, self._former)
        self.duals, self._former = self._former, self.duals  # the first step has no momentum
        self._begin_anew()
        self._square = self.problem.points_of(self.duals, 0.0, self.points, self._spare, self._ahead)
        self.points, self._spare = self._spare, self.points
        self._ascends, self._is_exact = self._may_ascend, True

    def iterate(self) -> None:
        """Do one iteration."""
        momentum = self._momentum
        if self._acceleration:
            self._advance()
        momenta = momentum, self._momentum
        if self._ascends:
            points = self.points, self._ahead, self._spare
            square = self.problem.ascend(self._gamma, momenta, self.duals, self._former, points)
            self._spare, self.points, self._ahead = points
        else:
            points = self.points, self._spare, self._ahead
            square = self.problem.sweep(self._gamma, momenta, self.duals, self._former, points)
            self._spare, self.points, self._ahead = points
        self.duals, self._former = self._former, self.duals
        self._is_exact = not self._ascends
        if square > self._square:  # D = 1/2 ||X||^2 - 1/2 ||U||^2
            self._begin_anew()
            np.copyto(self._ahead, self.points)
            self._ascends = False
        self.gain = 0.5 * (self._square - square)
        self._square = square

    def origin(self) -> Array:
        """Return X + Delta, after the rounding errors that coordinate ascent accumulates have been removed."""
        if not self._is_exact:
            self._square = self.problem.points_of(
                self.duals, self._momentum, self._spare, self.points, self._ahead
            )
            self._is_exact = True
        return self.points

    def _begin_anew(self) -> None:
        self._alpha, self._momentum = 1.0, 0.0
        if self._acceleration:
            self._advance()

    def _advance(self) -> None:
        """Return the momentum of the next step: (alpha_(m-1) - 1) / alpha_m."""
        alpha = 0.5 * (1 + np.sqrt(1 + 4 * self._alpha**2))
        self._momentum, self._alpha = (self._alpha - 1) / alpha, alpha


class ADMM:
    """Alternating directions with one step size nu. V = u_head - u_tail + (lambda_new - lambda) / nu is not stored: U
    becomes U + (I + nu L)^-1 (X + 2 Delta_new - Delta - U), with the Laplacian L of the edges.
    """

    def __init__(self, problem: ConvexProblem) -> None:
        self.problem = problem
        self.duals = np.zeros(problem.dual_shape, dtype=problem.rows.dtype)
        self.points = problem.rows.copy()
        self._former = np.zeros_like(self.duals)
        self._origin, self._spare = problem.rows.copy(), np.empty_like(self.points)
        self._change = np.zeros_like(self.points)
        self.gain = 0.0
        self._solve = _system(problem)

    def start(self, gamma: float) -> None:
        """Begin with this gamma, from the current duals, projected to be feasible."""
        self._gamma = gamma
        self.problem.project(gamma, self.duals, self._former)
        np.copyto(self.duals, self._former)
        self._take_origin()

    def iterate(self) -> None:
        """Do one iteration."""
        self.problem.step(self._gamma, 0.0, self.points, self.duals, self._former)
        self.duals, self._former = self._former, self.duals
        before = self._origin
        self._take_origin()
        self._change = self._solve(2 * self._origin - before - self.points)
        self.points += self._change

    def origin(self) -> Array:
        """Return X + Delta."""
        return self._origin

    def residuals(self, tol: float) -> tuple[float, float]:
        """Return the primal and dual residuals (lambda_before - lambda) / nu and X + Delta - U relative to their
        limits: tol max(||A U||, ||V||) and tol ||Delta||, each plus tol times the spread per entry (Boyd et al. 2011,
        section 3.3).
        """
        problem = self.problem
        rows, heads, tails = problem.rows, problem.edges.heads, problem.edges.tails
        points = self.points - self._change  # those that the last duals were made of
        differences = points[heads] - points[tails]
        primal = (self._former - self.duals) / problem.steps[:, None]
        spread = np.sqrt(2 * problem.energy / rows.size)
        sizes = max(_length(differences), _length(differences - primal)), _length(self._origin - rows)
        found = _length(primal), _length(self._origin - points)
        allowed = (tol * (np.sqrt(part.size) * spread + size) for part, size in zip((primal, rows), sizes))
        excess = [0.0 if residual == 0 else float(residual / most) for residual, most in zip(found, allowed)]
        return excess[0], excess[1]

    def _take_origin(self) -> None:
        origin = np.empty_like(self.points)
        self.problem.points_of(self.duals, 0.0, self.points, origin, self._spare)
        self._origin = origin


Solver = AMA | ADMM


@dataclass(frozen=True)
class ConvexResult:
    """The minimum for one gamma."""

    centroids: Array  # (n, p): U, in the order of the data
    labels: IntArray  # (n,), int32: clusters, numbered by their first rows
    duals: Array  # (n_edges, p): lambda, feasible
    objective: float  # F(U)
    gap: float  # F(U) - D(Lambda)
    n_clusters: int
    n_iter: int
    reason: str  # why the iterations ended
    history: Array  # one row per check of the gap
    residuals: tuple[float, float] | None = None  # of ADMM, relative to their limits


def minimize(
    ordered: OrderedProblem, gamma: float, options: SolverOptions, *, stop: Stop, report: FitReport
) -> ConvexResult:
    """Find the centroids for one gamma (Algorithms 1 to 3 of Chi and Lange 2015)."""
    solver, fuser = make_solver(ordered.problem, options), Fuser(ordered.problem)

    def is_stopped(best: Certificate, n_steps: int) -> bool:
        return report(
            best.objective, lambda: ordered.centroids(RepeatedRows.of(best.centroids)).whole(), n_steps=n_steps,
            dual=best.objective - best.gap, gap=best.gap, n_clusters=best.n_clusters,
        )  # fmt: skip

    settled = residual_test(solver, options, stop)
    best, n_iter, converged = iterate(
        solver,
        fuser,
        gamma,
        stop=stop,
        is_stopped=is_stopped,
        deadline=report.deadline,
        has_converged=settled,
    )
    return ConvexResult(
        ordered.centroids(RepeatedRows.of(best.centroids)).whole(), ordered.labels(best.labels),
        ordered.duals(solver.duals), best.objective, best.gap, best.n_clusters, n_iter,
        "converged" if converged else report.reason or "max_iter", report.history(),
        solver.residuals(stop.tolerance) if settled and isinstance(solver, ADMM) else None,
    )  # fmt: skip


def make_solver(problem: ConvexProblem, options: SolverOptions) -> Solver:
    """Return the solver for the options."""
    if options.solver == "admm":
        return ADMM(problem)
    return AMA(problem, acceleration=options.solver == "ama", has_given_step=options.step_size is not None)


def residual_test(solver: Solver, options: SolverOptions, stop: Stop) -> Callable[[], bool] | None:
    """Return the test of the residuals of ADMM; None with stopping by the gap."""
    if options.stopping == "gap" or not isinstance(solver, ADMM):
        return None
    return lambda: max(solver.residuals(stop.tolerance)) <= 1


def iterate(
    solver: Solver,
    fuser: Fuser,
    gamma: float,
    *,
    stop: Stop,
    deadline: Deadline,
    is_stopped: Callable[[Certificate, int], bool] = lambda best, n_steps: False,
    has_converged: Callable[[], bool] | None = None,
) -> tuple[Certificate, int, bool]:
    """Iterate until the relative duality gap is at most the tolerance, or `has_converged`; return the best certificate,
    the number of iterations, and whether it converged. `is_stopped` is called with each certificate.
    """
    solver.start(gamma)
    best: Certificate | None = None
    done, next_check, last_check, least_gain, max_iter = 0, 0, 0, 0.0, stop.max_iter
    while True:
        late = deadline.is_over
        settled = has_converged is not None and done > 0 and has_converged()
        is_due = done >= last_check or (done >= next_check and solver.gain <= least_gain)
        if is_due or done == max_iter or late or settled:
            origin = solver.origin()
            found = fuser.certify(gamma, solver.points, solver.duals, origin, stop.tolerance)
            if best is not None and best.objective < found.objective:
                # The gap of the best certificate to the current duals.
                gap = solver.problem.gap(gamma, best.centroids, solver.duals, origin)
                found = replace(best, gap=gap)
            best = found
            enough = fuser.enough(best.objective, stop.tolerance)
            converged = settled if has_converged else best.gap <= enough
            if is_stopped(best, done) or converged or done == max_iter or late:
                return best, done, converged
            usual = int(np.clip(_CHECK_SHARE * done, _FEWEST, _MOST))
            next_check = last_check = done + usual
            if solver.gain > 0:
                least_gain = solver.gain * (enough / best.gap) ** _FALL
                next_check, last_check = done + usual // 4, done + _WAITS * usual
        solver.iterate()
        done += 1


def _length(vectors: Array) -> float:
    return float(np.sqrt(np.sum(vectors**2, dtype=np.float64)))


def _system(problem: ConvexProblem) -> Callable[[Array], Array]:
    """Return the solver of (I + nu L) Y = B."""
    edges, rows = problem.edges, problem.rows
    if len(edges) == 0:
        return lambda right: right
    nu = float(problem.steps[0])
    if edges.is_complete:
        n = edges.n_nodes
        return lambda right: (right + n * nu * right.mean(axis=0)) / rows.dtype.type(1 + n * nu)
    laplacian = graph_laplacian(edges.adjacency(np.ones(len(edges))))
    matrix = sp.csc_array(sp.eye_array(edges.n_nodes) + nu * laplacian)
    if edges.n_nodes <= _MOST_FACTORED:
        factor = splu(matrix, permc_spec="MMD_AT_PLUS_A", options={"SymmetricMode": True})
        return lambda right: factor.solve(right.astype(np.float64)).astype(rows.dtype)
    diagonal = sp.diags_array(1 / matrix.diagonal())

    def by_conjugate_gradients(right: Array) -> Array:
        columns = [
            cg(matrix, column, rtol=_CG_TOLERANCE, M=diagonal)[0] for column in right.T.astype(np.float64)
        ]
        return np.column_stack(columns).astype(rows.dtype)

    return by_conjugate_gradients
