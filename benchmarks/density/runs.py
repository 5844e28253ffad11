"""What is compared, and what runs in a process of its own."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from itertools import pairwise
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from benchmarks.harness.contenders import Contender, leiden_on, model_of
from benchmarks.harness.data.files import snippets
from benchmarks.harness.data.labeled import labeled
from benchmarks.harness.measuring import measured
from benchmarks.harness.results import Cell

OURS, ROWS_ONLY = "coterie", 'coterie, space="rows"'
N_SUBSAMPLES, SHARE = 3, 0.8
_WARM_ROWS = 5000


def _of(path: str, rows: np.ndarray, **options: Any) -> np.ndarray:
    return np.asarray(model_of(path, **options).fit(rows).labels_)


_ours = partial(_of, "coterie.DensityClustering", random_state=0)


def _evoc(rows: np.ndarray) -> np.ndarray:
    return model_of("evoc.EVoC", random_state=0).fit_predict(np.ascontiguousarray(rows, dtype=np.float32))


def _leiden(rows: np.ndarray) -> np.ndarray:
    """Leiden of modularity, at resolution 1, on the graph of 15 neighbors."""
    from coterie.graphs import knn_graph

    return leiden_on(knn_graph(rows, min(15, len(rows) - 1)))("ModularityVertexPartition", seed=0)


CONTENDERS: dict[str, Contender] = {
    OURS: Contender("coterie", _ours),
    "HDBSCAN (scikit-learn)": Contender("sklearn", partial(_of, "sklearn.cluster.HDBSCAN", copy=True)),
    "fast_hdbscan": Contender("fast_hdbscan", partial(_of, "fast_hdbscan.HDBSCAN")),
    "PLSCAN": Contender("fast_plscan", partial(_of, "fast_plscan.PLSCAN")),
    "EVoC": Contender("evoc", _evoc),
    "Leiden": Contender("leidenalg", _leiden),
}
# Those of the table of times: ours also without the fit of diffused rows, which the others do not make.
TIMED = CONTENDERS | {ROWS_ONLY: Contender("coterie", partial(_ours, space="rows"))}
# These have min_samples.
DENSITIES = (OURS, "HDBSCAN (scikit-learn)", "fast_hdbscan", "PLSCAN")
LARGE: dict[str, tuple[Callable[[], np.ndarray], tuple[str, ...]]] = {
    "100,000 x 50": (lambda: _blobs(100_000, 50), (OURS, ROWS_ONLY, "fast_hdbscan", "PLSCAN")),
    "60,000 x 784": (
        lambda: labeled("mnist")[0][:60_000].astype(np.float32),
        (OURS, ROWS_ONLY, "fast_hdbscan"),
    ),
    "12,340 x 384": (lambda: snippets()[0].astype(np.float32), (OURS, ROWS_ONLY, "fast_hdbscan", "EVoC")),
}


def _blobs(n_rows: int, n_columns: int) -> np.ndarray:
    random = np.random.RandomState(0)
    centers = random.normal(size=(100, n_columns)) * 2
    rows = centers[random.randint(100, size=n_rows)] + random.normal(size=(n_rows, n_columns))
    return rows.astype(np.float32)


# --- what runs in a process of its own -------------------------------------------------------------------------------


@cache
def warm_up(method: str) -> None:
    TIMED[method].call(np.random.RandomState(0).normal(size=(500, 5)).astype(np.float32))


def _set(data: Path) -> tuple[np.ndarray, np.ndarray]:
    with np.load(data) as arrays:
        return np.asarray(arrays["X"], dtype=np.float64), arrays["y"]


def exactness(method: str, data: Path) -> Cell:
    """Compare with scikit-learn's HDBSCAN by brute force: weights of trees, labels for two minimum cluster sizes.

    Core distances make equal heights, which scikit-learn merges in the order of rows; with min_samples=1 there are none
    but those of the data.
    """
    from sklearn.cluster import HDBSCAN
    from sklearn.metrics import adjusted_rand_score

    from coterie import DensityClustering

    rows = _set(data)[0]
    found: Cell = {"n_rows": len(rows), "n_columns": rows.shape[1], "weight": 0.0, "is_exact": True}
    for least, size in ((1, 5), (5, 25)):
        theirs = HDBSCAN(min_cluster_size=size, min_samples=least, algorithm="brute", copy=True).fit(rows)
        ours = DensityClustering(least, min_cluster_size=size, space="rows", search="exact").fit(rows)
        weight = float(theirs._single_linkage_tree_["value"].sum())
        found["weight"] = max(found["weight"], abs(ours.spanning_tree_.distance.sum() - weight) / weight)
        found["is_exact"] &= ours.is_exact_
        found[f"labels {least}"] = float(adjusted_rand_score(theirs.labels_, ours.labels_))
        found[f"ties {least}"] = float(np.mean(np.diff(ours.spanning_tree_.distance) == 0))
    return found


def quality(method: str, data: Path) -> Cell:
    """Score the labels, noise as a cluster of its own, and with noise in the cluster of the nearest labeled row."""
    from sklearn.metrics import adjusted_rand_score
    from sklearn.neighbors import KNeighborsClassifier

    from coterie.metrics import clustering_accuracy

    rows, classes = _set(data)
    labels = CONTENDERS[method].call(rows)
    inside = labels >= 0
    assigned = labels - labels.min()
    if 0 < inside.sum() < len(rows):
        assigned = KNeighborsClassifier(1).fit(rows[inside], labels[inside]).predict(rows)
    return {
        "ari": float(adjusted_rand_score(classes, labels)),
        "coverage": float(inside.mean()),
        "assigned ari": float(adjusted_rand_score(classes, assigned)),
        "assigned accuracy": float(clustering_accuracy(classes, assigned)),
        "clusters": int(labels.max()) + 1,
    }


def stability(method: str, data: Path) -> Cell:
    """Compare the labels of subsamples with those of all rows, by the rows of both."""
    from sklearn.metrics import adjusted_rand_score

    rows = _set(data)[0]
    whole = CONTENDERS[method].call(rows)
    scores = []
    for seed in range(N_SUBSAMPLES):
        some = np.random.RandomState(seed).permutation(len(rows))[: int(SHARE * len(rows))]
        scores.append(float(adjusted_rand_score(whole[some], CONTENDERS[method].call(rows[some]))))
    return {"mean": fmean(scores)}


def cliffs(method: str, data: Path) -> Cell:
    """Compare the labels of successive min_samples from 3 to 10."""
    from sklearn.metrics import adjusted_rand_score

    rows = _set(data)[0]
    found = [CONTENDERS[method].call(rows, min_samples=least) for least in range(3, 11)]
    scores = [float(adjusted_rand_score(one, other)) for one, other in pairwise(found)]
    return {"mean": fmean(scores), "worst": min(scores)}


def speed(method: str, name: str) -> Cell:
    """Measure a fit in a process that has compiled what it needs."""
    rows = LARGE[name][0]()
    TIMED[method].call(rows[:_WARM_ROWS])  # numba compiles for each dtype and search
    with measured() as cost:
        labels = TIMED[method].call(rows)
    return {
        "seconds": cost.seconds,
        "CPU s": cost.cpu_seconds,
        "peak MB": cost.peak_bytes / 1e6,
        "rows MB": rows.nbytes / 1e6,
        "clusters": int(labels.max()) + 1,
        "coverage": float(np.mean(labels >= 0)),
    }


RUNS = {run.__name__: run for run in (exactness, quality, stability, cliffs, speed)}
