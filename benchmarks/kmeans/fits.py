"""Rows a to d: whole fits, and f, their memory.

Peers are asked for the same work: every row, the same number of iterations, no subsampling, no early stop,
and the same initial centroids wherever a peer takes them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness.benchmark import Benchmark
from benchmarks.harness.cells import MIB, TIMES, number
from benchmarks.harness.contenders import EVERY_ROW, SUPERKMEANS_ALL_ROWS, Contender, faiss_with, threaded
from benchmarks.harness.measuring import measured
from benchmarks.harness.quality import inertia
from benchmarks.harness.rounds import Result
from benchmarks.kmeans.rows import FIT_ROWS

COTERIE_ALGORITHMS = ("auto", "lloyd", "elkan", "yinyang", "hamerly")
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
    name: str, data: Path, first_centers: Path, max_iter: int, n_threads: int, memory: bool = False
) -> dict[str, Any]:
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
    """Compare whole fits."""
    row = FIT_ROWS[key].for_options(benchmark)
    files = row.files(benchmark)
    iterations = row.max_iter

    def run(name: str, _: int) -> Result:
        nonlocal iterations
        limit = row.max_iter if FITS[name].converges else iterations
        result = benchmark.isolated(run_fit, name, *files, limit, benchmark.threads)
        if name == REFERENCE:
            iterations = result["n_iter"]
        return result

    names = [name for name in benchmark.select(FITS) if name not in row.skip]
    title = f"{key}. {row.title}"
    summaries = benchmark.measure(title, names, run, repeat_slow=False)
    first: Result = next(iter(summaries.values()), {})
    columns = {
        "iterations": number("n_iter", ".0f"),
        **TIMES,
        "inertia": lambda s: (
            f"{s['inertia'] / first['inertia'] - 1:+.1e}" + "*" * (not FITS[s["name"]].takes_centers)
        ),
    }
    benchmark.table(title, columns, summaries)
    benchmark.say(
        "Inertia: relative difference from the first line, by one function for all; * the package draws its own",
        "initial centroids.",
    )


def measure_memory(benchmark: Benchmark, key: str) -> None:
    """Compare the peaks of whole fits."""
    row = replace(FIT_ROWS["a"], max_iter=10).for_options(benchmark)
    files = row.files(benchmark)
    title = f"{key}. memory beside the input: {row.title}"
    summaries = benchmark.measure(
        title,
        benchmark.select(FITS),
        lambda name, _: benchmark.isolated(
            run_fit, name, *files, row.max_iter, benchmark.threads, memory=True
        ),
        repeats=1,
    )
    columns = {
        "MiB": lambda s: f"{s['peak_bytes'] / MIB:.1f}",
        "of the input": lambda s: f"{s['peak_bytes'] / s['input_bytes']:.1%}",
    }
    benchmark.table(title, columns, summaries)
