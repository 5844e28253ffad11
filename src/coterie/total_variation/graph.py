"""A graph as the kernels of total variation want it."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from coterie import _kernels
from coterie.arrays import Array
from coterie.graphs.edges import edges_of_graph

__all__ = ["CutGraph"]

# Rows of a block: about a sixteenth of all, so that threads share the work evenly, but not so many that the
# memberships of a block outgrow the second cache.
_BLOCKS, _FEWEST_ROWS, _MOST_ROWS = 16, 1024, 8192


class CutGraph:
    """A graph as the kernels want it: vertices in a local order, cut into blocks.

    Parameters
    ----------
    graph : csr_array of shape (n, n), float32 or float64
        Symmetric, non-negative; edges from a vertex to itself do not count.
    order : ndarray of shape (n,), optional
        An order of the vertices in which neighbours are close. By default they stay as they are.
    unit : float, optional
        The unit of the weights that the kernels get; by default their mean.

    Attributes
    ----------
    order : ndarray of shape (n,)
        The order.
    unit : float
        That unit. Kernels get weights in this unit, so that clusters do not depend on that of the data: how
        far an outer step goes does, in the paper, and weights of about 1 as there are best.
    degrees : ndarray of shape (n,)
        Sum of the weights at each vertex, in that order and unit.
    adjacency : csr_array of shape (n, n)
        The graph in that order, its weights as they were.
    edges : Edges
        Each edge once, its ends as places in that order.
    n_duals : int
        Edges inside of blocks, plus twice those between blocks.
    """

    def __init__(
        self,
        graph: sp.csr_array,
        order: npt.NDArray[np.integer[Any]] | None = None,
        unit: float | None = None,
    ) -> None:
        n = graph.shape[0]
        self.n_vertices, self.dtype = n, graph.dtype
        self.block_rows = self.rows_of_a_block(n)
        self.n_blocks = -(-n // self.block_rows)
        self.order = np.arange(n) if order is None else np.asarray(order)
        self.adjacency = sp.csr_array(graph[self.order][:, self.order])
        self.adjacency.eliminate_zeros()
        edges = self.adjacency.tocoo()
        rows, columns = edges.row.astype(np.int64), edges.col.astype(np.int64)
        self.edges = edges_of_graph(self.adjacency)
        ends = np.concatenate([self.edges.heads, self.edges.tails])
        if unit is None:
            unit = float(self.edges.weights.mean()) if len(self.edges) > 0 else 1.0
        self.unit = unit
        self.degrees = np.bincount(ends, np.tile(self.edges.weights / self.unit, 2), minlength=n)
        inside = rows // self.block_rows == columns // self.block_rows
        kept = np.flatnonzero(~inside | (columns > rows))
        # Inside of the block, then later rows, then earlier ones.
        kind = np.where(inside, 0, np.where(columns > rows, 1, 2))[kept]
        kept = kept[np.lexsort((columns[kept], kind, rows[kept]))]
        starts = np.zeros(n + 1, dtype=np.int64)
        np.cumsum(np.bincount(rows[kept], minlength=n), out=starts[1:])
        crossings = starts[:-1] + np.bincount(rows[kept[inside[kept]]], minlength=n)
        weights = (edges.data[kept] / self.unit).astype(self.dtype)
        self.n_duals = len(kept)
        is_single = self.dtype == np.float32
        make = _kernels.blocked_graph_float32 if is_single else _kernels.blocked_graph_float64
        self.kernel_graph: _kernels.BlockedGraph = make(
            starts, crossings, columns[kept].astype(np.int32),
            None if np.all(weights == 1) else weights, self.block_rows,
        )  # fmt: skip

    def arranged(self, values: Array) -> Array:
        """Return what each vertex has, in the order of the graph instead of that of the data: a copy."""
        return values[self.order]

    def restored(self, values: Array) -> Array:
        """Return what each vertex has, in the order of the data instead of that of the graph: a copy."""
        found = np.empty_like(values)
        found[self.order] = values
        return found

    @staticmethod
    def rows_of_a_block(n: int) -> int:
        """Return how many rows a block of a graph of n vertices has."""
        return int(np.clip(-(-n // _BLOCKS), _FEWEST_ROWS, _MOST_ROWS))
