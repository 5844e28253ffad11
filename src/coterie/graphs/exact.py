"""Exact nearest rows: products find candidates, and differences give their distances, ties in the order of rows. A
bound of the rounding error of the products shows whether another row could be nearer; if so, as among many equal rows,
the row is compared with all others by differences.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from coterie import _kernels
from coterie.arrays import Array, FloatArray, IndexArray, IntArray, lanes_of
from coterie.blocks.dataset import check_squares, check_vanishing
from coterie.blocks.kernel_rows import kernel_rows
from coterie.rows import Block

IdsAndSquares = tuple[IntArray, Array]
Lists = tuple[IntArray, FloatArray]

# Candidates in addition to the neighbors: with more, fewer rows must be compared with all others.
_SPARE = 4

# The same for products of bytes, whose bounds are wider; on how many rows bytes are tried, and of which part of them
# another point may be nearer for bytes to pay.
_SPARE_OF_BYTES = 96
_JUDGED_ROWS, _MOST_WAITING = 256, 0.25

# A call compares a multiple of these rows with as many others: whole blocks for all instruction sets. How many times as
# fast as products of floats they are, and from how many columns on sums overflow.
_BYTE_ROWS, _BYTES_AT_A_TIME, _MOST_BYTE_COLUMNS = 7680, 5, 65536

# Numbers of the points from which on bytes save more than their longer lists take.
_LEAST_BYTE_NUMBERS = 8 << 20

# Points that one call of a kernel compares with rows: their panels stay in the processor's shared cache. Sparse rows
# are read once per call, so that calls have more points.
_POINT_BYTES = 4 << 20
_SPARSE_POINT_BYTES = 64 << 20

# Multiply-adds of one call, about 50 ms: Ctrl-C is handled between calls, and ten times as many are not faster. Lists
# of the nearest take as long as this number of columns.
CALL_MULTIPLY_ADDS = 4e9
_LEAST_COLUMNS = 16.0
_DIFFERENCE_BYTES = 64 << 20

# Numbers of one call of the kernel of differences, about 50 ms. If it must copy the points, there are only a few calls.
_CALL_NUMBERS, _MOST_CALLS = 2e8, 4

# Up to this number of queries are compared with all points by differences: products require packing the points first.
_FEW_QUERIES = 2


def exact_neighbors(points: Block, queries: Block | None, n_neighbors: int, n_threads: int) -> IdsAndSquares:
    """Return the nearest points of each query, or of each other point without queries, and their squared distances,
    ascending, ties by number: both (q, n_neighbors). Squares that overflow are an error.
    """
    return ExactSearch(points, n_threads).neighbors(queries, n_neighbors, n_threads)


class ExactSearch:
    """Points, dense or CSR, for one or several exact searches; dense ones are not copied."""

    method: ClassVar[str] = "exact"
    recall: ClassVar[float] = 1.0

    def __init__(self, points: Block, n_threads: int) -> None:
        self._points = points
        if sp.issparse(points):
            # Products in float64: rounding matters only among nearly equal rows.
            self._compared = points.astype(np.float64)
            with np.errstate(over="ignore"):
                self._squares = np.asarray(self._compared.multiply(self._compared).sum(axis=1)).ravel()
                check_squares((4 * self._squares).astype(points.dtype))
        else:
            # Relative to the mean, cancellation in products is least.
            self._shift = points.mean(axis=0, dtype=np.float64)
            self._compared, self._squares = relative_rows(points, self._shift, n_threads)
        check_vanishing(self._squares, points.dtype, [points])
        self._offsets = self._squares.astype(self._compared.dtype)

    def neighbors(self, queries: Block | None, n_neighbors: int, n_threads: int) -> IdsAndSquares:
        """Return the nearest points of each query, see `exact_neighbors`."""
        if sp.issparse(self._points):
            return self._sparse_neighbors(queries, n_neighbors, n_threads)
        points = self._points
        if queries is not None and len(queries) <= _FEW_QUERIES:
            relative_rows(queries, self._shift, n_threads)  # raises an error if a query is too large
            order = np.arange(len(queries))
            everything = np.tile(row_ids(len(points)), (len(queries), 1))
            return nearest_of_candidates(points, queries, everything, order, n_neighbors, n_threads)
        rows, own = (points, row_ids(len(points))) if queries is None else (queries, None)
        relative, lengths = (
            (self._compared, self._squares)
            if queries is None
            else relative_rows(queries, self._shift, n_threads)
        )
        ids = np.empty((len(rows), n_neighbors), dtype=np.int32)
        squares = np.empty(ids.shape, dtype=points.dtype)

        def search(lowest: Callable[..., Lists], waiting: IndexArray) -> IndexArray:
            """Write the nearest of the candidates of some rows; return the rows to which another may be nearer."""
            is_all, n_lists = len(waiting) == len(rows), n_neighbors + (own is not None)
            some = slice(None) if is_all else waiting
            compared = relative if is_all else relative[waiting]
            candidates, unseen = lowest(compared, lengths[some], n_lists, n_threads)
            order = np.arange(len(candidates))
            found, measured = nearest_of_candidates(points, rows[some], candidates, order, n_lists, n_threads)
            if own is not None:
                found, measured = without_self(found, measured, own[some])
            ids[some], squares[some] = found, measured
            return waiting[~(squares[some, -1] < unseen)]

        waiting = np.arange(len(rows))
        is_large = len(rows) > 8 * _JUDGED_ROWS and points.size >= _LEAST_BYTE_NUMBERS
        if is_large and is_for_bytes(points):
            judged = waiting[:: len(rows) // _JUDGED_ROWS]
            if len(search(self._nearest_by_bytes, judged)) <= _MOST_WAITING * len(judged):
                waiting = search(self._nearest_by_bytes, waiting)
        if len(waiting):
            waiting = search(self._lowest_by_products, waiting)
        if len(waiting):
            ids[waiting], squares[waiting] = neighbors_by_differences(
                points, rows[waiting], None if own is None else own[waiting], n_neighbors, n_threads
            )
        return ids, squares

    def _lowest_by_products(self, rows: Array, lengths: FloatArray, n_nearest: int, n_threads: int) -> Lists:
        """Return candidates of each row, and a lower bound of the squared distances of all other points."""
        n_candidates = min(n_nearest + _SPARE, len(self._points))
        ids, scores = lowest_scores(rows, self._compared, self._offsets, n_candidates, n_threads)
        product = 2 * (2 * rows.shape[1] + 16) * np.finfo(rows.dtype).eps / 2
        return ids, self._least_unseen(scores, lengths, product)

    def _nearest_by_bytes(self, rows: Array, lengths: FloatArray, n_nearest: int, n_threads: int) -> Lists:
        """Do the same by products of bytes: of points with each other, each pair once."""
        points, n = self._compared, len(rows)
        unit = byte_unit(points)
        limits = np.full(n + _kernels.NEAR_PADDING, np.inf, dtype=np.float32)
        uppers = np.full((n, n_nearest), np.inf, dtype=np.float32)
        lowers = np.empty((n, 2 * n_nearest + _SPARE_OF_BYTES), dtype=np.float32)
        ids, sizes = np.empty(lowers.shape, dtype=np.int32), np.zeros(n, dtype=np.int32)
        lists = limits, uppers, lowers, ids, sizes
        multiply_adds = _BYTES_AT_A_TIME * CALL_MULTIPLY_ADDS
        size = _BYTE_ROWS * math.ceil(math.sqrt(multiply_adds / points.shape[1]) / _BYTE_ROWS)
        blocks = [(first, kernel_rows(points[first : first + size])) for first in range(0, len(points), size)]
        if rows is points:
            # Pairs within blocks first: they bring the limits close to what they will be.
            for gap in range(len(blocks)):
                for (first, x), (first_point, y) in zip(blocks, blocks[gap:]):
                    _kernels.nearest_by_bytes(*lists, x, first, y, first_point, unit, True, n_threads)
        else:
            for first in range(0, n, size):
                x = kernel_rows(rows[first : first + size])
                for first_point, y in blocks:
                    _kernels.nearest_by_bytes(*lists, x, first, y, first_point, unit, False, n_threads)
        limits = limits[:n, None]
        ids[(lowers > limits) | (np.arange(ids.shape[1]) >= sizes[:, None])] = -1
        return ids, self._least_unseen(limits / unit**2, lengths, 0.0)

    def _least_unseen(self, scores: Array, squares: FloatArray, product: float) -> FloatArray:
        """Return a lower bound of the computed squared distances of the points that are not candidates. `scores` are
        the least of candidates, up to a rounding error of `product` times the lengths of row and point.
        """
        if scores.shape[1] == len(self._points):
            return np.full(len(scores), np.inf)
        n_columns, largest = self._points.shape[1], float(self._squares.max())
        unit = float(np.finfo(self._points.dtype).eps) / 2
        # The offset, its own sum in float64 and the addition to the product; see centers/assign.hpp.
        rounding = (product + 4 * unit) * np.sqrt(squares * largest) + 4 * unit * largest
        rounding += n_columns * 2.0**-52 * (largest + squares)
        lowest = np.sqrt(np.maximum(scores[:, -1].astype(np.float64) + squares - rounding, 0))
        # Rounding errors of subtracting the mean from both, and of the sum of the squared differences.
        lowest = np.maximum(lowest - 2 * unit * (np.sqrt(squares) + np.sqrt(largest)), 0)
        return lowest**2 * (1 - (n_columns + 16) * unit)

    def _sparse_neighbors(self, queries: Any, n_neighbors: int, n_threads: int) -> IdsAndSquares:
        doubles = self._compared
        rows = doubles if queries is None else queries.astype(np.float64)
        n_candidates = min(n_neighbors + (queries is None) + _SPARE, doubles.shape[0])
        size = _points_per_call(doubles, n_candidates)
        blocks = (
            (first, doubles[first : first + size].toarray(), self._offsets[first : first + size])
            for first in range(0, doubles.shape[0], size)
        )
        ids, _ = lowest_of_blocks(rows, blocks, n_candidates, n_threads)
        ids.sort(axis=1)
        squares = sparse_square_distances(doubles, rows, ids)
        order = np.argsort(squares, axis=1, kind="stable")
        ids, squares = np.take_along_axis(ids, order, axis=1), np.take_along_axis(squares, order, axis=1)
        if queries is None:
            ids, squares = without_self(ids, squares)
        found = squares[:, :n_neighbors].astype(self._points.dtype)
        return np.ascontiguousarray(ids[:, :n_neighbors]), found


def is_for_bytes(points: Array) -> bool:
    """Whether the points have as many columns as products of bytes need, where there are any."""
    return 0 < _kernels.byte_limits()[0] <= points.shape[1] <= _MOST_BYTE_COLUMNS


def byte_unit(points: Array) -> float:
    """Return the power of 2 that brings the largest coordinate close to 1."""
    return 2.0 ** -float(np.frexp(max(float(points.max()), -float(points.min())))[1])


def row_ids(n_rows: int) -> IntArray:
    """Return 0, 1, ..., n_rows - 1."""
    return np.arange(n_rows, dtype=np.int32)


def relative_rows(rows: Array, shift: FloatArray, n_threads: int) -> tuple[Array, FloatArray]:
    """Return the rows minus the shift, and their squared lengths."""
    relative, squares = np.empty_like(rows), np.empty(len(rows))
    offsets = np.empty(len(rows), dtype=rows.dtype)
    _kernels.relate_centers(rows, shift, relative, squares, offsets, n_threads)
    with np.errstate(over="ignore"):
        check_squares((4 * squares).astype(rows.dtype))
    return relative, squares


def _points_per_call(points: Block, n_candidates: int) -> int:
    """Return the number of points of a call of the kernel: whole panels, and at least the length of the lists."""
    budget = _SPARSE_POINT_BYTES if sp.issparse(points) else _POINT_BYTES
    size = max(n_candidates, budget // (points.shape[1] * points.dtype.itemsize))
    return -(-size // 64) * 64


def lowest_scores(
    queries: Array, points: Array, offsets: Array, n_candidates: int, n_threads: int
) -> tuple[IntArray, Array]:
    """Return the n_candidates points of lowest score |y|^2 - 2 x.y of each row x, and the scores, ascending. Rows and
    points are relative to the mean; `offsets` are |y|^2.
    """
    size = _points_per_call(points, n_candidates)
    blocks = (
        (first, points[first : first + size], offsets[first : first + size])
        for first in range(0, len(points), size)
    )
    return lowest_of_blocks(queries, blocks, n_candidates, n_threads)


def lowest_of_blocks(
    queries: Block, blocks: Iterator[tuple[int, Array, Array]], n_candidates: int, n_threads: int
) -> tuple[IntArray, Array]:
    """Return the points of lowest score of each row, and the scores; blocks are (first point, points, offsets)."""
    ids = np.empty((queries.shape[0], n_candidates), dtype=np.int32)
    scores = np.empty(ids.shape, dtype=queries.dtype)
    calls: list[tuple[slice, Any]] = []
    for first, points, offsets in blocks:
        if not calls:
            calls = _cut_rows(queries, len(points))
        for part, x in calls:
            _kernels.nearest(x, points, offsets, ids[part], scores[part], n_threads, first)
    return ids, scores


def _cut_rows(queries: Block, n_points: int) -> list[tuple[slice, Any]]:
    """Cut rows so that one call with this number of points is short."""
    entries = queries.nnz if sp.issparse(queries) else queries.size
    size = max(1024, int(CALL_MULTIPLY_ADDS / (n_points * max(_LEAST_COLUMNS, entries / queries.shape[0]))))
    parts = [slice(first, min(first + size, queries.shape[0])) for first in range(0, queries.shape[0], size)]
    return [(part, kernel_rows(queries[part])) for part in parts]


def without_self(ids: IntArray, squares: Array, own: IntArray | None = None) -> IdsAndSquares:
    """Drop each row from its list, or the last entry of lists without it. `own`: numbers of the rows; default: all."""
    drop = ids == (row_ids(len(ids)) if own is None else own)[:, None]
    drop[~drop.any(axis=1), -1] = True
    shape = (len(ids), ids.shape[1] - 1)
    return ids[~drop].reshape(shape), squares[~drop].reshape(shape)


def neighbors_by_differences(
    points: Array, queries: Array, own: IntArray | None, n_neighbors: int, n_threads: int
) -> IdsAndSquares:
    """Return the nearest points of some rows; own: the point that each of them is."""
    groups = np.full(len(queries), -1, dtype=np.int32) if own is None else own
    return nearest_of_other_groups(points, row_ids(len(points)), queries, groups, n_neighbors, n_threads)


def nearest_of_candidates(
    points: Array,
    queries: Array | None,
    candidates: IntArray,
    row_order: IndexArray,
    n_neighbors: int,
    n_threads: int,
) -> IdsAndSquares:
    """Return the nearest of the candidates (q, m) of each row by differences: ids and squares, -1 and infinity for
    none. `row_order` groups rows with common candidates for the cache; without queries as in `exact_neighbors`.
    """
    if queries is not None and points.shape[1] % lanes_of(points.dtype) and candidates.size < len(points):
        return _nearest_of_few(points, queries, candidates, row_order, n_neighbors, n_threads)
    rows = points if queries is None else queries
    ids = np.empty((len(rows), n_neighbors), dtype=np.int32)
    squares = np.empty(ids.shape, dtype=points.dtype)
    n_calls = int(np.ceil(candidates.size * points.shape[1] / _CALL_NUMBERS))
    for some in np.array_split(row_order, min(max(1, n_calls), _MOST_CALLS)):
        _kernels.nearest_of_candidates(
            kernel_rows(rows), points, some, candidates, queries is None, ids, squares, n_threads
        )
    return ids, squares


def _nearest_of_few(
    points: Array,
    queries: Array,
    candidates: IntArray,
    row_order: IndexArray,
    n_neighbors: int,
    n_threads: int,
) -> IdsAndSquares:
    """Do the same with only the points that occur: the kernel copies points that do not fill whole cache lines."""
    met, found = np.unique(candidates, return_inverse=True)
    n_none = int(met[0] < 0)
    places: IntArray = (found.reshape(candidates.shape) - n_none).astype(np.int32)
    met = met[n_none:] if len(met) > n_none else row_ids(1)
    few = points[met]
    ids, squares = nearest_of_candidates(few, queries, places, row_order, n_neighbors, n_threads)
    return np.where(ids < 0, np.int32(-1), met[ids]), squares


def nearest_of_other_groups(
    points: Array, point_groups: IntArray, queries: Array, groups: IntArray, n_neighbors: int, n_threads: int
) -> IdsAndSquares:
    """Return the nearest points of each row from other groups, by differences; -1 and infinity for none."""
    ids = np.empty((len(queries), n_neighbors), dtype=np.int32)
    squares = np.empty(ids.shape, dtype=points.dtype)
    size = max(64, int(CALL_MULTIPLY_ADDS / 4 / points.size))
    for first in range(0, len(queries), size):
        part = slice(first, first + size)
        _kernels.nearest_apart(
            kernel_rows(queries[part]),
            points,
            groups[part],
            point_groups,
            ids[part],
            squares[part],
            n_threads,
        )
    return ids, squares


# --- sparse rows


def sparse_square_distances(points: Any, queries: Any, ids: IntArray) -> FloatArray:
    """Return squared distances of sparse rows to the points `ids` (q, m), by differences: (q, m) float64."""
    out = np.empty(ids.shape)
    entries = max(1.0, points.nnz / points.shape[0])
    size = max(1, int(_DIFFERENCE_BYTES / (24 * entries * ids.shape[1])))
    for first in range(0, len(ids), size):
        part = slice(first, min(first + size, len(ids)))
        rows = np.repeat(np.arange(part.start, part.stop), ids.shape[1])
        difference = queries[rows] - points[ids[part].ravel()]
        squares = np.asarray(difference.multiply(difference).sum(axis=1))
        out[part] = squares.reshape(-1, ids.shape[1])
    return out
