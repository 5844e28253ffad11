"""Assignment that skips distances by bounds; labels are those of the plain assignment."""

from __future__ import annotations

from typing import Any

import numpy as np

from coterie import _kernels
from coterie.arrays import Array, FloatArray, IndexArray, IntArray, lanes_of
from coterie.blocks.dataset import ChunkRows
from coterie.centers.frame import CenterFrame
from coterie.limits.memory import check_allocation

# Memory that the bounds of "yinyang" may take.
_BOUND_BYTES = 1 << 30

# Rows by which the length of centroids is chosen that bounds are of, and the least length.
_ROWS_OF_LENGTH = 1024
_SHORTEST = 0.1

# Range of the stored bounds in octaves, and the part of it above a typical distance, for outliers. The 26 octaves below
# are as precise as float32.
_OCTAVES, _OCTAVES_ABOVE = 32, 6


# Lower bounds are stored in 16 bits, see cpp/include/coterie/machine/stored_bounds.hpp; 0 is none.
_STORED, _NO_BOUND = np.dtype(np.uint16), 0


def bias_of_bounds(distance: float, dtype: np.dtype) -> int:
    """Return the leading bits of the least bound that is stored, for bounds of this typical size."""
    bits, dropped = (np.int32, 12) if dtype.itemsize == 4 else (np.int64, 41)
    tiny, largest = np.finfo(dtype).tiny, np.finfo(dtype).max
    least = np.clip(distance * 2.0 ** (_OCTAVES_ABOVE - _OCTAVES), tiny, largest * 2.0**-_OCTAVES)
    return int(np.array([least], dtype=dtype).view(bits)[0] >> dropped)


class BoundedAssignment:
    """Assignment that skips distances by the triangle inequality, with `n_groups` lower bounds per row: None for
    one per centroid (Elkan), else of Yinyang. With `unit_length` they are those of shortened centroids; see
    `_shorten`.
    """

    def __init__(
        self, data: ChunkRows, frame: CenterFrame, n_groups: int | None, *, unit_length: bool = False
    ) -> None:
        lanes = lanes_of(data.dtype)
        self._data = data
        self._order = panels_of_neighbors(frame.relative, lanes)
        self._slots = np.empty(len(frame), dtype=np.int32)
        filled = np.flatnonzero(self._order >= 0)
        self._slots[self._order[filled]] = filled
        self._lanes = lanes
        self._frame: CenterFrame | None = None
        # The length of the centroids that bounds are of, None where it is yet to be chosen.
        self._length: float | None = None if unit_length else 1.0
        self._bias: int | None = None  # of the bounds; chosen by the first rows
        self._n_bounded = 0
        self.labels = np.full(data.n_rows, -1, dtype=np.int32)
        self._upper = np.empty(data.n_rows, dtype=data.dtype)
        self._group(n_groups)

    @property
    def is_per_center(self) -> bool:
        """Whether there is a lower bound for each centroid."""
        return self._panels_per_group == 0

    @property
    def algorithm(self) -> str:
        """Which algorithm of `coterie.KMeans` this is."""
        return "elkan" if self.is_per_center else "yinyang"

    def _group(self, n_groups: int | None) -> None:
        n_panels = len(self._order) // self._lanes
        self._panels_per_group = 0 if n_groups is None else -(-n_panels // min(n_groups, n_panels))
        n_bounds = len(self._order) if n_groups is None else -(-n_panels // self._panels_per_group)
        self._cumulative_drift = np.zeros(n_bounds)
        self._cumulative = np.zeros(n_bounds, dtype=self._data.dtype)
        self._options: Any = None  # of the kernel, in this pass
        check_allocation(
            float(self._data.n_rows) * n_bounds * _STORED.itemsize,
            "bounds of the distances of all rows",
            "use algorithm='lloyd' (of nested k-means, bounds='off'), which has none, or a coreset",
        )
        self._lower = np.empty((self._data.n_rows, n_bounds), dtype=_STORED)

    def start(self, frame: CenterFrame) -> None:
        """Set the centroids of the next pass and add their movements."""
        if self._frame is None:
            drift = np.zeros(len(frame))
        else:
            drift = np.sqrt(frame.square_distances(self._frame) * (self._length or 1.0))
        self._frame = frame
        by_slot = np.zeros(len(self._order))
        by_slot[self._slots] = drift
        if self._panels_per_group:
            starts = np.arange(0, len(by_slot), self._lanes * self._panels_per_group)
            by_slot = np.maximum.reduceat(by_slot, starts)
        self._cumulative_drift += by_slot
        self._drift = self._rounded_up(drift)
        self._cumulative = self._rounded_up(self._cumulative_drift)
        self._options = None

    def _rounded_up(self, values: FloatArray) -> Array:
        out = (values * (1 + 1e-12)).astype(self._data.dtype)
        return np.nextafter(out, np.array(np.inf, dtype=self._data.dtype))

    def assign(self, part: slice, x: Any) -> None:
        """Bring the labels and bounds of one block up to date. Rows with bounds are the first ones of the data, because
        blocks are first met in ascending order.
        """
        assert self._frame is not None
        if self._length is None:
            self._length = self._shorten(part, x)
        if self._bias is None:
            some = self._data.squares[part][:_ROWS_OF_LENGTH]
            self._bias = bias_of_bounds(float(np.sqrt(np.median(some))), self._data.dtype)
        if self._options is None:
            self._options = _kernels.bounded_options(
                self._order, self._slots, self._panels_per_group, self._drift, self._cumulative, self._length,
                self._bias, len(self._slots) >= 2 * _kernels.byte_limits()[1],
            )  # fmt: skip
        first = part.start >= self._n_bounded
        self._n_bounded = max(self._n_bounded, part.stop)
        _kernels.bounded_assign(
            x, self._frame.exact(x), self._options, first, self._data.squares[part], self.labels[part],
            self._upper[part], self._lower[part], self._data.n_threads,
        )  # fmt: skip

    def _shorten(self, part: slice, x: Any) -> float:
        """Choose the length r to which the centroids are scaled for the bounds of rows of length 1, so that they
        move less: the cosine of typical rows. Labels are those of any r: ||x - r c||^2 / r = ||x - c||^2 + (1 -
        r)(||x||^2 - r ||c||^2) / r.
        """
        assert self._frame is not None
        n_rows = part.stop - part.start
        some = np.unique(np.linspace(0, n_rows, _ROWS_OF_LENGTH, endpoint=False).astype(np.int64))
        try:
            chosen = _kernels.select_rows(x, some)
        except ValueError:  # a selection already, of a sample, which is small at first
            chosen, some = x, np.arange(n_rows)
        squares = np.empty(len(some))
        self._frame.nearest(chosen, np.empty(len(some), dtype=np.int32), squares)
        return min(1.0, max(_SHORTEST, 1 - float(squares.mean()) / 2))

    def relabel(self, rows: IndexArray, labels: IntArray) -> None:
        """Give some rows labels that a distance did not choose; their bounds are forgotten."""
        self.labels[rows] = labels
        self._lower[rows] = _NO_BOUND
        self._upper[rows] = np.inf


def panels_of_neighbors(centers: Array, lanes: int) -> IntArray:
    """Sort centroids into panels of `lanes` neighbors, by splits at the median along the direction of greatest
    variance. Returns the centroid of each slot, ascending within a panel; -1 for the empty slots of the last panel.
    """
    n_panels = -(-len(centers) // lanes)
    order = np.full(n_panels * lanes, -1, dtype=np.int32)
    waiting = [(np.arange(len(centers)), 0, n_panels)]
    while waiting:
        members, first, count = waiting.pop()
        if count == 1:
            order[first * lanes : first * lanes + len(members)] = np.sort(members)
            continue
        half = count // 2
        sorted_members = members[np.argsort(_principal_coordinate(centers[members]), kind="stable")]
        waiting.append((sorted_members[: half * lanes], first, half))
        waiting.append((sorted_members[half * lanes :], first + half, count - half))
    return order


def _principal_coordinate(points: Array) -> FloatArray:
    """Return the coordinate of each point along (about) the direction of greatest variance: a few power steps."""
    centered = points.astype(np.float64) - points.mean(axis=0, dtype=np.float64)
    coordinate = centered @ centered[np.argmax(np.einsum("ij,ij->i", centered, centered))]
    for _ in range(8):
        direction = coordinate @ centered
        length = np.linalg.norm(direction)
        if length == 0:
            break
        coordinate = centered @ (direction / length)
    return coordinate


def n_bounds_of(algorithm: str, n_rows: int, n_clusters: int) -> int | None:
    """Return the lower bounds per row: None for one per centroid. Yinyang's ten centroids per group are a minimum."""
    if algorithm == "elkan":
        return None
    return max(1, min(n_clusters // 10, _BOUND_BYTES // (n_rows * _STORED.itemsize)))
