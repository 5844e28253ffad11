"""The weights of convex clustering: a graph of rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.spatial.distance import pdist

from coterie.arrays import Array, IndexArray, IntArray
from coterie.fitting.checks import warn
from coterie.graphs import knn_graph
from coterie.graphs.bridges import bridge_components
from coterie.graphs.checks import check_graph

# Name of the decay chosen from the distances in the graph.
AUTO = "auto"

# Ratio of the weights of long and short edges; the quantiles of the squared distances that define them; and the least
# weight of an edge, relative to the largest.
_FALL, _SHORT, _LONG = 0.5, 0.1, 0.9
_LEAST_WEIGHT = 0.01

# Squared distances that differ by less than this share of them are taken to be equal.
_LEAST_SPREAD = 0.01


def weight_graph(
    X: Array,
    *,
    kind: str,
    n_neighbors: int,
    decay: float | str,
    connect: bool | None = None,
    graph: Any = None,
    random_state: Any = None,
    n_threads: int = 1,
) -> tuple[sp.csr_array, float | None]:
    """Build the symmetric graph of weights; return it with the decay (None with a given graph). Decay "auto":
    exp(-decay (d^2 - m)), at least 0.01, m the least d^2 (Touw, Groenen and Terada 2022); decay halves weights from the
    10% to the 90% quantile of d^2. Equal rows have heavy edges that keep them fused.
    """
    if kind == "precomputed":
        found = check_graph(graph, len(X), symmetric=True)
        if connect:
            least = found.data[found.data > 0].min(initial=1.0)
            found = bridge_components(found, X, lambda squares: np.full_like(squares, least), n_threads)
        return found, None
    is_relative = isinstance(decay, str)
    connect = is_relative if connect is None else connect
    rows, scale = without_units(X) if is_relative else (X, 1.0)
    groups: IndexArray | None = None
    heads: IndexArray | IntArray
    tails: IndexArray | IntArray
    if kind == "dense":
        heads, tails = np.triu_indices(len(X), 1)
        squares = pdist(rows, "sqeuclidean")
    else:
        if is_relative:
            rows, groups = distinct_rows(rows)
        heads, tails, squares = _edges_to_neighbors(rows, n_neighbors, connect, random_state, n_threads)
    weights, found_decay = weights_of_edges(squares, decay, X.dtype, needs_all=False)
    if connect:
        weights = np.maximum(weights, np.finfo(X.dtype).tiny)
    if groups is not None:
        return _of_all_copies(heads, tails, weights, groups, X.dtype), found_decay / scale**2
    return _graph_of(heads, tails, weights, len(X), X.dtype), found_decay / scale**2


def weights_of_edges(
    squares: Array, decay: float | str, dtype: npt.DTypeLike = np.float64, *, needs_all: bool
) -> tuple[Array, float]:
    """Return the weights of edges of these squared lengths, and the decay. Weights that underflow are a warning, or an
    error if all do or `needs_all` (edges of a tree).
    """
    if isinstance(decay, str):
        return _relative_weights(squares.astype(np.float64))
    with np.errstate(over="ignore", under="ignore"):
        weights = np.exp(-decay * squares).astype(dtype)
    n_lost = int(np.count_nonzero(weights == 0))
    if n_lost:
        longest = float(squares.max())
        keeps = -np.log(np.finfo(dtype).tiny) / longest
        lost = "all" if n_lost == len(weights) else f"{n_lost} of {len(weights)}"
        message = (
            f"With distance_decay={decay:g} {lost} weights exp(-decay d^2) underflow to 0, for squared distances of up "
            f'to {longest:.3g}: distance_decay={keeps:.2g} would keep them, and distance_decay="auto" fits any units.'
        )
        if needs_all:
            raise ValueError(f"{message} Without these edges the tree is not connected.")
        if n_lost == len(weights):
            raise ValueError(message)
        warn(message)
    return weights, float(decay)


def distinct_rows(rows: Array) -> tuple[Array, IndexArray]:
    """Return the distinct rows, in an order that depends only on them, and the index of each row in them."""
    whole = np.ascontiguousarray(rows + rows.dtype.type(0))  # -0 and 0 have the same bytes then
    as_bytes = whole.view(np.dtype((np.void, whole.dtype.itemsize * whole.shape[1]))).ravel()
    _, first, places = np.unique(as_bytes, return_index=True, return_inverse=True)
    return whole[first], places


def without_units(X: Array) -> tuple[Array, float]:
    """Return the centered rows divided by a power of two that makes them less than 1, and that power."""
    centered = X - X.mean(axis=0, dtype=np.float64)
    _, exponent = np.frexp(np.abs(centered).max(initial=0.0))
    # The objective is in squares of the units.
    limits = np.finfo(np.float64)
    if 2 * exponent >= limits.maxexp:
        raise ValueError("X is too large for float64: squared distances overflow.")
    if 2 * exponent <= limits.minexp and np.any(centered):
        raise ValueError(
            "The rows of X differ too little for float64: squared distances vanish. Multiply X by a power of 2."
        )
    scale = float(np.ldexp(1.0, int(exponent)))
    return np.ascontiguousarray((centered / scale).astype(X.dtype)), scale


def _edges_to_neighbors(
    rows: Array, n_neighbors: int, connect: bool, random_state: Any, n_threads: int
) -> tuple[IntArray, IntArray, Array]:
    """Return the ends and the squared lengths of the edges, each once."""
    if len(rows) == 1:
        return np.empty(0, dtype=np.int32), np.empty(0, dtype=np.int32), np.empty(0)
    least = np.finfo(rows.dtype).tiny

    def squares(found: Array) -> Array:
        return np.maximum(found, least)  # an edge of weight 0 is none

    k = min(n_neighbors, len(rows) - 1)
    graph = knn_graph(rows, k, weights=squares, random_state=random_state, n_threads=n_threads)
    if connect:
        graph = bridge_components(graph, rows, squares, n_threads)
    upper = sp.coo_array(sp.triu(graph, 1))
    return upper.row, upper.col, upper.data


def _relative_weights(squares: Array) -> tuple[Array, float]:
    """Return weights from 0.01 to 1 and decay."""
    apart = squares[squares > 0]
    if len(apart) == 0:
        return np.ones(len(squares)), 0.0
    short, long = np.quantile(apart, [_SHORT, _LONG])
    decay = float(-np.log(_FALL) / (long - short)) if long - short > _LEAST_SPREAD * long else 0.0
    beyond = np.maximum(squares - apart.min(), 0)
    return np.exp(np.maximum(-decay * beyond, np.log(_LEAST_WEIGHT))), decay


def _of_all_copies(
    heads: IndexArray | IntArray, tails: IndexArray | IntArray, weights: Array, groups: IndexArray, dtype: Any
) -> sp.csr_array:
    """Give each of several equal rows its own edges, and an edge to the first of them."""
    counts = np.bincount(groups)
    members, starts = np.argsort(groups, kind="stable"), np.cumsum(counts) - counts
    # An edge is repeated for each copy of its more frequent end; the remainder goes to different copies each time.
    times = np.maximum(counts[heads], counts[tails])
    of_edge = np.repeat(np.arange(len(heads)), times)
    turn = np.arange(len(of_edge)) - np.repeat(np.cumsum(times) - times, times) + of_edge
    ends = [members[starts[side][of_edge] + turn % counts[side][of_edge]] for side in (heads, tails)]
    # A copy has at most one edge more to another row than the other copies: the force that separates it from their mean
    # is less than the weight of one edge to each of these rows, which an edge of that weight compensates.
    degrees = np.bincount(heads, weights, len(counts)) + np.bincount(tails, weights, len(counts))
    others = np.delete(members, starts)
    holding = np.where(degrees > 0, degrees, 1.0)[groups[others]]
    return _graph_of(
        np.concatenate([ends[0], members[starts[groups[others]]]]),
        np.concatenate([ends[1], others]),
        np.concatenate([weights[of_edge], holding]),
        len(groups),
        dtype,
    )


def _graph_of(heads: Any, tails: Any, weights: Array, n: int, dtype: Any) -> sp.csr_array:
    ends = np.concatenate([heads, tails]), np.concatenate([tails, heads])
    graph = sp.coo_array((np.concatenate([weights, weights]).astype(dtype), ends), shape=(n, n)).tocsr()
    graph.sort_indices()
    return graph
