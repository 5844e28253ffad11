"""What every fit shares: progress, history, time budget, threads.

An iterative fit opens one `FitMonitor`, reports each iteration to it and stops when it says so. Ctrl-C needs no
code: a fit calls kernels on one block of rows at a time, and Python raises KeyboardInterrupt between two calls.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import _check_sample_weight
from threadpoolctl import ThreadpoolController

from coterie.arrays import Array
from coterie.rows import RowSource

try:  # scikit-learn >= 1.9
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stands in where scikit-learn has no callbacks yet."""

    def with_callbacks(fit: Callable[..., Any]) -> Callable[..., Any]:
        """Return the fit as it is: this scikit-learn has no callbacks."""
        return fit


__all__ = [
    "CallbackSupportMixin",
    "FitMonitor",
    "FitProgress",
    "check_iteration_parameters",
    "check_positive_integer",
    "check_sample_weight",
    "effective_n_threads",
    "single_threaded_blas",
    "with_callbacks",
]

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


class HasCenters(Protocol):
    """Anything with current centroids, means, modes or memberships."""

    @property
    def centers(self) -> Array:
        """The array that a callback sees."""


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

    def report(self, objective: float, model: HasCenters, **extra: Any) -> bool:
        """Record one iteration; return True if the fit is to stop here.

        The centers of the model are asked for only if somebody wants to see them.
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
        stop = self._call_back(iteration, objective, seconds, model)
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

    def _call_back(self, iteration: int, objective: float, seconds: float, model: HasCenters) -> bool:
        stop = False
        if self._estimator.callback is not None:
            view = model.centers.view()
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


def effective_n_threads(n_threads: int | None) -> int:
    """Return the number of threads to use.

    Parameters
    ----------
    n_threads : int or None
        None: all processors that this process may use. CPU affinity, the quota of a Linux control group and
        `OMP_NUM_THREADS` count. A positive number is taken as it is.

    Returns
    -------
    int
        At least 1.

    Raises
    ------
    ValueError
        If `n_threads` is not positive.

    Examples
    --------
    >>> from coterie.fitting import effective_n_threads
    >>> effective_n_threads(3)
    3
    """
    if n_threads is not None:
        if isinstance(n_threads, bool) or n_threads != int(n_threads) or n_threads < 1:
            raise ValueError(f"n_threads must be None or a positive integer, got {n_threads!r}.")
        return int(n_threads)
    try:
        available = len(os.sched_getaffinity(0))
    except AttributeError:  # macOS
        available = os.cpu_count() or 1
    quota = _control_group_quota()
    if quota is not None:
        available = min(available, quota)
    # A list such as "4,2" gives one number per level of nesting.
    wanted = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    if wanted.isdigit() and int(wanted) > 0:
        available = min(available, int(wanted))
    return max(1, available)


def _control_group_quota() -> int | None:
    """Return the processors that a container may use (control groups version 2, then 1), None for all."""
    try:
        with open("/sys/fs/cgroup/cpu.max") as file:
            quota, period = file.read().split()
    except (OSError, ValueError):
        try:
            with open("/sys/fs/cgroup/cpu/cpu.cfs_quota_us") as file:
                quota = file.read().strip()
            with open("/sys/fs/cgroup/cpu/cpu.cfs_period_us") as file:
                period = file.read().strip()
        except OSError:
            return None
    if not quota.isdigit() or not period.isdigit():
        return None
    return max(1, -(-int(quota) // int(period)))


def single_threaded_blas() -> Any:
    """Return a context in which NumPy's and SciPy's BLAS use one thread.

    Their idle threads go on spinning for a while after each product and would take the processors from our kernels.
    """
    return _blas_libraries().limit(limits=1, user_api="blas")


@cache
def _blas_libraries() -> ThreadpoolController:
    # Looking for them takes milliseconds, and NumPy's and SciPy's are there once this package is imported.
    return ThreadpoolController()


def check_sample_weight(sample_weight: npt.ArrayLike | None, rows: RowSource) -> Array | None:
    """Return the weights as an array of shape (n,) in the rows' dtype; None stays None (all 1).

    Raises a ValueError if they are negative, not finite, all 0 or not one per row.
    """
    if sample_weight is None:
        return None
    weights = _check_sample_weight(sample_weight, rows, dtype=rows.dtype, ensure_non_negative=True)
    if not np.any(weights > 0):
        raise ValueError("sample_weight must not be 0 everywhere.")
    return weights


def check_positive_integer(name: str, value: Any) -> None:
    """Raise a ValueError that names the parameter if its value is not a positive integer."""
    if isinstance(value, (bool, str)) or value != int(value) or value < 1:
        raise ValueError(f"{name} must be a positive integer, got {value!r}.")


def check_iteration_parameters(estimator: BaseEstimator) -> None:
    """Raise a ValueError if `max_iter`, `tol` or `max_time` of the estimator makes no sense."""
    parameters = estimator.get_params(deep=False)
    check_positive_integer("max_iter", parameters["max_iter"])
    tol, max_time = parameters["tol"], parameters["max_time"]
    if not tol >= 0:
        raise ValueError(f"tol must not be negative, got {tol!r}.")
    if max_time is not None and not max_time > 0:
        raise ValueError(f"max_time must be None or a positive number of seconds, got {max_time!r}.")
    callback = parameters["callback"]
    if callback is not None and not callable(callback):
        raise TypeError(f"callback must be None or callable, got {type(callback).__name__}.")
