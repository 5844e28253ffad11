"""Progress, history and time of a fit.

An iterative fit opens one `FitMonitor` when it is called, reports each iteration to it and stops when it says so. What
comes before and after the iterations are phases: they look at the same clock. Ctrl-C needs no code: a fit calls kernels
on one block of rows at a time, and Python raises KeyboardInterrupt between two calls.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from coterie.arrays import Array
from coterie.fitting.deadline import UNHURRIED, Deadline, Phase, now
from coterie.fitting.forecast import Forecast
from coterie.fitting.warn import warn

__all__ = ["FitMonitor", "FitPhase", "FitProgress"]

Callback = Callable[["FitProgress"], Any]

# Iterations of a run that `runs` keeps, and runs of which it keeps more than the last one.
_MOST_OF_RUN, _MOST_WHOLE_RUNS = 100, 100
_RUNS = [("iteration", np.int64), ("seconds", np.float64), ("objective", np.float64), ("run", np.int64)]


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
        Estimate of the seconds to the end of the iterations: when they will have converged, where that can be
        foreseen, and no later than `max_iter` or `max_time`; with what comes after them, where that is known to count.
        None where unknown.
    centers : ndarray
        Read-only view of the current centroids, means, modes or memberships.
    is_foreseen : bool
        Whether `remaining` is an estimate of when the iterations converge, and not only the most that they may take.
    """

    iteration: int
    objective: float
    seconds: float
    remaining: float | None
    centers: Array = field(repr=False)
    is_foreseen: bool = False


@dataclass(frozen=True, slots=True)
class FitPhase:
    """What a fit does before or after its iterations, as a callback with a method `show_phase` sees it.

    Attributes
    ----------
    name : str
        What it does, such as "seeding" or "labels".
    share : float
        How much of the phase is done, from 0 to 1.
    seconds : float
        Wall-clock seconds since the fit began, without those spent in callbacks.
    remaining : float or None
        Estimate of the seconds to the end of the phase, None where unknown.
    """

    name: str
    share: float
    seconds: float
    remaining: float | None


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

    Attributes
    ----------
    deadline : Deadline
        When `max_time` is over.
    reserve : float
        Seconds that what comes after the iterations will take, such as labels of all rows.
    n_runs : int
        How many runs there are to be; a fit that learns of fewer says so.
    stopped_by : str or None
        "callback" or "max_time", if one of these has ended the iterations.
    foresee : callable, optional
        Returns the seconds left of the iterations, or None, where the fit knows better than the closeness of reports.
    steps_after_limit : float, optional
        Of a fit that nothing but the limit of its reports ends: as how many steps what comes then takes.
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
        self.n_runs = n_runs
        self._dtype = [
            ("iteration", np.int64),
            ("seconds", np.float64),
            ("objective", np.float64),
            *extra_fields,
        ]
        self._rows: list[tuple[Any, ...]] = []
        self._earlier: list[Array] = []
        self._run = 0
        self._begins: list[float] = []
        self._context: Any = None
        self.deadline = Deadline(estimator.max_time)
        self.reserve = 0.0
        self._in_callbacks = 0.0
        self.stopped_by: str | None = None
        self.foresee: Callable[[], float | None] | None = None
        self.steps_after_limit: float | None = None

    @property
    def seconds(self) -> float:
        """Wall-clock seconds since the fit began, without those spent in callbacks."""
        return self.deadline.seconds - self._in_callbacks

    @property
    def out_of_time(self) -> bool:
        """Whether what is left of `max_time`, by the clock on the wall, is needed for what comes after."""
        return self.deadline.left <= self.reserve

    def has_time_for(self, seconds: float) -> bool:
        """Whether so many seconds are left; if not, that ends the iterations."""
        has_time = self.deadline.left > self.reserve + seconds
        if not has_time:
            self.stopped_by = "max_time"
        return has_time

    @property
    def step(self) -> Phase:
        """What a long step of the iterations is given: it is late as soon as the reserve would be touched."""
        return Phase(self.deadline.sooner(self.reserve)) if self.deadline.is_set else UNHURRIED

    @contextmanager
    def phase(self, name: str, deadline: Deadline | None = None) -> Iterator[Phase]:
        """Tell of a phase, with a deadline of its own if it has one, while it lasts."""
        show = getattr(self._estimator.callback, "show_phase", None)
        if show is None:
            yield Phase(deadline or self.deadline)
            return
        begin = self.seconds

        def listen(share: float) -> None:
            seconds = self.seconds
            remaining = (seconds - begin) * (1 - share) / share if share > 0 else None
            called = now()
            show(FitPhase(name, share, seconds, remaining))
            self._in_callbacks += now() - called

        listen(0.0)
        yield Phase(deadline or self.deadline, listen)
        listen(1.0)

    @contextmanager
    def scikit_learn_callbacks(self, X: Any) -> Iterator[None]:
        """Tell scikit-learn's own callbacks of the fit, where there are any."""
        if not getattr(self._estimator, "_skl_callbacks", None):
            yield
            return
        steps = self.n_runs * self._max_reports
        self._context = self._estimator._init_callback_context(max_subtasks=steps)
        self._context.call_on_fit_task_begin(estimator=self._estimator, X=X)
        yield
        self._context.call_on_fit_task_end(estimator=self._estimator, X=X)

    def start_run(self) -> None:
        """Begin the next run with an empty history."""
        if self._rows:
            self._earlier.append(self._thinned())
        self._run += 1
        self._rows = []
        self._forecast = Forecast()
        self._ends = [self.seconds]
        self._begins.append(self.seconds)

    def report(
        self,
        objective: float,
        centers: Array | Callable[[], Array],
        *,
        closeness: float = math.nan,
        **extra: Any,
    ) -> bool:
        """Record one iteration; return True if the fit is to stop here.

        The centers are what a callback sees; as a function they are computed only if there is one. The closeness is how
        many times what must fall for the run to end is larger than it may be, where that is known.
        """
        self._forecast.note(closeness)
        seconds = self.seconds
        last_step = seconds - self._ends[-1]
        self._ends.append(seconds)
        iteration = len(self._rows) + 1
        self._rows.append((iteration, seconds, objective, *(extra[name] for name, _ in self._dtype[3:])))
        if self._estimator.verbose:
            print(
                f"run {self._run}, iteration {iteration}: objective {objective:.6g}, {seconds:.2f} s",
                flush=True,
            )
        called = now()
        stop = self._call_back(iteration, objective, seconds, centers)
        self._in_callbacks += now() - called
        # A step like the last one must end in time, too.
        if stop:
            self.stopped_by = "callback"
        else:
            self.has_time_for(last_step)
        return self.stopped_by is not None

    def history(self) -> Array:
        """Return the rows of the current run as a record array."""
        return np.array(self._rows, dtype=self._dtype).view(np.recarray)

    def runs(self) -> Array:
        """Return what all runs reported, as a record array: `iteration`, `seconds`, `objective`, `run` (from 1).

        Of each run 100 iterations at most, of those after the hundredth run the last one.
        """
        parts = [*self._earlier, *([self._thinned()] if self._rows else [])]
        return np.concatenate(parts or [np.empty(0, _RUNS)]).view(np.recarray)

    def _thinned(self) -> Array:
        most = _MOST_OF_RUN if self._run <= _MOST_WHOLE_RUNS else 1
        last = len(self._rows) - 1
        kept: Iterable[int] = range(len(self._rows))
        if len(self._rows) > most:
            kept = np.unique(np.linspace(last if most == 1 else 0, last, most).round().astype(int))
        return np.array([(*self._rows[row][:3], self._run) for row in kept], dtype=_RUNS)

    def warn_if_out_of_time(self) -> None:
        """Say so if `max_time` ended the fit."""
        if self.stopped_by == "max_time":
            warn(
                f"max_time={self._estimator.max_time:g} s was reached before convergence: "
                "this is the best model found by then.",
                ConvergenceWarning,
            )

    def _call_back(
        self, iteration: int, objective: float, seconds: float, centers: Array | Callable[[], Array]
    ) -> bool:
        stop = False
        if self._estimator.callback is not None:
            view = (centers() if callable(centers) else centers).view()
            view.flags.writeable = False
            left, is_foreseen = self._remaining(iteration, seconds)
            progress = FitProgress(iteration, objective, seconds, left, view, is_foreseen)
            stop = bool(self._estimator.callback(progress))
        if self._context is not None:
            step = self._context.subcontext(task_name="iteration")
            step.call_on_fit_task_begin(estimator=self._estimator)
            stop |= bool(step.call_on_fit_task_end(estimator=self._estimator))
        return stop

    def _remaining(self, iteration: int, seconds: float) -> tuple[float, bool]:
        """Return the seconds left, and whether that is more than a bound.

        Steps to come are taken to be as long as those of the later half, runs to come as long as those that are over.
        """
        begin = iteration // 2
        each = (self._ends[-1] - self._ends[begin]) / (iteration - begin)
        most = (self._max_reports - iteration) * each
        foreseen = self._seconds_foreseen(each)
        in_run = most if foreseen is None else min(foreseen, most)
        # With what comes before its steps, such as a seeding.
        of_run = seconds + in_run if self._run == 1 else self._seconds_of_run()
        by_steps = in_run + max(self.n_runs - self._run, 0) * of_run + (self.steps_after_limit or 0.0) * each
        return max(0.0, min(by_steps, self.deadline.left)), foreseen is not None

    def _seconds_of_run(self) -> float:
        """Return how long a run took, on the average of those that are over, with what comes before its steps."""
        return (self._begins[-1] - self._begins[0]) / (self._run - 1)

    def _seconds_foreseen(self, each: float) -> float | None:
        """Return the seconds left of the run, whose steps take so many each."""
        if self.foresee is not None:
            return self.foresee()
        if self.steps_after_limit is not None:
            return math.inf
        if self._run > 1:
            left = self._seconds_of_run() - (self._ends[-1] - self._ends[0])
            if left > 0:
                return left
        steps = self._forecast.steps_left()
        return None if steps is None else steps * each
