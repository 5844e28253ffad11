"""Checks of graphs given by users."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from coterie.arrays import Array
from coterie.rows.checks import compute_dtype

# Differences of two weights that are rounding, as shares of the largest weight, by the bytes of a weight.
_ROUNDING = {4: 1e-5, 8: 1e-10}


def check_graph(graph: Any, n: int | None = None, *, symmetric: bool = False) -> sp.csr_array:
    """Return a checked graph as CSR with sorted indices, no duplicates, float32 or float64, not copied if it is
    one; in an array 0 means no edge. Weights must be non-negative; symmetric graphs are evened out.
    """
    found = _as_csr(graph)
    n_rows, n_columns = found.shape
    if n_rows != n_columns:
        raise ValueError(f"A graph must be square, got shape {found.shape}.")
    if n is not None and n_rows != n:
        raise ValueError(f"The graph has {n_rows} vertices, but there are {n} rows.")
    _check_entries(found)
    if not symmetric or (found != found.T).nnz == 0:
        return found
    turned = sp.csr_array(found.T)
    if abs(found - turned).max() > _ROUNDING[found.dtype.itemsize] * found.data.max():
        raise ValueError(
            "The graph must be symmetric: take graph.maximum(graph.T), or their mean, of a directed one."
        )
    found = sp.csr_array((found + turned) * found.dtype.type(0.5))
    found.sort_indices()
    return found


def _as_csr(graph: Any) -> sp.csr_array:
    if not sp.issparse(graph):
        array = np.asarray(graph)
        if array.dtype.kind not in "fiub" or array.ndim != 2:
            raise TypeError(
                f"A graph must be a sparse matrix or a two-dimensional array of numbers, got {type(graph).__name__} "
                f"of {array.ndim} dimensions and dtype {array.dtype}."
            )
        return sp.csr_array(array.astype(compute_dtype(array.dtype), copy=False))
    _check_indices(graph)
    found = sp.csr_array(graph)
    found = found.astype(compute_dtype(found.dtype), copy=False)
    if not found.has_canonical_format:
        found = found.copy()
        found.sum_duplicates()
    if found.indices.dtype != np.int32 and max(found.nnz, *found.shape) <= np.iinfo(np.int32).max:
        arrays = found.data, found.indices.astype(np.int32), found.indptr.astype(np.int32)
        found = sp.csr_array(arrays, shape=found.shape)
    return found


def _check_indices(graph: Any) -> None:
    """Check the indices of a sparse matrix, which native code trusts."""
    if graph.format in ("csr", "csc"):
        starts = graph.indptr
        n_major, n_minor = graph.shape if graph.format == "csr" else graph.shape[::-1]
        if len(starts) != n_major + 1 or starts[0] != 0 or np.any(np.diff(starts) < 0):
            raise ValueError("The graph is damaged: indptr must begin with 0 and never decrease.")
        if starts[-1] > min(len(graph.indices), len(graph.data)):
            raise ValueError("The graph is damaged: indptr points behind the last entry.")
        _check_range(graph.indices[: starts[-1]], n_minor)
    elif graph.format == "coo":
        for indices, size in zip((graph.row, graph.col), graph.shape):
            _check_range(indices, size)


def _check_range(indices: Array, size: int) -> None:
    if len(indices) and (indices.min() < 0 or indices.max() >= size):
        wrong = indices[(indices < 0) | (indices >= size)][0]
        raise ValueError(f"The graph names vertex {wrong}, but its vertices are 0 to {size - 1}.")


def _check_entries(graph: sp.csr_array) -> None:
    for bad, what in (
        (~np.isfinite(graph.data), "NaN or an infinite weight"),
        (graph.data < 0, "a negative weight"),
    ):
        if bad.any():
            row = int(np.searchsorted(graph.indptr, bad.argmax(), side="right")) - 1
            raise ValueError(f"The graph has {what}. First bad row: {row}.")
