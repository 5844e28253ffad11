"""What competes: each fits a `Task` and shows its centroids to a `Recorder`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from benchmarks.harness.contenders import EVERY_ROW, SUPERKMEANS_ALL_ROWS, Contender
from benchmarks.nested.recorder import K_MEANS_PLUS_PLUS, Recorder, Task

UNLIMITED = 10**6  # iterations or epochs: the time is what is limited
SUPERKMEANS_ITERATIONS = (1, 2, 3, 4, 6, 8, 12, 16, 25)


@dataclass(frozen=True)
class CurveContender(Contender):
    """A function that fits a `Task` and shows its centroids to a `Recorder`."""

    sparse: bool = True  # takes CSR rows


# --- coterie


def _coterie_exact(task: Task, recorder: Recorder, *, algorithm: str) -> None:
    from coterie import KMeans

    model = KMeans(
        task.n_clusters,
        init=task.start,
        n_init=1,
        max_iter=UNLIMITED,
        tol=0,
        algorithm=algorithm,
        random_state=task.seed,
        n_threads=task.n_threads,
        callback=lambda progress: recorder.see(progress.centers),
    ).fit(task.rows)
    recorder.finish(model.cluster_centers_)


def _coterie_mini_batch(task: Task, recorder: Recorder, *, reassignment_ratio: float = 0.01) -> None:
    from coterie import MiniBatchKMeans

    model = MiniBatchKMeans(
        task.n_clusters,
        init=task.start,
        n_init=1,
        max_iter=UNLIMITED,
        max_no_improvement=None,
        reassignment_ratio=reassignment_ratio,
        compute_labels=False,
        batch_size=task.batch_size,
        random_state=task.seed,
        n_threads=task.n_threads,
        callback=lambda progress: recorder.see(progress.centers),
    ).fit(task.rows)
    recorder.finish(model.cluster_centers_)


def _coterie_nested(task: Task, recorder: Recorder, *, init: str | None = None, **settings: Any) -> None:
    from coterie import NestedMiniBatchKMeans

    model = NestedMiniBatchKMeans(
        task.n_clusters,
        init=task.start if init is None else init,
        max_iter=UNLIMITED,
        tol=0,
        compute_labels=False,
        # Its own rule, 5000 or 64 k; a shrunk row has shrunk batches.
        batch_size="auto" if task.batch_size >= 5000 else task.batch_size,
        random_state=task.seed,
        n_threads=task.n_threads,
        callback=lambda progress: recorder.see(progress.centers),
        **settings,
    ).fit(task.rows)
    recorder.finish(model.cluster_centers_)


# --- peers


def _scikit_learn_model(task: Task) -> Any:
    from sklearn.cluster import MiniBatchKMeans

    return MiniBatchKMeans(
        task.n_clusters,
        init=task.start,
        n_init=1,
        batch_size=task.batch_size,
        compute_labels=False,
        random_state=task.seed,
    )


def _scikit_learn_stream(task: Task, recorder: Recorder) -> None:
    model, rng, n_rows = _scikit_learn_model(task), np.random.default_rng(task.seed), task.rows.shape[0]
    while True:
        # Drawn with replacement, as its own fit draws them.
        model.partial_fit(task.rows[rng.integers(n_rows, size=min(task.batch_size, n_rows))])
        if recorder.see(model.cluster_centers_):
            break
    recorder.finish(model.cluster_centers_)


def _scikit_learn_fit(task: Task, recorder: Recorder) -> None:
    recorder.finish(_scikit_learn_model(task).fit(task.rows).cluster_centers_)


def _faiss(task: Task, recorder: Recorder, *, rows_per_centroid: int) -> None:
    """One iteration per call: the centroids are those of one call with as many iterations, bit for bit.

    The sample is drawn once and looked through for NaN once, so that the calls cost nothing extra.
    """
    import faiss

    faiss.omp_set_num_threads(task.n_threads)
    rows, n_sampled = task.rows, task.n_clusters * rows_per_centroid
    if len(rows) > n_sampled:
        rows = rows[np.random.default_rng(task.seed).permutation(len(rows))[:n_sampled]]
    model = faiss.Kmeans(
        rows.shape[1],
        task.n_clusters,
        niter=1,
        seed=task.seed,
        max_points_per_centroid=EVERY_ROW,
        min_points_per_centroid=1,
        init_method=faiss.ClusteringInitMethod_KMEANS_PLUS_PLUS,  # where it is given no centroids
    )
    before, settled = task.given, False
    while not settled:
        model.train(rows, init_centroids=before)
        centers = np.asarray(model.centroids)
        settled = before is not None and np.array_equal(centers, before)
        settled = recorder.see(centers) or settled
        before = centers
        model.cp.check_input_data_for_NaNs = False
    recorder.finish(centers)


def _superkmeans(task: Task, recorder: Recorder) -> None:
    """Fit all rows afresh for every number of iterations, each a point of the curve at its own seconds."""
    from superkmeans import SuperKMeans

    for iterations in SUPERKMEANS_ITERATIONS:
        model = SuperKMeans(
            task.n_clusters,
            task.rows.shape[1],
            iters=iterations,
            n_threads=task.n_threads,
            seed=task.seed,
            **SUPERKMEANS_ALL_ROWS,
        )
        begin = recorder.clock()
        centers = model.train(task.rows)
        recorder.add(recorder.clock() - begin, centers)
        recorder.cut = True  # it could always do more iterations
        del model
        if recorder.seconds >= recorder.budget:
            break


def _superkmeans_defaults(task: Task, recorder: Recorder) -> None:
    from superkmeans import SuperKMeans

    model = SuperKMeans(task.n_clusters, task.rows.shape[1], n_threads=task.n_threads, seed=task.seed)
    recorder.finish(model.train(task.rows))


NESTED, LLOYD = "coterie nested", "coterie lloyd"
NESTED_DEFAULT_START = "coterie nested, k-means++"
SCULLEY = "coterie mini-batch, no reassignment"
STREAM, OWN_FIT = "scikit-learn mini-batch, partial_fit", "scikit-learn mini-batch, fit"

CURVES: dict[str, CurveContender] = {
    NESTED: CurveContender("coterie", _coterie_nested),
    NESTED_DEFAULT_START: CurveContender("coterie", partial(_coterie_nested, init=K_MEANS_PLUS_PLUS)),
    "coterie mini-batch": CurveContender("coterie", _coterie_mini_batch),
    SCULLEY: CurveContender("coterie", partial(_coterie_mini_batch, reassignment_ratio=0)),
    LLOYD: CurveContender("coterie", partial(_coterie_exact, algorithm="lloyd")),
    "coterie yinyang": CurveContender("coterie", partial(_coterie_exact, algorithm="yinyang")),
    STREAM: CurveContender("sklearn", _scikit_learn_stream),
    OWN_FIT: CurveContender("sklearn", _scikit_learn_fit),
    "faiss, 256 rows per centroid": CurveContender(
        "faiss", partial(_faiss, rows_per_centroid=256), sparse=False
    ),
    "faiss, all rows": CurveContender("faiss", partial(_faiss, rows_per_centroid=EVERY_ROW), sparse=False),
    "superkmeans, all rows": CurveContender("superkmeans", _superkmeans, takes_centers=False, sparse=False),
    "superkmeans, defaults": CurveContender(
        "superkmeans", _superkmeans_defaults, takes_centers=False, sparse=False
    ),
}

# Nested batches with other thresholds, with and without bounds: for Figure 3 of the paper.
RHOS = (0.1, 1.0, 10.0, 100.0, 1000.0)


def setting_name(rho: float, bounds: str) -> str:
    """Return what nested batches with a threshold and with bounds, "auto" or "off", are called."""
    return f"coterie nested, rho = {rho:g}, bounds {'on' if bounds == 'auto' else bounds}"


SETTINGS: dict[str, CurveContender] = {
    setting_name(rho, bounds): CurveContender(
        "coterie", partial(_coterie_nested, doubling_threshold=rho, bounds=bounds)
    )
    for bounds in ("auto", "off")
    for rho in RHOS
}
