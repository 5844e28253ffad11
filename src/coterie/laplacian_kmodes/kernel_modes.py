"""Modes among rows that only a matrix of affinities tells of."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from coterie.arrays import Array, IndexArray
from coterie.laplacian_kmodes.memberships import GraphMemberships
from coterie.laplacian_kmodes.modes import Modes, surest_members

__all__ = ["KernelModes"]


class KernelModes:
    """Modes among rows that only a matrix of affinities tells of.

    Parameters
    ----------
    matrix : csr_array of shape (n, n)
        The affinities.
    """

    rows, bandwidth = None, None

    def __init__(self, matrix: sp.csr_array) -> None:
        self._matrix = matrix

    def start(self, seeds: IndexArray, random: np.random.RandomState) -> Modes:
        """Return the modes at the rows of these numbers; nothing is drawn."""
        return Modes(np.empty((len(seeds), 0)), np.asarray(seeds, dtype=np.int64))

    def write_affinities(self, modes: Modes, clusters: list[int], out: Array) -> None:
        """Write the affinities of all rows with the modes of some clusters to these columns of `out`, shape (n, L)."""
        for cluster in clusters:
            out[:, cluster] = self._matrix[[modes.indices[cluster]]].toarray()[0]

    def update(self, modes: Modes, memberships: GraphMemberships) -> Modes:
        """Return the rows with the largest memberships; a cluster without rows keeps its mode."""
        found = surest_members(memberships, len(modes.indices))
        return Modes(modes.points, np.where(found >= 0, found, modes.indices))
