"""Progress, history and time of a fit.

An iterative fit makes one `FitReport`, calls it after each iteration, and stops if it returns True. Ctrl-C needs no
code: a fit calls kernels on one block of rows at a time, and Python raises KeyboardInterrupt between calls.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from coterie.arrays import Array
from coterie.fitting.checks import warn
from coterie.fitting.deadline import Deadline, now

try:  # scikit-learn >= 1.9
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stands in where scikit-learn has no callbacks yet."""

    def with_callbacks(fit: Callable[..., Any]) -> Callable[..., Any]:
        """Return the fit as it is: this scikit-learn has no callbacks."""
        return fit


@dataclass(frozen=True, slots=True)
class Stop:
    """When the iterations of a run end by themselves; the tolerance is in the unit of the solver."""

    max_iter: int
    tolerance: float = 0.0


@dataclass(frozen=True, slots=True)
class FitProgress:
    """One iteration of a fit, as a callback sees it.

    Attributes
    ----------
    iteration : int
        Number of iterations done in this run, counted from 1.
    objective : float
        The objective that the estimator minimizes or maximizes, at this iteration.
    seconds : float
        Wall-clock seconds since the fit began, without those spent in callbacks: what a callback measures, such as
        the energy of held-out rows, does not count.
    remaining : float or None
        Estimate of the seconds to the end of the iterations, where the number of remaining steps or runs is known;
        None elsewhere.
    centers : ndarray
        Read-only view of the current centroids, means, modes or memberships.
    """

    iteration: int
    objective: float
    seconds: float
    remaining: float | None
    centers: Array = field(repr=False)


class FitReport:
    """History, callbacks and time limit of a fit: called after each iteration, it returns whether to stop, for a
    `reason`, "callback" or "max_time". `fields` are those of the history besides the iteration, seconds and objective.

    With `max_time` the iterations stop when less time is left than the last one took and what follows them will, such
    as labels of all rows: `n_final_steps` times the first iteration, or else as long as the last one.
    """

    def __init__(
        self,
        estimator: Any = None,
        fields: tuple[tuple[str, Any], ...] = (),
        *,
        n_runs: int = 1,
        n_steps: int | None = None,
        deadline: Deadline | None = None,
    ) -> None:
        self._callback = getattr(estimator, "callback", None)
        self._is_verbose = bool(getattr(estimator, "verbose", False))
        self._max_time = getattr(estimator, "max_time", None)
        self._estimator = estimator
        self.n_runs, self.n_steps = n_runs, n_steps
        self._dtype = [
            ("iteration", np.int64),
            ("seconds", np.float64),
            ("objective", np.float64),
            *fields,
        ]
        self._rows: list[tuple[Any, ...]] = []
        self._run = 0
        self._begin_of_runs = self._end_of_runs = self._last = self._first_step = 0.0
        self._context: Any = None
        self.deadline = Deadline(self._max_time) if deadline is None else deadline
        self.n_final_steps: float | None = None
        self._in_callbacks = 0.0
        self.reason: str | None = None

    @property
    def seconds(self) -> float:
        """Wall-clock seconds since the fit began, without those spent in callbacks."""
        return self.deadline.seconds - self._in_callbacks

    def has_time_for(self, seconds: float) -> bool:
        """Return whether this many seconds are left before the end of the fit; if not, that ends the iterations."""
        has_time = self.deadline.left > seconds + (self.n_final_steps or 0.0) * self._first_step
        if not has_time:
            self.reason = "max_time"
        return has_time

    @contextmanager
    def scikit_learn_callbacks(self, X: Any) -> Iterator[None]:
        """Run scikit-learn's callbacks around the fit, if there are any."""
        if not getattr(self._estimator, "_skl_callbacks", None):
            yield
            return
        n_steps = None if self.n_steps is None else self.n_runs * self.n_steps
        self._context = self._estimator._init_callback_context(max_subtasks=n_steps)
        self._context.call_on_fit_task_begin(estimator=self._estimator, X=X)
        yield
        self._context.call_on_fit_task_end(estimator=self._estimator, X=X)

    def start_run(self) -> FitReport:
        """Begin the next run, with an empty history; return this report."""
        if self._rows:
            self._end_of_runs = self._rows[-1][1]
        self._last = self.seconds
        if self._run == 0:
            self._begin_of_runs = self._last
        self._run += 1
        self._rows = []
        return self

    def restarts(self, n_runs: int) -> Iterator[None]:
        """Yield before each of several runs that begin with new centers, as long as there is time for another."""
        for number in range(1, n_runs + 1):
            begin = self.seconds
            yield
            # The shortest run draws centers, and takes a step and a last assignment.
            shortest = 2 * (self._rows[0][1] - begin)
            if self.reason is not None or (number < n_runs and not self.has_time_for(shortest)):
                return

    def __call__(self, objective: float, centers: Array | Callable[[], Array], **fields: Any) -> bool:
        """Record one iteration; return True to stop. A function for `centers` is called only for a callback."""
        seconds = self.seconds
        last_step, self._last = seconds - self._last, seconds
        iteration = len(self._rows) + 1
        if iteration == 1:
            self._first_step = last_step
        self._rows.append((iteration, seconds, objective, *(fields[name] for name, _ in self._dtype[3:])))
        if self._is_verbose:
            print(
                f"run {self._run}, iteration {iteration}: objective {objective:.6g}, {seconds:.2f} s",
                flush=True,
            )
        if self._callback is not None or self._context is not None:
            called = now()
            if self._call_back(iteration, objective, seconds, centers):
                self.reason = "callback"
            self._in_callbacks += now() - called
        if self.reason is None and self.deadline.is_set:
            rest = last_step if self.n_final_steps is None else 0.0
            self.has_time_for(last_step + rest)
        return self.reason is not None

    def history(self) -> Array:
        """Return the rows of the current run as a record array."""
        return np.array(self._rows, dtype=self._dtype).view(np.recarray)

    def warn_if_out_of_time(self) -> None:
        """Warn if `max_time` ended the fit."""
        if self.reason == "max_time":
            warn(
                f"max_time={self._max_time:g} s was reached before convergence: "
                "the result is the best so far.",
                ConvergenceWarning,
            )

    def _call_back(
        self, iteration: int, objective: float, seconds: float, centers: Array | Callable[[], Array]
    ) -> bool:
        stop = False
        if self._callback is not None:
            view = (centers() if callable(centers) else centers).view()
            view.flags.writeable = False
            remaining = self._remaining(iteration, seconds)
            stop = bool(self._callback(FitProgress(iteration, objective, seconds, remaining, view)))
        if self._context is not None:
            step = self._context.subcontext(task_name="iteration")
            step.call_on_fit_task_begin(estimator=self._estimator)
            stop |= bool(step.call_on_fit_task_end(estimator=self._estimator))
        return stop

    def _remaining(self, iteration: int, seconds: float) -> float | None:
        """Return the seconds left by the mean time of the steps, or of the runs, that are over."""
        spent = seconds - self._begin_of_runs
        if self.n_steps is not None:
            done, all_steps = (self._run - 1) * self.n_steps + iteration, self.n_runs * self.n_steps
            remaining = spent * (all_steps - done) / done
        elif self._run > 1:
            before_run = self._end_of_runs - self._begin_of_runs
            remaining = before_run / (self._run - 1) * self.n_runs - spent
        else:
            return None
        return max(0.0, min(remaining, self.deadline.left))
