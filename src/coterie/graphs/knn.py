"""Nearest-neighbor graphs and the weights of their edges."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from numbers import Real
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from coterie.arrays import Array, IntArray
from coterie.fitting.checks import check_option
from coterie.graphs.neighbors import Seed, nearest_neighbors

Weights: TypeAlias = str | Callable[[Array], npt.ArrayLike]

_WEIGHTS = ("binary", "distance", "gaussian")
# Scales of rows need all edges, not a distance alone.
SELF_TUNING = "self-tuning"

# The neighbor whose distance is the scale of a row, as in the paper; the largest exponent, so that no edge is lost.
_SCALE_NEIGHBOR, _MOST_DECAY = 7, 20
_SYMMETRIZE = ("max", "mean", "none")


def knn_graph(
    X: Any,
    n_neighbors: int = 5,
    *,
    metric: str = "euclidean",
    weights: Weights = "binary",
    bandwidth: float | None = None,
    symmetrize: Literal["max", "mean", "none"] = "max",
    method: str = "auto",
    recall: float = 0.99,
    random_state: Seed = None,
    n_threads: int | None = None,
) -> sp.csr_array:
    """Build the nearest-neighbor graph of rows.

    Parameters
    ----------
    X : array-like, sparse matrix, table, Dask array or Rows of shape (n, d)
        The rows: the vertices.
    n_neighbors : int
        Neighbors of each row, without the row itself; less than n.
    metric : {"euclidean", "cosine"}
        See `nearest_neighbors`.
    weights : {"binary", "distance", "gaussian", "self-tuning"} or callable
        "binary": 1. "distance": the distance. "gaussian": exp(-distance^2 / (2 s^2)) with the bandwidth s.
        "self-tuning": exp(-distance^2 / (s_i s_j)), at least exp(-20), where s_i is the distance of row i to its 7th
        neighbor (Zelnik-Manor and Perona 2004), or to row j if that is 0. A callable gets the squared distances, shape
        (n, n_neighbors), and returns non-negative weights of that shape.
    bandwidth : float, optional
        s of the Gaussian weights. None: the root of the mean squared distance to a neighbor.
    symmetrize : {"max", "mean", "none"}
        Treatment of edges in one direction only: "max" gives both directions the weight, "mean" half of it; other edges
        keep theirs. "none" leaves the graph directed.
    method : {"auto", "exact", "approximate"}
        See `nearest_neighbors`.
    recall : float
        Target share of the nearest rows that the approximate method finds.
    random_state : int, RandomState or None
        Seed of the approximate method.
    n_threads : int, optional
        None: all processors.

    Returns
    -------
    csr_array of shape (n, n), float32 or float64
        Indices are sorted and, up to 2^31 entries, int32. Exactly symmetric unless ``symmetrize="none"``. Edges of
        weight 0 are stored with ``weights="distance"`` (equal rows), left out otherwise.

    Raises
    ------
    ValueError
        If an option is unknown, `bandwidth` is not positive, a callable's weights are negative, not finite or of
        another shape, or as in `nearest_neighbors`.

    Notes
    -----
    Time and memory of `nearest_neighbors`, and O(n n_neighbors).

    Of rows as far as the last neighbor those with the lowest numbers are neighbors. The graph of the estimators differs
    where there are such ties, or equal rows: see their `affinity_matrix_`.

    References
    ----------
    von Luxburg, A tutorial on spectral clustering, Statistics and Computing 17, 2007, section 2.2.
    Zelnik-Manor and Perona, Self-tuning spectral clustering, NeurIPS 2004.

    Examples
    --------
    >>> from coterie.graphs import knn_graph
    >>> graph = knn_graph([[0.0], [1.0], [3.0], [3.5]], 1)
    >>> graph.toarray()
    array([[0., 1., 0., 0.],
           [1., 0., 0., 0.],
           [0., 0., 0., 1.],
           [0., 0., 1., 0.]])
    """
    check_weights(weights, bandwidth, (*_WEIGHTS, SELF_TUNING))
    check_option("symmetrize", symmetrize, _SYMMETRIZE)
    ids, squares = nearest_neighbors(
        X,
        n_neighbors,
        metric=metric,
        method=method,
        recall=recall,
        random_state=random_state,
        n_threads=n_threads,
    )
    return graph_of_neighbors(ids, squares, weights=weights, bandwidth=bandwidth, symmetrize=symmetrize)


def graph_of_neighbors(
    ids: IntArray,
    square_distances: Array,
    *,
    weights: Weights = "binary",
    bandwidth: float | None = None,
    symmetrize: Literal["max", "mean", "none"] = "max",
) -> sp.csr_array:
    """Build the graph of given neighbors.

    Parameters
    ----------
    ids : ndarray of shape (n, n_neighbors), int32
        The neighbors of each vertex in the form of `nearest_neighbors`: distinct, without the vertex; -1 for none.
        Convert those of other libraries by `given_neighbors` first.
    square_distances : ndarray of shape (n, n_neighbors), float32 or float64
        Their squared distances; infinite for -1.
    weights, bandwidth, symmetrize
        See `knn_graph`.

    Returns
    -------
    csr_array of shape (n, n), dtype of the distances
        See `knn_graph`.

    Raises
    ------
    ValueError
        See `knn_graph`.

    Examples
    --------
    >>> from coterie.graphs import graph_of_neighbors, nearest_neighbors
    >>> ids, squares = nearest_neighbors([[0.0], [1.0], [3.0]], 1)
    >>> graph_of_neighbors(ids, squares, weights="distance", symmetrize="none").toarray()
    array([[0., 1., 0.],
           [1., 0., 0.],
           [0., 2., 0.]])
    """
    check_weights(weights, bandwidth, (*_WEIGHTS, SELF_TUNING))
    check_option("symmetrize", symmetrize, _SYMMETRIZE)
    if weights == SELF_TUNING:
        square_distances = _locally_scaled(ids, square_distances)
        weights, bandwidth = "gaussian", 0.5**0.5
    is_none = ids < 0
    if is_none.any():
        if bandwidth is None and weights == "gaussian" and not is_none.all():
            bandwidth = gaussian_bandwidth(square_distances[~is_none])
        square_distances = np.where(is_none, square_distances.dtype.type(0), square_distances)
    values = edge_weights(square_distances, weights, bandwidth)
    graph = _directed_graph(ids, values)
    if weights != "distance":
        graph.eliminate_zeros()
    return graph if symmetrize == "none" else _symmetric(graph, symmetrize)


def edge_weights(squares: Array, weights: Weights, bandwidth: float | None = None) -> Array:
    """Return weights of edges from their squared distances; bandwidth None is `gaussian_bandwidth` of these."""
    check_weights(weights, bandwidth)
    if callable(weights):
        return _called_weights(squares, weights)
    if weights == "binary":
        return np.ones_like(squares)
    if weights == "distance":
        return np.sqrt(squares)
    if bandwidth is None:
        bandwidth = gaussian_bandwidth(squares)
    # Edges whose weight underflows are left out.
    with np.errstate(under="ignore"):
        return np.exp(-0.5 * (np.sqrt(squares, dtype=np.float64) / bandwidth) ** 2).astype(squares.dtype)


def gaussian_bandwidth(square_distances: npt.ArrayLike) -> float:
    """Return the root mean squared distance to a neighbor, s of exp(-distance^2 / (2 s^2)); 1 if all are 0."""
    squares = np.asarray(square_distances)
    if squares.size == 0:
        raise ValueError("square_distances is empty.")
    mean = float(np.mean(squares, dtype=np.float64))
    if not np.isfinite(mean) or squares.min() < 0:
        raise ValueError("square_distances must be finite and not negative.")
    return float(np.sqrt(mean)) or 1.0


def check_weights(weights: Any, bandwidth: Any, names: Sequence[str] = _WEIGHTS) -> None:
    """Raise a ValueError unless these are valid options for edge weights."""
    if not callable(weights) and not (isinstance(weights, str) and weights in names):
        allowed = ", ".join(map(repr, names))
        raise ValueError(f"weights must be one of {allowed} or callable, got {weights!r}.")
    if bandwidth is not None and not (isinstance(bandwidth, Real) and 0 < float(bandwidth) < np.inf):
        raise ValueError(f"bandwidth must be None or a positive number, got {bandwidth!r}.")


def _locally_scaled(ids: IntArray, squares: Array) -> Array:
    """Return squared distances divided by the scales of both rows."""
    distances = np.sqrt(squares, dtype=np.float64)
    ranked = np.sort(np.where(ids < 0, -1, distances), axis=1)  # those that are missing first
    n_found = np.count_nonzero(ids >= 0, axis=1)
    n_missing, m = ids.shape[1] - n_found, ids.shape[1]
    scales = ranked[np.arange(len(ids)), np.minimum(n_missing + _SCALE_NEIGHBOR, m) - 1][:, None]
    # Among equal rows a scale can be 0.
    own, others = (np.where(s > 0, s, distances) for s in (scales, scales[ids, 0]))
    with np.errstate(invalid="ignore"):
        scaled = (distances / own) * (distances / others)
    scaled[distances == 0] = 0
    return np.where(ids < 0, np.inf, np.minimum(scaled, _MOST_DECAY)).astype(squares.dtype)


def _called_weights(squares: Array, weights: Callable[[Array], npt.ArrayLike]) -> Array:
    found = np.asarray(weights(squares.copy()))
    if found.shape != squares.shape:
        raise ValueError(f"weights returned shape {found.shape} for distances of shape {squares.shape}.")
    found = found.astype(squares.dtype)
    if not np.all(np.isfinite(found)) or found.min(initial=0) < 0:
        raise ValueError("weights returned a negative weight, or one that is not finite.")
    return found


def _directed_graph(ids: IntArray, values: Array) -> sp.csr_array:
    n, m = ids.shape
    order = np.argsort(ids, axis=1)
    indices = np.take_along_axis(ids, order, axis=1).ravel()
    starts = m * np.arange(n + 1, dtype=np.int32 if n * m <= np.iinfo(np.int32).max else np.int64)
    data = np.take_along_axis(values, order, axis=1).ravel()
    is_edge = indices >= 0
    if not is_edge.all():
        starts[1:] = np.cumsum(np.count_nonzero(ids >= 0, axis=1))
        indices, data = indices[is_edge], data[is_edge]
    graph = sp.csr_array((data, indices.astype(starts.dtype), starts), shape=(n, n))
    graph.has_canonical_format = True
    return graph


def _symmetric(graph: sp.csr_array, symmetrize: str) -> sp.csr_array:
    # SciPy drops zeros, so a number far below any other distance replaces them.
    tiny = np.finfo(graph.dtype).tiny
    zero = graph.data == 0
    graph.data[zero] = tiny
    other = sp.csr_array(graph.T)
    graph = graph.maximum(other) if symmetrize == "max" else (graph + other) * graph.dtype.type(0.5)
    if zero.any():
        graph.data[graph.data <= tiny] = 0
    graph.sort_indices()
    return graph
