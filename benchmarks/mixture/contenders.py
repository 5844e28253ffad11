"""The fits: mixtures and k-means, on all rows and on a coreset.

All get the same rows, number of clusters and threads; those with a coreset draw the same one from the same seed. No
fit labels all rows, except where scikit-learn's and our k-means on all rows do so as part of their last iteration.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from benchmarks.harness.contenders import Contender
from benchmarks.mixture.settings import Coreset, Setting, draw_coreset

CORESET, SEEDING = "coreset_seconds", "seeding_seconds"


@dataclass
class Fit:
    """What a contender returned.

    Attributes
    ----------
    centers : ndarray of shape (C, d)
        Centroids or means.
    n_iter : int
        Iterations.
    n_distances : float
        Evaluated distances, of the seeding and of the coreset too.
    seconds : dict
        Seconds of the parts, where the fit was watched while they ran.
    again : dict
        Parts that are to be run once more by themselves, after the fit, to see their seconds.
    """

    centers: np.ndarray
    n_iter: int
    n_distances: float
    seconds: dict[str, float] = field(default_factory=dict)
    again: dict[str, Callable[[], object]] = field(default_factory=dict)


def _timed_coreset(
    X: np.ndarray, setting: Setting, seed: int, n_threads: int, coreset: bool
) -> tuple[Coreset, dict[str, float], float]:
    """Return the rows to be fitted, what it took to get them, and how many distances."""
    if not coreset:
        return (X, None), {}, 0.0
    begin = time.perf_counter()
    drawn = draw_coreset(X, setting, seed, n_threads)
    return drawn, {CORESET: time.perf_counter() - begin}, 2.0 * len(X)


def n_trials(n_clusters: int) -> int:
    """Return the candidates of greedy k-means++ for each centre, of scikit-learn and of coterie."""
    return 2 + int(np.log(n_clusters))


def _greedy_distances(n_rows: int, n_clusters: int) -> float:
    return n_rows * (1.0 + (n_clusters - 1) * n_trials(n_clusters))


def _chain_distances(n_rows: int, setting: Setting) -> float:
    return n_rows + 0.5 * setting.chain_length * setting.n_clusters * (setting.n_clusters - 1)


def _scikit_learn(X: np.ndarray, setting: Setting, seed: int, n_threads: int, *, coreset: bool) -> Fit:
    from sklearn.cluster import KMeans, kmeans_plusplus

    (rows, weights), seconds, n_distances = _timed_coreset(X, setting, seed, n_threads, coreset)

    def seeds(centred: np.ndarray, n_clusters: int, random_state: Any) -> np.ndarray:
        # What init="k-means++" does, with a clock beside it.
        begin = time.perf_counter()
        found = kmeans_plusplus(centred, n_clusters, sample_weight=weights, random_state=random_state)[0]
        seconds[SEEDING] = time.perf_counter() - begin
        return found

    model = KMeans(setting.n_clusters, init=seeds, n_init=1, algorithm="lloyd", random_state=seed)
    model.fit(rows, sample_weight=weights)
    n_distances += _greedy_distances(len(rows), setting.n_clusters)
    n_distances += float(len(rows)) * setting.n_clusters * model.n_iter_
    return Fit(model.cluster_centers_, model.n_iter_, n_distances, seconds)


def _coterie(
    X: np.ndarray, setting: Setting, seed: int, n_threads: int, *, coreset: bool, chain: bool = False
) -> Fit:
    from coterie import KMeans
    from coterie.seeding import afk_mc2, k_means_plus_plus

    (rows, weights), seconds, n_distances = _timed_coreset(X, setting, seed, n_threads, coreset)
    n_clusters = setting.n_clusters
    options: dict[str, Any] = dict(sample_weight=weights, random_state=seed, n_threads=n_threads)
    again: dict[str, Callable[[], object]] = {}
    init: Any = "k-means++"
    if chain:
        begin = time.perf_counter()
        init = afk_mc2(rows, n_clusters, chain_length=setting.chain_length, **options)[0]
        seconds[SEEDING] = time.perf_counter() - begin
        n_distances += _chain_distances(len(rows), setting)
    else:
        again[SEEDING] = partial(k_means_plus_plus, rows, n_clusters, **options)
        n_distances += _greedy_distances(len(rows), n_clusters)
    model = KMeans(n_clusters, init=init, n_init=1, random_state=seed, n_threads=n_threads)
    model.fit(rows, sample_weight=weights)
    n_distances += float(len(rows)) * n_clusters * model.n_iter_
    return Fit(model.cluster_centers_, model.n_iter_, n_distances, seconds, again)


def _mixture(X: np.ndarray, setting: Setting, seed: int, n_threads: int, *, coreset: bool) -> Fit:
    size = setting.coreset_size if coreset else None
    model = setting.mixture(seed, n_threads, coreset_size=size).fit(X)
    evaluated = model.history_["n_distances"]
    # The E-step before the first iteration has no line in the history; the first that has one stands in for it.
    n_distances = float(evaluated.sum() + evaluated[0]) + 2.0 * len(X) * coreset
    n_distances += _chain_distances(size or len(X), setting)
    drawn: Coreset = (X, None)

    def draw_again() -> None:
        nonlocal drawn
        drawn = draw_coreset(X, setting, seed, n_threads)

    def seed_again() -> None:
        from coterie.seeding import afk_mc2

        afk_mc2(
            drawn[0],
            setting.n_clusters,
            sample_weight=drawn[1],
            chain_length=setting.chain_length,
            random_state=seed,
            n_threads=n_threads,
        )

    again: dict[str, Callable[[], object]] = {CORESET: draw_again} if coreset else {}
    again[SEEDING] = seed_again
    return Fit(model.means_, model.n_iter_, n_distances, {}, again)


REFERENCE, CHAIN_REFERENCE = "scikit-learn k-means++, all rows", "coterie k-means, AFK-MC2, all rows"
OWN_ALL_ROWS = "coterie k-means++, all rows"
PEER_ON_CORESET, OWN_ON_CORESET = "LWCS + scikit-learn k-means++", "LWCS + coterie k-means++"
VAR_GMM_S, VC_GMM = "coterie var-GMM-S", "coterie vc-GMM"

FITS: dict[str, Contender] = {
    # The first of these two that is measured is what errors and speed-ups are relative to.
    REFERENCE: Contender("sklearn", partial(_scikit_learn, coreset=False)),
    CHAIN_REFERENCE: Contender("coterie", partial(_coterie, coreset=False, chain=True)),
    OWN_ALL_ROWS: Contender("coterie", partial(_coterie, coreset=False)),
    PEER_ON_CORESET: Contender("sklearn", partial(_scikit_learn, coreset=True)),
    OWN_ON_CORESET: Contender("coterie", partial(_coterie, coreset=True)),
    VAR_GMM_S: Contender("coterie", partial(_mixture, coreset=False)),
    VC_GMM: Contender("coterie", partial(_mixture, coreset=True)),
}
