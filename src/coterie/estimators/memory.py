"""The memory that a fit needs, and whether it is free."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from coterie.blocks.kernel_rows import kept_bytes
from coterie.limits.memory import Need, check_memory
from coterie.rows import RowSource


def check_fit_memory(estimator: Any, rows: RowSource, needs: Sequence[Need]) -> None:
    """Raise a MemoryError if a fit of these rows needs more memory than is free."""
    n_rows, n_columns = rows.shape
    check_memory(needs, f"{type(estimator).__name__} of {n_rows:,} x {n_columns:,} rows")


def bytes_of_rows(rows: RowSource) -> float:
    """Return the bytes of all rows as floats."""
    return rows.shape[0] * rows.row_bytes()


def copy_of_rows(rows: RowSource, *, is_changed: bool = False) -> Need:
    """Return the memory of the copy of rows that are read repeatedly; see `coterie.blocks.kernel_rows.kept_rows`.

    Rows that the fit scales are others than those in memory (`is_changed`).
    """
    n_bytes = kept_bytes(rows, is_changed=is_changed) if is_changed or not rows.in_memory else 0.0
    return Need(n_bytes, "a copy of the rows", "store the rows as floats in a .npy file")


def rows_in_memory(rows: RowSource) -> Need:
    """Return the memory of all rows, for methods that read them at once."""
    n_bytes = 0.0 if rows.in_memory else bytes_of_rows(rows)
    return Need(
        n_bytes, "the rows, all at once", "take a sample of the rows, or k-means, which reads them in blocks"
    )


def labels_and_centers(rows: RowSource, n_clusters: int) -> Need:
    """Return what labels and squared distances of all rows, and some centroids in motion, take: the larger of them."""
    n_rows, n_columns = rows.shape
    of_rows = n_rows * (28.0 + 2 * rows.dtype.itemsize)
    of_centers = n_clusters * n_columns * (24.0 + 4 * rows.dtype.itemsize)
    if of_rows > of_centers:
        return Need(of_rows + of_centers, "labels and distances of all rows", "take a sample of the rows")
    what = f"the {n_clusters:,} centroids of {n_columns:,} columns"
    return Need(of_rows + of_centers, what, "ask for fewer clusters, or leave out columns")


def memberships(rows: RowSource, n_clusters: int, *, n_arrays: int) -> Need:
    """Return the bytes of arrays of memberships of all rows in all clusters, whose rows are padded to 64 bytes."""
    row_bytes = -(-min(n_clusters, rows.shape[0]) * rows.dtype.itemsize // 64) * 64
    what = f"memberships of all rows in {n_clusters:,} clusters"
    return Need(float(n_arrays) * rows.shape[0] * row_bytes, what, "ask for fewer clusters")


def given_graph(rows: RowSource) -> Need:
    """Return the memory of the graph in addition to given affinities."""
    n_bytes = (
        2.0 * bytes_of_rows(rows) if rows.is_sparse else rows.shape[0] ** 2 * (rows.dtype.itemsize + 4.0)
    )
    return Need(n_bytes, "the graph of the affinities", "give affinities of fewer rows, as a sparse matrix")


def neighbor_graph(rows: RowSource, n_neighbors: int, *, is_symmetric: bool) -> Need:
    """Return the memory of the neighbor search and its graph."""
    n_edges = rows.shape[0] * min(n_neighbors, rows.shape[0])
    per_edge = (4 + rows.dtype.itemsize) * (7 if is_symmetric else 4)
    return Need(
        n_edges * per_edge, f"the graph of {n_neighbors} neighbors of each row", "ask for fewer neighbors"
    )
