"""The nearest centroid of any rows, block by block."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from coterie.arrays import Array, FloatArray, IntArray
from coterie.blocks.dataset import SquareDistances, check_overflow, useful_n_threads
from coterie.blocks.kernel_rows import kernel_blocks, kernel_rows, rows_per_block
from coterie.centers.frame import CenterFrame
from coterie.centers.rounding import NearTies
from coterie.passes import ChunkRows, Passes
from coterie.rows import Block, RowSource


def nearest_labels(rows: RowSource, centers: Array, shift: FloatArray, n_threads: int) -> IntArray:
    """Return the nearest centroid of every row: the labels of a fit with the same shift; one pass over the data.

    Parameters
    ----------
    rows : RowSource of shape (n, d)
        The data.
    centers : ndarray of shape (k, d)
        The centroids.
    shift : ndarray of shape (d,), float64
        See `coterie.blocks.dataset.FitRows`.
    n_threads : int
        Threads of the kernels.

    Returns
    -------
    ndarray of shape (n,), int32
    """
    labels = np.empty(rows.shape[0], dtype=np.int32)
    frame = _frame(rows, centers, shift, n_threads)
    near_ties = NearTies(frame)
    # Where centroids are few beside the rows, it costs nothing to look at them first.
    certain = len(frame) ** 2 <= len(labels) and not near_ties.any()
    for part, x, block in _labeled_blocks(rows, frame, labels):
        if not certain:
            near_ties.break_ties(x, block.__getitem__, labels[part])
    return labels


def labels_and_squares(
    rows: RowSource, centers: Array, shift: FloatArray, n_threads: int
) -> tuple[IntArray, FloatArray]:
    """Return the nearest centroid of every row and the squared distance to it, accurately; one pass over the data.

    Parameters
    ----------
    rows, centers, shift, n_threads
        See `nearest_labels`.

    Returns
    -------
    labels : ndarray of shape (n,), int32
    squares : ndarray of shape (n,), float64
    """
    labels, squares = np.empty(rows.shape[0], dtype=np.int32), np.empty(rows.shape[0])
    frame = _frame(rows, centers, shift, n_threads)
    near_ties = NearTies(frame)
    for part, x, block in _labeled_blocks(rows, frame, labels):
        near_ties.measure(x, labels[part], squares[part])
        near_ties.break_ties(x, block.__getitem__, labels[part], squares[part])
        check_overflow(squares[part], part.start)
    return labels, squares


def label_all(passes: Passes, centers: Array, shift: FloatArray) -> tuple[IntArray, FloatArray]:
    """Do the same as `labels_and_squares` for all rows of a fit."""
    parts = passes.run(_label, (centers, shift))
    if len(parts) == 1:
        return parts[0]  # type: ignore[no-any-return]
    labels, squares = zip(*parts)
    return np.concatenate(labels), np.concatenate(squares)


def _label(rows: ChunkRows, params: tuple[Array, FloatArray]) -> tuple[IntArray, FloatArray]:
    centers, shift = params
    return labels_and_squares(rows.kept, centers, shift, rows.most_threads)


def squares_to_centers(rows: RowSource, centers: Array, labels: IntArray, n_threads: int) -> FloatArray:
    """Return the squared distance of every row to the centroid of its label, accurately; one pass over the data.

    Parameters
    ----------
    rows : RowSource of shape (n, d)
        The data.
    centers : ndarray of shape (k, d)
        The centroids.
    labels : ndarray of shape (n,), int32
        A centroid for each row; the label -1 stands for the first one.
    n_threads : int
        Threads of the kernel.

    Returns
    -------
    ndarray of shape (n,), float64
    """
    squares = np.empty(rows.shape[0])
    distances = SquareDistances(centers, _threads_for(rows, len(centers), n_threads))
    for part, x in kernel_blocks(rows, rows_per_block(rows, len(centers))):
        distances.write(x, np.maximum(labels[part], 0), squares[part])
    return squares


def _frame(rows: RowSource, centers: Array, shift: FloatArray, n_threads: int) -> CenterFrame:
    n_threads = _threads_for(rows, len(centers), n_threads)
    return CenterFrame(centers.astype(rows.dtype, copy=False), shift, n_threads)


def _threads_for(rows: RowSource, n_clusters: int, n_threads: int) -> int:
    return useful_n_threads(math.prod(rows.shape) * n_clusters, n_threads)


def _labeled_blocks(
    rows: RowSource, frame: CenterFrame, labels: IntArray
) -> Iterator[tuple[slice, Any, Block]]:
    """Yield (slice of the rows, kernel rows, rows) for each block once its labels are written."""
    block_rows = rows_per_block(rows, len(frame))
    scores = np.empty(min(block_rows, rows.shape[0]), dtype=rows.dtype)
    for start, block in rows.blocks(block_rows):
        part, x = slice(start, start + block.shape[0]), kernel_rows(block)
        found = scores[: part.stop - part.start]
        frame.nearest(x, labels[part], found)
        check_overflow(found, start)
        yield part, x, block
