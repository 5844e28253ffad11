"""Initial centers, as coterie, scikit-learn and faiss choose them, and the run that measures one of them."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness.contenders import Contender
from benchmarks.harness.measuring import measured
from benchmarks.harness.quality import inertia

__all__ = ["chain_seeding", "coterie_seeding", "faiss_seeding", "run_seeding", "scikit_learn_seeding"]


def coterie_seeding(*, trials: int | None = None, group: str = "") -> Contender:
    """Return coterie's k-means++ with so many candidates for each center (None: the greedy rule)."""
    return Contender("coterie", partial(_coterie, trials=trials), group)


def chain_seeding(*, chain_length: int, group: str = "") -> Contender:
    """Return coterie's AFK-MC2."""
    return Contender("coterie", partial(_coterie_chain, chain_length=chain_length), group)


def scikit_learn_seeding(*, trials: int | None = None, group: str = "") -> Contender:
    """Return scikit-learn's k-means++ with so many candidates for each center (None: the greedy rule)."""
    return Contender("sklearn", partial(_scikit_learn, trials=trials), group)


def faiss_seeding(*, method: str, chain_length: int | None = None, group: str = "") -> Contender:
    """Return a method of faiss: "KMEANS_PLUS_PLUS" or "AFK_MC2"."""
    return Contender("faiss", partial(_faiss, method=method, chain_length=chain_length), group)


def _coterie(X: np.ndarray, k: int, seed: int, n_threads: int, *, trials: int | None) -> np.ndarray:
    from coterie.seeding import k_means_plus_plus

    return k_means_plus_plus(X, k, random_state=seed, n_local_trials=trials, n_threads=n_threads)[0]


def _coterie_chain(X: np.ndarray, k: int, seed: int, n_threads: int, *, chain_length: int) -> np.ndarray:
    from coterie.seeding import afk_mc2

    return afk_mc2(X, k, chain_length=chain_length, random_state=seed, n_threads=n_threads)[0]


def _scikit_learn(X: np.ndarray, k: int, seed: int, n_threads: int, *, trials: int | None) -> np.ndarray:
    from sklearn.cluster import kmeans_plusplus

    return kmeans_plusplus(X, k, random_state=seed, n_local_trials=trials)[0]


def _faiss(
    X: np.ndarray, k: int, seed: int, n_threads: int, *, method: str, chain_length: int | None
) -> np.ndarray:
    import faiss

    faiss.omp_set_num_threads(n_threads)
    seeding = faiss.ClusteringInitialization(X.shape[1], k)
    seeding.method = getattr(faiss, f"ClusteringInitMethod_{method}")
    if chain_length is not None:
        seeding.afkmc2_chain_length = chain_length
    seeding.seed = seed
    centers = np.empty((k, X.shape[1]), np.float32)
    seeding.init_centroids(len(X), faiss.swig_ptr(X), faiss.swig_ptr(centers))
    return centers


def run_seeding(
    seeding: Contender, data: Path, n_clusters: int, seed: int, n_threads: int, rows_per_block: int = 8192
) -> dict[str, Any]:
    """Choose initial centers and measure it; the potential is the sum of squared distances to the nearest of them.

    Parameters
    ----------
    seeding : Contender
        One of this module.
    data : Path
        A .npy file.
    n_clusters, seed, n_threads : int
        What is asked of it.
    rows_per_block : int
        Rows at a time for the potential: fewer for many clusters.
    """
    X = np.load(data)
    seeding.call(X[:2000], 10, seed, n_threads)
    with measured() as cost:
        centers = seeding.call(X, n_clusters, seed, n_threads)
    potential = inertia(X, np.asarray(centers), rows_per_block)
    return vars(cost) | {"potential": potential, "input_bytes": X.nbytes}
