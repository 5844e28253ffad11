"""Modes of clusters: rows with the largest memberships, or mean shifts (Eqs. 9 and 11)."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from coterie.arrays import Array, FloatArray, IndexArray, IntArray
from coterie.centers.labels import nearest_labels
from coterie.laplacian_kmodes.memberships import GraphMemberships
from coterie.rows import Block, as_rows

ModeUpdate = Literal["byproduct", "mean_shift"]

# A mean shift ends when a mode moves by less than this, relative to the bandwidth, or after this number of steps.
_SMALLEST_SHIFT, _MOST_SHIFTS = 1e-3, 20

# Rows of a block, which stays in the cache.
_ROWS_PER_PART = 1024

# Multiply-adds up to which one thread is faster.
_SMALL_WORK = 2**24

# Rows of a cluster among which its densest one is found; a random sample of more.
_DENSITY_SAMPLE = 1000


@dataclass(frozen=True)
class Modes:
    """The modes of a clustering."""

    points: Array  # (L, d): the modes; of shape (L, 0) where rows have no coordinates
    indices: IndexArray  # (L,), int64: row numbers; -1 for a mode that is not a row

    def moved_since(self, former: Modes) -> list[int]:
        """Return the clusters whose modes have changed."""
        moved = (self.indices != former.indices) | np.any(self.points != former.points, axis=1)
        return [int(cluster) for cluster in np.flatnonzero(moved)]


def surest_members(memberships: GraphMemberships, n_clusters: int) -> IndexArray:
    """Return the row with the largest membership of each cluster (Eq. 11), -1 where it has none."""
    labels = memberships.labels
    order = np.lexsort((memberships.rests, labels))
    firsts = np.searchsorted(labels[order], np.arange(n_clusters + 1))
    found = np.full(n_clusters, -1, dtype=np.int64)
    filled = firsts[:-1] < firsts[1:]
    found[filled] = order[firsts[:-1][filled]]
    return found


def cluster_means(rows: Block, labels: IntArray, n_clusters: int) -> Array:
    """Return the mean of each cluster's rows, in their dtype; 0 for a cluster without rows."""
    members = sp.csr_array(
        (np.ones(len(labels)), (labels, np.arange(len(labels)))), (n_clusters, len(labels))
    )
    sums = members @ rows
    sizes = np.maximum(np.bincount(labels, minlength=n_clusters), 1)
    return ((sums.toarray() if sp.issparse(sums) else sums) / sizes[:, None]).astype(rows.dtype)


class VectorModes:
    """Modes among vectors, with the kernel exp(-||x - m||^2 / (2 s^2)): the rows with the largest memberships
    ("byproduct"), or the ends of mean shifts.
    """

    def __init__(self, rows: Block, bandwidth: float, *, mode_update: ModeUpdate, n_threads: int) -> None:
        self.rows = rows
        self.bandwidth: float = bandwidth
        self._mode_update, self._n_threads = mode_update, n_threads
        self._pool: ThreadPoolExecutor | None = None

    def start(self, seeds: Array, random: np.random.RandomState) -> Modes:
        """Return initial modes: the centers, or the densest rows of their Voronoi cells."""
        nowhere = np.full(len(seeds), -1, dtype=np.int64)
        if self._mode_update == "mean_shift":
            return Modes(seeds, nowhere)
        shift = np.zeros(seeds.shape[1])
        labels = nearest_labels(as_rows(self.rows), seeds, shift, self._n_threads)
        return self._at_densest(Modes(seeds, nowhere), labels, random)

    def modes_of(self, labels: IntArray, n_clusters: int, random: np.random.RandomState) -> Modes:
        """Return initial modes of these clusters: their means, or their densest rows."""
        modes = Modes(cluster_means(self.rows, labels, n_clusters), np.full(n_clusters, -1, dtype=np.int64))
        if self._mode_update == "mean_shift":
            return modes
        return self._at_densest(modes, labels, random)

    def write_affinities(self, modes: Modes, clusters: list[int], out: Array) -> None:
        """Write the kernel of all rows with the modes of some clusters to these columns of `out`, shape (n, L)."""

        def write(part: slice, _: Array, affinities: Array) -> None:
            out[part, clusters] = affinities

        self._for_parts(modes.points[clusters], write)

    def update(self, modes: Modes, memberships: GraphMemberships) -> Modes:
        """Return the modes of the memberships; an empty cluster keeps its mode."""
        if self._mode_update == "mean_shift":
            return Modes(self._shifted(modes.points, memberships.memberships), modes.indices)
        return self._at_rows(modes, surest_members(memberships, len(modes.points)))

    def _at_densest(self, modes: Modes, labels: IntArray, random: np.random.RandomState) -> Modes:
        n_clusters = len(modes.points)
        indices = np.array([self._densest(np.flatnonzero(labels == c), random) for c in range(n_clusters)])
        return self._at_rows(modes, indices)

    def _at_rows(self, modes: Modes, indices: IndexArray) -> Modes:
        found = indices >= 0
        points, rows = modes.points.copy(), self.rows[indices[found]]
        points[found] = rows.toarray() if sp.issparse(rows) else rows
        return Modes(points, np.where(found, indices, modes.indices))

    def _densest(self, members: IndexArray, random: np.random.RandomState) -> int:
        """Return the member with the largest sum of kernels with the others (the model's definition of a mode)."""
        if len(members) == 0:
            return -1
        if len(members) > _DENSITY_SAMPLE:
            members = np.sort(random.choice(members, _DENSITY_SAMPLE, replace=False))
        from sklearn.metrics.pairwise import euclidean_distances  # slow to import, and only used here

        squares = euclidean_distances(self.rows[members], squared=True)
        return int(members[np.exp(squares / (-2 * self.bandwidth**2)).sum(axis=1).argmax()])

    def _shifted(self, points: Array, memberships: Array) -> Array:
        """Move each mode to the weighted mean of the rows until it converges (mean shift)."""
        points = points.copy()
        moving = np.arange(len(points))
        for _ in range(_MOST_SHIFTS):
            sums, masses = self._weighted_sums(points[moving], memberships, moving)
            moving, sums, masses = moving[masses > 0], sums[masses > 0], masses[masses > 0]
            before, points[moving] = points[moving], sums / masses[:, None]
            steps = np.linalg.norm(points[moving] - before, axis=1)
            moving = moving[steps > _SMALLEST_SHIFT * self.bandwidth]
            if len(moving) == 0:
                break
        return points

    def _weighted_sums(
        self, points: Array, memberships: Array, clusters: IndexArray
    ) -> tuple[FloatArray, FloatArray]:
        """Sum rows with weights z k(x, m), and the weights, for some clusters with modes at the points."""

        def sums(part: slice, rows: Array, affinities: Array) -> tuple[FloatArray, FloatArray]:
            weights = affinities * memberships[part, clusters]
            return (weights.T @ rows).astype(np.float64), weights.sum(axis=0, dtype=np.float64)

        # Parts are summed in their order, for any number of threads.
        parts, origin = self._for_parts(points, sums), points.mean(axis=0)
        masses = np.sum([mass for _, mass in parts], axis=0)
        return np.sum([total for total, _ in parts], axis=0) + masses[:, None] * origin, masses

    def _for_parts(self, points: Array, do: Callable[[slice, Array, Array], Any]) -> list[Any]:
        """Apply `do` to each block: slice, rows relative to the mean of the points, and kernel with the points."""
        center = points.mean(axis=0)
        relative = points - center
        norms = np.einsum("ij,ij->i", relative, relative)

        def one(start: int) -> Any:
            rows = self.rows[start : start + _ROWS_PER_PART]
            rows = (rows.toarray() if sp.issparse(rows) else rows) - center
            squares = np.einsum("ij,ij->i", rows, rows)[:, None] + norms - 2 * (rows @ relative.T)
            affinities = np.exp(np.maximum(squares, 0) / (-2 * self.bandwidth**2))
            return do(slice(start, start + len(rows)), rows, affinities)

        return self._map(one, len(points))

    def _map(self, one: Callable[[int], Any], n_points: int) -> list[Any]:
        """Apply `one` to the first row of each block."""
        starts = range(0, self.rows.shape[0], _ROWS_PER_PART)
        if self._n_threads == 1 or self.rows.shape[0] * self.rows.shape[1] * n_points <= _SMALL_WORK:
            return [one(start) for start in starts]
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self._n_threads)
        return list(self._pool.map(one, starts))


class KernelModes:
    """Modes among rows that are given only by a symmetric graph of affinities: mean shifts need coordinates."""

    rows: Any = None
    bandwidth: float | None = None

    def __init__(self, affinities: sp.csr_array) -> None:
        self._affinities = affinities

    def start(self, seeds: IndexArray, random: np.random.RandomState) -> Modes:
        """Return the modes at these rows."""
        return Modes(np.empty((len(seeds), 0)), np.asarray(seeds, dtype=np.int64))

    def modes_of(self, labels: IntArray, n_clusters: int, random: np.random.RandomState) -> Modes:
        """Return the densest row of each cluster."""
        indices = np.zeros(n_clusters, dtype=np.int64)
        for cluster in range(n_clusters):
            members = np.flatnonzero(labels == cluster)
            if len(members):
                densities = self._affinities[members][:, members].sum(axis=1)
                indices[cluster] = members[np.asarray(densities).ravel().argmax()]
        return Modes(np.empty((n_clusters, 0)), indices)

    def write_affinities(self, modes: Modes, clusters: list[int], out: Array) -> None:
        """Write the affinities of all rows with the modes of some clusters to these columns of `out`, shape (n, L)."""
        for cluster in clusters:
            out[:, cluster] = self._affinities[[modes.indices[cluster]]].toarray()[0]

    def update(self, modes: Modes, memberships: GraphMemberships) -> Modes:
        """Return the modes of the memberships; an empty cluster keeps its mode."""
        found = surest_members(memberships, len(modes.indices))
        return Modes(modes.points, np.where(found >= 0, found, modes.indices))


ModeSearch = VectorModes | KernelModes
