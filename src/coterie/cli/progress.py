"""Progress of a job: a live line on a terminal, plain lines in a pipe, nothing if quiet."""

from __future__ import annotations

import itertools
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Self

from coterie.estimators import OBJECTIVE, Progress
from coterie.methods import method_of
from coterie_command import cleaned_up

if TYPE_CHECKING:
    from coterie.fitting.report import FitProgress

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
        seconds = round(self.remaining or 0)
        clock = f"{timedelta(seconds=seconds)}" if seconds >= 3600 else f"{seconds // 60}:{seconds % 60:02}"
        left = f"about {clock} left" if seconds > 0 else ""
        done = f"{self.unit} {self.done:,}{total}"
        # Those of the highest rank are dropped first.
        ranked = [(2, self.before), (1, done), (4, rate), (0, left), (3, self.detail)]
        kept = [(rank, text) for rank, text in ranked if text]
        while width is not None and len(kept) > 1 and len("  ".join(text for _, text in kept)) > width:
            kept.remove(max(kept))
        return [text for _, text in kept]


class Display:
    """Something that shows steps between `__enter__` and `__exit__`; this one shows nothing."""

    def show(self, step: Step) -> None:
        """Show a state of the job."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass


def display(quiet: bool) -> Display:
    """The display that suits the standard error stream."""
    if quiet:
        return Display()
    return _LiveLine() if sys.stderr.isatty() else _PlainLines()


@contextmanager
def watch(model: Any, screen: Display) -> Iterator[None]:
    """Show each iteration of the fits of a model, if it takes a callback; it has none afterwards."""
    settings = model.get_params(deep=False)
    if "callback" not in settings:
        yield
        return
    method = method_of(model)
    reports = method.progress if method else Progress()
    limit = None if reports.limit is None else settings.get(reports.limit)
    watched = method.watched if method else OBJECTIVE
    direction = " (higher is better)" if watched.higher_is_better else ""
    n_starts, n_steps = itertools.count(1), itertools.count(1)
    before = ""

    def show(progress: FitProgress) -> None:
        nonlocal before
        if progress.iteration == 1 and (start := next(n_starts)) > 1:
            before = f"start {start}"
        screen.show(
            Step(
                done=progress.iteration,
                total=limit,
                unit=reports.step,
                seconds=progress.seconds,
                rate=next(n_steps) / max(progress.seconds, 1e-9),
                remaining=progress.remaining,
                before=before,
                detail=f"{watched.name} {progress.objective:.6g}{direction}",
            )
        )

    model.set_params(callback=show)
    yield
    model.set_params(callback=None)


def each_step(screen: Display, total: int | None = None) -> Callable[[str], None]:
    """Return a callback that shows the name of each step of a job."""
    started, done = time.perf_counter(), itertools.count(1)

    def show(name: str) -> None:
        number, seconds = next(done), time.perf_counter() - started
        screen.show(Step(number, total, "step", seconds, number / max(seconds, 1e-9), detail=name))

    return show


class _PlainLines(Display):
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


class _LiveLine(Display):
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

    def __enter__(self) -> Self:
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
