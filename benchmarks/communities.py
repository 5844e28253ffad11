"""Communities by a resolution beside the Leiden algorithms of igraph and NetworKit: modularity and CPU seconds.

    pip install python-igraph networkit     # not in any extra: igraph is under the GPL
    python -m benchmarks.communities optdigits lfr-0.5 grid

Graphs of 15 neighbors are of data in COTERIE_DATA; the others are drawn from fixed seeds. Rounds are interleaved.
"""

import os
import random
import sys
import time
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import make_moons

from coterie.graphs import knn_graph
from coterie.graphs.cuts import modularity
from coterie.multilevel.communities import communities

ROUNDS = 3
NAMES = (
    "optdigits", "pendigits", "mnist", "moons", "grid", "blocks", "power", "lfr-0.3", "lfr-0.5", "lfr-0.65",
)  # fmt: skip


def neighbors(X):
    X = np.ascontiguousarray(np.reshape(X, (len(X), -1)), dtype=np.float32)
    return knn_graph(X, 15, random_state=0).astype(float)


def symmetric(ends, n):
    half = sp.coo_array((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape=(n, n)).tocsr()
    graph = half + half.T
    graph.data[:] = 1
    return graph


def lfr(mixing):
    import networkit

    networkit.setSeed(1, False)
    generator = networkit.generators.LFRGenerator(20_000)
    generator.generatePowerlawDegreeSequence(20, 100, -2.5)
    generator.generatePowerlawCommunitySizeSequence(20, 2_000, -1.5)
    generator.setMu(mixing)
    return networkit.algebraic.adjacencyMatrix(generator.generate(), "sparse").astype(float)


def grid(side=300, share=0.85):
    """Streets, of which some are closed."""
    places = np.arange(side * side).reshape(side, side)
    across = np.c_[places[:, :-1].ravel(), places[:, 1:].ravel()]
    along = np.c_[places[:-1].ravel(), places[1:].ravel()]
    ends = np.r_[across, along]
    return symmetric(ends[np.random.default_rng(0).random(len(ends)) < share], side * side)


def blocks(n=20_000, n_blocks=50, n_edges=300_000):
    rng = np.random.default_rng(0)
    y = np.sort(rng.integers(0, n_blocks, n))
    starts = np.searchsorted(y, np.arange(n_blocks + 1))
    heads, tails = rng.integers(0, n, (2, n_edges))
    own = starts[y[heads]] + (rng.random(n_edges) * np.diff(starts)[y[heads]]).astype(int)
    tails = np.where(rng.random(n_edges) < 0.5, own, tails)
    return symmetric(np.c_[heads, tails][heads != tails], n)


def power(n=200_000):
    import igraph

    random.seed(0)
    return igraph.Graph.Barabasi(n, 5).get_adjacency_sparse().astype(float)


def graph_of(name):
    if name.startswith("lfr-"):
        return lfr(float(name[4:]))
    if name in ("grid", "blocks", "power"):
        return globals()[name]()
    if name == "moons":
        return neighbors(make_moons(20_000, noise=0.08, random_state=0)[0])
    return neighbors(np.load(Path(os.environ["COTERIE_DATA"]) / f"{name}.npz")["X"])


def seconds(function):
    start = time.process_time()
    found = function()
    return time.process_time() - start, found


def compare(name):
    import igraph
    import networkit

    networkit.setNumberOfThreads(1)
    graph = sp.csr_array(graph_of(name))
    graph.sort_indices()
    upper = sp.triu(graph, 1).tocoo()
    n, weights = graph.shape[0], upper.data.tolist()
    theirs = igraph.Graph(n=n, edges=np.c_[upper.row, upper.col])
    others = networkit.GraphFromCoo((upper.data, (upper.row, upper.col)), n=n, weighted=True, directed=False)
    rows = {"coterie": [], "igraph": [], "NetworKit": []}
    for seed in range(ROUNDS):
        random.seed(seed)
        networkit.setSeed(seed, False)
        used, (labels, _) = seconds(lambda: communities(graph, 1.0, "modularity"))
        rows["coterie"].append((used, labels))
        used, found = seconds(lambda: theirs.community_leiden("modularity", weights=weights, n_iterations=2))
        rows["igraph"].append((used, found.membership))
        used, found = seconds(lambda: networkit.community.ParallelLeiden(others).run())
        rows["NetworKit"].append((used, found.getPartition().getVector()))
    cells = [f"{name:10s} {n:8,d} vertices {upper.nnz:9,d} edges"]
    for library, runs in rows.items():
        values = [modularity(graph, np.unique(labels, return_inverse=True)[1]) for _, labels in runs]
        best = max(values) if library == "igraph" else float(np.median(values))
        cells.append(f"{library} {best:.4f} {np.median([used for used, _ in runs]):.3f} s")
    print(" | ".join(cells), flush=True)


if __name__ == "__main__":
    for one in sys.argv[1:] or NAMES:
        compare(one)
