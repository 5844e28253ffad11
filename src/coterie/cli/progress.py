"""How a running job shows where it is: live on a terminal, plain lines in a pipe, nothing when quiet."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from coterie.estimators import OBJECTIVE, Method, Progress, method_of
from coterie_command import cleaned_up

if TYPE_CHECKING:
    from coterie.fitting.monitor import FitProgress

__all__ = ["Display", "Step", "display", "fit_callback", "watch"]

_SHOW_CURSOR = b"\x1b[?25h"


@dataclass(frozen=True, slots=True)
class Step:
    """One state of a job: `done` of `total` units, after `seconds`, with at most `remaining` seconds to go.

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

    def parts(self) -> list[str]:
        """The state in words; a narrow terminal cuts off the last ones."""
        total = "" if self.total is None else f"/{self.total:,}"
        parts = [self.before, f"{self.unit} {self.done:,}{total}"]
        parts.append(f"{self.rate:,.{0 if self.rate >= 100 else 1}f} {self.unit}s/s")
        if self.remaining is not None:
            parts.append(f"at most {_clock(self.remaining)} left")
        return [part for part in (*parts, self.detail) if part]


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
    model.set_params(callback=fit_callback(screen, method, settings))
    yield
    model.set_params(callback=None)


def fit_callback(
    screen: Display, method: Method | None, settings: Mapping[str, Any]
) -> Callable[[FitProgress], None]:
    """Make a callback for a fit that shows what it reports.

    Parameters
    ----------
    screen : Display
        Where to show it.
    method : Method, optional
        The record that says what is reported.
    settings : mapping of str to object
        The parameters of the fit.
    """
    reports = method.progress if method else Progress()
    watched = method.watched if method else OBJECTIVE
    direction = " (higher is better)" if watched.higher_is_better else ""
    starts = steps = 0

    def show(progress: FitProgress) -> None:
        nonlocal starts, steps
        starts += progress.iteration == 1
        steps += 1
        screen.show(
            Step(
                done=progress.iteration,
                total=None if reports.limit is None else settings.get(reports.limit),
                unit=reports.step,
                seconds=progress.seconds,
                rate=steps / max(progress.seconds, 1e-9),
                remaining=progress.remaining,
                before=f"start {starts}" if starts > 1 else "",
                detail=f"{watched.name} {progress.objective:.6g}{direction}",
            )
        )

    return show


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
    """A line at most once a second of the job's own time, and one for the last step."""

    def __init__(self) -> None:
        self._shown_at = -1.0
        self._waiting: Step | None = None

    def show(self, step: Step) -> None:
        if 0 <= step.seconds - self._shown_at < 1.0:
            self._waiting = step
            return
        self._shown_at, self._waiting = step.seconds, None
        print(", ".join(step.parts()), file=sys.stderr, flush=True)

    def __exit__(self, kind: object = None, *_: object) -> None:
        if self._waiting is not None and kind is None:
            print(", ".join(self._waiting.parts()), file=sys.stderr, flush=True)


class _LiveLine(_Nothing):
    """One line that changes in place and disappears at the end."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn

        self._progress = Progress(
            SpinnerColumn(),
            BarColumn(bar_width=24),
            TextColumn("{task.description}"),
            console=Console(stderr=True),
            transient=True,
        )
        self._task = self._progress.add_task("starting", total=None)
        self._stack = ExitStack()

    def show(self, step: Step) -> None:
        self._progress.update(
            self._task, completed=step.done, total=step.total, description="  ".join(step.parts())
        )

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
