"""Scores of clusterings without known classes: agreement, predictable neighbors, information in the graph."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp
from sklearn.metrics import adjusted_rand_score

from coterie.arrays import FloatArray, IndexArray, IntArray
from coterie.graphs import nearest_neighbors
from coterie.graphs.equal_rows import equal_rows
from coterie.rows import Block

CRITERIA = {
    "score": "1 - (1 - agreement) (1 - neighbors): the recommendation has the highest",
    "agreement": "mean adjusted Rand index to the clusters of the other methods",
    "neighbors": "log-likelihood of the clusters of 15 nearest neighbors: 0 by chance, 1 if each is that of the row",
    "information": "mutual information of the clusters at both ends of a graph edge, above chance; 1 at most",
}
"""What each score measures. For all of them, higher is better."""

_Labels = IntArray | IndexArray

# Rows that clusterings are scored on: a Python loop grows the null partitions.
_SCORED_ROWS, _NEIGHBORS = 5_000, 15

# Smallest difference of a likelihood and its value by chance that is divided by.
_TINY = 1e-9

# Rows of all null partitions of a clustering: six of 5,000 rows, more of fewer, which vary more.
_NULL_ROWS = 6 * _SCORED_ROWS


def drawn_ids(n_rows: int, n_drawn: int, random: np.random.RandomState) -> IndexArray:
    """Return the numbers of rows drawn without replacement, ascending; all of them if there are no more."""
    if n_drawn >= n_rows:
        return np.arange(n_rows)
    return np.sort(random.choice(n_rows, n_drawn, replace=False)).astype(np.int64)


def rand_indices(clusterings: Sequence[_Labels]) -> FloatArray:
    """Return the adjusted Rand index of any two clusterings."""
    return np.array([[adjusted_rand_score(one, other) for other in clusterings] for one in clusterings])


def scores(
    rows: Block,
    clusterings: Sequence[_Labels],
    agreement: FloatArray,
    n_clusters: int,
    random: np.random.RandomState,
    n_threads: int,
) -> list[dict[str, float]]:
    """Return the `CRITERIA` of each clustering. Neighbors and information are measured on the distinct rows of a
    sample, because repeated rows would be each other's neighbors.
    """
    scored = drawn_ids(rows.shape[0], _SCORED_ROWS, random)
    first = equal_rows(rows[scored]).first
    scored = scored[first] if len(first) > n_clusters else scored
    n_neighbors = min(_NEIGHBORS, len(scored) - 1)
    ids, _ = nearest_neighbors(rows[scored], n_neighbors, method="exact", n_threads=n_threads)
    starts = np.arange(0, ids.size + 1, n_neighbors)
    directed = sp.csr_array((np.ones(ids.size), ids.ravel(), starts), shape=(len(scored), len(scored)))
    graph = directed.maximum(directed.T).tocsr()
    sampled = [np.unique(labels[scored], return_inverse=True)[1] for labels in clusterings]
    nulls = chance(sampled, ids, graph, random)
    found = []
    for number, labels in enumerate(sampled):
        by_chance = nulls[_sizes(labels)]
        likelihood, largest = neighbor_likelihood(labels, ids)
        others = np.delete(agreement[number], number)
        agreed = float(others.mean()) if len(others) else 1.0
        near = float((likelihood - by_chance[0]) / max(largest - by_chance[0], _TINY))
        informed = float((information(labels, graph) - by_chance[1]) / max(np.log(n_clusters), _TINY))
        found.append(dict(zip(CRITERIA, (1 - (1 - agreed) * (1 - near), agreed, near, informed))))
    return found


def chance(
    clusterings: Sequence[IndexArray], neighbors: IntArray, graph: sp.csr_array, random: np.random.RandomState
) -> dict[tuple[int, ...], FloatArray]:
    """Return the mean neighbor likelihood and information of random partitions, by the sizes of their clusters."""
    seed, found = int(random.randint(2**31 - 1)), {}
    for sizes in dict.fromkeys(map(_sizes, clusterings)):
        state = np.random.RandomState(seed)
        nulls = [random_partition(graph, np.array(sizes), state) for _ in range(_NULL_ROWS // graph.shape[0])]
        values = [(neighbor_likelihood(null, neighbors)[0], information(null, graph)) for null in nulls]
        found[sizes] = np.mean(values, axis=0)
    return found


def _sizes(labels: IndexArray) -> tuple[int, ...]:
    return tuple(np.sort(np.bincount(labels)).tolist())


def neighbor_likelihood(labels: _Labels, neighbors: IntArray) -> tuple[float, float]:
    """Return the mean of log(((v + p) / (m + 1)) / p), and its value if v = m for all rows: v of the m neighbors of a
    row share its cluster, whose share of all rows is p.
    """
    shares, m = (np.bincount(labels) / len(labels))[labels], neighbors.shape[1]
    same = np.sum(labels[neighbors] == labels[:, None], axis=1)
    found, largest = (np.mean(np.log((v + shares) / (m + 1) / shares)) for v in (same, m))
    return float(found), float(largest)


def information(labels: _Labels, graph: sp.csr_array) -> float:
    """Return the mutual information, in nats, of the clusters at the two ends of an edge."""
    n_clusters = int(labels.max()) + 1
    member = sp.csr_array((np.ones(len(labels)), (np.arange(len(labels)), labels)), (len(labels), n_clusters))
    joint = (member.T @ graph @ member).toarray()
    joint /= joint.sum()
    ends = joint.sum(axis=0)
    chance = np.outer(ends, ends)
    there = joint > 0
    return float(np.sum(joint[there] * np.log(joint[there] / chance[there])))


def random_partition(graph: sp.csr_array, sizes: IndexArray, random: np.random.RandomState) -> IndexArray:
    """Return connected clusters of given sizes, grown breadth-first from random rows at the same time. The next one to
    grow is drawn in proportion to its missing rows; one that cannot grow continues from another random row.
    """
    n_rows = graph.shape[0]
    edges, starts = graph.indices.tolist(), graph.indptr.tolist()
    labels = [-1] * n_rows
    queues: list[list[int]] = [[] for _ in sizes]
    heads = [0] * len(sizes)
    elsewhere = iter(random.permutation(n_rows).tolist())
    for cluster in random.permutation(np.repeat(np.arange(len(sizes)), sizes)).tolist():
        queue, head = queues[cluster], heads[cluster]
        while head < len(queue) and labels[queue[head]] >= 0:
            head += 1
        row = queue[head] if head < len(queue) else next(row for row in elsewhere if labels[row] < 0)
        heads[cluster] = head
        labels[row] = cluster
        queue.extend(edges[starts[row] : starts[row + 1]])
    return np.array(labels)
