"""Communities by the Leiden algorithm (Traag, Waltman and van Eck 2019): nodes move to the best adjacent community, and
communities are split into well connected parts, which are the nodes of the next level. The start is what two runs of
Louvain's method (Blondel et al. 2008) have in common (Ovelgönne and Geyer-Schulz 2012).
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
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
_LEAST_RISE, _ROUNDING = 1e-2, 1e-12

# What an iteration of the kernels does.
_MOVES, _COMMUNITIES, _PARTS = range(3)


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
    n, kernel_graph = graph.n_nodes, graph.kernel_graph
    sizes = np.ones(n) if masses is None else masses
    weights, rate = (sizes, resolution) if objective == "cpm" else (graph.degrees, resolution / graph.volume)

    def improve(found: IntArray, seed: int, iteration: int, n_threads: int) -> float:
        deadline.check()
        return _kernels.improve_communities(
            kernel_graph, weights, rate, _ROUNDING * graph.volume, seed, iteration, found, n_threads
        )

    def start(seed: int) -> IntArray:
        found = np.arange(n, dtype=np.int32)
        improve(found, seed, _COMMUNITIES, max(1, n_threads // 2))
        return found

    if labels is None:
        with ThreadPoolExecutor(min(2, n_threads)) as pool:
            first, second = pool.map(start, (0, 1))
        found = np.unique(first.astype(np.int64) * n + second, return_inverse=True)[1].astype(np.int32)
    else:
        found = labels.copy()
    before, seeds = -np.inf, count(2)
    while True:
        value = improve(found, next(seeds), _PARTS, n_threads)
        if value > before + _LEAST_RISE * graph.volume:
            before = value
            continue
        value = improve(found, next(seeds), _MOVES, n_threads)
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
