"""The balanced cut of a graph: the problem, and its graph in the layout of the kernels."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from coterie import _kernels
from coterie.arrays import Array, FloatArray, IntArray
from coterie.graphs.cuts import balance_weights_of
from coterie.graphs.edges import edges_of_graph
from coterie.size_constrained.sizes import SizeBounds

# Rows of a block: about a sixteenth of all, so that threads share the work evenly, limited so that the memberships of a
# block fit into the L2 cache.
_BLOCKS, _FEWEST_ROWS, _MOST_ROWS = 16, 1024, 8192


class CutGraph:
    """A graph as the kernels take it: vertices in a local order, in blocks, weights divided by `unit` (their mean), as
    the length of the paper's outer steps is best for weights of about 1.
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
        """Return values of vertices in the order of the graph, from the order of the data, as a copy."""
        return values[self.order]

    def restored(self, values: Array) -> Array:
        """Return values of vertices in the order of the data, from the order of the graph, as a copy."""
        found = np.empty_like(values)
        found[self.order] = values
        return found

    @staticmethod
    def rows_of_a_block(n: int) -> int:
        """Return the number of rows of a block of a graph with n vertices."""
        return int(np.clip(-(-n // _BLOCKS), _FEWEST_ROWS, _MOST_ROWS))


@dataclass(frozen=True)
class CutProblem:
    """The problem of cutting a graph into clusters, in the order of the data."""

    graph: sp.csr_array  # (n, n), float32: symmetric non-negative weights, no loops
    n_clusters: int  # R
    known: IntArray  # (n,): classes, -1 for unlabeled; labeled vertices remain there
    given: FloatArray | None  # (n, R): initial memberships
    random: np.random.RandomState
    n_threads: int
    priors: FloatArray | None = None  # (R,): expected fractions of the vertices; None: equal
    weights: FloatArray | None = None  # (n,): weights of vertices in cluster sizes; None: 1
    bounds: SizeBounds | None = None  # vertices of a cluster

    def arranged(self, graph: CutGraph) -> CutProblem:
        """Return this problem with its vertices in the order of the kernels' graph."""
        weights = None if self.weights is None else graph.arranged(self.weights)
        return replace(self, graph=graph.adjacency, known=graph.arranged(self.known), weights=weights)

    @property
    def balance_weights(self) -> FloatArray:
        """lambda of each cluster."""
        if self.priors is not None:
            return balance_weights_of(self.priors)
        return np.full(self.n_clusters, self.n_clusters - 1, float)

    @property
    def n_vertices(self) -> int:
        """Number of vertices n."""
        return int(self.graph.shape[0])

    @property
    def draws_vertices(self) -> bool:
        """Whether initializations are random: no memberships are given, and some class has no label."""
        return self.given is None and len(np.unique(self.known[self.known >= 0])) < self.n_clusters

    @property
    def is_matched(self) -> bool:
        """Whether any cluster may have any prior: priors differ, and there are no labels."""
        return self.priors is not None and bool(np.all(self.known < 0)) and bool(np.ptp(self.priors) > 0)

    def draw_seed(self) -> int:
        """Draw the seed of another random generator."""
        return int(self.random.randint(np.iinfo(np.int32).max))
