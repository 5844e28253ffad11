"""Norms of differences in the penalty of convex clustering, and the balls of their dual norms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np

from coterie.arrays import Array, IndexArray

NAMES = ("l2", "l1", "linf")


@runtime_checkable
class NormObject(Protocol):
    """Interface of a user-defined norm. Each row is one vector."""

    def value(self, vectors: Array) -> Array:
        """Return the norm of each row of an array of shape (m, p)."""

    def prox(self, vectors: Array, sigmas: Array) -> Array:
        """Return argmin_v of sigma ||v|| + 1/2 ||v - row||^2 for each row and its sigma, shape (m,)."""

    def dual_projection(self, vectors: Array, radii: Array) -> Array:
        """Return each row projected on the ball of the dual norm with its radius, shape (m,)."""


@dataclass(frozen=True)
class KernelNorm:
    """A norm that the kernels implement.

    Attributes
    ----------
    columns : ndarray of shape (p,)
        The order of columns in which groups lie side by side.
    group_starts : ndarray of shape (n_groups + 1,), int64
        Start of each group in that order. The norm is the sum of the Euclidean norms of groups.
    is_maximum : bool
        Whether the norm is the largest absolute value; there is one group then.
    """

    columns: IndexArray
    group_starts: IndexArray
    is_maximum: bool = False


Norm: TypeAlias = KernelNorm | NormObject


def find_norm(norm: Any, n_columns: int) -> Norm:
    """Return the norm for a parameter value.

    Parameters
    ----------
    norm : {"l2", "l1", "linf"}, sequence of groups, or `NormObject`
        Groups are sequences of column numbers, each column in one of them: the sum of the groups' Euclidean norms.
    n_columns : int
        Columns of the data, p.

    Returns
    -------
    KernelNorm or NormObject

    Raises
    ------
    ValueError
        If the name is unknown or groups are not a partition of the columns.

    Notes
    -----
    With one column all named norms are equal.

    Examples
    --------
    >>> from coterie.convex.norms import find_norm
    >>> find_norm([[0, 2], [1]], 3).columns.tolist()
    [0, 2, 1]
    """
    columns = np.arange(n_columns, dtype=np.int64)
    whole = np.array([0, n_columns], dtype=np.int64)
    if isinstance(norm, str):
        if norm == "l2":
            return KernelNorm(columns, whole)
        if norm == "l1":
            return KernelNorm(columns, np.arange(n_columns + 1, dtype=np.int64))
        if norm == "linf":
            return KernelNorm(columns, whole, is_maximum=True)
    elif isinstance(norm, NormObject):
        return norm
    elif isinstance(norm, Sequence) or hasattr(norm, "__len__"):
        return _grouped(norm, n_columns)
    raise ValueError(
        f"norm must be one of {', '.join(NAMES)}, groups of columns, or an object with value, prox and "
        f"dual_projection, got {norm!r}."
    )


def _grouped(groups: Any, n_columns: int) -> KernelNorm:
    try:
        parts = [np.asarray(group, dtype=np.int64).ravel() for group in groups]
    except (TypeError, ValueError):
        parts = []
    order = np.concatenate(parts) if parts else np.empty(0, dtype=np.int64)
    if not np.array_equal(np.sort(order), np.arange(n_columns)) or min(map(len, parts)) == 0:
        raise ValueError(
            f"groups must hold each column number from 0 to {n_columns - 1} once and none be empty, got {groups!r}."
        )
    return KernelNorm(order, np.cumsum([0, *map(len, parts)], dtype=np.int64))
