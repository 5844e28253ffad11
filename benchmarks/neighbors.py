"""The approximate neighbors of all rows by coterie and its competitors, and how many are the true ones.

`python -m benchmarks.speed --rows neighbors-mnist,neighbors-embeddings` measures them.
"""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness.contenders import Contender
from benchmarks.harness.measuring import measured
from coterie.graphs import nearest_neighbors

RECALL_ROWS = 1000  # whose neighbors are found exactly
WARM_UP_ROWS = 3000
SEED = 0


def _coterie(X: np.ndarray, m: int, n_threads: int, **options: float) -> Any:
    return nearest_neighbors(X, m, method="approximate", random_state=SEED, n_threads=n_threads, **options)[0]


def _hnswlib(X: np.ndarray, m: int, n_threads: int) -> np.ndarray:
    import hnswlib

    index = hnswlib.Index(space="l2", dim=X.shape[1])
    index.init_index(max_elements=len(X), M=16, ef_construction=100, random_seed=SEED)
    index.set_num_threads(n_threads)
    index.add_items(X)
    index.set_ef(64)
    return without_self(index.knn_query(X, k=m + 1)[0])


def _pynndescent(X: np.ndarray, m: int, n_threads: int) -> np.ndarray:
    from pynndescent import NNDescent

    index = NNDescent(X, n_neighbors=m + 1, random_state=SEED, n_jobs=n_threads)
    return without_self(index.neighbor_graph[0])


def without_self(ids: np.ndarray) -> np.ndarray:
    """Drop each row from its own list; the last one of lists that it is not in."""
    drop = ids == np.arange(len(ids))[:, None]
    drop[~drop.any(axis=1), -1] = True
    # Where a row occurs twice, the first is dropped only.
    drop &= np.cumsum(drop, axis=1) == 1
    return ids[~drop].reshape(len(ids), -1)


GRAPHS: dict[str, Contender] = {
    "coterie approximate": Contender("coterie", _coterie),
    "coterie recall=0.98": Contender("coterie", partial(_coterie, recall=0.98)),
    "hnswlib M=16 ef=100/64": Contender("hnswlib", _hnswlib),
    "pynndescent": Contender("pynndescent", _pynndescent),
}


def run_graph(name: str, data: Path, n_neighbors: int, _seed: int, n_threads: int) -> dict[str, Any]:
    """Find the neighbors of all rows and measure it; the recall is that of a sample of the rows."""
    X = np.load(data)
    find = GRAPHS[name].call
    find(X[:WARM_UP_ROWS], n_neighbors, n_threads)
    with measured() as cost:
        ids = find(X, n_neighbors, n_threads)
    return vars(cost) | {"recall": recall(X, np.asarray(ids))}


def recall(X: np.ndarray, ids: np.ndarray) -> float:
    """Return the share of the nearest rows that were found, over a sample; equal distances count as found."""
    m = ids.shape[1]
    sample = np.sort(np.random.default_rng(SEED).choice(len(X), RECALL_ROWS, replace=False))
    _, true_squares = nearest_neighbors(X, m + 1, queries=X[sample], method="exact")
    squares = np.sum((X[sample, None].astype(np.float64) - X[ids[sample]]) ** 2, axis=2)
    # One of the m + 1 is the row itself.
    return float(np.mean(squares <= true_squares[:, m:] * (1 + 1e-6)))
