"""The fits: mixtures and k-means, on all rows and on a coreset.

All get the same rows, number of clusters and threads; those with a coreset draw the same one from the same seed, and
those that begin with AFK-MC2 on it get the same initial centers. No fit labels all rows, except where scikit-learn's
and our k-means on all rows do so as part of their last iteration.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from benchmarks.harness.contenders import Contender, model_of
from benchmarks.harness.measuring import clock
from benchmarks.mixture.settings import PUBLISHED, Coreset, Setting, draw_coreset, draw_seeds

CORESET, SEEDING = "coreset_seconds", "seeding_seconds"


@dataclass
class Fit:
    """What a contender returned."""

    centers: np.ndarray
    n_iter: int
    n_distances: float  # evaluated, by the seeding and for the coreset too
    seconds: dict[str, float] = field(default_factory=dict)  # of parts that were timed in the fit
    again: dict[str, Callable[[], object]] = field(default_factory=dict)  # parts to be timed afterwards


class Start:
    """The rows that are fitted and the initial centers, with the seconds and distances that they took."""

    def __init__(self, X: np.ndarray, setting: Setting, seed: int, n_threads: int, coreset: bool) -> None:
        self._setting, self._n_threads, self._clock = setting, n_threads, clock(n_threads)
        self._random = np.random.RandomState(seed)
        self.drawn: Coreset = (X, None)
        self.seconds: dict[str, float] = {}
        self.n_distances = 0.0
        if coreset:
            begin = self._clock()
            self.drawn = draw_coreset(X, setting, self._random, n_threads)
            self.seconds[CORESET] = self._clock() - begin
            self.n_distances = 2.0 * len(X)

    def chain(self) -> np.ndarray:
        """Return initial centers by AFK-MC2: those of a mixture with the same seed."""
        begin = self._clock()
        centers = draw_seeds(self.drawn, self._setting, self._random, self._n_threads)
        self.seconds[SEEDING] = self._clock() - begin
        self.n_distances += _chain_distances(len(self.drawn[0]), self._setting)
        return centers

    def greedy_by_scikit_learn(self, rows: np.ndarray, n_clusters: int, random_state: Any) -> np.ndarray:
        """Return what init="k-means++" makes, with a clock beside it."""
        from sklearn.cluster import kmeans_plusplus

        begin = self._clock()
        found = kmeans_plusplus(rows, n_clusters, sample_weight=self.drawn[1], random_state=random_state)[0]
        self.seconds[SEEDING] = self._clock() - begin
        return found


def _greedy_distances(n_rows: int, n_clusters: int) -> float:
    # scikit-learn and coterie try so many candidates for each center.
    return n_rows * (1.0 + (n_clusters - 1) * (2 + int(np.log(n_clusters))))


def _chain_distances(n_rows: int, setting: Setting) -> float:
    return n_rows + 0.5 * setting.chain_length * setting.n_clusters * (setting.n_clusters - 1)


def _k_means(
    X: np.ndarray, setting: Setting, seed: int, n_threads: int, *, path: str, coreset: bool, chain: bool = False
) -> Fit:  # fmt: skip
    start = Start(X, setting, seed, n_threads, coreset)
    rows, weights = start.drawn
    is_ours, n_clusters = path.startswith("coterie"), setting.n_clusters
    options: dict[str, Any] = {"n_threads": n_threads} if is_ours else {"algorithm": "lloyd"}
    init: Any = start.chain() if chain else "k-means++" if is_ours else start.greedy_by_scikit_learn
    again: dict[str, Callable[[], object]] = {}
    if not chain:
        start.n_distances += _greedy_distances(len(rows), n_clusters)
    if is_ours and not chain:
        again[SEEDING] = partial(
            model_of, "coterie.seeding.k_means_plus_plus", rows, n_clusters, sample_weight=weights,
            random_state=seed, n_threads=n_threads,
        )  # fmt: skip
    model = model_of(path, n_clusters, init=init, n_init=1, tol=setting.tol, random_state=seed, **options)
    model.fit(rows, sample_weight=weights)
    n_distances = start.n_distances + float(len(rows)) * n_clusters * model.n_iter_
    return Fit(model.cluster_centers_, model.n_iter_, n_distances, start.seconds, again)


def _seeds_alone(X: np.ndarray, setting: Setting, seed: int, n_threads: int) -> Fit:
    start = Start(X, setting, seed, n_threads, coreset=False)
    return Fit(start.chain(), 0, start.n_distances, start.seconds)


def _mixture(
    X: np.ndarray, setting: Setting, seed: int, n_threads: int, *, coreset: bool, **steps: float
) -> Fit:
    size = setting.coreset_size if coreset else None
    model = setting.mixture(seed, n_threads, coreset_size=size).set_params(**steps).fit(X)
    evaluated = model.history_["n_distances"]
    # The searches before the first iteration have no line in the history; the first that has one stands in for them.
    n_distances = float(evaluated.sum() + model.initial_e_steps * evaluated[0]) + 2.0 * len(X) * coreset
    n_distances += _chain_distances(size or len(X), setting)

    again: dict[str, Callable[[], object]] = {}
    random, drawn = np.random.RandomState(seed), [(X, None)]

    def draw_again() -> None:
        drawn[0] = draw_coreset(X, setting, random, n_threads)

    if coreset:
        again[CORESET] = draw_again
    again[SEEDING] = lambda: draw_seeds(drawn[0], setting, random, n_threads)
    return Fit(model.means_, model.n_iter_, n_distances, again=again)


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
