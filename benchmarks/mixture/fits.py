"""The contenders of `benchmarks.mixture` and the runs that measure them, each in a process of its own.

All get the same rows, number of clusters and threads; those with a coreset draw the same one from the same seed. No
fit labels all rows, except where scikit-learn's and our k-means on all rows do so as part of their last iteration.
"""

from __future__ import annotations

import copy
import os
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks.harness.measuring import measured, peak_memory
from benchmarks.kmeans.fits import Contender, inertia

SAMPLED_CLUSTERS = 50  # of so many clusters, one is seeded to forecast the seconds of all
FORECAST_ITERATIONS = 20  # few for Lloyd's algorithm with hundreds of clusters
LABEL_REPEATS = 3
SETTLED_ITERATION = 5  # from here on a cycle of EM iterations costs what the next ones cost
CYCLE = 3
READ_BYTES = 16 << 20

Coreset = tuple[np.ndarray, np.ndarray | None]


@dataclass(frozen=True)
class Setting:
    """What is asked of the contenders of a row; the letters are those of the paper."""

    n_clusters: int  # C
    coreset_size: int  # N'
    n_candidates: int = 5  # C'
    n_neighbors: int = 5  # G
    random_candidate: bool = False
    chain_length: int = 2  # m

    def mixture(self, seed: int, n_threads: int, **others: Any) -> Any:
        """Return the unfitted estimator, without a coreset."""
        from coterie import TruncatedGaussianMixture

        return TruncatedGaussianMixture(
            self.n_clusters,
            n_candidates=self.n_candidates,
            n_neighbors=self.n_neighbors,
            random_candidate=self.random_candidate,
            chain_length=self.chain_length,
            compute_labels=False,
            random_state=seed,
            n_threads=n_threads,
            **others,
        )


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


CORESET, SEEDING = "coreset_seconds", "seeding_seconds"


def _draw_coreset(X: np.ndarray, setting: Setting, seed: int, n_threads: int) -> Coreset:
    from coterie.coresets import lightweight_coreset

    return lightweight_coreset(X, setting.coreset_size, random_state=seed, n_threads=n_threads)[:2]


def _timed_coreset(
    X: np.ndarray, setting: Setting, seed: int, n_threads: int, coreset: bool
) -> tuple[Coreset, dict[str, float], float]:
    """Return the rows to be fitted, what it took to get them, and how many distances."""
    if not coreset:
        return (X, None), {}, 0.0
    begin = time.perf_counter()
    drawn = _draw_coreset(X, setting, seed, n_threads)
    return drawn, {CORESET: time.perf_counter() - begin}, 2.0 * len(X)


def _n_trials(n_clusters: int) -> int:
    """Return the candidates of greedy k-means++ for each centre, of scikit-learn and of coterie."""
    return 2 + int(np.log(n_clusters))


def _greedy_distances(n_rows: int, n_clusters: int) -> float:
    return n_rows * (1.0 + (n_clusters - 1) * _n_trials(n_clusters))


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
        drawn = _draw_coreset(X, setting, seed, n_threads)

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


def run_fit(name: str, data: Path, setting: Setting, seed: int, n_threads: int) -> dict[str, Any]:
    """Fit one contender and measure it; its error and the seconds of its parts are found afterwards."""
    X = np.load(data)
    fitting = FITS[name].call
    fitting(X[:2000], _tiny(setting), seed, n_threads)
    with measured() as cost:
        fit = fitting(X, setting, seed, n_threads)
    seconds = dict.fromkeys((CORESET, SEEDING), 0.0) | fit.seconds
    for part, function in fit.again.items():
        seconds[part] = _seconds_of(function)
    return (
        vars(cost)
        | seconds
        | {
            "n_iter": int(fit.n_iter),
            "n_distances": fit.n_distances,
            "error": quantization_error(X, fit.centers),
            "input_bytes": X.nbytes,
        }
    )


def _tiny(setting: Setting) -> Setting:
    # To load packages and start their threads.
    return Setting(20, 500, setting.n_candidates, setting.n_neighbors, setting.random_candidate)


def _seconds_of(function: Callable[[], object]) -> float:
    begin = time.perf_counter()
    function()
    return time.perf_counter() - begin


def quantization_error(X: np.ndarray, centers: np.ndarray) -> float:
    """Return the mean squared distance of the rows to the nearest centre, found by comparing with all of them."""
    # Around the mean, where float32 products lose less.
    mean = X.mean(axis=0, dtype=np.float64)
    return inertia((X - mean).astype(np.float32), np.asarray(centers - mean, np.float32), 2048) / len(X)


def run_forecast(data: Path, setting: Setting, n_threads: int) -> float:
    """Return about how many seconds scikit-learn's k-means++ and Lloyd will take on all rows, at the least.

    One in so many clusters is seeded, with the trials of all; two iterations and the labels that follow give the
    seconds of an iteration.
    """
    from sklearn.cluster import KMeans, kmeans_plusplus

    X = np.load(data)
    n_clusters = setting.n_clusters
    n_seeded = max(2, n_clusters // SAMPLED_CLUSTERS)
    seeds = partial(kmeans_plusplus, X, n_seeded, n_local_trials=_n_trials(n_clusters), random_state=0)
    seeding = _seconds_of(seeds) * n_clusters / n_seeded
    start = X[np.sort(np.random.default_rng(0).choice(len(X), n_clusters, replace=False))]
    model = KMeans(n_clusters, init=start, n_init=1, max_iter=2, tol=0, algorithm="lloyd")
    return seeding + FORECAST_ITERATIONS / 3 * _seconds_of(partial(model.fit, X))


# --- labels for all rows


def run_labels(data: Path, setting: Setting, seed: int, n_threads: int) -> dict[str, Any]:
    """Fit vc-GMM and label all rows: exactly, by the truncated search, and by scikit-learn's k-means."""
    from sklearn.cluster import KMeans

    X = np.load(data)
    model = setting.mixture(seed, n_threads, coreset_size=setting.coreset_size)
    fit_seconds = _seconds_of(lambda: model.fit(X))
    found: dict[str, np.ndarray] = {}
    seconds: dict[str, list[float]] = defaultdict(list)

    def label(assignment: str) -> None:
        # A copy forgets what the search before has kept: the cells of the means count.
        fresh = copy.deepcopy(model).set_params(assignment=assignment)
        seconds[assignment].append(_seconds_of(lambda: found.update({assignment: fresh.predict(X)})))

    peer = KMeans(len(model.means_), init=model.means_, n_init=1, max_iter=1)
    peer.fit(X[: max(1000, 2 * len(model.means_))])
    peer.cluster_centers_ = model.means_
    with measured() as cost:
        for _ in range(LABEL_REPEATS):
            label("exact")
            label("truncated")
            seconds["peer"].append(_seconds_of(lambda: peer.predict(X)))
    energies = {name: _energy(X, model.means_, labels) for name, labels in found.items()}
    return {
        "seconds": cost.seconds,
        "other_seconds": cost.other_seconds,
        "fit_seconds": fit_seconds,
        "differing": float(np.mean(found["exact"] != found["truncated"])),
        "energy_rise": energies["truncated"] / energies["exact"] - 1,
        **{f"{name}_seconds": median(times) for name, times in seconds.items()},
    }


def _energy(X: np.ndarray, centers: np.ndarray, labels: np.ndarray, rows_per_block: int = 8192) -> float:
    total = 0.0
    for start in range(0, len(X), rows_per_block):
        gap = X[start : start + rows_per_block] - centers[labels[start : start + rows_per_block]]
        total += float(np.einsum("ij,ij->", gap, gap, dtype=np.float64))
    return total / len(X)


# --- seconds of an iteration


def _mixture_iterations(coreset: Coreset, setting: Setting, seed: int, n_threads: int, n_iter: int) -> Any:
    model = setting.mixture(seed, n_threads, max_iter=n_iter, tol=0).fit(coreset[0], sample_weight=coreset[1])
    history = model.history_[SETTLED_ITERATION - 1 :]
    # One of the iterations of a cycle searches.
    seconds = np.diff(history["seconds"][::CYCLE]) / CYCLE
    return seconds, float(np.mean(history["n_distances"][1 : 1 + CYCLE * len(seconds)]))


def _coterie_iterations(coreset: Coreset, setting: Setting, seed: int, n_threads: int, n_iter: int) -> Any:
    from coterie import KMeans

    model = KMeans(
        setting.n_clusters,
        init="random",
        n_init=1,
        max_iter=n_iter,
        tol=0,
        algorithm="lloyd",
        random_state=seed,
        n_threads=n_threads,
    ).fit(coreset[0], sample_weight=coreset[1])
    return np.diff(model.history_["seconds"]), float(len(coreset[0])) * setting.n_clusters


def _scikit_learn_iterations(
    coreset: Coreset, setting: Setting, seed: int, n_threads: int, n_iter: int
) -> Any:
    from sklearn.cluster import KMeans

    rows, weights = coreset
    start = rows[np.sort(np.random.default_rng(seed).choice(len(rows), setting.n_clusters, replace=False))]

    def fitted(most: int) -> tuple[float, int]:
        model = KMeans(setting.n_clusters, init=start, n_init=1, max_iter=most, tol=0, algorithm="lloyd")
        return _seconds_of(partial(model.fit, rows, sample_weight=weights)), model.n_iter_

    # Two fits that differ by so many iterations; the rest, checks and labels, is the same.
    seconds = []
    for _ in range(2):
        (few_seconds, few), (many_seconds, many) = fitted(1), fitted(n_iter)
        seconds.append((many_seconds - few_seconds) / (many - few))
    return seconds, float(len(rows)) * setting.n_clusters


ITERATIONS: dict[str, Contender] = {
    VC_GMM: Contender("coterie", partial(_mixture_iterations, n_iter=20)),
    "coterie lloyd": Contender("coterie", partial(_coterie_iterations, n_iter=5)),
    "scikit-learn lloyd": Contender("sklearn", partial(_scikit_learn_iterations, n_iter=5)),
}


def run_iterations(name: str, data: Path, setting: Setting, seed: int, n_threads: int) -> dict[str, Any]:
    """Return the typical seconds of an iteration on the coreset, and the distances that it evaluates."""
    rows, weights = coreset = _draw_coreset(np.load(data), setting, seed, n_threads)
    iterate = ITERATIONS[name].call
    iterate((rows[:2000], None if weights is None else weights[:2000]), _tiny(setting), seed, n_threads)
    with measured() as cost:
        seconds, n_distances = iterate(coreset, setting, seed, n_threads)
    typical = float(np.median(seconds))
    # What is disturbed is judged by the seconds that count.
    other = cost.other_seconds * typical / cost.seconds
    return {"seconds": typical, "other_seconds": other, "n_distances": n_distances}


# --- the kernels alone


class _TimedKernels:
    """Stands in for the compiled module in `coterie.truncated_em` and keeps the seconds of every call."""

    def __init__(self, module: Any) -> None:
        self._module = module
        self.seconds: dict[str, float] = defaultdict(float)

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._module, name)
        if not callable(value) or isinstance(value, type):
            return value

        def timed(*args: Any, **kwargs: Any) -> Any:
            begin = time.perf_counter()
            result = value(*args, **kwargs)
            self.seconds[name] += time.perf_counter() - begin
            return result

        return timed


@contextmanager
def _timed_kernels() -> Iterator[_TimedKernels]:
    from coterie.mixture import posteriors as truncated_em

    module = truncated_em._kernels
    kernels = _TimedKernels(module)
    truncated_em._kernels = kernels
    try:
        yield kernels
    finally:
        truncated_em._kernels = module


ESTEP_KERNELS = {
    "search_seconds": "truncated_search",
    "refresh_seconds": "truncated_refresh",
    "posteriors_seconds": "truncated_posteriors",
    "moments_seconds": "mixture_moments",
}


def run_estep(data: Path, setting: Setting, seed: int, n_threads: int, n_iter: int = 27) -> dict[str, Any]:
    """Return the seconds of each kernel in the last iterations of a fit on the coreset, and of the whole iteration."""
    coreset = _draw_coreset(np.load(data), setting, seed, n_threads)
    totals: list[dict[str, float]] = []
    with _timed_kernels() as kernels, measured() as cost:
        model = setting.mixture(
            seed,
            n_threads,
            max_iter=n_iter,
            tol=0,
            callback=lambda progress: totals.append(dict(kernels.seconds) | {"all": progress.seconds}),
        ).fit(coreset[0], sample_weight=coreset[1])
    n_last = n_iter // 3 // CYCLE * CYCLE
    first, last = totals[-1 - n_last], totals[-1]

    def typical(kernel: str) -> float:
        return (last[kernel] - first[kernel]) / n_last

    n_rows, n_columns = coreset[0].shape
    searches = [
        (after["truncated_search"] - before["truncated_search"], n_distances)
        for before, after, n_distances in zip(
            totals[-1 - n_last :], totals[-n_last:], model.history_["n_distances"][-n_last:]
        )
        if after["truncated_search"] > before["truncated_search"]
    ]
    rates = [n_distances / seconds for seconds, n_distances in searches]
    seconds = typical("all")
    return {
        "seconds": seconds,
        "other_seconds": cost.other_seconds * seconds / cost.seconds,
        "n_columns": n_columns,
        "distances_per_row": median(float(n) for _, n in searches) / n_rows,
        "distances_per_second": median(rates),
        "gflops": 2e-9 * n_columns * median(rates),
        **{key: typical(kernel) for key, kernel in ESTEP_KERNELS.items()},
    }


# --- seeding


def _coterie_seeds(X: np.ndarray, k: int, seed: int, n_threads: int, *, chain_length: int) -> np.ndarray:
    from coterie.seeding import afk_mc2

    return afk_mc2(X, k, chain_length=chain_length, random_state=seed, n_threads=n_threads)[0]


def _coterie_greedy_seeds(X: np.ndarray, k: int, seed: int, n_threads: int) -> np.ndarray:
    from coterie.seeding import k_means_plus_plus

    return k_means_plus_plus(X, k, random_state=seed, n_threads=n_threads)[0]


def _scikit_learn_seeds(X: np.ndarray, k: int, seed: int, n_threads: int) -> np.ndarray:
    from sklearn.cluster import kmeans_plusplus

    return kmeans_plusplus(X, k, random_state=seed)[0]


def _faiss_seeds(X: np.ndarray, k: int, seed: int, n_threads: int, *, chain_length: int) -> np.ndarray:
    import faiss

    faiss.omp_set_num_threads(n_threads)
    seeding = faiss.ClusteringInitialization(X.shape[1], k)
    seeding.method = faiss.ClusteringInitMethod_AFK_MC2
    seeding.afkmc2_chain_length = chain_length
    seeding.seed = seed
    centers = np.empty((k, X.shape[1]), np.float32)
    seeding.init_centroids(len(X), faiss.swig_ptr(X), faiss.swig_ptr(centers))
    return centers


CHAIN_LENGTHS = (2, 20, 200)
PEER_SEEDING = "scikit-learn greedy k-means++"
SEEDINGS: dict[str, Contender] = {
    PEER_SEEDING: Contender("sklearn", _scikit_learn_seeds),
    "coterie greedy k-means++": Contender("coterie", _coterie_greedy_seeds),
    **{
        f"coterie AFK-MC2, m = {m}": Contender("coterie", partial(_coterie_seeds, chain_length=m))
        for m in CHAIN_LENGTHS
    },
    **{
        f"faiss AFK-MC2, m = {m}": Contender("faiss", partial(_faiss_seeds, chain_length=m))
        for m in CHAIN_LENGTHS
    },
}


def run_seeding(name: str, data: Path, n_clusters: int, seed: int, n_threads: int) -> dict[str, Any]:
    """Choose initial centres and measure it; the potential is the sum of squared distances to the nearest of them."""
    X = np.load(data)
    seeding = SEEDINGS[name].call
    seeding(X[:2000], 10, seed, n_threads)
    with measured() as cost:
        centers = seeding(X, n_clusters, seed, n_threads)
    return vars(cost) | {"potential": inertia(X, np.asarray(centers), 2048), "input_bytes": X.nbytes}


# --- a file larger than what may be held


READERS = ("machine: plain reads", "coterie, open_rows", "coterie, memory map")


def run_huge(path: Path, reader: str, size: int, n_threads: int) -> dict[str, Any]:
    """Draw a coreset from a file, or read it as often as that does, from its beginning to its end.

    The peak is what lies above the interpreter with coterie imported.
    """
    from coterie import open_rows
    from coterie.coresets import lightweight_coreset

    lightweight_coreset(np.ones((4096, 8), np.float32), 100, random_state=0, n_threads=n_threads)
    forget(path)
    if reader == READERS[0]:
        with measured() as cost:
            passes = [_seconds_of(partial(_read, path)) for _ in range(2)]
        return vars(cost) | {"coreset_bytes": 0, "first_seconds": passes[0], "second_seconds": passes[1]}
    rows = open_rows(path) if reader == READERS[1] else np.load(path, mmap_mode="r")
    with measured() as cost:
        found, _, _ = lightweight_coreset(rows, size, random_state=0, n_threads=n_threads)
    return vars(cost) | {"coreset_bytes": found.nbytes, "process_peak_bytes": peak_memory()}


def _read(path: Path) -> None:
    buffer = bytearray(READ_BYTES)
    with open(path, "rb", buffering=0) as file:
        while file.readinto(buffer):
            pass


def forget(path: Path) -> None:
    """Ask the system to drop what its cache holds of a file, where it can be asked."""
    if hasattr(os, "posix_fadvise"):
        descriptor = os.open(path, os.O_RDWR)
        try:
            os.fsync(descriptor)
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(descriptor)
