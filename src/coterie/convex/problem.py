"""One problem of convex clustering: rows, edges and a norm, in the order that the kernels need."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse import csgraph
from scipy.sparse.linalg import eigsh

from coterie import _kernels
from coterie.arrays import Array, BoolArray, FloatArray, IndexArray, IntArray
from coterie.convex.norms import KernelNorm, Norm, NormObject, find_norm
from coterie.convex.weights import distinct_rows
from coterie.graphs.edges import Edges, edges_of_graph
from coterie.graphs.matrices import graph_laplacian

# Name of the published step size of AMA.
PAPER_STEP = "paper"

# Step size of ADMM times the mean number of edges of a row; measured on 6 to 199 edges.
_ADMM_STEP = 4.0

# Step sizes are proportional to the weight plus this fraction of the mean weight at either end: flows over light edges
# can be large.
_SHARE_OF_MEAN = 0.1

# Safety factor of the estimated largest eigenvalue; up to this number of nodes it is computed directly.
_MARGIN, _FEW_NODES = 1.02, 100

# Edges of a window of sums, for few and for many columns, and the maximum number of rows of windows in addition to the
# nodes, relative to the edges.
_WINDOW_EDGES, _FEW_COLUMNS = (4096, 8192), 4
_WINDOW_SHARE = 0.5

# Maximum number of edges whose duals are updated one after the other, and of columns of which they are not: threads
# could share many edges, and registers hold few columns.
_MOST_IN_TURN, _IN_REGISTERS = 1 << 15, 4

# Number of bisection steps for a dual norm.
_HALVINGS = 40


@dataclass(frozen=True, slots=True)
class SolverOptions:
    """Options of the solver; see `coterie.ConvexClustering`."""

    solver: str = "ama"
    step_size: float | str | None = None
    stopping: str = "gap"


@dataclass(frozen=True)
class RepeatedRows:
    """Rows with duplicates: row i is `distinct[places[i]]`."""

    distinct: Array  # (m, p): the distinct rows
    places: IndexArray | IntArray  # (n,): index of each row in them

    @classmethod
    def of(cls, rows: Array) -> RepeatedRows:
        """Return rows, as a copy."""
        return cls(*distinct_rows(rows))

    def whole(self) -> Array:
        """Return all rows."""
        return self.distinct[self.places]


class ConvexProblem:
    """The model F(U) = 1/2 ||X - U||^2 + gamma sum_l w_l ||u_head - u_tail||, and its dual. Groups of the norm are
    consecutive columns; default step sizes are the largest safe ones in proportion to the weights.
    """

    def __init__(
        self, rows: Array, edges: Edges, norm: KernelNorm, *, step_size: float | Array | None, n_threads: int
    ) -> None:
        self.rows = np.ascontiguousarray(rows)
        self.edges = edges
        self.group_starts, self.is_maximum = norm.group_starts, norm.is_maximum
        self.is_euclidean = norm.is_euclidean
        self.steps = _steps(edges, step_size)
        self.energy = 0.5 * float(np.sum(self.rows**2, dtype=np.float64))
        self.n_threads = n_threads
        self._starts = _starts(edges.heads, edges.n_nodes), _starts(edges.tails, edges.n_nodes)
        self._tail_order = np.argsort(edges.tails, kind="stable").astype(np.int32)
        self._kernel = self._edges_of_weights(edges.weights)
        self._origin = np.zeros_like(self.rows)
        self._node_sums = np.zeros(-(-edges.n_nodes // _kernels.ROW_QUANTUM))
        self._windows, n_rows = _windows(edges, rows.shape[1]) if len(edges) else (None, 0)
        self._window_sums = np.empty((n_rows, rows.shape[1]), dtype=rows.dtype)
        self._edge_sums = np.zeros((self._kernel.n_tasks, self.n_groups + 1))

    @property
    def n_groups(self) -> int:
        """Number of independent groups of columns."""
        return len(self.group_starts) - 1

    @property
    def has_ascent(self) -> bool:
        """Whether `ascend` is faster than `sweep`: at the l2 norm, with few edges and many columns."""
        is_long = self.rows.shape[1] > _IN_REGISTERS
        return self.is_euclidean and is_long and len(self.edges) <= _MOST_IN_TURN

    @property
    def dual_shape(self) -> tuple[int, int]:
        """Shape of the duals: edges and columns."""
        return len(self.edges), self.rows.shape[1]

    def step(self, gamma: float, momentum: float, points: Array, duals: Array, former: Array) -> None:
        """Write P(y - nu (u_head - u_tail)) into `former`; y = duals + momentum (duals - former)."""
        _kernels.dual_step(self._kernel, gamma, momentum, points, duals, former, self.n_threads)

    def sweep(
        self,
        gamma: float,
        momenta: tuple[float, float],
        duals: Array,
        former: Array,
        points: tuple[Array, ...],
    ) -> float:
        """Do `step` and `points_of` in one pass, for the current, next and extrapolated points; return ||U||^2."""
        current, next_, ahead = points
        if self._windows is None:
            self.step(gamma, momenta[0], ahead, duals, former)
            return self.points_of(former, momenta[1], current, next_, ahead)
        _kernels.dual_sweep(
            self._kernel, *self._windows, gamma, *momenta, self.rows, duals, former, current, next_, ahead,
            self._window_sums, self._node_sums, self.n_threads,
        )  # fmt: skip
        return float(self._node_sums.sum())

    def ascend(
        self,
        gamma: float,
        momenta: tuple[float, float],
        duals: Array,
        former: Array,
        points: tuple[Array, ...],
    ) -> float:
        """Maximize over the dual of one edge after the other; return ||U||^2 (see `sweep`). Points are the current
        ones; IN those ahead, OUT U; OUT those ahead by the next momentum.
        """
        current, ahead, next_ = points
        _kernels.dual_ascent(
            self._kernel, gamma, *momenta, duals, former, current, ahead, next_, self._node_sums,
            self.n_threads,
        )  # fmt: skip
        return float(self._node_sums.sum())

    def points_of(self, duals: Array, momentum: float, current: Array, next_: Array, ahead: Array) -> float:
        """Write U = X + Delta into `next_`, U + momentum (U - current) into `ahead`; return ||U||^2."""
        _kernels.primal_points(
            self._kernel, momentum, self.rows, duals, current, next_, ahead, self._node_sums, self.n_threads
        )
        return float(self._node_sums.sum())

    def objectives(self, gamma: float, points: Array) -> FloatArray:
        """Return the contribution of each group of columns to F."""
        penalties = self._penalty(gamma, points, None)[: self.n_groups]
        squares = np.sum((self.rows - points) ** 2, axis=0, dtype=np.float64)
        return 0.5 * np.add.reduceat(squares, self.group_starts[:-1]) + gamma * penalties

    def gap(self, gamma: float, candidate: Array, duals: Array, points: Array) -> float:
        """Return F(candidate) - D(duals) as a sum of non-negative terms: 1/2 ||candidate - points||^2 + sum_l (gamma
        w_l ||v_l|| + <lambda_l, v_l>), where points = X + Delta.
        """
        slack = self._penalty(gamma, candidate, duals)[self.n_groups]
        return 0.5 * float(np.sum((candidate - points) ** 2, dtype=np.float64)) + float(slack)

    def split_lengths(self, gamma: float, points: Array, duals: Array) -> Array:
        """Return the distance between the ends of each edge by the duals (Eq. 3.11), of shape (n_groups, n_edges)."""
        lengths = np.empty((self.n_groups, len(self.edges)), dtype=self.rows.dtype)
        _kernels.split_lengths(self._kernel, gamma, points, duals, lengths, self.n_threads)
        return lengths

    def join(self, are_joined: BoolArray) -> tuple[IntArray, int]:
        """Join the ends of some edges; return the labels of the sets, by their first nodes, and their number."""
        tails = self.edges.tails[are_joined]
        # Edges are in the order of their heads.
        starts = np.concatenate([[0], np.cumsum(are_joined)])[self._starts[0]]
        graph = sp.csr_array((np.ones(len(tails)), tails, starts), shape=2 * (self.edges.n_nodes,))
        n_sets, labels = csgraph.connected_components(graph, directed=False)
        return labels, int(n_sets)

    def project(self, gamma: float, duals: Array, out: Array) -> None:
        """Write the duals, made feasible for gamma, to `out`."""
        self.step(gamma, 0.0, self._origin, duals, out)

    def dual_norms(self, vectors: Array) -> FloatArray:
        """Return the dual norm of each row: the smallest radius whose ball holds it."""
        if self.is_maximum:
            return np.abs(vectors).sum(axis=1)
        squares = np.add.reduceat(vectors.astype(np.float64) ** 2, self.group_starts[:-1], axis=1)
        return np.sqrt(squares.max(axis=1))

    def _edges_of_weights(self, weights: Array) -> Any:
        """Return the edges in the layout of the kernels."""
        return _kernels.fusion_edges(
            self.edges.heads, self.edges.tails, weights, self.steps, *self._starts, self._tail_order,
            self.group_starts, self.is_maximum,
        )  # fmt: skip

    def _penalty(self, gamma: float, points: Array, duals: Array | None) -> FloatArray:
        _kernels.fusion_penalty(self._kernel, gamma, points, duals, self._edge_sums, self.n_threads)
        return self._edge_sums.sum(axis=0)


class CustomProblem(ConvexProblem):
    """A problem with a user-defined norm, computed in NumPy."""

    def __init__(
        self, rows: Array, edges: Edges, norm: NormObject, *, step_size: float | None, n_threads: int
    ) -> None:
        whole = np.array([0, rows.shape[1]], dtype=np.int64)
        kernel_norm = KernelNorm(np.arange(rows.shape[1]), whole)
        super().__init__(rows, edges, kernel_norm, step_size=step_size, n_threads=n_threads)
        self._norm = norm
        self._windows, self.is_euclidean = None, False  # unknown

    def step(self, gamma: float, momentum: float, points: Array, duals: Array, former: Array) -> None:
        """See `ConvexProblem.step`."""
        target = duals + momentum * (duals - former) - self.steps[:, None] * self._differences(points)
        former[:] = self._norm.dual_projection(target, gamma * self.edges.weights)

    def split_lengths(self, gamma: float, points: Array, duals: Array) -> Array:
        """See `ConvexProblem.split_lengths`."""
        target = self._differences(points) - duals / self.steps[:, None]
        differences = self._norm.prox(target, gamma * self.edges.weights / self.steps)
        return self._values(differences)[None]

    def _penalty(self, gamma: float, points: Array, duals: Array | None) -> FloatArray:
        differences = self._differences(points)
        lengths = self.edges.weights * self._values(differences)
        slack = 0.0
        if duals is not None:
            slack = float(np.maximum(gamma * lengths + np.einsum("ij,ij->i", duals, differences), 0).sum())
        return np.array([lengths.sum(dtype=np.float64), slack])

    def dual_norms(self, vectors: Array) -> FloatArray:
        """See `ConvexProblem.dual_norms`; by bisection, as the user gives only the projection."""
        low = np.zeros(len(vectors))
        high = np.full(len(vectors), 1.0)
        while np.any(outside := self._is_outside(vectors, high)):
            high[outside] *= 2
        for _ in range(_HALVINGS):
            middle = 0.5 * (low + high)
            outside = self._is_outside(vectors, middle)
            low, high = np.where(outside, middle, low), np.where(outside, high, middle)
        return high

    def _is_outside(self, vectors: Array, radii: Array) -> BoolArray:
        moved = np.abs(self._norm.dual_projection(vectors.copy(), radii) - vectors).max(axis=1)
        return moved > 1e-9 * np.abs(vectors).max(axis=1)

    def _differences(self, points: Array) -> Array:
        return points[self.edges.heads] - points[self.edges.tails]

    def _values(self, vectors: Array) -> Array:
        values = np.asarray(self._norm.value(vectors), dtype=self.rows.dtype)
        if values.shape != (len(vectors),):
            raise ValueError(f"norm.value must return shape ({len(vectors)},), got {values.shape}.")
        return values


@dataclass(frozen=True)
class OrderedProblem:
    """A problem in the order of the kernels, centered, and the mapping to the order of the data."""

    problem: ConvexProblem  # centered; rows are ordered by neighbors, columns by groups
    edges: IntArray  # (n_edges, 2), int32: in the order of the data
    weights: FloatArray  # (n_edges,)
    places: IndexArray  # (n_edges,): index in `edges` of each edge of the problem
    is_turned: BoolArray  # (n_edges,): whether its ends are exchanged
    order: IndexArray  # (n,): row numbers in the data
    columns: IndexArray  # column numbers in the data
    mean: FloatArray  # (p,): of the data
    dtype: np.dtype[Any]  # of the data
    basis: (
        FloatArray | None
    )  # (p, n): orthonormal, in which the columns of the problem are; None for those of the data

    def centroids(self, found: RepeatedRows) -> RepeatedRows:
        """Return the centroids of a problem in the order of the data."""
        centroids = self._in_columns(found.distinct) + self.mean
        return RepeatedRows(centroids.astype(self.dtype), found.places[np.argsort(self.order)])

    def labels(self, inner: IntArray) -> IntArray:
        """Return the labels in the order of the data, clusters numbered by their first rows."""
        labels = np.empty_like(inner)
        labels[self.order] = inner
        return numbered_by_first_rows(labels)

    def duals(self, inner: Array) -> Array:
        """Return the duals in the order of `edges`."""
        out = np.empty((len(inner), len(self.mean)), dtype=self.dtype)
        out[self.places] = np.where(self.is_turned, -1, 1)[:, None] * self._in_columns(inner)
        return out

    def _in_columns(self, vectors: Array) -> Array:
        """Return vectors of the problem in the columns of the data."""
        return vectors[:, np.argsort(self.columns)] if self.basis is None else vectors @ self.basis.T


def numbered_by_first_rows(labels: IntArray) -> IntArray:
    """Renumber labels from 0, in the order of their first rows."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    return first.argsort().argsort().astype(np.int32)[inverse]


def make_problem(
    rows: Array, edges: Edges, norm: Any, *, step_size: float | None, n_threads: int
) -> ConvexProblem:
    """Return the problem for this kind of norm."""
    kind = ConvexProblem if isinstance(norm, KernelNorm) else CustomProblem
    return kind(rows, edges, norm, step_size=step_size, n_threads=n_threads)


def order_problem(
    data: Array,
    graph: sp.csr_array,
    norm: Norm,
    options: SolverOptions,
    *,
    n_threads: int = 1,
) -> OrderedProblem:
    """Center the data, and put rows and columns in the order of the kernels, once per fit."""
    # In single precision steps of the duals round to 0 before a gap of 1e-5 is reached.
    edges = edges_of_graph(graph, np.float64)
    order = edges.order_of_neighbors()
    inner, places, is_turned = edges.renumbered(order)
    mean = data.mean(axis=0, dtype=np.float64)
    rows, basis = data - mean, None
    if isinstance(norm, KernelNorm) and norm.is_euclidean and rows.shape[1] > len(rows):
        # Distances are the same in an orthonormal basis of the rows.
        basis, rows = np.linalg.qr(rows.T)
        rows, norm = rows.T, find_norm("l2", len(rows))
    columns = norm.columns if isinstance(norm, KernelNorm) else np.arange(rows.shape[1])
    step = _admm_step(inner, options) if options.solver == "admm" else _ama_step(inner, options)
    problem = make_problem(rows[order[:, None], columns], inner, norm, step_size=step, n_threads=n_threads)
    ends = np.column_stack([edges.heads, edges.tails])
    return OrderedProblem(
        problem, ends, edges.weights, places, is_turned, order, columns, mean, data.dtype, basis
    )


def _admm_step(edges: Edges, options: SolverOptions) -> float:
    mean_degree = 2 * max(len(edges), 1) / edges.n_nodes
    return _ADMM_STEP / mean_degree if options.step_size is None else float(options.step_size)


def _ama_step(edges: Edges, options: SolverOptions) -> float | None:
    """Return the checked step size; None leaves the choice to the problem."""
    step_size = options.step_size
    if step_size is None or len(edges) == 0:
        return None
    degrees = np.bincount(edges.heads, minlength=edges.n_nodes) + np.bincount(
        edges.tails, minlength=edges.n_nodes
    )
    bound = min(edges.n_nodes, int((degrees[edges.heads] + degrees[edges.tails]).max()))
    if step_size == PAPER_STEP:
        return 1 / bound
    # Proposition 4.1: plain steps are below 2 / rho, strictly.
    step, limit = float(step_size), (1.0 if options.solver == "ama" else 2.0) / bound
    if step > limit or (step == limit and options.solver == "plain-ama"):
        most = f"at most {limit:g}" if options.solver == "ama" else f"less than {limit:g}"
        raise ValueError(f"step_size={step:g} is not safe: on this graph it must be {most}.")
    return step


def _steps(edges: Edges, step_size: float | Array | None) -> Array:
    """Return safe step sizes: sum_l nu_l ||u_head - u_tail||^2 <= ||U||^2."""
    if step_size is not None:
        return np.array(np.broadcast_to(step_size, len(edges)), dtype=edges.weights.dtype)
    if len(edges) == 0:
        return edges.weights.copy()
    weights = edges.weights.astype(np.float64)
    means = _sums_at_nodes(edges, weights) / np.maximum(_sums_at_nodes(edges, np.ones(len(edges))), 1)
    shares = weights + _SHARE_OF_MEAN * (means[edges.heads] + means[edges.tails])
    sums = _sums_at_nodes(edges, shares)
    safe = shares / (2 * np.maximum(sums[edges.heads], sums[edges.tails]))
    return (safe / min(1.0, _MARGIN * _largest_eigenvalue(edges, safe))).astype(edges.weights.dtype)


def _largest_eigenvalue(edges: Edges, steps: FloatArray) -> float:
    """Return the largest eigenvalue of the Laplacian with these weights, to about 1%."""
    laplacian = graph_laplacian(edges.adjacency(steps))
    if edges.n_nodes <= _FEW_NODES:
        return float(np.linalg.eigvalsh(laplacian.toarray())[-1])
    start = np.random.default_rng(0).normal(size=edges.n_nodes)
    return float(eigsh(laplacian, 1, which="LA", v0=start, tol=1e-2, return_eigenvectors=False)[0])


def _sums_at_nodes(edges: Edges, values: FloatArray) -> FloatArray:
    sums = np.zeros(edges.n_nodes)
    sums += np.bincount(edges.heads, values, edges.n_nodes)
    sums += np.bincount(edges.tails, values, edges.n_nodes)
    return sums


def _windows(edges: Edges, n_columns: int) -> tuple[tuple[Array, Array, Array] | None, int]:
    """Cut the heads into runs; return first heads, reaches, offsets, and the rows of all windows (None if large)."""
    head_starts = _starts(edges.heads, edges.n_nodes)
    size = _WINDOW_EDGES[n_columns > _FEW_COLUMNS]
    cuts = np.searchsorted(head_starts, np.arange(0, len(edges), size), side="left")
    starts = np.unique(np.concatenate([[0], cuts, [edges.n_nodes]])).astype(np.int64)
    furthest = np.maximum.accumulate(np.concatenate([[0], edges.tails + 1]))  # of all edges up to each one
    reaches = np.maximum(starts[1:], furthest[head_starts[starts[1:]]]).astype(np.int64)
    heights = reaches - starts[:-1]
    if heights.sum() > _WINDOW_SHARE * len(edges) + edges.n_nodes:
        return None, 0
    return (starts, reaches, np.cumsum(heights) - heights), int(heights.sum())


def _starts(ends: IntArray, n_nodes: int) -> IndexArray:
    return np.concatenate([[0], np.cumsum(np.bincount(ends, minlength=n_nodes))]).astype(np.int64)
