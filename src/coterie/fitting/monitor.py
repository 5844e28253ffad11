"""Progress, history and time of a fit.

An iterative fit opens one `FitMonitor`, reports each iteration to it and stops when it says so. Ctrl-C needs no
code: a fit calls kernels on one block of rows at a time, and Python raises KeyboardInterrupt between two calls.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from coterie.arrays import Array

__all__ = ["FitMonitor", "FitProgress"]

Callback = Callable[["FitProgress"], Any]


@dataclass(frozen=True, slots=True)
class FitProgress:
    """One iteration of a fit, as a callback sees it.

    Attributes
    ----------
    iteration : int
        Number of iterations done in this run, counted from 1.
    objective : float
        The objective that the estimator minimises or maximises, at this iteration.
    seconds : float
        Wall-clock seconds since the fit began, without those spent in callbacks: what a callback measures, such as
        the energy of held-out rows, does not count.
    remaining : float or None
        Estimate of the seconds to the end of the fit at most (to `max_iter` or `max_time`), None where unknown.
    centers : ndarray
        Read-only view of the current centroids, means, modes or memberships.
    """

    iteration: int
    objective: float
    seconds: float
    remaining: float | None
    centers: Array = field(repr=False)


class FitMonitor:
    """Keeps the history of a fit, calls its callbacks and watches its time.

    Parameters
    ----------
    estimator : estimator with `max_iter`, `max_time`, `callback` and `verbose`
        Whose fit it is.
    n_runs : int
        How many runs (starts) the fit makes, each of at most `max_iter` iterations.
    extra_fields : tuple of (name, dtype)
        What the system adds to each row of the history.
    max_reports : int, optional
        How many reports a run makes at most, if not `max_iter`.
    """

    def __init__(
        self,
        estimator: Any,
        n_runs: int = 1,
        extra_fields: tuple[tuple[str, Any], ...] = (),
        max_reports: int | None = None,
    ) -> None:
        self._estimator = estimator
        self._max_reports = estimator.max_iter if max_reports is None else max_reports
        self._n_runs = n_runs
        self._dtype = [
            ("iteration", np.int64),
            ("seconds", np.float64),
            ("objective", np.float64),
            *extra_fields,
        ]
        self._rows: list[tuple[Any, ...]] = []
        self._run = 0
        self._done = 0
        self._context: Any = None
        self._begin = time.perf_counter()
        self._in_callbacks = 0.0
        self.stopped_by: str | None = None

    @property
    def seconds(self) -> float:
        """Wall-clock seconds since the fit began, without those spent in callbacks."""
        return time.perf_counter() - self._begin - self._in_callbacks

    @property
    def out_of_time(self) -> bool:
        """Whether `max_time` has passed, by the clock on the wall."""
        budget = self._estimator.max_time
        return budget is not None and self.seconds + self._in_callbacks >= budget

    @contextmanager
    def scikit_learn_callbacks(self, X: Any) -> Iterator[None]:
        """Tell scikit-learn's own callbacks of the fit, where there are any."""
        if not getattr(self._estimator, "_skl_callbacks", None):
            yield
            return
        steps = self._n_runs * self._max_reports
        self._context = self._estimator._init_callback_context(max_subtasks=steps)
        self._context.call_on_fit_task_begin(estimator=self._estimator, X=X)
        yield
        self._context.call_on_fit_task_end(estimator=self._estimator, X=X)

    def start_run(self) -> None:
        """Begin the next run with an empty history."""
        self._run += 1
        self._rows = []

    def report(self, objective: float, centers: Array | Callable[[], Array], **extra: Any) -> bool:
        """Record one iteration; return True if the fit is to stop here.

        The centers are what a callback sees; as a function they are computed only if there is one.
        """
        seconds = self.seconds
        self._done += 1
        iteration = len(self._rows) + 1
        self._rows.append((iteration, seconds, objective, *(extra[name] for name, _ in self._dtype[3:])))
        if self._estimator.verbose:
            print(
                f"run {self._run}, iteration {iteration}: objective {objective:.6g}, {seconds:.2f} s",
                flush=True,
            )
        called = time.perf_counter()
        stop = self._call_back(iteration, objective, seconds, centers)
        self._in_callbacks += time.perf_counter() - called
        if stop:
            self.stopped_by = "callback"
        elif self.out_of_time:
            self.stopped_by = "max_time"
        return self.stopped_by is not None

    def history(self) -> Array:
        """Return the rows of the current run as a record array."""
        return np.array(self._rows, dtype=self._dtype).view(np.recarray)

    def warn_if_out_of_time(self) -> None:
        """Say so if `max_time` ended the fit."""
        if self.stopped_by == "max_time":
            warnings.warn(
                f"max_time={self._estimator.max_time:g} s was reached before convergence: "
                "this is the best model found by then.",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _call_back(
        self, iteration: int, objective: float, seconds: float, centers: Array | Callable[[], Array]
    ) -> bool:
        stop = False
        if self._estimator.callback is not None:
            view = (centers() if callable(centers) else centers).view()
            view.flags.writeable = False
            progress = FitProgress(iteration, objective, seconds, self._remaining(iteration, seconds), view)
            stop = bool(self._estimator.callback(progress))
        if self._context is not None:
            step = self._context.subcontext(task_name="iteration")
            step.call_on_fit_task_begin(estimator=self._estimator)
            stop |= bool(step.call_on_fit_task_end(estimator=self._estimator))
        return stop

    def _remaining(self, iteration: int, seconds: float) -> float | None:
        max_time = self._estimator.max_time
        steps_left = (self._n_runs - self._run + 1) * self._max_reports - iteration
        estimates = [seconds / self._done * steps_left]
        if max_time is not None:
            estimates.append(max_time - seconds - self._in_callbacks)
        return max(0.0, min(estimates))
