"""Partition of a graph into k clusters: coarsened by Louvain's method (Blondel et al. 2008), merged greedily, refined
level by level as in METIS and Graclus (Karypis and Kumar 1998; Dhillon, Guan and Kulis 2007).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import scipy.sparse as sp

from coterie import _kernels
from coterie.arrays import FloatArray, IndexArray, IntArray
from coterie.cached import cached_property
from coterie.fitting.deadline import UNLIMITED, Deadline

Kind = Literal["information", "modularity", "normalized_cut"]  # in the order of the kernels

# The coarsest graph has at least this number of nodes per cluster, or this share of all vertices.
_NODES_PER_CLUSTER, _SHARE_OF_VERTICES = 8, 0.25

# Passes of a refinement, at most; some ten are usual.
_MOST_PASSES = 50


@dataclass(frozen=True)
class Objective:
    """What a partition maximizes, with the share p of all edge ends at a cluster, and the share e of edge
    ends inside.

    "information": sum e log(e / p^2) + e0 log(e0 / (1 - sum p^2)), e0 = 1 - sum e, the edges between clusters
    being one class; "modularity": sum e - resolution p^2; "normalized_cut": sum e / p, k less the normalized
    cut.
    """

    kind: Kind
    resolution: float = 1.0

    @property
    def arguments(self) -> tuple[int, float]:
        """The objective as the kernels take it."""
        return get_args(Kind).index(self.kind), self.resolution

    def value(self, graph: CoarseGraph, labels: IntArray, n_clusters: int) -> float:
        """Return the objective of a partition."""
        e, p = graph.clusters_of(labels, n_clusters).T / graph.volume
        if self.kind == "modularity":
            return float(np.sum(e - self.resolution * p**2))
        between, chance = 1 - e.sum(), 1 - np.sum(p**2)
        e, p = e[e > 0], p[e > 0]
        if self.kind == "normalized_cut":
            return float(np.sum(e / p))
        # Where no edge is between clusters their share is 0 but for rounding.
        pooled = between * np.log(between / chance) if between > 1e-12 and chance > 1e-12 else 0.0
        return float(np.sum(e * np.log(e / p**2)) + pooled)


INFORMATION, NORMALIZED_CUT = Objective("information"), Objective("normalized_cut")
# What clusters are merged by: none of them is the best start on all graphs.
_MERGED_BY = (INFORMATION, Objective("modularity"), NORMALIZED_CUT)


class CoarseGraph:
    """A graph of aggregated vertices; entry (i, i) of its adjacency is the weight inside of node i."""

    def __init__(self, adjacency: sp.csr_array) -> None:
        self.n_nodes = adjacency.shape[0]
        self.loops = adjacency.diagonal().astype(np.float64)
        edges = adjacency.tocoo()
        kept = (edges.row != edges.col) & (edges.data > 0)
        ends = edges.row[kept].astype(np.int32), edges.col[kept].astype(np.int32)
        self.edges = sp.coo_array((edges.data[kept].astype(np.float64), ends), shape=adjacency.shape)
        self.degrees = np.bincount(ends[0], self.edges.data, minlength=self.n_nodes) + self.loops
        self.volume = float(self.degrees.sum()) or 1.0

    @cached_property
    def kernel_graph(self) -> _kernels.NodeGraph:
        """The graph as the kernels take it."""
        starts = np.zeros(self.n_nodes + 1, dtype=np.int64)
        np.cumsum(np.bincount(self.edges.row, minlength=self.n_nodes), out=starts[1:])
        return _kernels.node_graph(starts, self.edges.col, self.edges.data, self.loops, self.volume)

    def clusters_of(self, labels: IntArray, n_clusters: int) -> FloatArray:
        """Return the weights of the edge ends inside each cluster, and of all edge ends at it: (n_clusters, 2)."""
        heads = labels[self.edges.row]
        is_inside = heads == labels[self.edges.col]
        inside = np.bincount(heads[is_inside], self.edges.data[is_inside], minlength=n_clusters)
        looped, volumes = (np.bincount(labels, of, minlength=n_clusters) for of in (self.loops, self.degrees))
        return np.stack([inside + looped, volumes], axis=1)

    def aggregated(self, labels: IntArray, n_clusters: int) -> CoarseGraph:
        """Return the graph whose nodes are the clusters of this one."""
        ends = labels[self.edges.row], labels[self.edges.col]
        shape = n_clusters, n_clusters
        loops = sp.diags_array(np.bincount(labels, self.loops, minlength=n_clusters))
        summed = sp.coo_array((self.edges.data, ends), shape=shape).tocsr() + loops
        summed.sort_indices()
        return CoarseGraph(summed)


def multilevel_partition(
    adjacency: sp.csr_array,
    n_clusters: int,
    objective: Objective = INFORMATION,
    deadline: Deadline = UNLIMITED,
) -> tuple[IntArray, float]:
    """Partition vertices into `n_clusters`; return labels (n,) int32, none empty, and the objective. Coarsest nodes are
    merged by three criteria, and the best result after refinement is returned, without randomness. Raises OutOfTime at
    the deadline.
    """
    levels = aggregation_levels(CoarseGraph(adjacency), n_clusters, deadline)
    return partition_of_levels(*levels, n_clusters, objective, deadline)


def partition_of_levels(
    levels: list[CoarseGraph],
    nodes_of: list[IntArray],
    n_clusters: int,
    objective: Objective = INFORMATION,
    deadline: Deadline = UNLIMITED,
) -> tuple[IntArray, float]:
    """Return the `multilevel_partition` of an aggregated graph."""
    found = []
    for criterion in _MERGED_BY:
        labels = merged(levels[-1], criterion, n_clusters)
        labels = refined(levels[-1], objective, labels, n_clusters, deadline=deadline)
        for graph, nodes in zip(levels[-2::-1], nodes_of[::-1]):
            labels = refined(graph, objective, labels[nodes], n_clusters, deadline=deadline)
        found.append((labels, objective.value(levels[0], labels, n_clusters)))
    return max(found, key=lambda one: one[1])


def order_of_levels(n_vertices: int, nodes_of: list[IntArray]) -> IndexArray:
    """Order vertices so that those of one node of a level are together, and neighbors close to each other."""
    nodes: list[IntArray] = []
    for below in nodes_of:
        nodes.append(below if not nodes else below[nodes[-1]])
    return np.lexsort(nodes) if nodes else np.arange(n_vertices)


def aggregation_levels(
    graph: CoarseGraph, n_clusters: int, deadline: Deadline = UNLIMITED
) -> tuple[list[CoarseGraph], list[IntArray]]:
    """Aggregate a graph by Louvain's method; return the graphs of the levels, and the next node of each node. The
    resolution doubles until the coarsest has 8 nodes for each cluster, or a quarter of the vertices.
    """
    least_nodes = max(
        n_clusters, min(_NODES_PER_CLUSTER * n_clusters, int(_SHARE_OF_VERTICES * graph.n_nodes))
    )
    resolution = 1.0
    while resolution <= graph.n_nodes:
        levels, nodes_of = [graph], []
        while step := _aggregated(levels[-1], resolution, deadline):
            if step[0].n_nodes < n_clusters:
                break
            levels.append(step[0])
            nodes_of.append(step[1])
        if levels[-1].n_nodes >= least_nodes:
            return levels, nodes_of
        resolution *= 2
    return [graph], []


def _aggregated(
    graph: CoarseGraph, resolution: float, deadline: Deadline
) -> tuple[CoarseGraph, IntArray] | None:
    """Return the next level, and which of its nodes each node is in; None if no node moves."""
    each = np.arange(graph.n_nodes, dtype=np.int32)
    objective = Objective("modularity", resolution)
    labels = refined(graph, objective, each, graph.n_nodes, may_empty=True, deadline=deadline)
    names, numbers = np.unique(labels, return_inverse=True)
    if len(names) == graph.n_nodes:
        return None
    nodes: IntArray = numbers.astype(np.int32)
    return graph.aggregated(nodes, len(names)), nodes


def refined(
    graph: CoarseGraph,
    objective: Objective,
    labels: IntArray,
    n_clusters: int,
    *,
    may_empty: bool = False,
    deadline: Deadline = UNLIMITED,
) -> IntArray:
    """Move single nodes to adjacent clusters while an objective rises: all in order, then those next to moved ones."""
    labels = labels.copy()
    clusters, sizes = graph.clusters_of(labels, n_clusters), np.bincount(labels, minlength=n_clusters)
    waits, of_all = np.ones(graph.n_nodes, dtype=np.uint8), True
    for _ in range(_MOST_PASSES):
        n_moves = _kernels.move_nodes(
            graph.kernel_graph, *objective.arguments, may_empty, labels, waits, clusters, sizes
        )
        if n_moves == 0 and of_all:
            break
        deadline.check()
        of_all = n_moves == 0
        if of_all:
            waits[:] = 1
    return labels


def merged(graph: CoarseGraph, objective: Objective, n_clusters: int) -> IntArray:
    """Merge the adjacent clusters that raise an objective most (else the smallest) until `n_clusters` are left."""
    labels = np.empty(graph.n_nodes, dtype=np.int32)
    _kernels.merge_nodes(graph.kernel_graph, *objective.arguments, n_clusters, labels)
    return labels
