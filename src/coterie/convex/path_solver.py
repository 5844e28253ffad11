"""Paths: solutions for ascending gammas, each from the duals of the previous ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from coterie.arrays import Array, FloatArray, IntArray
from coterie.convex.linkage import linkage_of_path, n_splits
from coterie.convex.problem import OrderedProblem, RepeatedRows, SolverOptions
from coterie.convex.solvers import ADMM, Fuser, Solver, iterate, make_solver, residual_test
from coterie.fitting.deadline import Deadline
from coterie.fitting.report import FitReport, Stop

# Numbers that are processed at a time, so that they stay in the cache.
_PREDICTED = 1 << 16


class PathStep(NamedTuple):
    """The minimum for one gamma of a path."""

    gamma: float
    labels: IntArray  # (n,), int32: clusters, numbered by their first rows
    centroids: RepeatedRows  # U, in the order of the data
    n_clusters: int
    objective: float  # F(U)
    gap: float  # F(U) - D
    n_iter: int
    has_converged: bool
    residuals: tuple[float, float] | None = None  # of ADMM, relative to their limits


@dataclass(frozen=True)
class PathResult:
    """Result of a path."""

    steps: list[PathStep]
    reason: str  # why the path ended; "max_iter" where some gammas have not converged
    history: Array  # one row per gamma
    n_splits: list[int]  # number of splits of clusters since the previous gamma
    linkage: FloatArray  # (n - 1, 4): the merges

    @property
    def n_iter(self) -> int:
        """Number of iterations of all gammas."""
        return sum(step.n_iter for step in self.steps)

    @property
    def n_open(self) -> int:
        """Number of gammas that have not converged."""
        return sum(not step.has_converged for step in self.steps)


def follow_path(
    solutions: Iterable[PathStep], n_gammas: int, edges: IntArray, report: FitReport
) -> PathResult:
    """Take the solutions for ascending gammas until the report ends the path; `edges` connect the rows of clusters."""
    steps: list[PathStep] = []
    for step in solutions:
        steps.append(step)
        if report(
            step.objective, step.centroids.whole, gamma=step.gamma, n_steps=step.n_iter, gap=step.gap,
            n_clusters=step.n_clusters,
        ):  # fmt: skip
            break
    labels_path = np.array([step.labels for step in steps])
    result = PathResult(
        steps, "converged", report.history(), [0, *(n_splits(*pair) for pair in pairwise(labels_path))],
        linkage_of_path(np.array([step.gamma for step in steps]), labels_path, edges),
    )  # fmt: skip
    reason = report.reason if len(steps) < n_gammas else None
    return replace(result, reason=reason or ("max_iter" if result.n_open else "converged"))


def solve_path(
    ordered: OrderedProblem, gammas: FloatArray, options: SolverOptions, *, stop: Stop, deadline: Deadline
) -> Iterator[PathStep]:
    """Yield the solutions for ascending gammas."""
    solver, fuser = make_solver(ordered.problem, options), Fuser(ordered.problem)
    has_converged = residual_test(solver, options, stop)
    warm_start = WarmStart(solver)
    n_rows = len(ordered.problem.rows)
    for gamma in gammas.tolist():
        warm_start.predict(gamma)
        found, n_iter, converged = iterate(
            solver, fuser, gamma, stop=stop, deadline=deadline, has_converged=has_converged
        )
        centroids = (
            RepeatedRows(found.centroids.copy(), np.arange(n_rows))
            if found.n_clusters == n_rows
            else RepeatedRows.of(found.centroids)
        )
        yield PathStep(
            gamma, ordered.labels(found.labels), ordered.centroids(centroids), found.n_clusters, found.objective,
            found.gap, n_iter, converged,
            solver.residuals(stop.tolerance) if has_converged and isinstance(solver, ADMM) else None,
        )  # fmt: skip


class WarmStart:
    """Extrapolation of duals from two gammas: those of unfused edges lie on spheres that grow with gamma."""

    def __init__(self, solver: Solver) -> None:
        self._solver = solver
        self._gamma = self._ratio = 0.0
        self._before = np.zeros_like(solver.duals)

    def predict(self, gamma: float) -> None:
        """Replace the solver's duals, those of the last gamma, by the extrapolated ones."""
        if self._gamma > 0:
            self._continue(gamma / self._gamma)
        self._gamma = gamma

    def _continue(self, ratio: float) -> None:
        solver = self._solver
        lengths = solver.problem.split_lengths(self._gamma, solver.points, solver.duals)
        widths = np.diff(solver.problem.group_starts) if solver.problem.n_groups > 1 else 1
        at_a_time = max(1, _PREDICTED // solver.duals.shape[1])
        for first in range(0, len(solver.duals), at_a_time):
            part = slice(first, first + at_a_time)
            is_apart = np.repeat(lengths[:, part].T > 0, widths, axis=1)
            found, before = solver.duals[part].copy(), self._before[part]
            start = solver.duals[part]
            start *= np.where(is_apart, ratio, 1.0)
            if self._ratio > 0:
                start += found - before * np.where(is_apart, self._ratio, 1.0)
            before[:] = found
        self._ratio = ratio
