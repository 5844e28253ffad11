"""The gammas of a path: from the first that can fuse two rows to one that fuses all."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import scipy.sparse as sp
from scipy.sparse import csgraph
from scipy.sparse.linalg import cg, splu

from coterie.arrays import Array, FloatArray, IntArray
from coterie.convex.problem import ConvexProblem
from coterie.fitting.deadline import UNLIMITED, Deadline
from coterie.graphs.edges import Edges
from coterie.graphs.matrices import graph_laplacian

# Quantile of the edges, by the gamma that can fuse them, that gives the first gamma of the grid.
_FIRST_SHARE = 0.05

# Rounds that distribute the load over the edges, their exponent, and the number of nodes up to which factorization is
# cheap.
_ROUNDS, _STRENGTH = 8, 0.5
_MOST_FACTORED = 20_000

# With a deadline: nodes that can be factorized in each remaining second.
_FACTORED_PER_SECOND = 3000

# Numbers of a flow that are processed at a time, so that they stay in the cache.
_NUMBERS_AT_A_TIME = 1 << 16

# Largest residual of a flow, relative to the demand.
_MISSES = 1e-6

# Smallest and largest ratio of consecutive steps of log gamma.
_SHRINKS, _GROWS = 0.25, 1.5

# Number of steps before the first fusion, the longest step, and the shortest relative to equal steps.
_FIRST_STEP, _LONGEST_STEP, _LEAST_SHARE = 0.25, 0.7, 0.25

# Before the first fusion the next gamma is at most the one at which this fraction of the edges would have length 0.
_MAY_FUSE = 0.01

# Fraction of the remaining steps that is planned for fusions.
_SHARE_OF_FUSIONS = 0.75

# The last gamma is at most this factor above the one at which all rows are fused in exact arithmetic.
_BEYOND = 1.05


class GivenGammas:
    """Given gammas."""

    def __init__(self, gammas: FloatArray) -> None:
        self._gammas = iter(gammas.tolist())

    def following(self, n_clusters: int, centroids: Callable[[], Array]) -> float | None:
        """Return the next gamma, None after the last one; the previous result is ignored."""
        return next(self._gammas, None)


class AdaptiveGammas:
    """Gammas from 0 until each component is one cluster, with smaller steps where many rows fuse.

    Half of the remaining steps should be enough for the remaining clusters, with the same fraction of them in
    each. Before the first fusion, the next gamma is the one at which the shortest edges would vanish by
    linear extrapolation.
    """

    def __init__(self, problem: ConvexProblem, n_gammas: int, deadline: Deadline = UNLIMITED) -> None:
        self._problem = problem
        self._last = _BEYOND * coalescing_gamma(problem, deadline)
        self._lengths = _edge_lengths(problem, problem.rows)
        self._first = min(_first_gamma(problem, self._lengths), 0.1 * self._last)
        self._n_components = int(_components(problem).max()) + 1
        self._n_left = n_gammas
        self._gamma: float | None = None
        self._before = 0.0
        self._count = self._count_at_zero = 0
        self._step = _FIRST_STEP

    def following(self, n_clusters: int, centroids: Callable[[], Array]) -> float | None:
        """Return the gamma after one with this number of clusters (ignored at first), None after the last
        one.
        """
        if self._n_left == 0 or (self._gamma is not None and n_clusters <= self._n_components):
            return None
        if self._n_left == 1:
            self._gamma = self._last
        elif self._gamma is None:
            self._gamma = 0.0
        elif self._gamma == 0:
            self._gamma, self._count_at_zero = self._first, n_clusters
        elif n_clusters == self._count_at_zero:
            self._gamma = self._next_before_fusion(self._gamma, centroids())
        else:
            self._gamma *= float(np.exp(self._next_step(self._gamma, n_clusters)))
        if self._gamma >= self._last:
            self._gamma, self._n_left = self._last, 1
        self._count = n_clusters
        self._n_left -= 1
        return self._gamma

    def _next_before_fusion(self, gamma: float, centroids: Array) -> float:
        """Return the gamma at which the first edges vanish by extrapolation of the last step, or a regular step."""
        lengths, before, width = _edge_lengths(self._problem, centroids), self._lengths, gamma - self._before
        self._lengths, self._before = lengths, gamma
        usual = gamma * float(np.exp(max(_FIRST_STEP, self._usual_step(gamma))))
        shrinks = lengths < before
        vanish = np.full(len(lengths), np.inf)
        vanish[shrinks] = gamma + width * lengths[shrinks] / (before - lengths)[shrinks]
        place = int(_MAY_FUSE * len(vanish))
        first = float(np.partition(vanish, place)[place])
        return max(usual, first) if np.isfinite(first) else usual

    def _usual_step(self, gamma: float) -> float:
        """Return the length of equal steps in log gamma."""
        return float(np.log(self._last / gamma)) / self._n_left

    def _next_step(self, gamma: float, n_clusters: int) -> float:
        """Return the next step in log gamma."""
        usual = self._usual_step(gamma)
        taken = float(np.log(self._count / n_clusters))
        wanted = float(np.log(n_clusters / self._n_components)) / (_SHARE_OF_FUSIONS * self._n_left)
        factor = np.clip(wanted / taken, _SHRINKS, _GROWS) if taken > 0 else _GROWS
        self._step = float(np.clip(factor * self._step, _LEAST_SHARE * usual, max(_LONGEST_STEP, usual)))
        return self._step


def default_gammas(problem: ConvexProblem, n_gammas: int, deadline: Deadline = UNLIMITED) -> FloatArray:
    """Return 0 and a geometric grid up to a gamma at which each component of the graph is one cluster."""
    last = coalescing_gamma(problem, deadline)
    first = min(_first_gamma(problem, _edge_lengths(problem, problem.rows)), 0.1 * last)
    if n_gammas == 1:
        return np.array([last])
    return np.concatenate([[0.0], np.geomspace(first, last, n_gammas - 1)])


def coalescing_gamma(problem: ConvexProblem, deadline: Deadline = UNLIMITED) -> float:
    """Return a gamma at which all centroids of a component are equal: an upper bound of the smallest one.

    It is the largest ratio ||lambda_l|| / w_l of a flow of low energy from the rows to their mean.
    """
    edges = problem.edges
    if len(edges) == 0:
        return 1.0
    weights = edges.weights.astype(np.float64)
    demand = _means(problem) - problem.rows.astype(np.float64)
    if edges.n_nodes > _FACTORED_PER_SECOND * deadline.left:
        highest = _gamma_of_tree(problem, demand)
        return highest if 0 < highest < np.inf else 1.0
    conductance = weights / weights.mean()
    lowest = np.inf
    for _ in range(_ROUNDS if edges.n_nodes <= _MOST_FACTORED else 1):
        potentials = _potentials(problem, conductance)(demand)
        loads = _loads(problem, conductance, potentials)
        highest = float(loads.max())
        if not np.isfinite(highest):
            raise ValueError(
                f"Weights of the graph from {weights.min():.2g} to {weights.max():.2g} are too different: no finite "
                'gamma fuses all rows. Choose a smaller distance_decay or "auto", or give the gammas.'
            )
        if lowest < np.inf and _misses(problem, conductance, potentials, demand) > _MISSES:
            break
        lowest = min(lowest, highest)
        if deadline.is_over or highest == 0:
            break
        conductance = conductance * np.maximum(loads / highest, 0.1) ** -_STRENGTH
        conductance = np.clip(conductance / conductance.mean(), 1e-3, 1e3)
    return lowest or 1.0


def _gamma_of_tree(problem: ConvexProblem, demand: FloatArray) -> float:
    """Return the gamma of the flow along a maximum spanning tree, where each edge carries the demand of its subtree."""
    edges, n_nodes = problem.edges, problem.edges.n_nodes
    tree = csgraph.minimum_spanning_tree(edges.adjacency(1 / edges.weights.astype(np.float64))).tocoo()
    # An additional node connects the components; its flow is 0, as demands are relative to each component's mean.
    roots = np.unique(_components(problem), return_index=True)[1]
    ends = np.append(tree.row, np.full(len(roots), n_nodes)), np.append(tree.col, roots)
    joined = sp.csr_array((np.ones(len(ends[0])), ends), shape=(n_nodes + 1, n_nodes + 1))
    order, parents = csgraph.breadth_first_order(joined, n_nodes, directed=False)
    behind = np.vstack([demand, np.zeros((1, demand.shape[1]))])
    for node in order[:0:-1]:
        behind[parents[node]] += behind[node]
    nodes = order[1:][parents[order[1:]] != n_nodes].astype(np.int64)
    others = parents[nodes].astype(np.int64)
    wanted = np.minimum(nodes, others) * n_nodes + np.maximum(nodes, others)
    places = np.searchsorted(edges.heads.astype(np.int64) * n_nodes + edges.tails, wanted)
    with np.errstate(over="ignore"):
        return float((problem.dual_norms(behind[nodes]) / edges.weights[places]).max())


def _first_gamma(problem: ConvexProblem, lengths: FloatArray) -> float:
    """Return a gamma below which few edges can fuse: a node moves by at most gamma times its total weight."""
    edges = problem.edges
    if len(edges) == 0:
        return 1.0
    reach = np.bincount(edges.heads, edges.weights, edges.n_nodes) + np.bincount(
        edges.tails, edges.weights, edges.n_nodes
    )
    bounds = lengths / (reach[edges.heads] + reach[edges.tails])
    bounds = bounds[bounds > 0]
    return float(np.quantile(bounds, _FIRST_SHARE)) if len(bounds) else 1.0


def _edge_lengths(problem: ConvexProblem, points: Array) -> FloatArray:
    """Return the distance between the ends of each edge."""
    lengths = np.empty(len(problem.edges))
    for part, differences in _differences(problem.edges, points):
        lengths[part] = _lengths(differences)
    return lengths


def _lengths(vectors: Array) -> FloatArray:
    lengths: FloatArray = np.linalg.norm(vectors, axis=1)
    return lengths


def _loads(problem: ConvexProblem, conductance: FloatArray, potentials: Array) -> FloatArray:
    """Return the dual norm of the flow over each edge, relative to its weight."""
    edges = problem.edges
    loads = np.empty(len(edges))
    for part, differences in _differences(edges, potentials):
        with np.errstate(over="ignore"):
            norms = problem.dual_norms(conductance[part, None] * differences)
            loads[part] = norms / edges.weights[part].astype(np.float64)
    return loads


def _differences(edges: Edges, points: Array) -> Iterator[tuple[slice, Array]]:
    """Yield slices of the edges, each with the differences between points of heads and tails."""
    at_a_time = max(1, _NUMBERS_AT_A_TIME // points.shape[1])
    for first in range(0, len(edges), at_a_time):
        part = slice(first, first + at_a_time)
        yield part, points[edges.heads[part]] - points[edges.tails[part]]


def _misses(problem: ConvexProblem, conductance: FloatArray, potentials: Array, demand: FloatArray) -> float:
    """Return the residual of the flow, relative to the demand."""
    given = graph_laplacian(problem.edges.adjacency(conductance)) @ potentials
    return float(np.linalg.norm(given - demand) / np.linalg.norm(demand))


def _means(problem: ConvexProblem) -> FloatArray:
    labels = _components(problem)
    counts = np.bincount(labels)
    columns = problem.rows.astype(np.float64).T
    return np.column_stack([(np.bincount(labels, column) / counts)[labels] for column in columns])


def _components(problem: ConvexProblem) -> IntArray:
    edges = problem.edges
    labels: IntArray = csgraph.connected_components(edges.adjacency(np.ones(len(edges))), directed=False)[1]
    return labels


def _potentials(problem: ConvexProblem, conductance: FloatArray) -> Callable[[Array], Array]:
    """Return the solver of L Y = B, where the columns of B sum to 0 in each component."""
    laplacian = graph_laplacian(problem.edges.adjacency(conductance))
    degrees = laplacian.diagonal()
    # A small multiple of the identity makes the matrix regular, and changes the solution as little.
    matrix = sp.csc_array(laplacian + sp.diags_array(1e-12 * degrees + (degrees == 0)))
    if len(degrees) <= _MOST_FACTORED:
        return splu(matrix, permc_spec="MMD_AT_PLUS_A", options={"SymmetricMode": True}).solve
    jacobi = sp.diags_array(1 / matrix.diagonal())
    return lambda right: np.column_stack([cg(matrix, b, rtol=1e-8, M=jacobi)[0] for b in right.T])
