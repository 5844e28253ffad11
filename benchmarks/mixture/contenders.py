"""The data sets, what is asked on each, and the fits: mixtures and k-means, on all rows and on a coreset.

All get the same rows, number of clusters and threads; those with a coreset draw the same one from the same seed, and
those that begin with AFK-MC2 on it get the same initial centers. No fit labels all rows, except where scikit-learn's
and our k-means on all rows do so as part of their last iteration.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Self

import numpy as np

from benchmarks.harness.benchmark import Benchmark
from benchmarks.harness.contenders import Contender, model_of, threaded
from benchmarks.harness.data.files import real_file
from coterie.coresets import lightweight_coreset
from coterie.seeding import afk_mc2

Coreset = tuple[np.ndarray, np.ndarray | None]

# Algorithm 2 as written.
PUBLISHED: dict[str, int] = dict(search_group_size=1, search_every=1, coreset_tol=0)


@dataclass(frozen=True)
class Setting:
    """What is asked of the contenders of a row; the letters are those of the paper."""

    n_clusters: int  # C
    coreset_size: int  # N'
    n_candidates: int = 5  # C'
    n_neighbors: int = 5  # G
    random_candidate: bool = False
    init: str = "afk-mc2"
    chain_length: int = 2  # m
    search_group_size: int = 16
    search_every: int = 3
    initial_e_steps: int = 1
    tol: float = 1e-4
    coreset_tol: float = 0.1
    n_test: int = 0  # the last rows, which are not fitted: errors are theirs

    def split(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows to be fitted, and those whose error is measured: the same unless some are held out."""
        return (X[: -self.n_test], X[-self.n_test :]) if self.n_test else (X, X)

    def mixture(self, seed: int, n_threads: int, **others: Any) -> Any:
        """Return the unfitted estimator, without a coreset."""
        unasked = ("n_clusters", "coreset_size", "n_test")
        own = {name: value for name, value in vars(self).items() if name not in unasked}
        options = own | {"compute_labels": False, "random_state": seed, "n_threads": n_threads} | others
        return model_of("coterie.TruncatedGaussianMixture", self.n_clusters, **options)

    @property
    def tiny(self) -> Self:
        """One for few rows, to load packages and start their threads."""
        return replace(self, n_clusters=20, coreset_size=500, n_test=0)


def draw_coreset(
    X: np.ndarray, setting: Setting, seed: int | np.random.RandomState, n_threads: int
) -> Coreset:
    return lightweight_coreset(X, setting.coreset_size, random_state=seed, n_threads=n_threads)[:2]


def draw_seeds(
    coreset: Coreset, setting: Setting, random: np.random.RandomState, n_threads: int
) -> np.ndarray:
    """Return initial centers by AFK-MC2: after `draw_coreset` with the same source, those that vc-GMM begins with."""
    rows, weights = coreset
    options = {"chain_length": setting.chain_length, "sample_weight": weights}
    return afk_mc2(rows, setting.n_clusters, random_state=random, n_threads=n_threads, **options)[0]


@dataclass(frozen=True)
class MixtureRow:
    """One data set and what is asked of the contenders; `real` is the file without which a stand-in is made."""

    data: str
    n_rows: int
    setting: Setting
    real: str = ""
    large: bool = False  # every fit on all rows is heavy, and has AFK-MC2 as its reference too

    @property
    def title(self) -> str:
        s = self.setting
        candidates = f"C' = {s.n_candidates}{' + 1' * s.random_candidate}, G = {s.n_neighbors}"
        sizes = f"C = {s.n_clusters:,}, N' = {s.coreset_size:,}"
        held_out = f", errors of the last {s.n_test:,}" if s.n_test else ""
        return f"{self.n_rows:,} rows{held_out}, {sizes}, {candidates}, m = {s.chain_length}"

    def for_options(self, benchmark: Benchmark) -> Self:
        if not benchmark.quick:
            return self
        s = self.setting
        sizes = {"n_clusters": max(10, s.n_clusters // 10), "coreset_size": s.coreset_size // 10}
        return replace(self, n_rows=self.n_rows // 100, setting=replace(s, n_test=s.n_test // 100, **sizes))

    def file(self, benchmark: Benchmark, key: str) -> Path:
        """Return the file of the rows; say so if they are a stand-in."""
        if self.real and real_file(self.real) is None:
            benchmark.say(f"{key}: {self.real} is not in COTERIE_DATA, generated rows stand in for it.")
        return benchmark.data(self.data, self.n_rows)


ROWS = {
    "mnist": MixtureRow("unit_mnist", 70_000, Setting(500, 4096), "mnist.npz"),
    "cod_rna": MixtureRow(
        "cod_rna", 331_152, Setting(500, 32_768, 3, 3, random_candidate=True, chain_length=20), "cod_rna.npz"
    ),
    "cifar10_12k": MixtureRow("cifar10_12k", 12_000, Setting(500, 4096), "cifar10_12k.npz"),
    "aug90": MixtureRow("aug90", 515_345, Setting(4000, 65_536), "mnist.npz", large=True),
    "blobs64": MixtureRow("blobs64", 1_000_000, Setting(2048, 65_536), large=True),
}
# What --quick leaves out: photographs are as images of digits are, and aug90 is made from all of these.
QUICK = ("mnist", "cod_rna", "blobs64")


CORESET, SEEDING = "coreset_seconds", "seeding_seconds"


@dataclass
class Fit:
    """What a contender returned."""

    centers: np.ndarray
    n_iter: int
    n_distances: float  # evaluated, by the seeding and for the coreset too
    parts: dict[str, Callable[[], object]]  # coreset and seeding once more, to be timed


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


def _until_the_error_settles(tol: float) -> Callable[[Any], bool]:
    """Return the callback that ends k-means as the papers do: by the relative change of the error."""
    before = np.inf

    def is_settled(progress: Any) -> bool:
        nonlocal before
        change, before = before - progress.objective, progress.objective
        return change < tol * progress.objective

    return is_settled


def _k_means(
    X: np.ndarray, setting: Setting, seed: int, n_threads: int, *, path: str, coreset: bool, chain: bool = False
) -> Fit:  # fmt: skip
    random, n_clusters, is_ours = np.random.RandomState(seed), setting.n_clusters, path.startswith("coterie")
    rows, weights = drawn = draw_coreset(X, setting, random, n_threads) if coreset else (X, None)
    options: dict[str, Any] = {} if is_ours else {"algorithm": "lloyd"}
    options["init"] = draw_seeds(drawn, setting, random, n_threads) if chain else "k-means++"
    options |= {"n_init": 1, "tol": setting.tol, "random_state": seed, "n_threads": n_threads}
    if is_ours:
        options |= {"tol": 0, "callback": _until_the_error_settles(setting.tol)}
    model = threaded(path, n_clusters, **options).fit(rows, sample_weight=weights)
    n_distances = _chain_distances(len(rows), setting) if chain else _greedy_distances(len(rows), n_clusters)
    n_distances += 2.0 * len(X) * coreset + float(len(rows)) * n_clusters * model.n_iter_
    greedy = "coterie.seeding.k_means_plus_plus" if is_ours else "sklearn.cluster.kmeans_plusplus"
    parts = _parts(X, setting, seed, n_threads, coreset, "" if chain else greedy)
    return Fit(model.cluster_centers_, model.n_iter_, n_distances, parts)


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
OWN_ALL_ROWS = "coterie k-means++, all rows"
PEER_ON_CORESET, OWN_ON_CORESET = "LWCS + scikit-learn k-means++", "LWCS + coterie k-means++"
PEER_CHAIN, OWN_CHAIN = "LWCS + AFK-MC2 + scikit-learn", "LWCS + AFK-MC2 + coterie k-means"
VAR_GMM_S, VC_GMM = "coterie var-GMM-S", "coterie vc-GMM"
PUBLISHED_STEPS, EARLY_STOP = f"{VC_GMM}, the papers' steps", f"{VC_GMM}, tol=1e-3"


def _of(call: Callable[..., Fit], path: str = "", **options: Any) -> Contender:
    options |= {"path": path} if path else {}
    return Contender(path.partition(".")[0] or "coterie", partial(call, **options))


_PEER, _OWN = (partial(_of, _k_means, path) for path in ("sklearn.cluster.KMeans", "coterie.KMeans"))
FITS: dict[str, Contender] = {
    # The first of these two that is measured is what errors and speed-ups are relative to.
    REFERENCE: _PEER(coreset=False),
    CHAIN_REFERENCE: _OWN(coreset=False, chain=True),
    OWN_ALL_ROWS: _OWN(coreset=False),
    PEER_ON_CORESET: _PEER(coreset=True),
    OWN_ON_CORESET: _OWN(coreset=True),
    PEER_CHAIN: _PEER(coreset=True, chain=True),
    OWN_CHAIN: _OWN(coreset=True, chain=True),
    VAR_GMM_S: _of(_mixture, coreset=False),
    VC_GMM: _of(_mixture, coreset=True),
    PUBLISHED_STEPS: _of(_mixture, coreset=True, **PUBLISHED),
    EARLY_STOP: _of(_mixture, coreset=True, tol=1e-3),
}
