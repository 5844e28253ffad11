"""Modes of clusters, and what a search for them can do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np

from coterie.arrays import Array, IndexArray, IntArray
from coterie.laplacian_kmodes.memberships import GraphMemberships

__all__ = ["ModeSearch", "ModeUpdate", "Modes", "densest_rows", "surest_members"]

ModeUpdate = Literal["byproduct", "mean_shift", "densest"]


@dataclass(frozen=True)
class Modes:
    """The modes of a clustering.

    Attributes
    ----------
    points : ndarray of shape (L, d)
        The modes; of shape (L, 0) where rows have no coordinates.
    indices : ndarray of shape (L,), int64
        Which rows they are; -1 for none.
    """

    points: Array
    indices: IndexArray

    def moved_since(self, former: Modes) -> list[int]:
        """Return the clusters whose modes are others than they were."""
        moved = (self.indices != former.indices) | np.any(self.points != former.points, axis=1)
        return [int(cluster) for cluster in np.flatnonzero(moved)]


class ModeSearch(Protocol):
    """Where modes come from, and how close rows are to them."""

    @property
    def rows(self) -> Any:
        """The rows; None where only their affinities are known."""

    @property
    def bandwidth(self) -> float | None:
        """s of the kernel of the modes, where it is a Gaussian."""

    def start(self, seeds: Array, random: np.random.RandomState) -> Modes:
        """Return the modes that a run begins with; seeds are centres, or numbers of rows without coordinates."""

    def modes_of(self, labels: IntArray, n_clusters: int, random: np.random.RandomState) -> Modes:
        """Return the modes that a run with these clusters begins with."""

    def write_affinities(self, modes: Modes, clusters: list[int], out: Array) -> None:
        """Write the kernel of all rows with the modes of some clusters to these columns of `out`, shape (n, L)."""

    def update(self, modes: Modes, memberships: GraphMemberships) -> Modes:
        """Return the modes of the memberships; a cluster without rows keeps its own."""

    def settled(self, modes: Modes, memberships: GraphMemberships) -> Modes:
        """Return the modes of memberships that are all sure, near those that their clusters begin with."""


def surest_members(memberships: GraphMemberships, n_clusters: int) -> IndexArray:
    """Return the row with the largest membership of each cluster (Eq. 11), -1 where it has none."""
    labels = memberships.labels
    order = np.lexsort((memberships.rests, labels))
    firsts = np.searchsorted(labels[order], np.arange(n_clusters + 1))
    found = np.full(n_clusters, -1, dtype=np.int64)
    filled = firsts[:-1] < firsts[1:]
    found[filled] = order[firsts[:-1][filled]]
    return found


def densest_rows(densities: Array, memberships: GraphMemberships) -> IndexArray:
    """Return the row where the density of each cluster is highest (Eq. 1), -1 where the cluster has no rows.

    Parameters
    ----------
    densities : ndarray of shape (n, L)
        Sum over all rows p of z_pl k(x_p, y), for each row y.
    memberships : GraphMemberships
        Whose labels tell which clusters have rows.
    """
    sizes = np.bincount(memberships.labels, minlength=densities.shape[1])
    return np.where(sizes > 0, densities.argmax(axis=0), -1)
