"""The k-means of coterie and of its peers behind one face, and the runs that measure them, each in a process.

Peers are asked for the same work: every row, the same number of iterations, no subsampling, no early stop,
and the same initial centroids wherever a peer takes them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness.limits import CUBE, gemm_rate
from benchmarks.harness.measuring import measured, peak_memory

COTERIE_ALGORITHMS = ("auto", "lloyd", "elkan", "yinyang", "hamerly")
CHAIN_LENGTH = 200
EVERY_ROW = 2**31 - 1  # "points per centroid" that no data set exceeds


@dataclass
class Fit:
    """What a contender's fit returned; `label` is the extra pass that gives labels where the fit did not."""

    centers: np.ndarray
    n_iter: int
    label: Callable[[], object] | None = None


FitFunction = Callable[[np.ndarray, np.ndarray, int, int], Fit]
SeedFunction = Callable[[np.ndarray, int, int, int], np.ndarray]


@dataclass(frozen=True)
class Contender:
    """A package's function and the module without which it is skipped."""

    module: str
    call: Callable[..., Any]
    group: str = ""
    takes_centers: bool = True
    converges: bool = True  # stops by itself; otherwise it gets the iterations that scikit-learn took

    @property
    def installed(self) -> bool:
        """Whether the package can be imported."""
        return find_spec(self.module) is not None


# --- whole fits


def _coterie_fit(X: np.ndarray, centers: np.ndarray, max_iter: int, n_threads: int, *, algorithm: str) -> Fit:
    from coterie import KMeans

    model = KMeans(
        n_clusters=len(centers),
        init=centers,
        n_init=1,
        max_iter=max_iter,
        tol=0,
        algorithm=algorithm,
        n_threads=n_threads,
    ).fit(X)
    return Fit(model.cluster_centers_, model.n_iter_)


def _scikit_learn_fit(
    X: np.ndarray, centers: np.ndarray, max_iter: int, n_threads: int, *, algorithm: str
) -> Fit:
    from sklearn.cluster import KMeans

    model = KMeans(len(centers), init=centers, n_init=1, max_iter=max_iter, tol=0, algorithm=algorithm).fit(X)
    return Fit(model.cluster_centers_, model.n_iter_)


def _intelex_fit(X: np.ndarray, centers: np.ndarray, max_iter: int, n_threads: int) -> Fit:
    from sklearnex.cluster import KMeans

    model = KMeans(len(centers), init=centers, n_init=1, max_iter=max_iter, tol=0, n_jobs=n_threads).fit(X)
    return Fit(model.cluster_centers_, model.n_iter_)


def _faiss_fit(X: np.ndarray, centers: np.ndarray, max_iter: int, n_threads: int) -> Fit:
    import faiss

    faiss.omp_set_num_threads(n_threads)
    model = faiss.Kmeans(
        X.shape[1], len(centers), niter=max_iter, max_points_per_centroid=EVERY_ROW, min_points_per_centroid=1
    )
    model.train(X, init_centroids=centers)
    return Fit(model.centroids, len(model.iteration_stats), partial(model.assign, X))


def _faiss_super_fit(X: np.ndarray, centers: np.ndarray, max_iter: int, n_threads: int) -> Fit:
    import faiss

    faiss.omp_set_num_threads(n_threads)
    model = faiss.SuperKmeans(
        X.shape[1], len(centers), niter=max_iter, max_points_per_centroid=EVERY_ROW, min_points_per_centroid=1
    )
    model.train(X)
    return Fit(model.centroids, len(model.iteration_stats), partial(model.assign, X))


def _superkmeans_fit(X: np.ndarray, centers: np.ndarray, max_iter: int, n_threads: int) -> Fit:
    from superkmeans import SuperKMeans

    model = SuperKMeans(
        len(centers),
        X.shape[1],
        hierarchical=False,
        iters=max_iter,
        sampling_fraction=1.0,
        max_points_per_cluster=EVERY_ROW,
        n_threads=n_threads,
        tol=0.0,
        early_termination=False,
    )
    found = model.train(X)
    return Fit(found, max_iter, partial(model.assign_training_points, X, found))


FITS: dict[str, Contender] = {
    # First, because its number of iterations and its inertia are what the others are held to.
    "scikit-learn lloyd": Contender("sklearn", partial(_scikit_learn_fit, algorithm="lloyd")),
    **{f"coterie {a}": Contender("coterie", partial(_coterie_fit, algorithm=a)) for a in COTERIE_ALGORITHMS},
    "scikit-learn elkan": Contender("sklearn", partial(_scikit_learn_fit, algorithm="elkan")),
    "scikit-learn-intelex": Contender("sklearnex", _intelex_fit),
    "faiss": Contender("faiss", _faiss_fit, converges=False),
    "faiss SuperKmeans": Contender("faiss", _faiss_super_fit, takes_centers=False, converges=False),
    "superkmeans": Contender("superkmeans", _superkmeans_fit, takes_centers=False, converges=False),
}


def run_fit(
    name: str, data: Path, first_centers: Path, max_iter: int, n_threads: int, memory: bool = False
) -> dict[str, Any]:
    """Fit one contender and measure it; `memory` is for runs whose peak matters more than their seconds.

    The inertia is computed afterwards, by the same function for all.
    """
    contender = FITS[name]
    X, centers = np.load(data), np.load(first_centers)
    if memory:  # import everything, but leave no buffers that the measured fit would find ready
        contender.call(X[:64], centers[:2].copy(), 1, n_threads)
    else:  # start thread pools and choose code paths too
        contender.call(X[: max(1000, 4 * len(centers))], centers.copy(), 1, n_threads)
    with measured() as cost:
        fit = contender.call(X, centers, max_iter, n_threads)
    result = vars(cost) | {"n_iter": int(fit.n_iter), "has_labels": fit.label is None}
    if fit.label is not None:
        with measured() as label_cost:
            fit.label()
        result |= {"label_seconds": label_cost.seconds}
    return result | {"inertia": inertia(X, np.asarray(fit.centers)), "input_bytes": X.nbytes}


def inertia(X: np.ndarray, centers: np.ndarray, rows_per_block: int = 8192) -> float:
    """Return the sum of squared distances to the nearest centroid, summed in float64."""
    centers = np.ascontiguousarray(centers, np.float32)
    squares = np.einsum("ij,ij->i", centers, centers)
    total = 0.0
    for start in range(0, len(X), rows_per_block):
        block = X[start : start + rows_per_block]
        nearest = (squares - 2 * (block @ centers.T)).argmin(axis=1)
        gap = block - centers[nearest]
        total += float(np.einsum("ij,ij->", gap, gap, dtype=np.float64))
    return total


# --- one assignment of all rows


def _coterie_predict(X: np.ndarray, centers: np.ndarray, n_threads: int) -> Callable[[], object]:
    from coterie import KMeans

    model = KMeans(len(centers), init=centers, n_init=1, max_iter=1, n_threads=n_threads)
    return partial(model.fit(X[: max(1000, 2 * len(centers))]).predict, X)


def _coterie_kernel(X: np.ndarray, centers: np.ndarray, n_threads: int) -> Callable[[], object]:
    from coterie import _kernels

    rows = _kernels.dense_rows(X)
    offsets = np.einsum("ij,ij->i", centers, centers)
    labels, scores = np.empty((len(X), 1), np.int32), np.empty((len(X), 1), np.float32)
    return partial(_kernels.nearest, rows, centers, offsets, labels, scores, n_threads)


def _scikit_learn_predict(X: np.ndarray, centers: np.ndarray, n_threads: int) -> Callable[[], object]:
    from sklearn.cluster import KMeans

    model = KMeans(len(centers), init=centers, n_init=1, max_iter=1)
    return partial(model.fit(X[: max(1000, 2 * len(centers))]).predict, X)


def _faiss_search(X: np.ndarray, centers: np.ndarray, n_threads: int) -> Callable[[], object]:
    import faiss

    faiss.omp_set_num_threads(n_threads)
    index = faiss.IndexFlatL2(X.shape[1])
    index.add(centers)
    return partial(index.search, X, 1)


def _superkmeans_assign(X: np.ndarray, centers: np.ndarray, n_threads: int) -> Callable[[], object]:
    from superkmeans import SuperKMeans

    return partial(SuperKMeans(len(centers), X.shape[1], n_threads=n_threads).assign, X, centers)


# "machine" lines are no peers: they are the limit, once on large squares and once on the very shape.
CUBE_LINE, SHAPE_LINE = "machine: sgemm, 2048 cubed", "machine: sgemm, this shape"

ASSIGNMENTS: dict[str, Contender] = {
    CUBE_LINE: Contender("numpy", lambda X, centers: CUBE),
    SHAPE_LINE: Contender("numpy", lambda X, centers: (*X.shape, len(centers))),
    "coterie predict": Contender("coterie", _coterie_predict),
    "coterie kernel": Contender("coterie", _coterie_kernel),
    "scikit-learn predict": Contender("sklearn", _scikit_learn_predict),
    "faiss search": Contender("faiss", _faiss_search),
    "superkmeans assign": Contender("superkmeans", _superkmeans_assign),
}


def run_assignment(
    name: str, data: Path, first_centers: Path, n_threads: int, passes: int = 5
) -> dict[str, Any]:
    """Assign every row once, several times over; return the median seconds and the rate in GFLOP/s."""
    X, centers = np.load(data), np.load(first_centers)
    if name in (CUBE_LINE, SHAPE_LINE):
        shape = ASSIGNMENTS[name].call(X, centers)
        rate = gemm_rate(n_threads, shape, np.float32, "numpy")
        seconds = 2e-9 * shape[0] * shape[1] * shape[2] / rate
        return {"seconds": seconds, "gflops": rate, "other_seconds": 0.0}
    assign = ASSIGNMENTS[name].call(X, centers, n_threads)
    assign()
    costs = []
    for _ in range(passes):
        with measured() as cost:
            assign()
        costs.append(cost)
    middle = sorted(costs, key=lambda cost: cost.seconds)[passes // 2]
    return vars(middle) | {"gflops": 2e-9 * X.size * len(centers) / middle.seconds}


# --- seeding


def _coterie_seeds(X: np.ndarray, k: int, seed: int, n_threads: int, *, trials: int | None) -> np.ndarray:
    from coterie.seeding import k_means_plus_plus

    return k_means_plus_plus(X, k, random_state=seed, n_local_trials=trials, n_threads=n_threads)[0]


def _coterie_chain(X: np.ndarray, k: int, seed: int, n_threads: int) -> np.ndarray:
    from coterie.seeding import afk_mc2

    return afk_mc2(X, k, chain_length=CHAIN_LENGTH, random_state=seed, n_threads=n_threads)[0]


def _scikit_learn_seeds(
    X: np.ndarray, k: int, seed: int, n_threads: int, *, trials: int | None
) -> np.ndarray:
    from sklearn.cluster import kmeans_plusplus

    return kmeans_plusplus(X, k, random_state=seed, n_local_trials=trials)[0]


def _faiss_seeds(X: np.ndarray, k: int, seed: int, n_threads: int, *, method: str) -> np.ndarray:
    import faiss

    faiss.omp_set_num_threads(n_threads)
    seeding = faiss.ClusteringInitialization(X.shape[1], k)
    seeding.method = getattr(faiss, f"ClusteringInitMethod_{method}")
    seeding.afkmc2_chain_length = CHAIN_LENGTH
    seeding.seed = seed
    centers = np.empty((k, X.shape[1]), np.float32)
    seeding.init_centroids(len(X), faiss.swig_ptr(X), faiss.swig_ptr(centers))
    return centers


GREEDY, PLAIN, CHAIN = "greedy k-means++", "plain D^2 sampling", f"AFK-MC2, chain {CHAIN_LENGTH}"

SEEDINGS: dict[str, Contender] = {
    f"scikit-learn {GREEDY}": Contender("sklearn", partial(_scikit_learn_seeds, trials=None), GREEDY),
    f"coterie {GREEDY}": Contender("coterie", partial(_coterie_seeds, trials=None), GREEDY),
    f"coterie {PLAIN}": Contender("coterie", partial(_coterie_seeds, trials=1), PLAIN),
    f"scikit-learn {PLAIN}": Contender("sklearn", partial(_scikit_learn_seeds, trials=1), PLAIN),
    f"faiss {PLAIN}": Contender("faiss", partial(_faiss_seeds, method="KMEANS_PLUS_PLUS"), PLAIN),
    f"coterie {CHAIN}": Contender("coterie", _coterie_chain, CHAIN),
    f"faiss {CHAIN}": Contender("faiss", partial(_faiss_seeds, method="AFK_MC2"), CHAIN),
}


def run_seeding(name: str, data: Path, n_clusters: int, seed: int, n_threads: int) -> dict[str, Any]:
    """Choose initial centroids and measure it; the potential is the inertia of the chosen rows."""
    X = np.load(data)
    seeding = SEEDINGS[name].call
    seeding(X[:2000], 10, seed, n_threads)
    with measured() as cost:
        centers = seeding(X, n_clusters, seed, n_threads)
    return vars(cost) | {"potential": inertia(X, np.asarray(centers)), "input_bytes": X.nbytes}


# --- a file larger than what may be held


def run_huge(path: Path, reader: str, n_clusters: int, max_iter: int, n_threads: int) -> dict[str, Any]:
    """Fit a file without loading it; the peak is what lies above the interpreter with coterie imported."""
    from coterie import KMeans, open_rows

    rows = open_rows(path) if reader == "open_rows" else np.load(path, mmap_mode="r")
    model = KMeans(
        n_clusters, init="random", n_init=1, max_iter=max_iter, tol=0, random_state=0, n_threads=n_threads
    )
    with measured() as cost:
        model.fit(rows)
    return vars(cost) | {"n_iter": int(model.n_iter_), "process_peak_bytes": peak_memory()}
