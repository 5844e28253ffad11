"""The path solver: ascending gammas, each from the duals of the previous ones."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from coterie.arrays import Array, FloatArray, IndexArray, IntArray
from coterie.convex.gammas import AdaptiveGammas, GivenGammas
from coterie.convex.linkage import linkage_of_path, n_splits
from coterie.convex.problem import OrderedProblem, RepeatedRows, SolverOptions
from coterie.convex.solvers import (
    ADMM,
    Fuser,
    Solver,
    iterate,
    make_solver,
    residual_test,
)  # fmt: skip
from coterie.fitting.report import Report, Stop

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


@dataclass(frozen=True)
class PathResult:
    """Result of a path."""

    steps: list[PathStep]
    n_iter: int  # of all gammas
    n_open: int  # number of gammas that have not converged
    reason: str  # why the path ended; "max_iter" where some gammas have not converged
    history: Array  # one row per gamma
    residuals: list[tuple[float, float]]  # of ADMM for each gamma, relative to their limits
    n_splits: IntArray | IndexArray  # (m,): number of splits of clusters since the previous gamma
    linkage: FloatArray  # (n - 1, 4): the merges


def follow_path(
    ordered: OrderedProblem,
    gammas: AdaptiveGammas | GivenGammas,
    options: SolverOptions,
    *,
    stop: Stop,
    report: Report,
) -> PathResult:
    """Solve for ascending gammas."""
    solver, fuser = make_solver(ordered.problem, options), Fuser(ordered.problem)
    has_converged = residual_test(solver, options, stop)
    warm_start = WarmStart(solver, has_even_steps=isinstance(gammas, GivenGammas))
    n_rows = len(ordered.problem.rows)
    steps: list[PathStep] = []
    residuals: list[tuple[float, float]] = []
    n_iter, ended = 0, False
    gamma = gammas.following(0, lambda: ordered.problem.rows)
    while gamma is not None and not ended:
        warm_start.predict(gamma)
        found, n_steps, _ = iterate(
            solver, fuser, gamma, stop=stop, deadline=report.deadline, has_converged=has_converged
        )
        is_whole = found.n_clusters == n_rows
        centroids = (
            RepeatedRows(found.centroids.copy(), np.arange(n_rows))
            if is_whole
            else RepeatedRows.of(found.centroids)
        )
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


class WarmStart:
    """Extrapolation of duals from the last two gammas.

    The dual of an edge with different ends lies on the boundary of its ball, whose radius grows with gamma.
    """

    def __init__(self, solver: Solver, *, has_even_steps: bool) -> None:
        self._solver = solver
        self._has_even_steps = has_even_steps
        self._gamma: float | None = None
        self._ratio: float | None = None
        self._step = 0.0
        self._before: Array | None = None

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
