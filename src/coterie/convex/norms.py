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
    """A norm of the kernels: the sum of the Euclidean norms of groups of columns, or the maximum norm."""

    columns: IndexArray  # (p,): the order of columns in which groups lie side by side
    group_starts: IndexArray  # (n_groups + 1,), int64: start of each group in that order
    is_maximum: bool = False  # whether the norm is the largest absolute value; there is one group then

    @property
    def is_euclidean(self) -> bool:
        """Whether it is the Euclidean norm of all columns."""
        return len(self.group_starts) == 2 and not self.is_maximum


Norm: TypeAlias = KernelNorm | NormObject


def find_norm(norm: Any, n_columns: int) -> Norm:
    """Find the norm of a parameter value: a name, an object, or groups of columns that partition all columns."""
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
