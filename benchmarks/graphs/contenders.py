"""The ways to a graph of nearest neighbours that `benchmarks.graphs` compares, each run in a process of its own."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness.measuring import measured
from benchmarks.kmeans.fits import Contender

# Rows whose neighbours are found exactly for the recall, and those for which an exact search is timed where all
# rows would take too long.
RECALL_ROWS = 1000
WARM_UP_ROWS = 3000
SEED = 0


def _coterie(X: np.ndarray, m: int, n_threads: int, *, method: str) -> np.ndarray:
    from coterie.graphs import nearest_neighbors

    return nearest_neighbors(X, m, method=method, random_state=SEED, n_threads=n_threads)[0]


def _coterie_visits(X: np.ndarray, m: int, n_threads: int, *, n_visits: int) -> np.ndarray:
    from coterie.graphs.approximate import approximate_neighbors

    return approximate_neighbors(X, None, m, SEED, n_threads, n_visits)[0]


def _faiss_search(index: Any, X: np.ndarray, m: int) -> np.ndarray:
    return without_self(index.search(X, m + 1)[1])


def _faiss_flat(X: np.ndarray, m: int, n_threads: int) -> np.ndarray:
    import faiss

    faiss.omp_set_num_threads(n_threads)
    index = faiss.IndexFlatL2(X.shape[1])
    index.add(X)
    return _faiss_search(index, X, m)


def _faiss_hnsw(
    X: np.ndarray, m: int, n_threads: int, *, links: int, building: int, search: int
) -> np.ndarray:
    import faiss

    faiss.omp_set_num_threads(n_threads)
    index = faiss.IndexHNSWFlat(X.shape[1], links)
    index.hnsw.efConstruction, index.hnsw.efSearch = building, search
    index.add(X)
    return _faiss_search(index, X, m)


def _faiss_ivf(X: np.ndarray, m: int, n_threads: int, *, probes: int) -> np.ndarray:
    import faiss

    faiss.omp_set_num_threads(n_threads)
    n_lists = int(4 * np.sqrt(len(X)))
    index = faiss.IndexIVFFlat(faiss.IndexFlatL2(X.shape[1]), X.shape[1], n_lists)
    index.train(X)
    index.add(X)
    index.nprobe = probes
    return _faiss_search(index, X, m)


def _faiss_nn_descent(X: np.ndarray, m: int, n_threads: int, *, links: int) -> np.ndarray:
    import faiss

    faiss.omp_set_num_threads(n_threads)
    index = faiss.IndexNNDescentFlat(X.shape[1], links)
    index.add(X)
    graph = faiss.vector_to_array(index.nndescent.final_graph).reshape(len(X), -1)
    return graph[:, :m]


def _hnswlib(X: np.ndarray, m: int, n_threads: int, *, links: int, building: int, search: int) -> np.ndarray:
    import hnswlib

    index = hnswlib.Index(space="l2", dim=X.shape[1])
    index.init_index(max_elements=len(X), M=links, ef_construction=building, random_seed=SEED)
    index.set_num_threads(n_threads)
    index.add_items(X)
    index.set_ef(search)
    return without_self(index.knn_query(X, k=m + 1)[0])


def _usearch(X: np.ndarray, m: int, n_threads: int, *, links: int, building: int, search: int) -> np.ndarray:
    from usearch.index import Index

    index = Index(
        ndim=X.shape[1], metric="l2sq", dtype="f32", connectivity=links, expansion_add=building,
        expansion_search=search,
    )  # fmt: skip
    index.add(np.arange(len(X)), X, threads=n_threads)
    return without_self(index.search(X, m + 1, threads=n_threads).keys)


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


EXACT = "coterie exact"
OURS = "coterie approximate"
VISITS = (4, 16)
HNSW = ((12, 40, 40), (16, 100, 64))

GRAPHS: dict[str, Contender] = {
    EXACT: Contender("coterie", partial(_coterie, method="exact")),
    "faiss exact": Contender("faiss", _faiss_flat),
    OURS: Contender("coterie", partial(_coterie, method="approximate")),
    **{
        f"coterie cells visits={visits}": Contender("coterie", partial(_coterie_visits, n_visits=visits))
        for visits in VISITS
    },
    **{
        f"{name} M={links} ef={building}/{search}": Contender(
            module, partial(call, links=links, building=building, search=search)
        )
        for links, building, search in HNSW
        for name, module, call in (
            ("faiss HNSW", "faiss", _faiss_hnsw),
            ("hnswlib", "hnswlib", _hnswlib),
            ("usearch", "usearch", _usearch),
        )
    },
    **{
        f"faiss IVF probes={probes}": Contender("faiss", partial(_faiss_ivf, probes=probes))
        for probes in (8, 16)
    },
    **{
        f"faiss NNDescent K={links}": Contender("faiss", partial(_faiss_nn_descent, links=links))
        for links in (32, 64)
    },
    "pynndescent": Contender("pynndescent", _pynndescent),
}


def run_graph(name: str, data: Path, n_neighbors: int, n_threads: int) -> dict[str, Any]:
    """Find the neighbours of all rows and measure it; the recall is that of a sample of the rows."""
    X = np.load(data)
    find = GRAPHS[name].call
    find(X[:WARM_UP_ROWS], n_neighbors, n_threads)
    with measured() as cost:
        ids = find(X, n_neighbors, n_threads)
    return vars(cost) | {"recall": recall(X, np.asarray(ids)), "input_bytes": X.nbytes}


def run_part(data: Path, n_neighbors: int, n_threads: int, n_rows: int) -> dict[str, Any]:
    """Search exactly for the neighbours of the first rows among all; the seconds are those of all rows."""
    from coterie.graphs import nearest_neighbors

    X = np.load(data)
    with measured() as cost:
        ids, _ = nearest_neighbors(X, n_neighbors, queries=X[:n_rows], method="exact", n_threads=n_threads)
    share = len(X) / len(ids)
    times = {name: share * vars(cost)[name] for name in ("seconds", "cpu_seconds", "other_seconds")}
    return vars(cost) | times | {"recall": 1.0, "input_bytes": X.nbytes}


def recall(X: np.ndarray, ids: np.ndarray) -> float:
    """Return the share of the nearest rows that were found, over a sample; equal distances count as found."""
    from coterie.graphs import nearest_neighbors

    m = ids.shape[1]
    sample = np.sort(np.random.default_rng(SEED).choice(len(X), RECALL_ROWS, replace=False))
    _, true_squares = nearest_neighbors(X, m + 1, queries=X[sample], method="exact")
    squares = np.array(
        [np.sum((X[i].astype(np.float64) - X[found]) ** 2, axis=1) for i, found in zip(sample, ids[sample])]
    )
    # One of the m + 1 is the row itself.
    return float(np.mean(squares <= true_squares[:, m:] * (1 + 1e-6)))
