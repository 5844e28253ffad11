"""Row any: the defaults, told nothing but the number of clusters, on sets of many kinds, as they come and scaled."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from statistics import fmean
from typing import Any

import numpy as np

from benchmarks.harness.benchmark import Benchmark
from benchmarks.harness.data.labelled import has_labelled, labelled
from benchmarks.laplacian_kmodes.sets import SETS, Rows, sampled

__all__ = ["ANY_SETS", "measure_any", "run_defaults"]

N_ROWS, QUICK_ROWS, QUICK_SETS = 1000, 300, ("iris", "wine", "uneven blobs")
K_MEANS, SLK_BO = "k-means", "Laplacian K-modes"
# How far below k-means a set may be.
SHORTFALL = 0.03
Scores = dict[str, float]


def _of_scikit_learn(name: str) -> Rows:
    from sklearn import datasets

    return getattr(datasets, name)(return_X_y=True)


def _moons() -> Rows:
    from sklearn.datasets import make_moons

    return make_moons(1000, noise=0.1, random_state=0)


def _circles() -> Rows:
    from sklearn.datasets import make_circles

    return make_circles(1000, factor=0.5, noise=0.05, random_state=0)


def _uneven(sizes: Sequence[int] = (600, 200, 60, 30), n_columns: int = 5, widening: float = 0.0) -> Rows:
    random = np.random.RandomState(0)
    centers = random.uniform(-8, 8, (len(sizes), n_columns))
    blobs = [
        centers[i] + (1 + widening * i) * random.normal(size=(n, n_columns)) for i, n in enumerate(sizes)
    ]
    return np.vstack(blobs), np.repeat(np.arange(len(sizes)), sizes)


def _elongated() -> Rows:
    from sklearn.datasets import make_blobs

    rows, classes = make_blobs(900, centers=3, random_state=170)
    return rows @ np.array([[0.6, -0.6], [-0.4, 0.8]]), classes


def _unlike() -> Rows:
    from sklearn.datasets import make_blobs

    return make_blobs(900, centers=3, cluster_std=[1.0, 2.5, 0.5], random_state=170)


def _heavy_tails() -> Rows:
    random = np.random.RandomState(5)
    centers, classes = random.normal(scale=6, size=(5, 8)), random.randint(5, size=1000)
    return centers[classes] + random.standard_t(3, size=(1000, 8)), classes


def _many_columns(rounded: bool = False) -> Rows:
    random = np.random.RandomState(6)
    centers, classes = random.normal(scale=0.45, size=(8, 50)), random.randint(8, size=1000)
    rows = centers[classes] + random.normal(size=(1000, 50))
    return (np.rint(2 * rows) if rounded else rows), classes


def _rings() -> Rows:
    random = np.random.RandomState(3)
    classes, angles = np.arange(900) % 3, random.uniform(0, 2 * np.pi, 900)
    circles = (1 + 1.2 * classes)[:, None] * np.c_[np.cos(angles), np.sin(angles)]
    return circles + random.normal(scale=0.12, size=(900, 2)), classes


def _lognormal() -> Rows:
    random = np.random.RandomState(10)
    centers, classes = random.normal(scale=1.2, size=(4, 6)), random.randint(4, size=900)
    return np.exp(centers[classes] + 0.5 * random.normal(size=(900, 6))), classes


def _grid() -> Rows:
    random = np.random.RandomState(11)
    classes = random.randint(25, size=1500)
    return 4 * np.c_[classes % 5, classes // 5] + random.normal(scale=0.9, size=(1500, 2)), classes


# Those that lambda, the starts and the criterion were chosen on.
CHOSEN_ON: dict[str, Callable[[], Rows]] = {
    "iris": partial(_of_scikit_learn, "load_iris"),
    "wine": partial(_of_scikit_learn, "load_wine"),
    "breast cancer": partial(_of_scikit_learn, "load_breast_cancer"),
    "digits": partial(_of_scikit_learn, "load_digits"),
    "half moons": _moons,
    "circles": _circles,
    "uneven blobs": _uneven,
    "elongated blobs": _elongated,
    "blobs unlike in width": _unlike,
    **{name: partial(labelled, name) for name in ("optdigits", "pendigits", "mnist", "shuttle")},
    "four moons": SETS["four moons"].read,
    "searchsnippets": SETS["searchsnippets"].read,
}
# Those that only came afterwards.
UNSEEN: dict[str, Callable[[], Rows]] = {
    "rings": _rings,
    "heavy tails": _heavy_tails,
    "many columns": _many_columns,
    "many columns, integers": partial(_many_columns, rounded=True),
    "very uneven blobs": partial(_uneven, (700, 150, 100, 50), 3, 0.3),
    "lognormal": _lognormal,
    "25 blobs on a grid": _grid,
}
ANY_SETS = {**CHOSEN_ON, **UNSEEN}


def run_defaults(name: str, is_scaled: bool, n_rows: int, seed: int, n_threads: int) -> dict[str, Scores]:
    """Cluster a set by k-means with ten starts and by Laplacian K-modes, with the number of classes alone.

    Returns
    -------
    dict
        For each its `accuracy`, `nmi`, `clusters` that have rows, and `seconds`; and the number of `classes`.
    """
    from coterie import KMeans, LaplacianKModes
    from coterie.metrics import clustering_accuracy, normalized_mutual_info_score

    X, y = sampled(*ANY_SETS[name](), n_rows)
    X, n_classes = np.asarray(X, dtype=np.float64), len(np.unique(y))
    if is_scaled:
        spread = X.std(axis=0)
        X = (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1)
    options: dict[str, Any] = {"random_state": seed, "n_threads": n_threads}
    models = {
        K_MEANS: KMeans(n_classes, n_init=10, **options),
        SLK_BO: LaplacianKModes(n_classes, **options),
    }
    found = {}
    for method, model in models.items():
        started = time.perf_counter()
        labels = model.fit(X).labels_
        found[method] = {
            "seconds": time.perf_counter() - started,
            "accuracy": clustering_accuracy(y, labels),
            "nmi": float(normalized_mutual_info_score(y, labels)),
            "clusters": float(len(np.unique(labels))),
            "classes": float(n_classes),
        }
    return found


def measure_any(benchmark: Benchmark, key: str) -> None:
    """Compare the defaults with k-means on every set that is here, as it comes and with standardised columns."""
    quick = benchmark.options.quick
    n_rows = QUICK_ROWS if quick else N_ROWS
    for title, names in (("sets that the defaults were chosen on", CHOSEN_ON), ("unseen sets", UNSEEN)):
        runs: dict[str, dict[str, Scores]] = {}
        for name in names:
            if (quick and name not in QUICK_SETS) or not _is_here(name):
                continue
            for is_scaled in (False, True):
                options = (name, is_scaled, n_rows, 0, benchmark.options.threads)
                runs[f"{name}{', scaled' if is_scaled else ''}"] = benchmark.isolated(run_defaults, *options)
        if runs:
            _any_table(benchmark, key, f"{title}, <= {n_rows:,} rows", runs)


def _is_here(name: str) -> bool:
    if name in SETS and name not in ("iris", "half moons", "digits"):
        return SETS[name].is_here
    return name not in ("optdigits", "pendigits", "mnist", "shuttle") or has_labelled(name)


def _any_table(benchmark: Benchmark, key: str, title: str, runs: dict[str, dict[str, Scores]]) -> None:
    headers = ["", f"{K_MEANS}, accuracy / NMI", f"{SLK_BO}, accuracy / NMI", "clusters", "seconds"]
    lines = []
    for name, run in runs.items():
        cells = [f"{run[method]['accuracy']:.3f} / {run[method]['nmi']:.3f}" for method in (K_MEANS, SLK_BO)]
        ours = run[SLK_BO]
        clusters = f"{ours['clusters']:.0f} of {ours['classes']:.0f}"
        lines.append([name, *cells, clusters, f"{ours['seconds']:.1f}"])
    means = {
        method: tuple(fmean(run[method][score] for run in runs.values()) for score in ("accuracy", "nmi"))
        for method in (K_MEANS, SLK_BO)
    }
    lines.append(["mean", *("{:.3f} / {:.3f}".format(*means[method]) for method in means), "", ""])
    benchmark.report.data["rows"][f"{key}: {title}"] = runs
    benchmark.report.table(f"{key}. {title}", headers, lines)
    worst = min(run[SLK_BO]["accuracy"] - run[K_MEANS]["accuracy"] for run in runs.values())
    n_empty = sum(run[SLK_BO]["clusters"] < run[SLK_BO]["classes"] for run in runs.values())
    above = all(ours > theirs for ours, theirs in zip(means[SLK_BO], means[K_MEANS]))
    benchmark.judge(key, f"mean accuracy and NMI, {title}", "above k-means", lines[-1][2], above)
    benchmark.judge(
        key,
        f"accuracy below k-means, {title}",
        f"<= {SHORTFALL}",
        f"{max(0.0, -worst):.3f}",
        worst >= -SHORTFALL,
    )
    benchmark.judge(key, f"sets with an empty cluster, {title}", "0", str(n_empty), n_empty == 0)
    benchmark.report.save()
