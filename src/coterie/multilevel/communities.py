"""Communities by the Leiden algorithm (Traag, Waltman and van Eck 2019): nodes move to the best adjacent community, and
communities are split into well connected parts, which are the nodes of the next level. The start is what two runs of
Louvain's method (Blondel et al. 2008) have in common (Ovelgönne and Geyer-Schulz 2012), if more than by chance.
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

# Moves of vertices that raise the objective by less than this share of the weight between communities are the last. The
# rise of a move is rounding below this share of all weight.
_LEAST_RISE, _ROUNDING = 2e-3, 1e-12

# Starts that agree by less than this, 0 being chance and 1 equality, have no communities in common.
_LEAST_AGREEMENT = 0.05


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

    def improve(found: IntArray, seed: int, least: float, n_threads: int, parts: bool = True) -> bool:
        deadline.check()
        rounding = _ROUNDING * graph.volume
        return _kernels.improve_communities(
            kernel_graph, weights, rate, rounding, seed, parts, least, found, n_threads
        )

    def start(seed: int) -> IntArray:
        found = np.arange(n, dtype=np.int32)
        improve(found, seed, -1, max(1, n_threads // 2), parts=False)
        return found

    if labels is None:
        with ThreadPoolExecutor(min(2, n_threads)) as pool:
            first, second = pool.map(start, (0, 1))
        both = np.unique(first.astype(np.int64) * n + second, return_inverse=True)[1].astype(np.int32)
        shares = weights / (float(weights.sum()) or 1.0)
        one, other, common = (np.sum(np.bincount(found, shares) ** 2) for found in (first, second, both))
        chance = one * other
        agree = common - chance > _LEAST_AGREEMENT * ((one + other) / 2 - chance)
        found = both if agree else first
    else:
        found = labels.copy()
    seeds = count(2)
    improve(found, next(seeds), -1, n_threads)
    while improve(found, next(seeds), _LEAST_RISE, n_threads):
        pass
    while True:
        inside = _edges_inside(graph, found)
        connected = csgraph.connected_components(inside, connection="strong")[1].astype(np.int32)
        if connected.max(initial=0) == found.max(initial=0):
            break
        found = connected
        improve(found, next(seeds), np.inf, n_threads)
    value = float(inside.data.sum() - rate * np.sum(np.bincount(found, weights) ** 2))
    if objective == "cpm":
        return found, 0.5 * (value + resolution * float(sizes.sum()))
    return found, value / graph.volume


def _edges_inside(graph: CoarseGraph, labels: IntArray) -> sp.csr_array:
    """Return the edges whose ends are in the same community."""
    heads, tails = graph.edges.row, graph.edges.col
    kept = labels[heads] == labels[tails]
    starts = np.searchsorted(heads[kept], np.arange(graph.n_nodes + 1))
    return sp.csr_array((graph.edges.data[kept], tails[kept], starts), shape=graph.edges.shape)
