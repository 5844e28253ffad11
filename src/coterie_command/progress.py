"""Progress of a command on the standard error stream: a line that changes on a terminal, lines in a pipe."""

from __future__ import annotations

import os
import shutil
import sys
import time
from contextlib import suppress
from typing import Self

from coterie_command import cleaned_up

# Seconds between lines in a pipe, and between changes of the line on a terminal.
_BETWEEN_LINES, _BETWEEN_CHANGES = 10.0, 0.1
_CLEAR = "\r\x1b[2K"


class Progress:
    """What a command is doing, since when, and how far it is; a context manager that clears its line at the end."""

    def __init__(self, quiet: bool = False) -> None:
        self._is_quiet = quiet
        self._is_live = not quiet and sys.stderr.isatty()
        self._began = self._first = time.perf_counter()
        self._next = 0.0
        self._task = ""
        self._cleaner = cleaned_up(self._clear)

    def __enter__(self) -> Self:
        self._cleaner.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._clear()
        self._cleaner.__exit__(None, None, None)

    def begin(self, task: str) -> None:
        """Show a task, such as "reading customers.csv", at once."""
        self._task, self._next = task, 0.0
        self.step()

    def step(self, done: int = 0, total: int | None = None, unit: str = "step", detail: str = "") -> None:
        """Show how many steps of the task are done, seconds for each, and the time since the command began."""
        now = time.perf_counter()
        self._first = now if done <= 1 else self._first  # what comes before the first step is no step
        if self._is_quiet or now < self._next:
            return
        self._next = now + (_BETWEEN_CHANGES if self._is_live else _BETWEEN_LINES)
        parts = [self._task]
        if done:
            parts.append(f"{unit} {done:,}" + ("" if total is None else f" of {total:,}"))
        if done > 1:
            parts.append(f"{(now - self._first) / (done - 1):.2g} s each")
        if detail:
            parts.append(detail)
        if now - self._began >= 1:
            parts.append(f"{now - self._began:.0f} s")
        self._print(", ".join(parts))

    def _print(self, line: str) -> None:
        line = "".join(c if c.isprintable() else "?" for c in line)
        if self._is_live:
            line = _CLEAR + line[: shutil.get_terminal_size().columns - 1]
        print(line, end="" if self._is_live else "\n", file=sys.stderr, flush=True)

    def _clear(self) -> None:
        if self._is_live:
            with suppress(OSError):
                os.write(sys.stderr.fileno(), _CLEAR.encode())
