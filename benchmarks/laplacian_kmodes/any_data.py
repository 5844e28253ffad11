"""Row any: the defaults, told nothing but the number of clusters, on sets of many kinds, as they come and scaled."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from statistics import fmean
from typing import Any

import numpy as np

from benchmarks.harness.benchmark import Benchmark
from benchmarks.harness.data import shapes
from benchmarks.harness.data.labeled import has_labeled, labeled
from benchmarks.harness.data.readers import Rows, sampled
from benchmarks.laplacian_kmodes.sets import SETS

__all__ = ["ANY_SETS", "measure_any", "run_defaults"]

N_ROWS, QUICK_ROWS, QUICK_SETS = 1000, 300, ("iris", "wine", "uneven blobs")
K_MEANS, SLK_BO = "k-means", "Laplacian K-modes"
# How far below k-means a set may be.
SHORTFALL = 0.03
Scores = dict[str, float]


def _of_scikit_learn(name: str) -> Rows:
    from sklearn import datasets

    return getattr(datasets, name)(return_X_y=True)


# Those that lambda, the starts and the criterion were chosen on.
CHOSEN_ON: dict[str, Callable[[], Rows]] = {
    "iris": partial(_of_scikit_learn, "load_iris"),
    "wine": partial(_of_scikit_learn, "load_wine"),
    "breast cancer": partial(_of_scikit_learn, "load_breast_cancer"),
    "digits": partial(_of_scikit_learn, "load_digits"),
    "half moons": shapes.half_moons,
    "circles": shapes.circles,
    "uneven blobs": shapes.uneven_blobs,
    "elongated blobs": shapes.elongated_blobs,
    "blobs unlike in width": shapes.blobs_unlike_in_width,
    **{name: partial(labeled, name) for name in ("optdigits", "pendigits", "mnist", "shuttle")},
    "four moons": SETS["four moons"].read,
    "searchsnippets": SETS["searchsnippets"].read,
}
# Those that only came afterwards.
UNSEEN: dict[str, Callable[[], Rows]] = {
    "rings": shapes.nested_rings,
    "heavy tails": shapes.heavy_tails,
    "many columns": shapes.many_columns,
    "many columns, integers": partial(shapes.many_columns, rounded=True),
    "very uneven blobs": partial(shapes.uneven_blobs, (700, 150, 100, 50), 3, 0.3),
    "lognormal": shapes.lognormal,
    "25 blobs on a grid": shapes.grid_of_blobs,
}
# Those that the directions of the spread were tried on, besides "many columns".
WIDE: dict[str, Callable[[], Rows]] = {
    **{
        f"{n_clusters} clusters in {n_columns} columns{', uneven' if is_uneven else ''}, {separation:g}": partial(
            shapes.wide_clusters, n_clusters, n_columns, separation, is_uneven=is_uneven
        )
        for n_clusters, n_columns, separation, is_uneven in (
            (2, 30, 0.4, False), (3, 100, 0.3, False), (4, 20, 0.6, False), (5, 500, 0.2, False), (8, 50, 0.45, True),
            (8, 50, 0.8, False), (8, 200, 0.3, False), (12, 10, 1.2, False), (16, 50, 0.6, False),
        )
    },
    "half moons in 20 columns": partial(shapes.wide_moons, 20),
    "half moons in 100 columns": partial(shapes.wide_moons, 100),
}  # fmt: skip
ANY_SETS = {**CHOSEN_ON, **UNSEEN, **WIDE}
# As they come and with standardized columns; wide ones have columns of one unit.
_TABLES = (
    ("sets that the defaults were chosen on", CHOSEN_ON, (False, True)),
    ("unseen sets", UNSEEN, (False, True)),
    ("many columns", WIDE, (False,)),
)


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
    """Compare the defaults with k-means on every set that is here, as it comes and with standardized columns."""
    quick = benchmark.options.quick
    n_rows = QUICK_ROWS if quick else N_ROWS
    for title, names, scalings in _TABLES:
        runs: dict[str, dict[str, Scores]] = {}
        for name in names:
            if (quick and name not in QUICK_SETS) or not _is_here(name):
                continue
            for is_scaled in scalings:
                options = (name, is_scaled, n_rows, 0, benchmark.options.threads)
                runs[f"{name}{', scaled' if is_scaled else ''}"] = benchmark.isolated(run_defaults, *options)
        if runs:
            _any_table(benchmark, key, f"{title}, <= {n_rows:,} rows", runs)


def _is_here(name: str) -> bool:
    if name in SETS and name not in ("iris", "half moons", "digits"):
        return SETS[name].is_here
    return name not in ("optdigits", "pendigits", "mnist", "shuttle") or has_labeled(name)


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
