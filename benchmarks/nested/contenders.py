"""The contenders of `benchmarks.nested` and the runs that record them, each in a process of its own.

A run leaves a time-energy curve. Copies of the centroids are taken while the fit goes on, the clock standing
still meanwhile; their energies on the validation rows are computed when the fit is over.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness.data import load_rows
from benchmarks.harness.measuring import measured
from benchmarks.kmeans.fits import EVERY_ROW, Contender

K_MEANS_PLUS_PLUS = "k-means++"
# The next copy is taken when the clock shows this many times the seconds of the last one.
COPY_GROWTH = 1.05
UNLIMITED = 10**6  # iterations or epochs: the time is what is limited
SUPERKMEANS_ITERATIONS = (1, 2, 3, 4, 6, 8, 12, 16, 25)
WARM_UP_SECONDS = 0.05


class Recorder:
    """Keeps copies of the centroids along a fit, with the seconds since its start, and watches its budget.

    Parameters
    ----------
    budget : float
        Seconds after which a fit is told to stop.
    keep : bool
        Whether to keep centroids; not where memory is measured.

    Attributes
    ----------
    points : list of (float, ndarray)
        Seconds and centroids.
    cut : bool
        Whether the fit was stopped, rather than that it ended by itself.
    """

    def __init__(self, budget: float, keep: bool = True) -> None:
        self.budget, self.keep = budget, keep
        self.points: list[tuple[float, np.ndarray]] = []
        self.cut = False
        self._next = self._paused = 0.0
        self._begin = time.perf_counter()

    def start(self) -> None:
        """Set the clock to 0."""
        self._begin = time.perf_counter()

    def see(self, centers: np.ndarray) -> bool:
        """Look at the centroids of a fit that goes on; return True if it is to stop. Takes no time."""
        arrived = time.perf_counter()
        seconds = arrived - self._begin - self._paused
        if self.keep and seconds >= self._next:
            self.add(seconds, centers)
            self._next = COPY_GROWTH * seconds
        self.cut = seconds >= self.budget
        self._paused += time.perf_counter() - arrived
        return self.cut

    def finish(self, centers: np.ndarray) -> None:
        """Record the centroids that the fit returned."""
        self.add(time.perf_counter() - self._begin - self._paused, centers)

    def add(self, seconds: float, centers: np.ndarray) -> None:
        """Record centroids that were found after so many seconds."""
        self.points.append((seconds, np.array(centers, np.float32)))

    @property
    def seconds(self) -> float:
        """When the last centroids were recorded."""
        return self.points[-1][0]


@dataclass(frozen=True)
class Task:
    """What a contender is given: `start` is an array of initial centroids, or "k-means++"."""

    rows: Any
    start: Any
    batch_size: int
    n_clusters: int
    seed: int
    n_threads: int

    @property
    def given(self) -> np.ndarray | None:
        """The initial centroids, None where the contender has to find them."""
        return None if isinstance(self.start, str) else self.start


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


def _coterie_mini_batch(task: Task, recorder: Recorder) -> None:
    from coterie import MiniBatchKMeans

    model = MiniBatchKMeans(
        task.n_clusters,
        init=task.start,
        n_init=1,
        max_iter=UNLIMITED,
        max_no_improvement=None,
        compute_labels=False,
        batch_size=task.batch_size,
        random_state=task.seed,
        n_threads=task.n_threads,
        callback=lambda progress: recorder.see(progress.centers),
    ).fit(task.rows)
    recorder.finish(model.cluster_centers_)


def _coterie_nested(task: Task, recorder: Recorder, *, init: str | None = None) -> None:
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
            hierarchical=False,
            iters=iterations,
            sampling_fraction=1.0,
            max_points_per_cluster=EVERY_ROW,
            n_threads=task.n_threads,
            seed=task.seed,
            tol=0.0,
            early_termination=False,
        )
        begin = time.perf_counter()
        centers = model.train(task.rows)
        recorder.add(time.perf_counter() - begin, centers)
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
STREAM, OWN_FIT = "scikit-learn mini-batch, partial_fit", "scikit-learn mini-batch, fit"

CURVES: dict[str, CurveContender] = {
    NESTED: CurveContender("coterie", _coterie_nested),
    NESTED_DEFAULT_START: CurveContender("coterie", partial(_coterie_nested, init=K_MEANS_PLUS_PLUS)),
    "coterie mini-batch": CurveContender("coterie", _coterie_mini_batch),
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


def run_curve(
    name: str,
    data: Path,
    valid: Path,
    start: str,
    sizes: tuple[int, int],
    seed: int,
    n_threads: int,
    budget: float,
) -> dict[str, Any]:
    """Fit one contender and return its curve, a list of (seconds, validation energy).

    `start` is "random" (distinct rows, the same for all contenders of a seed) or "k-means++"; `sizes` are the
    number of clusters and the batch size.
    """
    task = _task(load_rows(data), start, sizes, seed, n_threads)
    _warm_up(name, task, 4 * task.n_clusters)
    recorder = Recorder(budget)
    with measured() as cost:
        recorder.start()
        CURVES[name].call(task, recorder)
    found = energies(load_rows(valid), (centers for _, centers in recorder.points))
    curve = [(round(seconds, 6), energy) for (seconds, _), energy in zip(recorder.points, found)]
    # What is disturbed is judged by the seconds that count.
    other = cost.other_seconds * recorder.seconds / cost.seconds
    return {
        "seconds": recorder.seconds,
        "cpu_seconds": cost.cpu_seconds,
        "other_seconds": other,
        "cut": recorder.cut,
        "curve": curve,
    }


def run_memory(
    name: str, data: Path, start: str, sizes: tuple[int, int], seed: int, n_threads: int, budget: float
) -> dict[str, Any]:
    """Fit one contender without recording it; return its cost, with the peak memory beside the rows."""
    task = _task(load_rows(data), start, sizes, seed, n_threads)
    _warm_up(name, task, 64, n_clusters=2)  # imports everything, but leaves no buffers to be found ready
    recorder = Recorder(budget, keep=False)
    with measured() as cost:
        recorder.start()
        CURVES[name].call(task, recorder)
    return vars(cost) | {"seconds": recorder.seconds, "cut": recorder.cut, "input_bytes": task.rows.nbytes}


def _task(rows: Any, start: str, sizes: tuple[int, int], seed: int, n_threads: int) -> Task:
    n_clusters, batch_size = sizes
    first = start if start == K_MEANS_PLUS_PLUS else first_rows(rows, n_clusters, seed)
    return Task(rows, first, batch_size, n_clusters, seed, n_threads)


def first_rows(rows: Any, n_clusters: int, seed: int) -> np.ndarray:
    """Return the initial centroids: distinct rows, drawn uniformly."""
    chosen = np.random.default_rng(seed).choice(rows.shape[0], n_clusters, replace=False)
    first = rows[np.sort(chosen)]
    return np.ascontiguousarray(first if isinstance(first, np.ndarray) else first.toarray())


def _warm_up(name: str, task: Task, n_rows: int, n_clusters: int | None = None) -> None:
    """Load the package and start its threads on a few rows."""
    k = n_clusters or task.n_clusters
    rows = task.rows[: max(n_rows, k)]
    start = task.start if task.given is None else task.start[:k].copy()
    small = Task(rows, start, min(task.batch_size, rows.shape[0]), k, task.seed, task.n_threads)
    CURVES[name].call(small, Recorder(WARM_UP_SECONDS, keep=False))
    gc.collect()


def energies(rows: Any, centroids: Iterable[np.ndarray], rows_per_block: int = 4096) -> list[float]:
    """Return the mean squared distance of the rows to their nearest centroid, for each set of centroids."""
    shift: Any = 0
    if isinstance(rows, np.ndarray):  # float32 products lose less around the mean
        shift = rows.mean(axis=0, dtype=np.float64).astype(np.float32)
        rows = rows - shift
        squares = np.einsum("ij,ij->i", rows, rows, dtype=np.float64)
    else:
        squares = np.asarray(rows.multiply(rows).sum(axis=1), np.float64).ravel()
    blocks = [rows[start : start + rows_per_block] for start in range(0, rows.shape[0], rows_per_block)]
    total = float(squares.sum())
    return [(total + _nearest_scores(blocks, c - shift)) / rows.shape[0] for c in centroids]


def _nearest_scores(blocks: list[Any], centers: np.ndarray) -> float:
    """Return the sum over all rows x of the least ||c||^2 - 2 x c."""
    offsets = np.einsum("ij,ij->i", centers, centers)
    factors = np.ascontiguousarray(-2 * centers.T)
    total = 0.0
    for block in blocks:
        scores = block @ factors
        scores += offsets
        total += float(scores.min(axis=1).sum(dtype=np.float64))
    return total


# --- one pass over the rows by partial_fit


def _coterie_stream(start: np.ndarray, batch_size: int, n_threads: int) -> Any:
    from coterie import MiniBatchKMeans

    return MiniBatchKMeans(
        len(start), init=start, n_init=1, batch_size=batch_size, random_state=0, n_threads=n_threads
    )


def _scikit_learn_stream_model(start: np.ndarray, batch_size: int, n_threads: int) -> Any:
    from sklearn.cluster import MiniBatchKMeans

    return MiniBatchKMeans(len(start), init=start, n_init=1, batch_size=batch_size, random_state=0)


STREAMS = {
    "coterie": Contender("coterie", _coterie_stream),
    "scikit-learn": Contender("sklearn", _scikit_learn_stream_model),
}


def run_pass(
    name: str, data: Path, valid: Path, n_clusters: int, batch_size: int, seed: int, n_threads: int
) -> dict[str, Any]:
    """Show all rows once, in batches; return the cost and the validation energy afterwards."""
    rows = load_rows(data)
    start = first_rows(rows, n_clusters, seed)
    batches = [rows[at : at + batch_size] for at in range(0, rows.shape[0], batch_size)]
    make = STREAMS[name].call
    make(start, batch_size, n_threads).partial_fit(batches[0])
    model = make(start, batch_size, n_threads)
    with measured() as cost:
        for batch in batches:
            model.partial_fit(batch)
    return vars(cost) | {"energy": energies(load_rows(valid), [model.cluster_centers_])[0]}
