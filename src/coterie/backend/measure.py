"""Measure the rows of a backend: the shift, the squared distances to it, and the variance of the columns."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from coterie.arrays import Array, FloatArray, IndexArray, IntArray
from coterie.backend.backend import Backend, Chunk, LocalBackend
from coterie.blocks.dataset import (
    ChunkRows,
    check_squares,
    check_vanishing,
    squares_to_point,
    total_weight,
    useful_n_threads,
    weighted_sum,
)
from coterie.blocks.kernel_rows import dense, kept_rows, kernel_rows
from coterie.blocks.measures import digits_lost, robust_shift, sample_positions, typical_square
from coterie.rows import RowSource

# Share of the standard deviation of a column that sums on workers may lose.
_MOST_LOST = 1e-6


@dataclass(frozen=True)
class MeasuredRows:
    """The rows of a backend as a whole, for seedings and solvers.

    Attributes
    ----------
    backend : Backend
        The rows.
    n_threads : int
        Threads of the kernels in this process; small data get one.
    total_weight : float
        Sum of the weights.
    shift : ndarray of shape (d,), float64
        The mean of the rows (0 for sparse rows); see `coterie.blocks.measures.robust_shift` for the exception.
    total_square : float
        Weighted sum of the squared distances to the shift.
    mean_variance : float
        Mean over the columns of their variances.
    has_far_rows : bool
        Whether some rows are so far out that in sums over all rows, in float64, the others are lost to rounding. Then
        `mean_variance` is that of the others.
    largest_square : float
        The largest squared distance to the shift.
    """

    backend: Backend
    n_threads: int
    total_weight: float
    shift: FloatArray
    total_square: float
    mean_variance: float
    has_far_rows: bool
    largest_square: float

    @property
    def rows(self) -> RowSource:
        """The rows."""
        return self.backend.rows

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.backend.n_rows

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return self.backend.n_columns

    @property
    def dtype(self) -> np.dtype[Any]:
        """float32 or float64."""
        return self.backend.dtype

    @property
    def weights(self) -> Array | None:
        """Weights of the rows; None for 1."""
        return self.backend.weights

    def in_this_process(self) -> ChunkRows:
        """Return the rows of a backend of this process, all in one chunk."""
        assert self.backend.is_here
        rows: ChunkRows = self.backend.run(_chunk_in_this_process)[0]
        return rows

    def own_square_distances(self, centers: FloatArray, labels: IntArray) -> FloatArray:
        """Return the squared distance of every row to centers[label], accurately: 8 bytes a row."""
        given = np.split(labels, self.backend.firsts[1:-1])
        return np.concatenate(self.backend.run(_own_squares, centers, given=given))


def measure(backend: Backend, n_clusters: int) -> MeasuredRows:
    """Measure the rows of a backend: two passes, and a third in rare cases.

    Each chunk keeps its rows in `chunk.state` as a `coterie.blocks.dataset.ChunkRows`, see `rows_of`.

    Parameters
    ----------
    backend : Backend
        The rows.
    n_clusters : int
        Sets the number of rows of a block.

    Raises
    ------
    ValueError
        If squared distances overflow or vanish in the dtype of the rows, or most rows are lost in sums on workers.
    """
    n_rows, n_columns, is_sparse = backend.n_rows, backend.n_columns, backend.rows.is_sparse
    samples = split_by_chunk(backend, sample_positions(n_rows))

    def mean_row() -> FloatArray:
        sums = backend.run(_sum_of_rows, n_clusters)
        return (sums[0] if len(sums) == 1 else np.sum(sums, axis=0)) / n_rows

    def squares_to(point: FloatArray) -> tuple[float, float, float, FloatArray]:
        payload = {"point": point, "n_clusters": n_clusters}
        found = backend.run(_measure_from, payload, given=samples, writes="rows", renews=True)
        totals, weighted, largest, some = zip(*found)
        return float(np.sum(totals)), float(np.sum(weighted)), max(largest), np.concatenate(some)

    def take_some(places: IndexArray) -> Any:
        return backend.take(sample_positions(n_rows)[places])

    shift = mean = np.zeros(n_columns) if is_sparse else mean_row()
    total, weighted, largest, some = squares_to(shift)
    middle = None if is_sparse else robust_shift(take_some, mean, some, backend.dtype)
    if middle is not None:
        shift = middle
        total, weighted, largest, some = squares_to(shift)
    check_differences(backend, largest)
    most = digits_lost(np.float64) * typical_square(some)
    has_far_rows = 0 < most < largest
    if has_far_rows:
        sums, counts = zip(*backend.run(_squares_below, most))
        variance = float(np.sum(sums)) / max(1, int(np.sum(counts))) / n_columns
    else:
        mean = mean_row() if is_sparse else mean
        variance = (total / n_rows - float(np.sum((mean - shift) ** 2))) / n_columns
    _check_resolution(backend, largest, some)
    return MeasuredRows(
        backend,
        useful_n_threads(n_rows * n_columns * n_clusters, backend.n_threads),
        total_weight(n_rows, backend.weights),
        shift,
        weighted,
        variance,
        has_far_rows,
        largest,
    )


def measure_rows(
    rows: RowSource, weights: npt.ArrayLike | None = None, *, n_clusters: int, n_threads: int | None
) -> MeasuredRows:
    """Measure rows in this process; see `measure`."""
    return measure(LocalBackend(rows, weights, n_threads), n_clusters)


def largest_square(backend: Backend, point: FloatArray) -> float:
    """Return the largest squared distance of the rows to a point, in one pass.

    Raises
    ------
    ValueError
        If squared distances overflow in the dtype of the rows, or most rows are lost in sums on workers.
    """
    given = split_by_chunk(backend, sample_positions(backend.n_rows))
    largest, some = zip(*backend.run(_largest_square, point, given=given))
    _check_resolution(backend, max(largest), np.concatenate(some))
    return float(max(largest))


def _check_resolution(backend: Backend, largest: float, some: FloatArray) -> None:
    """Raise a ValueError if distant rows make sums on workers lose the digits of the others."""
    farthest, weight = float(np.sqrt(largest)), total_weight(backend.n_rows, backend.weights)
    resolution = backend.total((1,), 2 * weight * farthest).resolution
    if resolution > 0:
        spread = float(np.sqrt(np.median(some) / backend.n_columns))
        if 0 < _MOST_LOST * spread * weight / backend.n_rows < resolution:
            raise ValueError(
                f"Some rows of X are so far away ({farthest:.3g}) that sums on a cluster lose the digits of others: "
                "leave these rows out, or fit all rows on one machine."
            )


def rows_of(chunk: Chunk) -> ChunkRows:
    """Return the measured rows of a chunk."""
    rows: ChunkRows = chunk.state["rows"]
    return rows


def kept_rows_of(chunk: Chunk) -> RowSource:
    """Return the rows of a chunk for repeated reads; see `coterie.blocks.kernel_rows.kept_rows`."""
    if "rows" in chunk.state:
        return rows_of(chunk).rows
    if "kept" not in chunk.state:
        chunk.state["kept"] = kept_rows(chunk.rows, chunk.n_threads)
    kept: RowSource = chunk.state["kept"]
    return kept


def split_by_chunk(backend: Backend, numbers: IndexArray) -> list[IndexArray]:
    """Return ascending numbers of rows as positions in each chunk."""
    ends = np.searchsorted(numbers, backend.firsts).tolist()
    return [numbers[low:high] - first for low, high, first in zip(ends, ends[1:], backend.firsts)]


def check_differences(backend: Backend, largest: float) -> None:
    """Raise a ValueError if rows differ although the largest squared distance between them has no digits."""
    if largest < float(np.finfo(backend.dtype).tiny):
        first = dense(backend.take(np.zeros(1, dtype=np.intp)))
        backend.run(_check_vanishing, {"first": first, "largest": largest})


def _check_vanishing(chunk: Chunk, payload: dict[str, Any], _: Any, __: Any) -> None:
    blocks = (block for _, block, _ in chunk.blocks())
    check_vanishing(np.array([payload["largest"]]), chunk.rows.dtype, chain([payload["first"]], blocks))


def _chunk_in_this_process(chunk: Chunk, _: Any, __: Any, ___: Any) -> ChunkRows:
    return rows_of(chunk)


def _chunk_rows(chunk: Chunk, n_clusters: int) -> ChunkRows:
    if "rows" not in chunk.state:
        chunk.state["rows"] = ChunkRows(
            chunk.rows, chunk.weights, n_clusters=n_clusters, n_threads=chunk.n_threads, first=chunk.first
        )
    return rows_of(chunk)


def _sum_of_rows(chunk: Chunk, n_clusters: int, _: Any, __: Any) -> FloatArray:
    return _chunk_rows(chunk, n_clusters).sum_of_rows()


def _measure_from(
    chunk: Chunk, payload: dict[str, Any], some: IndexArray, _: Any
) -> tuple[float, float, float, FloatArray]:
    rows = _chunk_rows(chunk, payload["n_clusters"])
    exact = rows.measure_from(payload["point"])
    return float(np.sum(exact)), weighted_sum(exact, rows.weights), float(exact.max()), exact[some]


def _largest_square(chunk: Chunk, point: FloatArray, some: IndexArray, _: Any) -> tuple[float, FloatArray]:
    exact = np.empty(chunk.rows.shape[0])
    for start, block, _weights in chunk.blocks():
        part = slice(start, start + block.shape[0])
        exact[part] = squares_to_point(kernel_rows(block), block.shape[0], point, chunk.n_threads)
    with np.errstate(over="ignore"):
        check_squares(exact.astype(chunk.rows.dtype), chunk.first)
    return float(exact.max()), exact[some]


def _squares_below(chunk: Chunk, largest: float, _: Any, __: Any) -> tuple[float, int]:
    rows = rows_of(chunk)
    exact = rows.measure_from(rows.shift)
    below = exact[exact <= largest]
    return float(below.sum()), len(below)


def _own_squares(chunk: Chunk, centers: FloatArray, labels: IntArray, _: Any) -> FloatArray:
    return rows_of(chunk).own_square_distances(centers, labels)
