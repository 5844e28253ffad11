"""Rows a to d: whole fits; e: one assignment of all rows; f: memory; g and k: initial centroids; h to j: sizes.

Peers are asked for the same work: every row, the same number of iterations, no subsampling, no early stop,
and the same initial centroids wherever a peer takes them.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Self

import numpy as np

from benchmarks.harness.benchmark import Benchmark, Result
from benchmarks.harness.contenders import EVERY_ROW, SUPERKMEANS_ALL_ROWS, Contender, faiss_with, threaded
from benchmarks.harness.data.tables import save_first_centers
from benchmarks.harness.measuring import inertia, measured
from benchmarks.harness.reporting import MIB, TIMES, memory_cell, number, relative, seconds_cell


@dataclass(frozen=True)
class FitRow:
    """Rows of a data set, and what is made of them."""

    data: str
    n_rows: int
    n_clusters: int
    max_iter: int = 0
    skip: tuple[str, ...] = ()  # contenders that would keep a bound for every row and centroid

    @property
    def title(self) -> str:
        until = {0: "", 300: ", until convergence"}.get(self.max_iter, f", {self.max_iter} iterations")
        return f"{self.data}, {self.n_rows:,} rows, k = {self.n_clusters:,}{until}"

    def for_options(self, benchmark: Benchmark) -> Self:
        if not benchmark.quick:
            return self
        return replace(self, n_rows=self.n_rows // 50, n_clusters=max(10, self.n_clusters // 10))

    def files(self, benchmark: Benchmark) -> tuple[Path, Path]:
        data = benchmark.data(self.data, self.n_rows)
        return data, benchmark.isolated(save_first_centers, data, self.n_clusters)


ELKAN = ("scikit-learn elkan", "coterie elkan")
FIT_ROWS = {
    "a": FitRow("mnist", 70_000, 50, 300),
    "b": FitRow("blobs", 1_000_000, 1000, 25, skip=ELKAN),
    "c": FitRow("mnist", 20_000, 1000, 10),
    "d": FitRow("embeddings", 100_000, 1000, 10),
}


COTERIE_ALGORITHMS = ("auto", "lloyd", "elkan", "yinyang")
OURS, REFERENCE = "coterie auto", "scikit-learn lloyd"


@dataclass
class Fit:
    """What a contender's fit returned; `label` is the extra pass that gives labels where the fit did not."""

    centers: np.ndarray
    n_iter: int
    label: Callable[[], object] | None = None


def _fit(
    X: np.ndarray, centers: np.ndarray, max_iter: int, n_threads: int, *, path: str, **options: Any
) -> Fit:
    options |= {"init": centers, "n_init": 1, "max_iter": max_iter, "tol": 0}
    model = threaded(path, len(centers), n_threads=n_threads, **options).fit(X)
    return Fit(model.cluster_centers_, model.n_iter_)


def _faiss(X: np.ndarray, centers: np.ndarray, max_iter: int, n_threads: int, *, kind: str) -> Fit:
    options = {"max_points_per_centroid": EVERY_ROW, "min_points_per_centroid": 1}
    model = getattr(faiss_with(n_threads), kind)(X.shape[1], len(centers), niter=max_iter, **options)
    model.train(X, **({"init_centroids": centers} if kind == "Kmeans" else {}))
    return Fit(model.centroids, len(model.iteration_stats), partial(model.assign, X))


def _superkmeans(X: np.ndarray, centers: np.ndarray, max_iter: int, n_threads: int) -> Fit:
    from superkmeans import SuperKMeans

    model = SuperKMeans(len(centers), X.shape[1], iters=max_iter, n_threads=n_threads, **SUPERKMEANS_ALL_ROWS)
    found = model.train(X)
    return Fit(found, max_iter, partial(model.assign_training_points, X, found))


_SCIKIT_LEARN = partial(_fit, path="sklearn.cluster.KMeans")
_COTERIE = partial(_fit, path="coterie.KMeans")
FITS: dict[str, Contender] = {
    # First, because its number of iterations and its inertia are what the others are held to.
    REFERENCE: Contender("sklearn", partial(_SCIKIT_LEARN, algorithm="lloyd")),
    **{f"coterie {a}": Contender("coterie", partial(_COTERIE, algorithm=a)) for a in COTERIE_ALGORITHMS},
    "scikit-learn elkan": Contender("sklearn", partial(_SCIKIT_LEARN, algorithm="elkan")),
    "scikit-learn-intelex": Contender("sklearnex", partial(_fit, path="sklearnex.cluster.KMeans")),
    "faiss": Contender("faiss", partial(_faiss, kind="Kmeans"), converges=False),
    "faiss SuperKmeans": Contender(
        "faiss", partial(_faiss, kind="SuperKmeans"), takes_centers=False, converges=False
    ),
    "superkmeans": Contender("superkmeans", _superkmeans, takes_centers=False, converges=False),
}


def run_fit(
    name: str, data: Path, first_centers: Path, max_iter: int, memory: bool, _seed: int, n_threads: int
) -> Result:
    """Fit one contender and measure it; `memory` is for runs whose peak matters more than their seconds.

    The inertia is computed afterwards, by the same function for all.
    """
    fit_by = FITS[name].call
    X, centers = np.load(data), np.load(first_centers)
    if memory:  # import everything, but leave no buffers that the measured fit would find ready
        fit_by(X[:64], centers[:2].copy(), 1, n_threads)
    else:  # start thread pools and choose code paths too
        fit_by(X[: max(1000, 4 * len(centers))], centers.copy(), 1, n_threads)
    with measured() as cost:
        fit = fit_by(X, centers, max_iter, n_threads)
    result = vars(cost) | {"n_iter": int(fit.n_iter)}
    if fit.label is not None:
        with measured() as label_cost:
            fit.label()
        result |= {"label_seconds": label_cost.seconds, "label_cpu_seconds": label_cost.cpu_seconds}
    return result | {"inertia": inertia(X, fit.centers), "input_bytes": X.nbytes}


def measure_fit(benchmark: Benchmark, key: str) -> None:
    row = FIT_ROWS[key].for_options(benchmark)
    files = row.files(benchmark)
    iterations = row.max_iter

    def run(name: str, seed: int) -> Result:
        nonlocal iterations
        limit = row.max_iter if FITS[name].converges else iterations
        result = benchmark.each(run_fit, *files, limit, False)(name, seed)
        if name == REFERENCE:
            iterations = result["n_iter"]
        return result

    names = [name for name in benchmark.select(FITS) if name not in row.skip]
    title = f"{key}. {row.title}"
    summaries = benchmark.measure(title, names, run, repeat_slow=False)
    inertias = relative(summaries, "inertia", lambda ratio: f"{ratio - 1:+.1e}")
    columns = {
        "iterations": number("n_iter", ".0f"),
        **TIMES,
        "inertia": lambda s: inertias(s) + "*" * (not FITS[s["name"]].takes_centers),
    }
    benchmark.table(title, columns, summaries)
    benchmark.say(
        "Inertia: relative difference from the first line, by one function for all; * the package draws its own",
        "initial centroids.",
    )


def measure_memory(benchmark: Benchmark, key: str) -> None:
    row = replace(FIT_ROWS["a"], max_iter=10).for_options(benchmark)
    title = f"{key}. memory beside the input: {row.title}"
    run = benchmark.each(run_fit, *row.files(benchmark), row.max_iter, True)
    summaries = benchmark.measure(title, benchmark.select(FITS), run, repeats=1)
    columns = {
        "MiB": lambda s: f"{s['peak_bytes'] / MIB:.1f}",
        "of the input": lambda s: f"{s['peak_bytes'] / s['input_bytes']:.1%}",
    }
    benchmark.table(title, columns, summaries)


# --- one assignment; `python -m benchmarks.machine` measures the limit

ASSIGNMENT_ROWS = [FitRow("mnist", 70_000, 50), FitRow("embeddings", 100_000, 1000)]
N_PASSES = 5


def _predict(X: np.ndarray, centers: np.ndarray, n_threads: int, *, path: str) -> Callable[[], object]:
    model = threaded(path, len(centers), n_threads=n_threads, init=centers, n_init=1, max_iter=1)
    return partial(model.fit(X[: max(1000, 2 * len(centers))]).predict, X)


def _kernel(X: np.ndarray, centers: np.ndarray, n_threads: int) -> Callable[[], object]:
    from coterie import _kernels

    rows = _kernels.dense_rows(X)
    offsets = np.einsum("ij,ij->i", centers, centers)
    labels, scores = np.empty((len(X), 1), np.int32), np.empty((len(X), 1), np.float32)
    return partial(_kernels.nearest, rows, centers, offsets, labels, scores, n_threads)


def _faiss_search(X: np.ndarray, centers: np.ndarray, n_threads: int) -> Callable[[], object]:
    index = faiss_with(n_threads).IndexFlatL2(X.shape[1])
    index.add(centers)
    return partial(index.search, X, 1)


def _superkmeans_assign(X: np.ndarray, centers: np.ndarray, n_threads: int) -> Callable[[], object]:
    from superkmeans import SuperKMeans

    return partial(SuperKMeans(len(centers), X.shape[1], n_threads=n_threads).assign, X, centers)


ASSIGNMENTS: dict[str, Contender] = {
    "coterie predict": Contender("coterie", partial(_predict, path="coterie.KMeans")),
    "coterie kernel": Contender("coterie", _kernel),
    "scikit-learn predict": Contender("sklearn", partial(_predict, path="sklearn.cluster.KMeans")),
    "faiss search": Contender("faiss", _faiss_search),
    "superkmeans assign": Contender("superkmeans", _superkmeans_assign),
}


def run_assignment(name: str, data: Path, first_centers: Path, _seed: int, n_threads: int) -> Result:
    """Assign every row once, several times over; return the median seconds and the rate in GFLOP/s."""
    X, centers = np.load(data), np.load(first_centers)
    assign = ASSIGNMENTS[name].call(X, centers, n_threads)
    assign()
    costs = []
    for _ in range(N_PASSES):
        with measured() as cost:
            assign()
        costs.append(cost)
    middle = sorted(costs, key=lambda cost: cost.seconds)[N_PASSES // 2]
    return vars(middle) | {"gflops": 2e-9 * X.size * len(centers) / middle.seconds}


def measure_assignments(benchmark: Benchmark, key: str) -> None:
    for usual in ASSIGNMENT_ROWS:
        row = usual.for_options(benchmark)
        title, run = (
            f"{key}. one assignment: {row.title}",
            benchmark.each(run_assignment, *row.files(benchmark)),
        )
        summaries = benchmark.measure(title, benchmark.select(ASSIGNMENTS), run, repeat_slow=False)
        benchmark.table(
            title, {"seconds (range)": seconds_cell, "GFLOP/s": number("gflops", ".0f")}, summaries
        )


# --- initial centroids, as coterie, scikit-learn and faiss choose them

GREEDY, PLAIN = "greedy k-means++", "plain D^2 sampling"
CHAINS = {length: f"AFK-MC2, chain {length}" for length in (2, 20, 200)}


def _seeds(X: np.ndarray, k: int, seed: int, n_threads: int, *, path: str, **options: int) -> np.ndarray:
    return threaded(path, X, k, n_threads=n_threads, random_state=seed, **options)[0]


def _faiss_seeds(
    X: np.ndarray, k: int, seed: int, n_threads: int, *, method: str, chain_length: int = 0
) -> np.ndarray:
    faiss = faiss_with(n_threads)
    seeding = faiss.ClusteringInitialization(X.shape[1], k)
    seeding.method = getattr(faiss, f"ClusteringInitMethod_{method}")
    if chain_length:
        seeding.afkmc2_chain_length = chain_length
    seeding.seed = seed
    centers = np.empty((k, X.shape[1]), np.float32)
    seeding.init_centroids(len(X), faiss.swig_ptr(X), faiss.swig_ptr(centers))
    return centers


_GREEDY = partial(_seeds, path="coterie.seeding.k_means_plus_plus")
_PEER = partial(_seeds, path="sklearn.cluster.kmeans_plusplus")
SEEDINGS: dict[str, Contender] = {
    f"scikit-learn {GREEDY}": Contender("sklearn", _PEER),
    f"coterie {GREEDY}": Contender("coterie", _GREEDY),
    f"coterie {PLAIN}": Contender("coterie", partial(_GREEDY, n_local_trials=1)),
    f"scikit-learn {PLAIN}": Contender("sklearn", partial(_PEER, n_local_trials=1)),
    f"faiss {PLAIN}": Contender("faiss", partial(_faiss_seeds, method="KMEANS_PLUS_PLUS")),
    **{
        f"{package} {kind}": Contender(package, partial(call, chain_length=length))
        for length, kind in CHAINS.items()
        for package, call in (
            ("coterie", partial(_seeds, path="coterie.seeding.afk_mc2")),
            ("faiss", partial(_faiss_seeds, method="AFK_MC2")),
        )
    },
}
SEEDING_ROWS: dict[str, tuple[FitRow, tuple[str, ...]]] = {
    "g": (FitRow("blobs", 250_000, 1000), (GREEDY, PLAIN, CHAINS[200])),
    "k": (FitRow("blobs64", 200_000, 8192), (GREEDY, *CHAINS.values())),
}


def run_seeding(name: str, data: Path, n_clusters: int, seed: int, n_threads: int) -> Result:
    """Choose initial centers; the potential is the sum of squared distances to the nearest of them."""
    X, seeding = np.load(data), SEEDINGS[name].call
    seeding(X[:2000], 10, seed, n_threads)
    with measured() as cost:
        centers = seeding(X, n_clusters, seed, n_threads)
    return vars(cost) | {"potential": inertia(X, centers), "input_bytes": X.nbytes}


def measure_seedings(benchmark: Benchmark, key: str) -> None:
    row, kinds = SEEDING_ROWS[key]
    row = row.for_options(benchmark)
    title = f"{key}. seeding: {row.title}"
    names = benchmark.select({name: seeding for name, seeding in SEEDINGS.items() if name.endswith(kinds)})
    run = benchmark.each(run_seeding, benchmark.data(row.data, row.n_rows), row.n_clusters)
    summaries = benchmark.measure(title, names, run)
    potential = relative(summaries, "potential", lambda ratio: f"{ratio:.3f}")
    benchmark.table(title, {**TIMES, "potential": potential, "memory": memory_cell}, summaries)
    benchmark.say("Potential: relative to the first line (median over the seeds).")


# --- clusters of bounded sizes, against plain k-means and against the package k-means-constrained
#
# All fits of a row begin with the same drawn rows. `KMeansConstrained` solves a flow over all pairs of rows and
# clusters in each iteration, as exactly as its costs in whole numbers allow, and no setting would make it faster.

ANY_SIZES, SIZED, CONSTRAINED = "coterie, any sizes", "coterie, sizes within bounds", "k-means-constrained"


@dataclass(frozen=True)
class SizeRow:
    """Normal rows, in groups or not, and clusters whose sizes may differ by a share (`slack`) of their mean."""

    name: str
    n_rows: int
    n_columns: int
    n_clusters: int
    n_groups: int
    group_deviation: float
    slack: float
    max_iter: int
    contenders: tuple[str, ...]

    @property
    def title(self) -> str:
        least, most = self.bounds
        sizes = f"sizes {least:,} to {most:,}" if least < most else f"sizes of {least:,}"
        until = "until convergence" if self.max_iter == 300 else f"{self.max_iter} iterations"
        return f"{self.name}, {self.n_rows:,} x {self.n_columns}, k = {self.n_clusters:,}, {sizes}, {until}"

    @property
    def bounds(self) -> tuple[int, int]:
        """The smallest and the largest size of a cluster."""
        mean = self.n_rows / self.n_clusters
        return int(mean * (1 - self.slack)), int(np.ceil(mean * (1 + self.slack)))

    def rows(self, seed: int) -> tuple[np.ndarray, np.ndarray]:
        random = np.random.default_rng(seed)
        X = random.standard_normal((self.n_rows, self.n_columns), dtype=np.float32)
        if self.n_groups:
            means = random.standard_normal((self.n_groups, self.n_columns), dtype=np.float32)
            X += self.group_deviation * means[random.integers(0, self.n_groups, self.n_rows)]
        return X, X[random.choice(self.n_rows, self.n_clusters, replace=False)]

    def for_options(self, benchmark: Benchmark) -> Self:
        if not benchmark.quick:
            return self
        n_clusters = self.n_clusters // 20
        return replace(self, n_rows=self.n_rows // 50, n_clusters=n_clusters, n_groups=self.n_groups // 20)


_MILLION = (1_000_000, 32, 1000)
SIZE_ROWS = {
    "h": SizeRow("normal rows", *_MILLION, 0, 0.0, 0.1, 3, (ANY_SIZES, SIZED)),
    "i": SizeRow("200 separate groups", *_MILLION, 200, 4.0, 0.1, 3, (ANY_SIZES, SIZED)),
    "j": SizeRow("touching groups", 23_000, 50, 100, 100, 1.0, 0.0, 300, (SIZED, CONSTRAINED)),
}


def _coterie_sizes(row: SizeRow, X: np.ndarray, *, sized: bool, **options: Any) -> Any:
    name, bounds = ("SizeConstrainedKMeans", row.bounds) if sized else ("KMeans", ())
    return threaded(f"coterie.{name}", row.n_clusters, *bounds, **options).fit(X)


def _constrained(row: SizeRow, X: np.ndarray, *, init: np.ndarray, n_threads: int, **options: Any) -> Any:
    least, most = row.bounds
    return threaded(
        "k_means_constrained.KMeansConstrained", row.n_clusters, size_min=least, size_max=most,
        init=init.astype(np.float64), n_jobs=1,  # only starts go to other processes
        n_threads=n_threads, **options,
    ).fit(X.astype(np.float64))  # fmt: skip


SIZED_FITS = {
    ANY_SIZES: Contender("coterie", partial(_coterie_sizes, sized=False)),
    SIZED: Contender("coterie", partial(_coterie_sizes, sized=True)),
    CONSTRAINED: Contender("k_means_constrained", _constrained),
}


def run_sizes(name: str, row: SizeRow, seed: int, n_threads: int) -> Result:
    """Fit one contender; its inertia is that of its labels' own means, by one function for all."""
    warnings.simplefilter("ignore")
    X, centers = row.rows(seed)
    options = {"init": centers, "n_init": 1, "tol": 0, "n_threads": n_threads}
    few = replace(row, n_rows=4 * row.n_clusters)
    SIZED_FITS[name].call(few, X[: few.n_rows], max_iter=1, **options)  # loads packages, starts threads
    with measured(n_threads) as cost:
        model = SIZED_FITS[name].call(row, X, max_iter=row.max_iter, **options)
    labels = np.asarray(model.labels_)
    sizes = np.bincount(labels, minlength=row.n_clusters)
    return vars(cost) | {
        "inertia": _inertia_of(X, labels, sizes),
        "n_iter": int(model.n_iter_),
        "smallest": int(sizes.min()),
        "largest": int(sizes.max()),
    }


def _inertia_of(X: np.ndarray, labels: np.ndarray, sizes: np.ndarray) -> float:
    total = 0.0
    for column in X.T.astype(np.float64):
        means = np.bincount(labels, weights=column, minlength=len(sizes)) / np.maximum(sizes, 1)
        total += np.sum((column - means[labels]) ** 2)
    return float(total)


def measure_sizes(benchmark: Benchmark, key: str) -> None:
    """Compare fits of one row; each round has rows of its own."""
    row = SIZE_ROWS[key].for_options(benchmark)
    names = benchmark.select({name: SIZED_FITS[name] for name in row.contenders})
    title = f"{key}. {row.title}"
    summaries = benchmark.measure(title, names, benchmark.each(run_sizes, row), repeat_slow=False)
    columns = {
        **TIMES,
        "iterations": number("n_iter", ".0f"),
        "inertia": number("inertia", ".6g"),
        "sizes": lambda s: f"{s['smallest']:,.0f} to {s['largest']:,.0f}",
    }
    benchmark.table(title, columns, summaries)
