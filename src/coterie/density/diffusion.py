"""Diffused rows: coordinates by a random walk on the neighbor graph, for data of mostly noise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator, eigsh

from coterie.arrays import Array, FloatArray, IntArray
from coterie.fitting.threads import single_threaded_blas
from coterie.graphs import Neighbors
from coterie.graphs.matrices import connected_components

# Neighbors in the graph, the one whose distance is the scale of a row, steps of the walk, and eigenvectors in addition
# to those of the components. Similar numbers change the mean index by less than 0.01.
GRAPH_NEIGHBORS, _SCALE, _STEPS, _N_VECTORS = 15, 7, 20, 16

# Graphs of at most this number of rows are decomposed as dense matrices.
_DENSE_ROWS = 300

# After these steps, vectors of lower eigenvalues have no weight.
_LEAST_EIGENVALUE = 0.1

# Of the eigenvectors. At a tolerance of 1e-3, or with a fixed number of iterations, two seeds gave other clusters.
_TOLERANCE = 1e-8


@dataclass(frozen=True, slots=True)
class Diffusion:
    """Coordinates of rows by a random walk on their neighbor graph."""

    coordinates: FloatArray  # (n, q): eigenvectors times powers of their eigenvalues
    eigenvalues: FloatArray  # (q,), float64
    scales: FloatArray  # (n,), float64: the distance of each row to its 7th neighbor

    @property
    def rows(self) -> FloatArray:
        """The coordinates of the rows of the fit, each row of length 1."""
        return _unit(self.coordinates)

    def extend(self, ids: IntArray, squares: Array) -> FloatArray:
        """Return the coordinates of other rows from their nearest rows of the fit (Nystrom), of length 1."""
        distances = np.sqrt(squares.astype(np.float64))
        weights = _affinities(distances**2, _scales(distances)[:, None], self.scales[ids])
        # Rows too far from all for a positive weight are at their nearest.
        weights[weights.sum(axis=1) == 0, 0] = 1
        weights /= weights.sum(axis=1, keepdims=True)
        return _unit(np.einsum("mk,mkq->mq", weights, self.coordinates[ids]) / self.eigenvalues)


def diffuse(found: Neighbors) -> Diffusion:
    """Return coordinates of distinct rows by a random walk on the graph of 15 nearest neighbors (Coifman and Lafon
    2006): edges weigh exp(-d^2 / (r_i r_j)), r the distance to the 7th (Zelnik-Manor and Perona 2004). They are
    eigenvectors times the 20th power of eigenvalues: 15, and one for each component (at most 16).
    """
    ids = found.ids[:, :GRAPH_NEIGHBORS]
    distances = np.sqrt(found.square_distances[:, :GRAPH_NEIGHBORS].astype(np.float64))
    scales = _scales(distances)
    weights = _affinities(distances**2, scales[:, None], scales[ids])
    graph = _graph(ids, weights)
    degrees = np.asarray(graph.sum(axis=1)).ravel()
    parts = connected_components(graph)
    lengths = np.sqrt(np.bincount(parts, degrees))
    with single_threaded_blas():  # sums of others depend on the number of threads
        values, vectors = _eigenvectors(graph, np.sqrt(degrees), parts, lengths)
    kept = values > _LEAST_EIGENVALUE
    values, vectors = values[kept], vectors[:, kept] / np.sqrt(degrees)[:, None]
    # Eigenvectors of the value 1: the components, or random combinations of them.
    n_parts = len(lengths)
    axes = np.eye(n_parts) if n_parts <= _N_VECTORS else _signs(n_parts)
    values = np.append(np.ones(axes.shape[1]), values)
    coordinates = np.hstack([axes[parts] / lengths[parts, None], vectors]) * values**_STEPS
    return Diffusion(coordinates, values, scales)


def _signs(n_parts: int) -> FloatArray:
    drawn = np.random.RandomState(0).choice([-1.0, 1.0], (n_parts, _N_VECTORS))
    return np.asarray(drawn / np.sqrt(_N_VECTORS))


def _eigenvectors(
    graph: sp.csr_array, roots: FloatArray, parts: IntArray, lengths: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the leading eigenvalues and eigenvectors of D^(-1/2) W D^(-1/2) below those of its components."""
    n = len(roots)
    similarity = sp.csr_array(sp.diags_array(1 / roots) @ graph @ sp.diags_array(1 / roots))
    known = sp.csr_array((roots / lengths[parts], (np.arange(n), parts)), shape=(n, len(lengths)))
    if n <= _DENSE_ROWS:
        values, vectors = np.linalg.eigh(similarity.toarray() - (known @ known.T).toarray())
        return values[:-_N_VECTORS:-1], vectors[:, :-_N_VECTORS:-1]
    rest = LinearOperator(
        (n, n), matvec=lambda vector: similarity @ vector - known @ (known.T @ vector), dtype=np.float64
    )
    first = np.random.RandomState(0).uniform(-1, 1, n)
    values, vectors = eigsh(rest, k=_N_VECTORS - 1, which="LA", v0=first, tol=_TOLERANCE)
    return values[::-1], vectors[:, ::-1]


def _scales(distances: FloatArray) -> FloatArray:
    found = distances[:, min(_SCALE, distances.shape[1]) - 1]
    return np.maximum(found, np.finfo(np.float32).tiny)


def _affinities(squares: FloatArray, scales: FloatArray, others: FloatArray) -> FloatArray:
    with np.errstate(under="ignore", over="ignore"):
        return np.exp(-squares / (scales * others))


def _graph(ids: IntArray, weights: FloatArray) -> sp.csr_array:
    """Return the symmetric graph with loops; an edge of weight 0 is none."""
    n, k = ids.shape
    starts = np.arange(0, n * k + 1, k)
    directed = sp.csr_array((weights.ravel(), ids.ravel(), starts), shape=(n, n))
    graph = sp.csr_array(directed.maximum(directed.T) + sp.eye_array(n))
    graph.eliminate_zeros()
    graph.sort_indices()
    return graph


def _unit(coordinates: FloatArray) -> FloatArray:
    lengths = np.sqrt(np.einsum("ij,ij->i", coordinates, coordinates))
    return coordinates / np.where(lengths > 0, lengths, 1)[:, None]
