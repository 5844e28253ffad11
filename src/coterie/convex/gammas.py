"""The default gammas of a path: 0, then a geometric grid from the first that can fuse rows to one that fuses all."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import scipy.sparse as sp
from scipy.sparse import csgraph
from scipy.sparse.linalg import cg, splu

from coterie.arrays import Array, FloatArray, IntArray
from coterie.convex.problem import ConvexProblem
from coterie.graphs.matrices import graph_laplacian

# Quantile of the edges, by the gamma that can fuse them, that gives the first gamma of the grid.
_FIRST_SHARE = 0.05

# Number of nodes up to which a factorization is cheap.
_MOST_FACTORED = 20_000

# Numbers of a flow that are processed at a time, so that they stay in the cache.
_NUMBERS_AT_A_TIME = 1 << 16


def default_gammas(problem: ConvexProblem, n_gammas: int) -> FloatArray:
    """Return 0 and a geometric grid up to a gamma at which each component of the graph is one cluster."""
    edges, last = problem.edges, coalescing_gamma(problem)
    lengths = np.concatenate(
        [np.linalg.norm(part, axis=1) for _, part in _differences(problem, problem.rows)]
    )
    first = first_gamma(edges.heads, edges.tails, edges.weights, lengths)
    return grid(first, last, n_gammas)


def grid(first: float, last: float, n_gammas: int) -> FloatArray:
    """Return 0 and a geometric grid; the last gamma alone if only one is wanted."""
    steps = np.geomspace(last, min(first, 0.1 * last), max(1, n_gammas - 1))[::-1]
    return steps if n_gammas == 1 else np.concatenate([[0.0], steps])


def first_gamma(
    heads: IntArray, tails: IntArray, weights: Array, lengths: FloatArray, sizes: FloatArray | float = 1.0
) -> float:
    """Return a gamma below which few edges can fuse: a node moves by at most gamma times its weight over its size."""
    n_nodes = int(max(heads.max(initial=0), tails.max(initial=0))) + 1
    reach = (np.bincount(heads, weights, n_nodes) + np.bincount(tails, weights, n_nodes)) / sizes
    bounds = lengths / (reach[heads] + reach[tails])
    bounds = bounds[bounds > 0]
    return float(np.quantile(bounds, _FIRST_SHARE)) if len(bounds) else 1.0


def coalescing_gamma(problem: ConvexProblem) -> float:
    """Return an upper bound of the least gamma at which all centroids of a component are equal: the largest ratio
    ||lambda_l|| / w_l of the electrical flow from the rows to their means.
    """
    edges = problem.edges
    if len(edges) == 0:
        return 1.0
    weights = edges.weights.astype(np.float64)
    conductance = weights / weights.mean()
    rows = problem.rows.astype(np.float64)
    potentials = _potentials(problem, conductance, _means(problem) - rows)
    largest = 0.0
    for part, differences in _differences(problem, potentials):
        with np.errstate(over="ignore"):
            loads = problem.dual_norms(conductance[part, None] * differences) / weights[part]
        largest = max(largest, float(loads.max()))
    if not np.isfinite(largest):
        raise ValueError(
            f"Weights of the graph from {weights.min():.2g} to {weights.max():.2g} are too different: no finite "
            'gamma fuses all rows. Choose a smaller distance_decay or "auto", or give the gammas.'
        )
    return largest or 1.0


def _differences(problem: ConvexProblem, points: Array) -> Iterator[tuple[slice, Array]]:
    """Yield slices of the edges, each with the differences between points of heads and tails."""
    edges = problem.edges
    at_a_time = max(1, _NUMBERS_AT_A_TIME // points.shape[1])
    for first in range(0, max(1, len(edges)), at_a_time):
        part = slice(first, first + at_a_time)
        yield part, points[edges.heads[part]] - points[edges.tails[part]]


def _means(problem: ConvexProblem) -> FloatArray:
    """Return for each row the mean of its component."""
    edges = problem.edges
    labels = csgraph.connected_components(edges.adjacency(np.ones(len(edges))), directed=False)[1]
    counts = np.bincount(labels)
    columns = problem.rows.astype(np.float64).T
    return np.column_stack([(np.bincount(labels, column) / counts)[labels] for column in columns])


def _potentials(problem: ConvexProblem, conductance: FloatArray, demand: FloatArray) -> FloatArray:
    """Return Y with L Y = demand, whose columns sum to 0 in each component."""
    laplacian = graph_laplacian(problem.edges.adjacency(conductance))
    degrees = laplacian.diagonal()
    # A small multiple of the identity makes the matrix regular, and changes the solution as little.
    matrix = sp.csc_array(laplacian + sp.diags_array(1e-12 * degrees + (degrees == 0)))
    if len(degrees) <= _MOST_FACTORED:
        return splu(matrix, permc_spec="MMD_AT_PLUS_A", options={"SymmetricMode": True}).solve(demand)
    jacobi = sp.diags_array(1 / matrix.diagonal())
    return np.column_stack([cg(matrix, column, rtol=1e-8, M=jacobi)[0] for column in demand.T])
