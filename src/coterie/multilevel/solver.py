"""Partition of a graph into k clusters: coarsened by Louvain's method (Blondel et al. 2008), merged greedily, refined
level by level as in METIS and Graclus (Karypis and Kumar 1998; Dhillon, Guan and Kulis 2007).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from coterie import _kernels
from coterie.arrays import FloatArray, IndexArray, IntArray
from coterie.cached import cached_property
from coterie.fitting.deadline import UNLIMITED, Deadline

Kind = Literal["information", "modularity", "normalized_association"]  # in the order of the kernels

# The coarsest graph has at least this number of nodes per cluster, or this share of all vertices.
_NODES_PER_CLUSTER, _SHARE_OF_VERTICES = 8, 0.25

# Passes of a refinement, at most; some ten are usual.
_MOST_PASSES = 50

# Groups of nodes per cluster that move together, and the least rise of the objective by which they move again.
_GROUPS_PER_CLUSTER, _LEAST_RISE = (4, 2), 1e-9

# Share of the mean size below which a cluster joins another one, and the most clusters that do.
_LEAST_SIZE, _MOST_SMALL = 0.05, 6

# Fraction of the normalized cut of about equal clusters that unequal ones may have, in the end and before refinement.
# Equal classes are seldom its minimum: on optdigits it is 4% lower with two classes merged and a few rows separate. Of
# 103 sets, nine tenths of those with a decrease by half are clustered better with unequal sizes or as well; of 100
# drawn ones, all 5, and 8 better and 9 worse at a fifth.
_CLEARLY, _COARSELY = 0.5, 0.6


@dataclass(frozen=True)
class Objective:
    """What a partition maximizes, with the share p of all edge ends at a cluster, and the share e of edge
    ends inside.

    "information": sum e log(e / p^2) + e0 log(e0 / (1 - sum p^2)), e0 = 1 - sum e, the edges between clusters
    being one class; "modularity": sum e - resolution p^2; "normalized_association": sum e / p, k less the
    normalized cut (Shi and Malik 2000).
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
        if self.kind == "normalized_association":
            return float(np.sum(e / p))
        # Where no edge is between clusters their share is 0 but for rounding.
        pooled = between * np.log(between / chance) if between > 1e-12 and chance > 1e-12 else 0.0
        return float(np.sum(e * np.log(e / p**2)) + pooled)


INFORMATION, NORMALIZED_ASSOCIATION = Objective("information"), Objective("normalized_association")
# What clusters are merged by: none of them is the best start on all graphs.
_MERGED_BY = (INFORMATION, Objective("modularity"), NORMALIZED_ASSOCIATION)


class CoarseGraph:
    """A graph of aggregated vertices; entry (i, i) of its adjacency, and `inside`, are the weight inside of node i."""

    def __init__(self, adjacency: sp.csr_array, inside: npt.NDArray[Any] | float = 0.0) -> None:
        self.n_nodes = adjacency.shape[0]
        self.loops = adjacency.diagonal().astype(np.float64) + inside
        edges = adjacency.tocoo()
        kept = (edges.row != edges.col) & (edges.data > 0)
        ends = edges.row[kept].astype(np.int32), edges.col[kept].astype(np.int32)
        self.edges = sp.coo_array((edges.data[kept].astype(np.float64), ends), shape=adjacency.shape)
        self.degrees = np.bincount(ends[0], self.edges.data, minlength=self.n_nodes) + self.loops
        self.volume = float(self.degrees.sum()) or 1.0

    @cached_property
    def kernel_graph(self) -> _kernels.NodeGraph:
        """The graph as the kernels take it."""
        return self._kernel_graph_of(self.edges.row, self.edges.col, self.edges.data)

    def kernel_graph_inside(self, labels: IntArray) -> _kernels.NodeGraph:
        """Return the graph without the edges between clusters as the kernels take it."""
        rows, columns = self.edges.row, self.edges.col
        kept = labels[rows] == labels[columns]
        return self._kernel_graph_of(rows[kept], columns[kept], self.edges.data[kept])

    def _kernel_graph_of(self, rows: IntArray, columns: IntArray, weights: FloatArray) -> _kernels.NodeGraph:
        starts = np.zeros(self.n_nodes + 1, dtype=np.int64)
        np.cumsum(np.bincount(rows, minlength=self.n_nodes), out=starts[1:])
        return _kernels.node_graph(starts, columns, weights, self.loops, self.volume)

    def normalized_cut(self, labels: IntArray, n_clusters: int) -> float:
        """Return the normalized cut, exactly 0 without edges between clusters; clusters without edges count 1."""
        heads = labels[self.edges.row]
        leaves = heads != labels[self.edges.col]
        cuts = np.bincount(heads[leaves], self.edges.data[leaves], minlength=n_clusters)
        volumes = np.bincount(labels, self.degrees, minlength=n_clusters)
        return float(np.sum(np.divide(cuts, volumes, out=np.ones(n_clusters), where=volumes > 0)))

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
        summed = sp.coo_array((self.edges.data, ends), shape=(n_clusters, n_clusters)).tocsr()
        return CoarseGraph(summed, np.bincount(labels, self.loops, minlength=n_clusters))


def multilevel_partition(
    adjacency: sp.csr_array,
    n_clusters: int,
    masses: FloatArray | None = None,
    deadline: Deadline = UNLIMITED,
) -> tuple[IntArray, float]:
    """Partition vertices, of `masses` rows each, into `n_clusters`; return labels (n,) int32, none empty, and the
    information. There is no randomness; OutOfTime is raised at the deadline.
    """
    graph = CoarseGraph(adjacency)
    levels = aggregation_levels(graph, n_clusters, deadline)
    labels, _ = partition_of_levels(*levels, n_clusters, masses, deadline=deadline)
    return labels, INFORMATION.value(graph, labels, n_clusters)


def partition_of_levels(
    levels: list[CoarseGraph],
    nodes_of: list[IntArray],
    n_clusters: int,
    masses: FloatArray | None = None,
    *,
    may_be_unequal: bool = True,
    deadline: Deadline = UNLIMITED,
) -> tuple[IntArray, bool]:
    """Return the `multilevel_partition` of an aggregated graph, and whether it has a low normalized cut rather than
    much information, which clusters of about equal sizes have.
    """
    coarsest = levels[-1]

    def refined_down(labels: IntArray, objective: Objective) -> IntArray:
        for graph, nodes in zip(levels[-2::-1], nodes_of[::-1]):
            labels = refined(graph, objective, labels[nodes], n_clusters, deadline=deadline)
        return labels

    equal, unequal = _informative_clusters(coarsest, n_clusters, deadline), None
    if may_be_unequal:
        sizes: FloatArray = np.ones(levels[0].n_nodes) if masses is None else masses
        for nodes in nodes_of:
            sizes = np.bincount(nodes, sizes).astype(np.float64)
        unequal = _unequal_clusters(coarsest, equal, n_clusters, sizes, deadline)
    labels = refined_down(equal, INFORMATION)
    if unequal is not None:
        unequal = refined_down(unequal, NORMALIZED_ASSOCIATION)
        if _are_clearly_better(levels[0], unequal, labels, n_clusters):
            return unequal, True
    return labels, False


def _are_clearly_better(graph: CoarseGraph, labels: IntArray, others: IntArray, n_clusters: int) -> bool:
    """Return whether clusters have a clearly lower normalized cut than others, also for their information."""
    cut, other_cut = (graph.normalized_cut(one, n_clusters) for one in (labels, others))
    its, other = (INFORMATION.value(graph, one, n_clusters) for one in (labels, others))
    return cut < _CLEARLY * other_cut and cut * other < its * other_cut


def _informative_clusters(graph: CoarseGraph, n_clusters: int, deadline: Deadline) -> IntArray:
    """Return clusters of much information: the best of merges by three criteria after refinement, refined by groups."""
    starts = [
        refined(graph, INFORMATION, merged(graph, criterion, n_clusters), n_clusters, deadline=deadline)
        for criterion in _MERGED_BY
    ]
    best = max(starts, key=lambda labels: INFORMATION.value(graph, labels, n_clusters))
    return refined_by_groups(graph, best, n_clusters, deadline)


def refined_by_groups(
    graph: CoarseGraph, labels: IntArray, n_clusters: int, deadline: Deadline = UNLIMITED
) -> IntArray:
    """Move groups of nodes, which are merged inside clusters, and single nodes, while the information rises (iterated
    multilevel refinement, Walshaw 2004).
    """
    before = -np.inf
    while (value := INFORMATION.value(graph, labels, n_clusters)) > before + _LEAST_RISE:
        before = value
        for per_cluster in _GROUPS_PER_CLUSTER:
            n_groups = min(per_cluster * n_clusters, graph.n_nodes)
            groups = merged(graph, INFORMATION, n_groups, inside=labels).astype(np.int64)
            # Where clusters have more parts than there are groups, some parts were merged with those of others.
            names, numbers = np.unique(groups * n_clusters + labels, return_inverse=True)
            groups, own = numbers.astype(np.int32), (names % n_clusters).astype(np.int32)
            coarse = graph.aggregated(groups, len(names))
            labels = refined(coarse, INFORMATION, own, n_clusters, deadline=deadline)[groups]
        labels = refined(graph, INFORMATION, labels, n_clusters, deadline=deadline)
    return labels


def _unequal_clusters(
    graph: CoarseGraph, others: IntArray, n_clusters: int, masses: FloatArray, deadline: Deadline
) -> IntArray | None:
    """Return clusters of low normalized cut, if it is lower than that of others. A few small ones, which it may have
    besides the wanted ones, join those with most edges to them.
    """
    for k in range(n_clusters, min(n_clusters + _MOST_SMALL, graph.n_nodes) + 1):
        labels = refined(
            graph, NORMALIZED_ASSOCIATION, merged(graph, NORMALIZED_ASSOCIATION, k), k, deadline=deadline
        )
        if k == n_clusters and graph.normalized_cut(labels, k) >= _COARSELY * graph.normalized_cut(others, k):
            return None
        sizes = np.bincount(labels, masses, minlength=k)
        is_large = n_clusters * sizes >= _LEAST_SIZE * sizes.sum()
        if np.count_nonzero(is_large) == n_clusters:
            links = graph.aggregated(labels, k).edges.toarray()[:, is_large]
            numbers = np.where(is_large, np.cumsum(is_large) - 1, links.argmax(axis=1)).astype(np.int32)
            return numbers[labels]
    return None


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


def merged(
    graph: CoarseGraph, objective: Objective, n_clusters: int, *, inside: IntArray | None = None
) -> IntArray:
    """Merge the adjacent clusters that raise an objective most (else the smallest) until `n_clusters` are left; edges
    between clusters that are given as `inside` do not count.
    """
    labels = np.empty(graph.n_nodes, dtype=np.int32)
    kernel_graph = graph.kernel_graph if inside is None else graph.kernel_graph_inside(inside)
    _kernels.merge_nodes(kernel_graph, *objective.arguments, n_clusters, labels)
    return labels
