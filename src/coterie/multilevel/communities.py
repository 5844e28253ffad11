"""Communities of a graph, in a number that follows from a resolution: the Leiden algorithm.

Traag, Waltman and van Eck (2019): nodes move one by one to the best adjacent community, communities are split into well
connected parts, and the parts are the nodes of the next level. As in ensemble learning (Ovelgoenne and Geyer-Schulz
2012), what two first iterations have in common is the start of the others.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import scipy.sparse as sp
from scipy.sparse import csgraph

from coterie import _kernels
from coterie.arrays import FloatArray, IntArray
from coterie.fitting.deadline import UNLIMITED, Deadline
from coterie.multilevel.solver import CoarseGraph

# First iterations whose common parts are the start: with one the quality depends on the order of the nodes.
_STARTS = 2

# Rise of an objective that ends the iterations, and that is more than rounding for single moves; both as shares.
_LEAST_RISE, _ROUNDING = 1e-10, 1e-12


def communities(
    adjacency: sp.csr_array,
    resolution: float,
    objective: Literal["modularity", "cpm"],
    *,
    masses: FloatArray | None = None,
    labels: IntArray | None = None,
    n_threads: int = 1,
    deadline: Deadline = UNLIMITED,
) -> tuple[IntArray, float]:
    """Partition a graph into connected communities, of which no move of a node or of a part raises the
    objective.

    Return labels (n,) int32, numbered by their first vertices, and the objective; `masses` are rows at
    vertices for "cpm".
    """
    graph = CoarseGraph(adjacency)
    n = graph.n_nodes
    sizes = np.ones(n) if masses is None else masses
    weights, rate = (sizes, resolution) if objective == "cpm" else (graph.degrees, resolution / graph.volume)
    seeds = iter(range(1 << 62))

    def improve(labels: IntArray) -> float:
        value = _kernels.improve_communities(
            graph.kernel_graph, weights, rate, _ROUNDING * graph.volume, next(seeds), labels, n_threads
        )
        deadline.check()
        return value

    best, highest = labels, -np.inf
    if labels is None:
        starts = [np.arange(n, dtype=np.int32) for _ in range(_STARTS)]
        values = [improve(start) for start in starts]
        best, highest = starts[int(np.argmax(values))], max(values)
        labels = _common_parts(starts)
    labels, before = labels.copy(), -np.inf
    while True:
        value = improve(labels)
        if value > before + _LEAST_RISE * graph.volume:
            before = value
            continue
        if best is not None and highest > value:
            labels = best.copy()
        connected = _connected_parts(graph, labels)
        if connected.max(initial=0) == labels.max(initial=0):
            break
        labels, before, highest = connected, -np.inf, -np.inf
    value = max(value, highest)
    if objective == "cpm":
        return labels, 0.5 * (value + resolution * float(sizes.sum()))
    return labels, value / graph.volume


def _common_parts(partitions: list[IntArray]) -> IntArray:
    """Return the labels of the parts that are in one community of each partition."""
    found = partitions[0].astype(np.int64)
    for other in partitions[1:]:
        found = np.unique(found * len(other) + other, return_inverse=True)[1]
    return found.astype(np.int32)


def _connected_parts(graph: CoarseGraph, labels: IntArray) -> IntArray:
    """Return communities whose parts without a path between them are communities of their own."""
    heads, tails = graph.edges.row, graph.edges.col
    inside = labels[heads] == labels[tails]
    kept = sp.coo_array(
        (np.ones(np.count_nonzero(inside)), (heads[inside], tails[inside])), shape=graph.edges.shape
    )
    return csgraph.connected_components(kept, directed=False)[1]
