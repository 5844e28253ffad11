"""Communities by the Leiden algorithm (Traag, Waltman and van Eck 2019): nodes move to the best adjacent community, and
communities are split into well connected parts, which are the nodes of the next level.
"""

from __future__ import annotations

from itertools import count
from typing import Literal

import numpy as np
import scipy.sparse as sp
from scipy.sparse import csgraph

from coterie import _kernels
from coterie.arrays import FloatArray, IntArray
from coterie.fitting.deadline import UNLIMITED, Deadline
from coterie.multilevel.solver import CoarseGraph

# Rise of an objective that ends the iterations, and that is more than rounding for single moves; both as shares.
_LEAST_RISE, _ROUNDING = 1e-4, 1e-12


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
    """Partition a graph, from `labels`, into connected communities of which no move of a node raises the objective.
    Return labels (n,) int32, numbered by first vertices, and the objective; `masses` are rows at vertices for "cpm".
    """
    graph = CoarseGraph(adjacency)
    n = graph.n_nodes
    sizes = np.ones(n) if masses is None else masses
    weights, rate = (sizes, resolution) if objective == "cpm" else (graph.degrees, resolution / graph.volume)
    found = np.arange(n, dtype=np.int32) if labels is None else labels.copy()
    before, seeds = -np.inf, count()

    def improve(nodes_only: bool) -> float:
        deadline.check()
        return _kernels.improve_communities(
            graph.kernel_graph,
            weights,
            rate,
            _ROUNDING * graph.volume,
            next(seeds),
            nodes_only,
            found,
            n_threads,
        )

    while True:
        value = improve(nodes_only=False)
        if value > before + _LEAST_RISE * graph.volume:
            before = value
            continue
        value = improve(nodes_only=True)
        connected = _connected_parts(graph, found)
        if connected.max(initial=0) == found.max(initial=0):
            break
        found, before = connected, -np.inf
    if objective == "cpm":
        return found, 0.5 * (value + resolution * float(sizes.sum()))
    return found, value / graph.volume


def _connected_parts(graph: CoarseGraph, labels: IntArray) -> IntArray:
    """Return communities whose parts without a path between them are communities of their own."""
    heads, tails = graph.edges.row, graph.edges.col
    inside = labels[heads] == labels[tails]
    kept = sp.coo_array(
        (np.ones(np.count_nonzero(inside)), (heads[inside], tails[inside])), shape=graph.edges.shape
    )
    return csgraph.connected_components(kept, directed=False)[1]
