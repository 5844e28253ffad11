"""Moves of single vertices between clusters: what rounded memberships leave to be gained."""

from __future__ import annotations

import numpy as np

from coterie import _kernels
from coterie.arrays import BoolArray, FloatArray, IntArray
from coterie.total_variation.graph import CutGraph

__all__ = ["VertexMoves"]


class VertexMoves:
    """Moves of single vertices to clusters next to them, as long as (P) falls.

    Parameters
    ----------
    graph : CutGraph
        The graph.
    asymmetries : ndarray of shape (R,)
        lambda of each cluster.
    weights : ndarray of shape (n,), float64, or None
        What vertices count in the sizes of clusters, in the order of the graph; None: 1 each.
    fixed : ndarray of shape (n,), bool
        Vertices that stay.
    """

    def __init__(
        self, graph: CutGraph, asymmetries: FloatArray, weights: FloatArray | None, fixed: BoolArray
    ) -> None:
        edges = graph.adjacency
        self._starts, self._columns = edges.indptr.astype(np.int64), edges.indices.astype(np.int32)
        self._edge_weights = None if np.all(edges.data == 1) else edges.data.astype(np.float64)
        self._asymmetries, self._weights, self._fixed = asymmetries, weights, fixed.astype(np.uint8)

    def settled(self, labels: IntArray) -> IntArray:
        """Return clusters that no move of one vertex makes better.

        Vertices move one after the other in the order of the graph, each to the cluster next to it that lowers (P)
        most. No cluster becomes empty. O(edges) operations for each time that all are looked at.

        Parameters
        ----------
        labels : ndarray of shape (n,), int32
            The clusters, in the order of the graph.

        Returns
        -------
        ndarray of shape (n,), int32
        """
        settled = labels.copy()
        _kernels.move_vertices(
            self._starts, self._columns, self._edge_weights, self._weights, self._fixed, self._asymmetries,
            settled,
        )  # fmt: skip
        return settled
