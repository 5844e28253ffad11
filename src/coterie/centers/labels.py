"""The nearest centroid of any rows, block by block."""

from __future__ import annotations

import math

import numpy as np

from coterie.arrays import Array, FloatArray, IntArray
from coterie.blocks.dataset import check_squares, own_squares, useful_n_threads
from coterie.blocks.kernel_rows import kernel_blocks, rows_per_block
from coterie.centers.frame import CenterFrame
from coterie.passes import ChunkRows, Passes
from coterie.rows import Rows


def nearest_labels(rows: Rows, centers: Array, shift: FloatArray, n_threads: int) -> IntArray:
    """Return the nearest centroid of every row, int32: the labels of a fit with the same shift; one pass."""
    labels = np.empty(rows.shape[0], dtype=np.int32)
    frame = _frame(rows, centers, shift, n_threads)
    for part, x in kernel_blocks(rows, rows_per_block(rows, len(frame))):
        frame.nearest(x, labels[part])
    return labels


def labels_and_squares(
    rows: Rows, centers: Array, shift: FloatArray, n_threads: int
) -> tuple[IntArray, FloatArray]:
    """Return the nearest centroid of every row, and the squared distance to it, accurately; one pass."""
    labels, squares = np.empty(rows.shape[0], dtype=np.int32), np.empty(rows.shape[0])
    frame = _frame(rows, centers, shift, n_threads)
    for part, x in kernel_blocks(rows, rows_per_block(rows, len(frame))):
        frame.nearest(x, labels[part], squares[part])
        check_squares(squares[part], part.start)
    return labels, squares


def label_all(passes: Passes, centers: Array, shift: FloatArray) -> tuple[IntArray, FloatArray]:
    """Do the same as `labels_and_squares` for all rows of a fit."""
    labels, squares = zip(*passes.run(_label, (centers, shift)))
    return np.concatenate(labels), np.concatenate(squares)


def _label(rows: ChunkRows, params: tuple[Array, FloatArray]) -> tuple[IntArray, FloatArray]:
    centers, shift = params
    return labels_and_squares(rows.rows, centers, shift, rows.most_threads)


def squares_to_centers(rows: Rows, centers: Array, labels: IntArray, n_threads: int) -> FloatArray:
    """Return the accurate squared distance of every row to the centroid of its label (-1: the first); one pass."""
    squares, n_threads = np.empty(rows.shape[0]), _threads_for(rows, len(centers), n_threads)
    for part, x in kernel_blocks(rows, rows_per_block(rows, len(centers))):
        squares[part] = own_squares(x, np.maximum(labels[part], 0), centers, n_threads)
    return squares


def _frame(rows: Rows, centers: Array, shift: FloatArray, n_threads: int) -> CenterFrame:
    n_threads = _threads_for(rows, len(centers), n_threads)
    return CenterFrame(centers.astype(rows.dtype, copy=False), shift, n_threads)


def _threads_for(rows: Rows, n_clusters: int, n_threads: int) -> int:
    return useful_n_threads(math.prod(rows.shape) * n_clusters, n_threads)
