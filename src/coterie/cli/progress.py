"""Progress of a job: a live line on a terminal, plain lines in a pipe, nothing if quiet."""

from __future__ import annotations

import itertools
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from coterie.estimators import OBJECTIVE, Method, Progress, method_of
from coterie_command import cleaned_up

if TYPE_CHECKING:
    from coterie.fitting.report import FitProgress

__all__ = ["Display", "FitCallback", "Step", "display", "each_step", "watch"]

# The spinner, and spaces between columns.
_BESIDE_TEXT = 4

# Seconds before the first line in a pipe, and between lines.
_FIRST_LINE, _BETWEEN_LINES = 1.0, 10.0

_SHOW_CURSOR = b"\x1b[?25h"


@dataclass(frozen=True, slots=True)
class Step:
    """State of a job: `done` of `total` units, elapsed `seconds`, and the `remaining` seconds or None.

    `rate` counts units per second; a fit with several starts has done more of them than the present start.
    """

    done: int
    total: int | None
    unit: str
    seconds: float
    rate: float
    remaining: float | None = None
    before: str = ""
    detail: str = ""

    def parts(self, width: int | None = None) -> list[str]:
        """Return the state in words within a width; the rate is dropped first, the remaining time last."""
        total = "" if self.total is None else f"/{self.total:,}"
        rate = f"{self.rate:,.{0 if self.rate >= 100 else 1}f} {self.unit}s/s"
        # Less than a second is not worth showing.
        is_told = self.remaining is not None and round(self.remaining) > 0
        left = f"about {_clock(self.remaining)} left" if is_told and self.remaining is not None else ""
        return _within(
            width,
            [
                (2, self.before),
                (1, f"{self.unit} {self.done:,}{total}"),
                (4, rate),
                (0, left),
                (3, self.detail),
            ],
        )


class Display(Protocol):
    """Something that shows steps, between `__enter__` and `__exit__`."""

    def show(self, step: Step) -> None:
        """Show a state of the job."""

    def __enter__(self) -> Display: ...

    def __exit__(self, *_: object) -> None: ...


def display(quiet: bool) -> Display:
    """The display that suits the standard error stream."""
    if quiet:
        return _Nothing()
    return _LiveLine() if sys.stderr.isatty() else _PlainLines()


@contextmanager
def watch(model: Any, screen: Display) -> Iterator[None]:
    """Show each step of the fits of a model, if it takes a callback; it has none afterwards."""
    settings = model.get_params(deep=False)
    if "callback" not in settings:
        yield
        return
    method = method_of(model)
    model.set_params(callback=FitCallback(screen, method, settings))
    yield
    model.set_params(callback=None)


def each_step(screen: Display, total: int | None = None) -> Callable[[str], None]:
    """Return a callback that shows the name of each step of a job."""
    started, done = time.perf_counter(), itertools.count(1)

    def show(name: str) -> None:
        number, seconds = next(done), time.perf_counter() - started
        screen.show(Step(number, total, "step", seconds, number / max(seconds, 1e-9), detail=name))

    return show


class FitCallback:
    """Shows the iterations that a fit reports.

    Parameters
    ----------
    screen : Display
        Where to show it.
    method : Method, optional
        The record that says what is reported.
    settings : mapping of str to object
        The parameters of the fit.
    """

    def __init__(self, screen: Display, method: Method | None, settings: Mapping[str, Any]) -> None:
        self._screen = screen
        reports = method.progress if method else Progress()
        self._unit = reports.step
        self._limit = None if reports.limit is None else settings.get(reports.limit)
        self._watched = method.watched if method else OBJECTIVE
        self._starts = self._steps = 0

    def __call__(self, progress: FitProgress) -> None:
        self._starts += progress.iteration == 1
        self._steps += 1
        direction = " (higher is better)" if self._watched.higher_is_better else ""
        self._screen.show(
            Step(
                done=progress.iteration,
                total=self._limit,
                unit=self._unit,
                seconds=progress.seconds,
                rate=self._steps / max(progress.seconds, 1e-9),
                remaining=progress.remaining,
                before=f"start {self._starts}" if self._starts > 1 else "",
                detail=f"{self._watched.name} {progress.objective:.6g}{direction}",
            )
        )


def _within(width: int | None, ranked: list[tuple[int, str]]) -> list[str]:
    """Return the texts that fit the width, in their order; those of the highest rank are dropped first."""
    kept = [(rank, text) for rank, text in ranked if text]
    while width is not None and len(kept) > 1 and len("  ".join(text for _, text in kept)) > width:
        kept.remove(max(kept))
    return [text for _, text in kept]


def _clock(seconds: float) -> str:
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"


class _Nothing:
    def show(self, step: Step) -> None:
        pass

    def __enter__(self) -> _Nothing:
        return self

    def __exit__(self, *_: object) -> None:
        pass


class _PlainLines(_Nothing):
    """A line every ten seconds of the job's own time, and one for the last step; nothing of a short job."""

    def __init__(self) -> None:
        self._next = _FIRST_LINE
        self._waiting: Step | None = None

    def show(self, step: Step) -> None:
        self._waiting = step
        if step.seconds >= self._next:
            self._next = step.seconds + _BETWEEN_LINES
            self._print()

    def __exit__(self, kind: object = None, *_: object) -> None:
        if kind is None and self._next > _FIRST_LINE:
            self._print()

    def _print(self) -> None:
        if self._waiting is not None:
            print(", ".join(self._waiting.parts()), file=sys.stderr, flush=True)
        self._waiting = None


class _LiveLine(_Nothing):
    """One line that changes in place and disappears at the end."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn

        self._console = Console(stderr=True)
        self._progress = Progress(
            SpinnerColumn(),
            BarColumn(bar_width=self._bar_width()),
            TextColumn("{task.description}"),
            console=self._console,
            transient=True,
        )
        self._task = self._progress.add_task("starting", total=None)
        self._stack = ExitStack()

    def show(self, step: Step) -> None:
        room = self._console.width - self._bar_width() - _BESIDE_TEXT
        self._progress.update(
            self._task, completed=step.done, total=step.total, description="  ".join(step.parts(room))
        )

    def _bar_width(self) -> int:
        return min(24, self._console.width // 5)

    def __enter__(self) -> _LiveLine:
        self._stack.enter_context(cleaned_up(self._restore))
        self._stack.enter_context(self._progress)
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _restore(self) -> None:
        """Leave a terminal with its cursor, even if this comes in the midst of a change of the line."""
        with suppress(Exception):
            self._progress.stop()
        os.write(sys.stderr.fileno(), _SHOW_CURSOR)
