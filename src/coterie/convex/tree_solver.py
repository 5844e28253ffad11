"""Convex clustering with weights on a tree and the l1 norm: each column is a fused lasso on a tree, solved exactly.

The columns do not depend on each other, and the dual flow on a tree follows from the centroids, so each gamma has its
own exact certificate. Edges that were fused in a column at the previous gamma are contracted there; the kernel undoes
this where the flow over such an edge exceeds its bound.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse import csgraph

from coterie import _kernels
from coterie.arrays import Array, FloatArray, IntArray
from coterie.convex.linkage import linkage_of_tree
from coterie.convex.path_solver import PathResult, PathStep
from coterie.convex.problem import RepeatedRows
from coterie.convex.solvers import ConvexResult
from coterie.convex.weights import weights_of_edges, without_units
from coterie.fitting.checks import random_stream
from coterie.fitting.report import Report, Stop
from coterie.graphs.equal_rows import equal_rows
from coterie.graphs.spanning import near_rows, rooted_tree, spanning_tree

# The first trial gamma could fuse this fraction of the edges, if all forces pulled their ends together.
_FIRST_SHARE = 0.05

# Maximum number of trial gammas for one number of clusters, and for the first one, and the tolerance of that number:
# half a step of its logarithm.
_TRIALS, _FIRST_TRIALS, _NEAR = 5, 20, 0.5

# Bounds of the factor of gamma from one trial to the next.
_SHORTEST, _LONGEST = 1.02, 4.0

# Gaps below this share of the rows' energy are rounding errors.
_ROUNDING = 1e-12

# Factor of the last gamma above the one that fuses all rows, because of rounding.
_BEYOND = 1 + 1e-6


@dataclass(frozen=True)
class TreeProblem:
    """Rows on a tree whose m nodes are the distinct rows, depth first from the root 0."""

    data: Array  # (n, p): the rows
    columns: FloatArray  # (p, m), float64: the centered nodes
    sizes: FloatArray  # (m,): rows of each node
    parents: IntArray  # (m,), int32: parents come before their children; node 0 is the root
    weights: FloatArray  # (m,): weights of the edges to the parents
    nodes: IntArray  # (n,), int32: the node of each row
    rows: Array  # (m,): the first row of each node
    mean: FloatArray  # (p,): of the rows
    decay: float  # of the weights
    n_threads: int
    kernel: Any = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "kernel", _kernels.weighted_tree(self.parents, self.sizes, self.weights))

    @property
    def edges(self) -> IntArray:
        """Rows at the ends of the edges, the lower one first, (m - 1, 2)."""
        ends = np.column_stack([self.rows[1:], self.rows[self.parents[1:]]])
        return np.sort(ends, axis=1).astype(np.int32)

    @property
    def last_gamma(self) -> float:
        """A gamma at which all rows are fused, and below which they are not, but for rounding."""
        return _BEYOND * float(_kernels.last_gamma(self.kernel, self.columns))

    def solve(self, gamma: float, fused: Array | None = None, *, wants_flows: bool = False) -> TreeSolution:
        """Solve for one gamma; `fused` of a smaller one, (p, m), is where rows are expected to be fused."""
        shape = self.columns.shape
        marks = np.zeros(shape, dtype=np.uint8) if fused is None else fused.copy()
        values, sums = np.empty(shape), np.empty((shape[0], 2))
        flows = np.empty(shape) if wants_flows else None
        _kernels.denoise_on_tree(self.kernel, gamma, self.columns, marks, values, flows, sums, self.n_threads)
        objective, gap = sums.sum(axis=0).tolist()
        return TreeSolution(gamma, values, marks, np.bitwise_and.reduce(marks, axis=0), objective, gap, flows)

    def clusters(self, found: TreeSolution) -> tuple[IntArray, RepeatedRows]:
        """Return the labels of the rows, numbered by their first rows, and their centroids."""
        joined = np.flatnonzero(found.joined)
        graph = sp.coo_array(
            (np.ones(len(joined)), (joined, self.parents[joined])), shape=2 * (len(self.parents),)
        )
        _, sets = csgraph.connected_components(graph, directed=False)
        _, firsts, places = np.unique(sets[self.nodes], return_index=True, return_inverse=True)
        labels = np.argsort(np.argsort(firsts)).astype(np.int32)[places]
        centroids = found.values[:, self.nodes[np.sort(firsts)]].T + self.mean
        return labels, RepeatedRows(centroids.astype(self.data.dtype), labels)


@dataclass(frozen=True)
class TreeSolution:
    """The minimum for one gamma on a tree."""

    gamma: float
    values: FloatArray  # (p, m): centroids of the nodes, around the mean
    fused: Array  # (p, m), uint8: whether a node has the value of its parent in each column
    joined: Array  # (m,), uint8: whether it has the value of its parent in all columns
    objective: float  # F
    gap: float  # F - D
    flows: FloatArray | None  # (p, m): duals of the edges to the parents

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return len(self.joined) - int(np.count_nonzero(self.joined))


def tree_problem(
    data: Array, *, n_neighbors: int, decay: float | str, random_state: Any = None, n_threads: int = 1
) -> TreeProblem:
    """Put rows on the spanning tree of the graph of their nearest neighbors; weights that underflow are an
    error.
    """
    rows, scale = without_units(data)
    equal = equal_rows(data)
    first, points = equal.first, np.ascontiguousarray(rows[equal.first])
    k, seed = (
        min(n_neighbors, len(first) - 1),
        int(random_stream(random_state).randint(np.iinfo(np.int32).max)),
    )
    near = near_rows(points, k, method="auto", seed=seed, n_threads=n_threads)
    tree = spanning_tree(points, near, n_threads=n_threads)
    weights, found = weights_of_edges(tree.squares.astype(np.float64) * scale**2, decay)
    order, parents, edges = rooted_tree(tree.firsts, tree.seconds)
    node_of = np.empty_like(order)
    node_of[order] = np.arange(len(order), dtype=np.int32)
    nodes = node_of[equal.places]
    mean = data.mean(axis=0, dtype=np.float64)
    return TreeProblem(
        data, np.ascontiguousarray((data - mean)[first[order]].T), np.bincount(nodes).astype(np.float64), parents,
        np.append(weights, 1.0)[np.where(parents == np.arange(len(order)), -1, edges)], nodes, first[order],
        mean, found, n_threads,
    )  # fmt: skip


def minimize_on_tree(problem: TreeProblem, gamma: float, *, report: Report) -> ConvexResult:
    """Find the centroids for one gamma; duals of edges point from the lower to the higher row."""
    found = problem.solve(gamma, wants_flows=True)
    labels, centroids = problem.clusters(found)
    report(
        found.objective, centroids.whole, n_steps=1, dual=found.objective - found.gap, gap=found.gap,
        n_clusters=found.n_clusters,
    )  # fmt: skip
    assert found.flows is not None
    is_lower = problem.rows[1:] < problem.rows[problem.parents[1:]]
    duals = np.where(is_lower[:, None], -found.flows[:, 1:].T, found.flows[:, 1:].T)
    return ConvexResult(
        centroids.whole(), labels, duals.astype(problem.data.dtype), found.objective, found.gap, found.n_clusters, 1,
        "converged", report.history(),
    )  # fmt: skip


def follow_tree_path(
    problem: TreeProblem, gammas: Iterable[float] | None, n_gammas: int, *, stop: Stop, report: Report
) -> PathResult:
    """Solve for ascending gammas, or for at most `n_gammas` that lower the logarithm of the number of
    clusters evenly.
    """
    chosen = _chosen(problem, n_gammas) if gammas is None else _solved(problem, gammas)
    steps: list[PathStep] = []
    n_splits: list[int] = []
    n_iter, ended, before = 0, False, None
    fused_at = np.full(len(problem.parents), -1)
    for found, n_solved in chosen:
        labels, centroids = problem.clusters(found)
        step = PathStep(found.gamma, labels, centroids, found.n_clusters, found.objective, found.gap)
        n_splits.append(0 if before is None else int(np.count_nonzero(before & ~found.joined & 1)))
        before = found.joined
        fused_at[(fused_at < 0) & (before != 0)] = len(steps)
        steps.append(step)
        n_iter += n_solved
        if report(
            step.objective, centroids.whole, gamma=step.gamma, n_steps=n_solved, gap=step.gap,
            n_clusters=step.n_clusters,
        ):  # fmt: skip
            ended = True
            break
    allowed = _ROUNDING * 0.5 * float(np.sum(problem.sizes * problem.columns**2))
    n_open = sum(step.gap > stop.tolerance * step.objective + allowed for step in steps)
    reason = report.reason if ended else None
    # Equal rows are equal from the first gamma on.
    again = np.flatnonzero(problem.rows[problem.nodes] != np.arange(len(problem.nodes)))
    copies = np.column_stack([problem.rows[problem.nodes[again]], again]).astype(np.int32)
    linkage = linkage_of_tree(
        np.array([step.gamma for step in steps]), np.append(np.zeros(len(again), dtype=np.int64), fused_at[1:]),
        np.concatenate([copies, problem.edges]),
    )  # fmt: skip
    return PathResult(
        steps, n_iter, n_open, reason or ("max_iter" if n_open else "converged"), report.history(), [],
        np.array(n_splits), linkage,
    )  # fmt: skip


def _solved(problem: TreeProblem, gammas: Iterable[float]) -> Iterable[tuple[TreeSolution, int]]:
    """Yield the solutions for given gammas, each with the number of problems solved for it."""
    fused = None
    for gamma in gammas:
        found = problem.solve(float(gamma), fused)
        fused = found.fused
        yield found, 1


def _chosen(problem: TreeProblem, n_gammas: int) -> Iterable[tuple[TreeSolution, int]]:
    """Yield solutions with evenly decreasing log number of clusters, each with the number of problems solved for it."""
    last = problem.last_gamma
    if n_gammas == 1 or last == 0:
        yield problem.solve(last), 1
        return
    kept = lower = problem.solve(0.0)
    yield kept, 1
    step = float(np.log(kept.n_clusters)) / max(1, n_gammas - 1)
    slope, n_solved = 1.0, 0
    guess = min(_first_gamma(problem), 0.5 * last)
    for place in range(1, n_gammas - 1):
        target = (n_gammas - 1 - place) * step
        if np.log(kept.n_clusters) <= target + _NEAR * step:  # more rows have fused at once
            continue
        upper: TreeSolution | None = None
        for _ in range(_TRIALS if kept.gamma > 0 else _FIRST_TRIALS):
            found = problem.solve(guess, lower.fused)
            n_solved += 1
            beyond = float(np.log(found.n_clusters)) - target
            if abs(beyond) <= _NEAR * step:
                break
            if beyond > 0:
                slope, lower = _slope(lower, found, slope), found
            else:
                upper = found
            guess = _next_guess(lower, target, slope, upper, last)
        else:  # no gamma has about this number
            found = lower if upper is None or lower.n_clusters < kept.n_clusters else upper
        if found.n_clusters < kept.n_clusters:
            yield found, n_solved
            if found.n_clusters == 1:
                return
            slope, kept, lower, n_solved = _slope(kept, found, slope), found, found, 0
        guess = _next_guess(lower, target - step, slope, None, last)
    yield problem.solve(last, lower.fused), n_solved + 1


def _first_gamma(problem: TreeProblem) -> float:
    """Return a gamma below which few edges can fuse: a node moves by at most gamma times its total weight."""
    parents, weights = problem.parents, problem.weights.copy()
    weights[0] = 0
    reach = (weights + np.bincount(parents, weights, len(parents))) / problem.sizes
    lengths = np.abs(problem.columns[:, 1:] - problem.columns[:, parents[1:]]).max(axis=0)
    return float(np.quantile(lengths / (reach[1:] + reach[parents[1:]]), _FIRST_SHARE))


def _slope(before: TreeSolution, after: TreeSolution, known: float) -> float:
    """Return the rate at which the log number of clusters decreases with log gamma."""
    fell = float(np.log(before.n_clusters / after.n_clusters))
    if before.gamma == 0 or fell <= 0:
        return known
    return fell / float(np.log(after.gamma / before.gamma))


def _next_guess(
    lower: TreeSolution, target: float, slope: float, upper: TreeSolution | None, last: float
) -> float:
    """Return the gamma predicted for a number of clusters, whose logarithm is the target."""
    most = float(np.log(lower.n_clusters))
    if upper is None:
        factor = float(np.exp(np.clip((most - target) / slope, np.log(_SHORTEST), np.log(_LONGEST))))
        return min(lower.gamma * factor, 0.5 * (lower.gamma + last))
    if lower.gamma == 0:
        return 0.5 * upper.gamma
    share = (most - target) / (most - float(np.log(upper.n_clusters)))
    return float(lower.gamma * (upper.gamma / lower.gamma) ** np.clip(share, 0.25, 0.75))
