"""The iterations: AMA, plain or accelerated, and ADMM. Their duals are always feasible: each has a certificate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import cg, splu

from coterie.arrays import Array
from coterie.convex.fusion import Certificate, Fuser
from coterie.convex.problem import ConvexProblem
from coterie.graphs import graph_laplacian

__all__ = ["ADMM", "AMA", "Solver", "solve"]


# Iterations before the gap is looked at: a share of those that were done, at least and at most so many.
_CHECK_SHARE, _FEWEST, _MOST = 0.2, 10, 100

# Rows from which the linear systems of ADMM are solved by conjugate gradients, and how well.
_MOST_FACTORED = 20_000
_CG_TOLERANCE = 1e-10


class Solver(Protocol):
    """What iterates on one problem."""

    problem: ConvexProblem
    points: Array
    duals: Array

    def start(self, gamma: float) -> None:
        """Begin for this gamma, with the duals that there are, made feasible."""

    def resume(self, duals: Array) -> None:
        """Go on from other duals, and from the points that belong to them; `start` comes next."""

    def iterate(self) -> None:
        """Improve points and duals."""

    def origin(self) -> Array:
        """Return X + Delta."""


class AMA:
    """Projected gradient steps of the dual; accelerated as Nesterov does, begun anew where the dual decreases.

    Parameters
    ----------
    problem : ConvexProblem
        With safe step sizes.
    acceleration : bool
        Whether to extrapolate.
    """

    def __init__(self, problem: ConvexProblem, *, acceleration: bool) -> None:
        self.problem = problem
        self.duals = np.zeros(problem.dual_shape, dtype=problem.rows.dtype)
        self.points = problem.rows.copy()
        self._former = np.zeros_like(self.duals)
        self._spare, self._ahead = np.empty_like(self.points), np.empty_like(self.points)
        self._acceleration = acceleration

    def on(self, problem: ConvexProblem, duals: Array) -> AMA:
        """Return the same iterations on another problem, from these duals."""
        other = AMA(problem, acceleration=self._acceleration)
        other.resume(duals)
        return other

    def resume(self, duals: Array) -> None:
        """See `Solver`; the points follow from the duals when it starts."""
        np.copyto(self.duals, duals)

    def start(self, gamma: float) -> None:
        """See `Solver`."""
        self._gamma = gamma
        self.problem.project(gamma, self.duals, self._former)
        self.duals, self._former = self._former, self.duals  # the first step has no momentum
        self._begin_anew()
        self._square = self.problem.points_of(self.duals, 0.0, self.points, self._spare, self._ahead)
        self.points, self._spare = self._spare, self.points

    def iterate(self) -> None:
        """See `Solver`."""
        momentum = self._momentum
        if self._acceleration:
            self._advance()
        square = self.problem.sweep(
            self._gamma,
            (momentum, self._momentum),
            self.duals,
            self._former,
            (self.points, self._spare, self._ahead),
        )
        self.duals, self._former = self._former, self.duals
        self.points, self._spare = self._spare, self.points
        if square > self._square:  # D = 1/2 ||X||^2 - 1/2 ||U||^2
            self._begin_anew()
            np.copyto(self._ahead, self.points)
        self._square = square

    def origin(self) -> Array:
        """See `Solver`."""
        return self.points

    def _begin_anew(self) -> None:
        self._alpha, self._momentum = 1.0, 0.0
        if self._acceleration:
            self._advance()

    def _advance(self) -> None:
        """Take the momentum of the next step: (alpha_(m-1) - 1) / alpha_m."""
        alpha = 0.5 * (1 + np.sqrt(1 + 4 * self._alpha**2))
        self._momentum, self._alpha = (self._alpha - 1) / alpha, alpha


class ADMM:
    """Alternating directions with one step size nu.

    The differences V are never stored: v = u_head - u_tail + (lambda_new - lambda) / nu, and the update of U becomes
    U + (I + nu L)^-1 (X + 2 Delta_new - Delta - U), with the Laplacian L of the edges.

    Parameters
    ----------
    problem : ConvexProblem
        With one step size.
    """

    def __init__(self, problem: ConvexProblem) -> None:
        self.problem = problem
        self.duals = np.zeros(problem.dual_shape, dtype=problem.rows.dtype)
        self.points = problem.rows.copy()
        self._former = np.zeros_like(self.duals)
        self._origin, self._spare = problem.rows.copy(), np.empty_like(self.points)
        self._change = np.zeros_like(self.points)
        self._solve = _system(problem)

    def resume(self, duals: Array) -> None:
        """See `Solver`."""
        np.copyto(self.duals, duals)
        self._take_origin()
        np.copyto(self.points, self._origin)

    def start(self, gamma: float) -> None:
        """See `Solver`."""
        self._gamma = gamma
        self.problem.project(gamma, self.duals, self._former)
        np.copyto(self.duals, self._former)
        self._take_origin()

    def iterate(self) -> None:
        """See `Solver`."""
        self.problem.step(self._gamma, 0.0, self.points, self.duals, self._former)
        self.duals, self._former = self._former, self.duals
        before = self._origin
        self._take_origin()
        self._change = self._solve(2 * self._origin - before - self.points)
        self.points += self._change

    def origin(self) -> Array:
        """See `Solver`."""
        return self._origin

    def residuals(self, tol: float) -> tuple[float, float]:
        """Return the primal and the dual residual of the last iteration, each over what Boyd's rule allows of it.

        With A the differences over edges, r = A U - V is (lambda_before - lambda) / nu, and s = nu A'(V - V_before) is
        X + Delta - U, by the equation that U solves (Boyd et al. 2011, section 3.3). Allowed are tol ||A U|| or
        tol ||V||, the larger, and tol ||Delta||; of either also tol times the spread of the rows for each entry.

        Parameters
        ----------
        tol : float
            Boyd's relative tolerance, and his absolute one in units of the rows' spread.
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


def solve(
    solver: Solver,
    fuser: Fuser,
    gamma: float,
    *,
    tol: float,
    max_iter: int,
    is_stopped: Callable[[Certificate, int], bool],
    is_late: Callable[[], bool],
    has_settled: Callable[[], bool] | None = None,
) -> tuple[Certificate, int, bool]:
    """Iterate until the relative duality gap is at most `tol`, or until another rule says that it is enough.

    Parameters
    ----------
    solver, fuser : Solver, Fuser
        Of one problem. The solver begins with its own duals.
    gamma : float
        Strength of the penalty.
    tol : float
        The gap may be at most `tol` times the objective.
    max_iter : int
        Iterations, at most.
    is_stopped : callable
        Told each certificate and the iterations done by then; whether to end early.
    is_late : callable
        Whether to end at once.
    has_settled : callable, optional
        Asked after each iteration whether it is enough, in place of the gap.

    Returns
    -------
    certificate : Certificate
        The best.
    n_iter : int
        Iterations.
    converged : bool
        Whether the tolerance was reached, or the other rule met.
    """
    solver.start(gamma)
    best: Certificate | None = None
    done, next_check = 0, 0
    while True:
        late = is_late()
        settled = has_settled is not None and done > 0 and has_settled()
        if done >= next_check or done == max_iter or late or settled:
            found = fuser.certify(gamma, solver.points, solver.duals, solver.origin(), tol)
            if best is not None and best.objective < found.objective:
                # The gap that counts is the one to the present duals.
                gap = solver.problem.gap(gamma, best.centroids, solver.duals, solver.origin())
                found = replace(best, gap=gap)
            best = found
            converged = settled if has_settled else best.gap <= fuser.enough(best.objective, tol)
            if is_stopped(best, done) or converged or done == max_iter or late:
                return best, done, converged
            next_check = done + int(np.clip(_CHECK_SHARE * done, _FEWEST, _MOST))
        solver.iterate()
        done += 1


def _length(vectors: Array) -> float:
    return float(np.sqrt(np.sum(vectors**2, dtype=np.float64)))


def _system(problem: ConvexProblem) -> Callable[[Array], Array]:
    """Return what solves (I + nu L) Y = B."""
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
