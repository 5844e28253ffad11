"""Near-ties: exact assignment of rows that rounding may have assigned to a center that is not the nearest.

Scores are products, ||c||^2 - 2 x . c, so their errors grow with the distances of rows and centroids from the shift,
not with those between them. Where rows lie close together far away from others, that can be the larger number. How far
from its centroid a row must be for the error to be a small part of its squared distance follows from where the centroid
is (`NearTies.reaches`): rows outside that reach have the right label, and so have those nearer than half-way to
any other centroid. The rest is compared again, relative to its own centroid, in float64.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from coterie import _kernels
from coterie.arrays import Array, FloatArray, IndexArray, IntArray
from coterie.blocks.dataset import FitRows, SquareDistances
from coterie.blocks.kernel_rows import dense, kernel_rows
from coterie.cached import cached_property
from coterie.centers.frame import CenterFrame

_SPARSE = (_kernels.SparseRowsFloat32, _kernels.SparseRowsFloat64)

# Part of the squared lengths of row and centroid by which squared distances of sparse rows are off, at most.
_SPARSE_ERROR = 1e-10

# Rows whose differences from a centroid are held at a time.
_BLOCK_BYTES = 16 << 20

# Differences are scaled so that the largest is about 1; centroids farther than this are nearest to no row.
_FARTHEST = 2.0**500


class NearTies:
    """Rows whose labels rounding may have changed, for one set of centers.

    A label is wrong if another centroid is nearer by more than a part of `tolerance` of the squared distance: the
    fourth root of the unit of rounding, 1e-4 in float64 and 0.02 in float32. `reaches`, shape (k,), has the distance
    from each centroid beyond which a row can be wrong by no more than that; infinite if there is none.
    """

    def __init__(self, frame: CenterFrame, n_threads: int | None = None) -> None:
        self._frame = frame
        self._n_threads = frame.n_threads if n_threads is None else n_threads
        self._centers = frame.centers.astype(np.float64, copy=False)
        info = np.finfo(frame.centers.dtype)
        self.tolerance = float(info.eps) ** 0.25
        n_columns, unit = frame.centers.shape[1], float(info.eps) / 2
        # A sum of d products is off by at most d units, and by 6 sqrt(d) but for one time in a billion (Higham and Mary
        # 2019, theorem 2.4); then there are the roundings of the centroid, of its offset and of the last addition.
        error = 4 * (min(n_columns, 6 * np.sqrt(n_columns)) + 12) * unit
        vanishing = 8 * n_columns * float(info.smallest_subnormal)
        # If a centroid b is nearer than a, at distance q, then b is at most r + 2 q from the shift, r that of a. So the
        # scores of both have errors of at most error * (r + 2 q) * (||shift|| + r + 2 q) together: set equal to
        # tolerance * q^2.
        radii, shift = np.sqrt(frame.squares), frame.shift_norm
        quadratic = self.tolerance - 4 * error
        linear, constant = error * (2 * radii + shift), error * radii * (radii + shift) + vanishing
        with np.errstate(over="ignore"):
            roots = (linear + np.sqrt(linear**2 + max(quadratic, 0) * constant)) / max(quadratic, unit)
            self.reaches: FloatArray = roots if quadratic > 0 else np.full(len(frame), np.inf)
            self._square_reaches = self.reaches**2 * (1 + 2 * self.tolerance)
            # A row this near is at its centroid but for the rounding of the centroid itself.
            lengths = np.einsum("ij,ij->i", self._centers, self._centers)
            self._square_roundings = 16 * float(info.eps) ** 2 * lengths
        self._half_gaps = np.full(len(frame), np.nan)

    def any(self) -> bool:
        """Return whether rounding can change any label; k^2 d operations."""
        return bool(np.any(self.half_gaps(np.arange(len(self._frame))) < self.reaches))

    def half_gaps(self, clusters: IndexArray) -> FloatArray:
        """Return half the distance of some centroids to the nearest other one; less where that is not certain."""
        unknown = clusters[np.isnan(self._half_gaps[clusters])]
        step = max(1, _BLOCK_BYTES // (8 * len(self._frame)))
        relative = self._frame.relative.astype(np.float64)
        for start in range(0, len(unknown), step):
            some = unknown[start : start + step]
            lengths = self._frame.squares + self._frame.squares[some, None]
            squares = lengths - 2 * (relative[some] @ relative.T)
            squares -= 16 * np.finfo(self._frame.centers.dtype).eps * lengths
            squares[np.arange(len(some)), some] = np.inf
            if np.any(squares <= 0):  # it makes no difference to which of equal centroids a row goes
                squares[self._first_equal[some, None] == self._first_equal] = np.inf
            self._half_gaps[some] = np.sqrt(np.maximum(squares.min(axis=1), 0)) / 2
        return self._half_gaps[clusters]

    @cached_property
    def _first_equal(self) -> IndexArray:
        """Numbers that equal centroids share."""
        return np.unique(self._centers, axis=0, return_inverse=True)[1].ravel()

    def find(self, labels: IntArray, squares: FloatArray, *, is_sparse: bool = False) -> IndexArray:
        """Return the near-ties among rows with labels by their scores, and accurate squared distances to these centers.

        Squared distances of sparse rows are less accurate.
        """
        near = (squares <= self._square_reaches[labels]).nonzero()[0]
        if len(near) == 0:
            return near
        of, most = labels[near], squares[near]
        if is_sparse:
            most = most + _SPARSE_ERROR * (most + self._frame.squares[of])
        is_apart = most > self._square_roundings[of]
        near, most = near[is_apart], most[is_apart]
        if len(near) == 0:
            return near
        clusters, places = np.unique(labels[near], return_inverse=True)
        return near[np.sqrt(most) >= self.half_gaps(clusters.astype(np.intp))[places]]

    def measure(self, x: Any, labels: IntArray, squares: FloatArray) -> None:
        """Write the squared distances of the rows of a block to the centroids of their labels, accurately."""
        SquareDistances(self._centers, self._n_threads).write(x, labels, squares)

    def break_ties(
        self,
        x: Any,
        take: Callable[[IndexArray], Any],
        labels: IntArray,
        squares: FloatArray | None = None,
        first: int = 0,
    ) -> IndexArray:
        """Assign the near-ties of a block to their nearest centers; return the rows whose labels have changed.

        Labels by scores are changed in place, and the squared distances, which are measured if they are not given.
        `take` returns rows of ascending numbers, and `first` is the number of the first row of the block.
        """
        if squares is None:
            squares = np.empty(len(labels))
            self.measure(x, labels, squares)
        tied = self.find(labels, squares, is_sparse=isinstance(x, _SPARSE))
        changed = []
        step = max(1, _BLOCK_BYTES // (8 * self._centers.shape[1]))
        for start in range(0, len(tied), step):
            some = tied[start : start + step]
            rows = dense(take(first + some)).astype(np.float64)
            found, distances = labels[some], squares[some]
            self._break_ties_of(rows, found, distances)
            changed.append(some[found != labels[some]])
            labels[some], squares[some] = found, distances
        return np.concatenate([np.empty(0, dtype=np.intp), *changed])

    def _break_ties_of(self, rows: FloatArray, labels: IntArray, squares: FloatArray) -> None:
        """Compare rows with all centroids relative to their own one, until no other is nearer."""
        waiting = np.arange(len(rows))
        while len(waiting):
            before = labels[waiting]
            for cluster in np.unique(before):
                own = waiting[before == cluster]
                labels[own], squares[own] = self._nearest_from(int(cluster), rows[own])
            waiting = waiting[labels[waiting] != before]

    def _nearest_from(self, cluster: int, rows: FloatArray) -> tuple[IntArray, FloatArray]:
        """Return the centroids of some rows of a cluster, with squared distances: others where nearer."""
        n_threads = self._n_threads
        differences = rows - self._centers[cluster]
        _, exponent = np.frexp(np.abs(differences).max())
        differences = np.ldexp(differences, -exponent)
        with np.errstate(over="ignore"):
            others = np.ldexp(self._centers - self._centers[cluster], -exponent)
        others = np.clip(others, -_FARTHEST, _FARTHEST)
        frame = CenterFrame(others, np.zeros(others.shape[1]), n_threads)
        labels, scores = np.empty(len(rows), dtype=np.int32), np.empty(len(rows))
        x = kernel_rows(differences)
        frame.nearest(x, labels, scores)
        distances = SquareDistances(others, n_threads)
        found, own = np.empty(len(rows)), np.empty(len(rows))
        distances.write(x, labels, found)
        distances.write(x, np.full(len(rows), cluster, dtype=np.int32), own)
        nearer = found < (1 - self.tolerance) * own
        with np.errstate(over="ignore", under="ignore"):
            nearer &= own > np.ldexp(self._square_roundings[cluster], -2 * exponent)
            squares: Array = np.ldexp(np.where(nearer, found, own), 2 * exponent)
        return np.where(nearer, labels, np.int32(cluster)).astype(np.int32), squares


def has_near_ties(data: FitRows, frame: CenterFrame, labels: IntArray, numbers: IndexArray) -> bool:
    """Return whether there are near-ties among some rows with labels by their scores; their numbers are ascending."""
    if len(numbers) == 0:
        return False
    some, squares = labels[numbers], np.empty(len(numbers))
    near_ties = NearTies(frame, data.n_threads)
    near_ties.measure(kernel_rows(data.take(numbers)), some, squares)
    return len(near_ties.find(some, squares, is_sparse=data.rows.is_sparse)) > 0
