"""What competes: each fits a `Task` and shows its centroids to a `Recorder`."""

import gc
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness.contenders import Contender, model_of
from benchmarks.harness.data.tables import load_rows
from benchmarks.harness.measuring import clock, inertia, measured

UNLIMITED = 10**6  # iterations or epochs: the time is what is limited
# The next copy is taken when the clock shows this many times the seconds of the last one.
COPY_GROWTH = 1.05


class Recorder:
    """Keeps copies of the centroids along a fit, with the seconds since its start, and watches its budget.

    Copies are taken while the clock stands still. `points` are seconds and centroids.
    """

    def __init__(self, budget: float, clock: Callable[[], float] = time.perf_counter) -> None:
        self.budget, self.clock = budget, clock
        self.points: list[tuple[float, np.ndarray]] = []
        self._next = self._paused = 0.0
        self._begin = self.clock()

    def see(self, centers: np.ndarray) -> bool:
        """Look at the centroids of a fit that goes on; return True if it is to stop. Takes no time."""
        arrived = self.clock()
        seconds = arrived - self._begin - self._paused
        if seconds >= self._next:
            self._add(seconds, centers)
            self._next = COPY_GROWTH * seconds
        self._paused += self.clock() - arrived
        return seconds >= self.budget

    def finish(self, centers: np.ndarray) -> None:
        self._add(self.clock() - self._begin - self._paused, centers)

    def _add(self, seconds: float, centers: np.ndarray) -> None:
        self.points.append((seconds, np.array(centers, np.float32)))

    @property
    def seconds(self) -> float:
        """When the last centroids were recorded."""
        return self.points[-1][0]


@dataclass(frozen=True)
class Task:
    """What a contender is given; `start` are its initial centroids."""

    rows: Any
    start: np.ndarray
    batch_size: int
    n_clusters: int
    seed: int
    n_threads: int


def _fit(task: Task, recorder: Recorder, name: str, **options: Any) -> None:
    model = model_of(
        f"coterie.{name}", task.n_clusters, max_iter=UNLIMITED, random_state=task.seed, n_threads=task.n_threads,
        callback=lambda progress: recorder.see(progress.centers), init=task.start, **options,
    ).fit(task.rows)  # fmt: skip
    recorder.finish(model.cluster_centers_)


def _nested(task: Task, recorder: Recorder, **settings: Any) -> None:
    # Its own rule, 5000 or 64 k; a shrunk row has shrunk batches.
    batch_size = "auto" if task.batch_size >= 5000 else task.batch_size
    options = {"tol": 0, "compute_labels": False, "batch_size": batch_size}
    _fit(task, recorder, "NestedMiniBatchKMeans", **options, **settings)


def _scikit_learn_model(task: Task) -> Any:
    return model_of(
        "sklearn.cluster.MiniBatchKMeans", task.n_clusters, init=task.start, n_init=1, batch_size=task.batch_size,
        compute_labels=False, random_state=task.seed,
    )  # fmt: skip


class RunningMeans:
    """Means of all rows that each center has received (Sculley 2010): annealed k-means that never forgets."""

    def __init__(self, task: Task) -> None:
        self._task = task
        self._means: Any = None

    def partial_fit(self, batch: Any) -> None:
        from coterie.centers import annealed
        from coterie.fitting.report import FitReport, Stop
        from coterie.passes import measure, open_passes
        from coterie.rows import as_rows

        n_rows, k = batch.shape[0], self._task.n_clusters
        with open_passes(as_rows(batch), n_threads=self._task.n_threads) as passes:
            if self._means is None:
                shift, counts = measure(passes, k).shift, np.full(k, 1e-9)
                self._means = annealed.running_means(
                    passes, self._task.start, counts, shift, n_rows, unit_length=False
                )
            annealed.anneal(
                passes, self._means, annealed.Memory(np.inf, 0.0), annealed.BatchPlan(n_rows, n_rows),
                np.random.RandomState(0), stop=Stop(1, 0.0), report=FitReport(fields=annealed.HISTORY_FIELDS),
            )  # fmt: skip

    @property
    def cluster_centers_(self) -> np.ndarray:
        return np.asarray(self._means.centers)


def _stream(task: Task, recorder: Recorder, *, make: Callable[[Task], Any]) -> None:
    model, rng, n_rows = make(task), np.random.default_rng(task.seed), task.rows.shape[0]
    while True:
        # Drawn with replacement, as scikit-learn's fit draws them.
        model.partial_fit(task.rows[rng.integers(n_rows, size=min(task.batch_size, n_rows))])
        if recorder.see(model.cluster_centers_):
            break
    recorder.finish(model.cluster_centers_)


def setting_name(rho: float, bounds: str) -> str:
    """Return what nested batches with a threshold and with bounds, "auto" or "off", are called."""
    return f"coterie nested, rho = {rho:g}, bounds {'on' if bounds == 'auto' else bounds}"


NESTED, LLOYD, SCULLEY = "coterie nested", "coterie lloyd", "mini-batch, Sculley 2010"
STREAM = "scikit-learn mini-batch, partial_fit"
CURVES: dict[str, Contender] = {
    NESTED: Contender("coterie", _nested),
    SCULLEY: Contender("coterie", partial(_stream, make=RunningMeans)),
    LLOYD: Contender("coterie", partial(_fit, name="KMeans", n_init=1, tol=0, algorithm="lloyd")),
    STREAM: Contender("sklearn", partial(_stream, make=_scikit_learn_model)),
}
# Nested batches with other thresholds, with and without bounds: for Figure 3 of the paper.
RHOS = (0.1, 1.0, 10.0, 100.0, 1000.0)
SETTINGS: dict[str, Contender] = {
    setting_name(rho, bounds): Contender("coterie", partial(_nested, doubling_threshold=rho, bounds=bounds))
    for bounds in ("auto", "off")
    for rho in RHOS
}


WARM_UP_SECONDS = 0.05


def run_curve(
    name: str, data: Path, valid: Path, n_clusters: int, batch_size: int, budget: float, seed: int,
    n_threads: int
) -> dict[str, Any]:  # fmt: skip
    """Fit one contender and return its curve, a list of (seconds, validation energy).

    All contenders of a seed begin with the same rows. Seconds are those of the clock, or of the processor where there
    is one thread. Energies of copies are computed when the fit is over.
    """
    rows = load_rows(data)
    task = Task(rows, first_rows(rows, n_clusters, seed), batch_size, n_clusters, seed, n_threads)
    _warm_up(name, task)
    with measured(n_threads) as cost:
        recorder = Recorder(budget, clock(n_threads))
        (CURVES | SETTINGS)[name].call(task, recorder)
    held_out = load_rows(valid)
    found = [inertia(held_out, centers) / held_out.shape[0] for _, centers in recorder.points]
    return {
        "seconds": recorder.seconds,
        "cpu_seconds": cost.cpu_seconds,
        # What is disturbed is judged by the seconds that count.
        "other_seconds": cost.other_seconds * recorder.seconds / cost.seconds,
        "curve": [(round(seconds, 6), energy) for (seconds, _), energy in zip(recorder.points, found)],
    }


def _warm_up(name: str, task: Task) -> None:
    """Load the package and start its threads on a few rows."""
    rows = task.rows[: 4 * task.n_clusters]
    small = replace(task, rows=rows, start=task.start.copy(), batch_size=min(task.batch_size, rows.shape[0]))
    (CURVES | SETTINGS)[name].call(small, Recorder(WARM_UP_SECONDS))
    gc.collect()


def first_rows(rows: Any, n_clusters: int, seed: int) -> np.ndarray:
    """Return the initial centroids: distinct rows, drawn uniformly."""
    chosen = np.random.default_rng(seed).choice(rows.shape[0], n_clusters, replace=False)
    first = rows[np.sort(chosen)]
    return np.ascontiguousarray(first if isinstance(first, np.ndarray) else first.toarray())
