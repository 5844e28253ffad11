"""The ways to a graph of nearest neighbors."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from benchmarks.harness.contenders import Contender, faiss_with

SEED = 0


def _coterie(X: np.ndarray, m: int, n_threads: int, *, method: str = "approximate", **options: float) -> Any:
    from coterie.graphs import nearest_neighbors

    return nearest_neighbors(X, m, method=method, random_state=SEED, n_threads=n_threads, **options)[0]


def _faiss_flat(X: np.ndarray, m: int, n_threads: int) -> np.ndarray:
    index = faiss_with(n_threads).IndexFlatL2(X.shape[1])
    index.add(X)
    return without_self(index.search(X, m + 1)[1])


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
    "coterie exact": Contender("coterie", partial(_coterie, method="exact")),
    "faiss exact": Contender("faiss", _faiss_flat),
    "coterie approximate": Contender("coterie", _coterie),
    "coterie recall=0.98": Contender("coterie", partial(_coterie, recall=0.98)),
    "hnswlib M=16 ef=100/64": Contender("hnswlib", _hnswlib),
    "pynndescent": Contender("pynndescent", _pynndescent),
}
