"""Affinities as two matrices: the graph that rows follow, and the kernel in which modes are close to rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from coterie.rows import Block, RowSource, as_rows

__all__ = ["beside", "checked_kernel", "is_pair"]


def is_pair(X: Any) -> bool:
    """Whether X is a tuple or list of two matrices; one of two rows is none.

    Raises
    ------
    ValueError
        If X is another collection with a matrix in it.
    """
    if not isinstance(X, tuple | list):
        return False
    dimensions = [len(_shape(part)) for part in X]
    if dimensions == [2, 2]:
        return True
    if 2 in dimensions:
        raise ValueError(
            f"X must be a matrix or a pair of two matrices, (graph, kernel), got {type(X).__name__} of {len(X)} parts."
        )
    return False


def checked_kernel(kernel: Any, n: int) -> Block:
    """Return the kernel of n rows with each other, read into memory, or say why it is none.

    Parameters
    ----------
    kernel : array-like, sparse matrix, table or RowSource of shape (n, n)
        Entry (p, q) is k(x_p, x_q): any finite numbers.
    n : int
        Number of vertices of the graph.
    """
    rows = as_rows(kernel)
    if rows.shape != (n, n):
        raise ValueError(
            f"The kernel must be square with a row for each of the graph's {n} vertices, got shape {rows.shape}."
        )
    return rows.read()


def beside(X: Any, n: int) -> RowSource:
    """Return the affinities of new rows to the n rows of a fit: m rows of 2 n columns, of the graph and of the kernel.

    Parameters
    ----------
    X : pair of matrices of shape (m, n), or RowSource of shape (m, 2 n)
        The pair, or what this function made of one.
    n : int
        Rows of the fit.
    """
    if isinstance(X, RowSource) and X.shape[1] == 2 * n:
        return X
    if not is_pair(X):
        raise ValueError(
            "This model was fitted to a pair, so X must be a pair of matrices too: the new rows in the graph and in "
            f"the kernel, each with {n} columns."
        )
    graph, kernel = (as_rows(matrix) for matrix in X)
    if graph.shape != kernel.shape or graph.shape[1] != n:
        raise ValueError(
            f"Graph and kernel of new rows must have the same shape and {n} columns, got {graph.shape} and "
            f"{kernel.shape}."
        )
    blocks = graph.read(), kernel.read()
    is_sparse = any(sp.issparse(block) for block in blocks)
    return as_rows(sp.hstack(blocks, format="csr") if is_sparse else np.hstack(blocks))


def _shape(matrix: Any) -> tuple[int, ...]:
    found = getattr(matrix, "shape", None)
    return np.shape(matrix) if found is None else tuple(found)
