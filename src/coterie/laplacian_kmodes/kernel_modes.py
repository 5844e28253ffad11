"""Modes among rows that only a matrix of affinities tells of."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from coterie.arrays import Array, IndexArray, IntArray
from coterie.laplacian_kmodes.memberships import GraphMemberships
from coterie.laplacian_kmodes.modes import Modes, ModeUpdate, densest_rows, surest_members
from coterie.rows import Block

__all__ = ["KernelModes"]


class KernelModes:
    """Modes among rows that only a matrix of affinities tells of.

    Parameters
    ----------
    matrix : ndarray or csr_array of shape (n, n)
        The affinities k(x_p, x_q).
    mode_update : {"byproduct", "densest"}
        Modes are the rows with the largest memberships, or those where their cluster is densest.
    """

    rows, bandwidth = None, None

    def __init__(self, matrix: Block, *, mode_update: ModeUpdate = "byproduct") -> None:
        # A row for each row that may be a mode.
        self._candidates = matrix.T.tocsr() if sp.issparse(matrix) else matrix.T
        self._mode_update = mode_update

    def start(self, seeds: IndexArray, random: np.random.RandomState) -> Modes:
        """Return the modes at the rows of these numbers; nothing is drawn."""
        return Modes(np.empty((len(seeds), 0)), np.asarray(seeds, dtype=np.int64))

    def modes_of(self, labels: IntArray, n_clusters: int, random: np.random.RandomState) -> Modes:
        """Return the row where each cluster is densest, one of its own but with "densest"; nothing is drawn."""
        indices = np.zeros(n_clusters, dtype=np.int64)
        for cluster in range(n_clusters):
            members = np.flatnonzero(labels == cluster)
            if len(members):
                rows = np.arange(len(labels)) if self._mode_update == "densest" else members
                densities = self._candidates[rows][:, members].sum(axis=1)
                indices[cluster] = rows[np.asarray(densities).ravel().argmax()]
        return Modes(np.empty((n_clusters, 0)), indices)

    def write_affinities(self, modes: Modes, clusters: list[int], out: Array) -> None:
        """Write the affinities of all rows with the modes of some clusters to these columns of `out`, shape (n, L)."""
        for cluster in clusters:
            found = self._candidates[[modes.indices[cluster]]]
            out[:, cluster] = (found.toarray() if sp.issparse(found) else found)[0]

    def update(self, modes: Modes, memberships: GraphMemberships) -> Modes:
        """Return the rows that are the modes of the memberships; a cluster without rows keeps its mode."""
        n_clusters = len(modes.indices)
        if self._mode_update == "densest":
            found = densest_rows(np.asarray(self._candidates @ memberships.memberships), memberships)
        else:
            found = surest_members(memberships, n_clusters)
        return Modes(modes.points, np.where(found >= 0, found, modes.indices))

    def settled(self, modes: Modes, memberships: GraphMemberships) -> Modes:
        """Return the modes, which are rows."""
        return modes
