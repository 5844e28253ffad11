"""The fits: mixtures and k-means, on all rows and on a coreset.

All get the same rows, number of clusters and threads; those with a coreset draw the same one from the same seed, and
those that begin with AFK-MC2 on it get the same initial centers. No fit labels all rows, except where scikit-learn's
and our k-means on all rows do so as part of their last iteration.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from benchmarks.harness.contenders import Contender, threaded
from benchmarks.mixture.settings import PUBLISHED, Coreset, Setting, draw_coreset, draw_seeds

CORESET, SEEDING = "coreset_seconds", "seeding_seconds"


@dataclass
class Fit:
    """What a contender returned."""

    centers: np.ndarray
    n_iter: int
    n_distances: float  # evaluated, by the seeding and for the coreset too
    parts: dict[str, Callable[[], object]]  # coreset and seeding once more, to be timed


def rows_to_fit(
    X: np.ndarray, setting: Setting, random: np.random.RandomState, n_threads: int, coreset: bool
) -> Coreset:
    """Return all rows, or a coreset of them with its weights."""
    return draw_coreset(X, setting, random, n_threads) if coreset else (X, None)


def _parts(
    X: np.ndarray, setting: Setting, seed: int, n_threads: int, coreset: bool, greedy: str = ""
) -> dict[str, Callable[[], object]]:
    """Return what draws the coreset, if there is one, and then the seeds: by AFK-MC2, or by a greedy k-means++."""
    random, drawn = np.random.RandomState(seed), [(X, None)]

    def draw() -> None:
        drawn[0] = draw_coreset(X, setting, random, n_threads)

    def seeds() -> Any:
        rows, weights = drawn[0]
        if not greedy:
            return draw_seeds(drawn[0], setting, random, n_threads)
        options = {"sample_weight": weights, "random_state": seed, "n_threads": n_threads}
        return threaded(greedy, rows, setting.n_clusters, **options)

    return ({CORESET: draw} if coreset else {}) | {SEEDING: seeds}


def _greedy_distances(n_rows: int, n_clusters: int) -> float:
    # scikit-learn and coterie try so many candidates for each center.
    return n_rows * (1.0 + (n_clusters - 1) * (2 + int(np.log(n_clusters))))


def _chain_distances(n_rows: int, setting: Setting) -> float:
    return n_rows + 0.5 * setting.chain_length * setting.n_clusters * (setting.n_clusters - 1)


def _k_means(
    X: np.ndarray, setting: Setting, seed: int, n_threads: int, *, path: str, coreset: bool, chain: bool = False
) -> Fit:  # fmt: skip
    random, n_clusters, is_ours = np.random.RandomState(seed), setting.n_clusters, path.startswith("coterie")
    rows, weights = drawn = rows_to_fit(X, setting, random, n_threads, coreset)
    options: dict[str, Any] = {} if is_ours else {"algorithm": "lloyd"}
    options["init"] = draw_seeds(drawn, setting, random, n_threads) if chain else "k-means++"
    options |= {"n_init": 1, "tol": setting.tol, "random_state": seed, "n_threads": n_threads}
    model = threaded(path, n_clusters, **options).fit(rows, sample_weight=weights)
    n_distances = _chain_distances(len(rows), setting) if chain else _greedy_distances(len(rows), n_clusters)
    n_distances += 2.0 * len(X) * coreset + float(len(rows)) * n_clusters * model.n_iter_
    greedy = "coterie.seeding.k_means_plus_plus" if is_ours else "sklearn.cluster.kmeans_plusplus"
    parts = _parts(X, setting, seed, n_threads, coreset, "" if chain else greedy)
    return Fit(model.cluster_centers_, model.n_iter_, n_distances, parts)


def _seeds_alone(X: np.ndarray, setting: Setting, seed: int, n_threads: int) -> Fit:
    centers = draw_seeds((X, None), setting, np.random.RandomState(seed), n_threads)
    parts = _parts(X, setting, seed, n_threads, coreset=False)
    return Fit(centers, 0, _chain_distances(len(X), setting), parts)


def _mixture(
    X: np.ndarray, setting: Setting, seed: int, n_threads: int, *, coreset: bool, **steps: float
) -> Fit:
    size = setting.coreset_size if coreset else None
    model = setting.mixture(seed, n_threads, coreset_size=size).set_params(**steps).fit(X)
    evaluated = model.history_["n_distances"]
    # The searches before the first iteration have no line in the history; the first that has one stands in for them.
    n_distances = float(evaluated.sum() + model.initial_e_steps * evaluated[0]) + 2.0 * len(X) * coreset
    n_distances += _chain_distances(size or len(X), setting)
    return Fit(model.means_, model.n_iter_, n_distances, _parts(X, setting, seed, n_threads, coreset))


REFERENCE, CHAIN_REFERENCE = "scikit-learn k-means++, all rows", "coterie k-means, AFK-MC2, all rows"
OWN_ALL_ROWS, SEEDS_ALONE = "coterie k-means++, all rows", "AFK-MC2 alone, all rows"
PEER_ON_CORESET, OWN_ON_CORESET = "LWCS + scikit-learn k-means++", "LWCS + coterie k-means++"
PEER_CHAIN, OWN_CHAIN = "LWCS + AFK-MC2 + scikit-learn", "LWCS + AFK-MC2 + coterie k-means"
VAR_GMM_S, VC_GMM = "coterie var-GMM-S", "coterie vc-GMM"
PUBLISHED_STEPS, EARLY_STOP = f"{VC_GMM}, the papers' steps", f"{VC_GMM}, tol=1e-3"


def _of(module: str, call: Callable[..., Fit], **options: Any) -> Contender:
    return Contender(module, partial(call, **options))


_PEER: dict[str, Any] = {"module": "sklearn", "call": partial(_k_means, path="sklearn.cluster.KMeans")}
_OWN: dict[str, Any] = {"module": "coterie", "call": partial(_k_means, path="coterie.KMeans")}
_MIXTURE: dict[str, Any] = {"module": "coterie", "call": _mixture}
FITS: dict[str, Contender] = {
    # The first of these two that is measured is what errors and speed-ups are relative to.
    REFERENCE: _of(**_PEER, coreset=False),
    CHAIN_REFERENCE: _of(**_OWN, coreset=False, chain=True),
    OWN_ALL_ROWS: _of(**_OWN, coreset=False),
    SEEDS_ALONE: Contender("coterie", _seeds_alone),
    PEER_ON_CORESET: _of(**_PEER, coreset=True),
    OWN_ON_CORESET: _of(**_OWN, coreset=True),
    PEER_CHAIN: _of(**_PEER, coreset=True, chain=True),
    OWN_CHAIN: _of(**_OWN, coreset=True, chain=True),
    VAR_GMM_S: _of(**_MIXTURE, coreset=False),
    VC_GMM: _of(**_MIXTURE, coreset=True),
    PUBLISHED_STEPS: _of(**_MIXTURE, coreset=True, **PUBLISHED),
    EARLY_STOP: _of(**_MIXTURE, coreset=True, tol=1e-3),
}
