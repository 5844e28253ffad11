"""Record what `coterie fit` shows on a terminal, and by how much the time left was wrong.

    python -m benchmarks.time_left [METHOD ...] [--columns 40 80 120] [--size 1.0] [--out FOLDER]

Each job takes about 20 seconds on two processors; `--size` makes its rows more or fewer. The fit runs on a terminal of
its own with so many columns. A recording has a line for each second, with what stood there; from a fifth of the run on,
the time left is held against what was left in truth. The terminal shows whole seconds, so an error of one is none.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import pty
import re
import select
import struct
import sys
import tempfile
import termios
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

__all__ = ["JOBS", "Recording", "main", "record", "seconds_left"]

# Rows, columns and options of jobs.
JOBS: dict[str, tuple[int, int, str]] = {
    "k-means": (400_000, 64, "-k 500 --tol 0"),
    "mini-batch": (400_000, 64, "-k 1500 --max-no-improvement none --max-iter 8"),
    "nested": (400_000, 64, "-k 600"),
    "bisecting": (400_000, 64, "-k 1200"),
    "gmm": (400_000, 64, "-k 1500"),
    "laplacian-kmodes": (70_000, 32, "-k 50"),
    "total-variation": (5_000, 32, "-k 20"),
    "convex-clustering": (20_000, 16, "--gamma 2 --tol 1e-9"),
}

# From which part of the run on the time left is held against the truth, and how wrong a whole second is allowed to be.
_FROM, _ROUNDING = 0.2, 1.0

_LEFT = re.compile(r"(about|at most) (?:(\d+):)?(\d+):(\d\d) left(?! of it)")
_CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


@dataclass
class Recording:
    """What stood on a terminal.

    Attributes
    ----------
    columns : int
        Its width.
    seconds : float
        How long the command ran.
    lines : list of (seconds, text)
        What stood on the changing line, whenever that changed.
    """

    columns: int
    seconds: float
    lines: list[tuple[float, str]]

    def errors(self) -> list[tuple[float, float, str]]:
        """Return for each estimate, from a fifth of the run on: when, how many times it was wrong, and the text."""
        found = []
        for at, text in self.lines:
            told = seconds_left(text)
            if told is None or at < _FROM * self.seconds:
                continue
            true = self.seconds - at
            is_right = abs(told - true) <= _ROUNDING
            found.append((at, 1.0 if is_right else max(told / true, true / told), text))
        return found

    def text(self, command: str) -> str:
        """Return the recording: a line for each second, and how wrong the time left was."""
        head = [f"$ {command}", f"{self.columns} columns, {self.seconds:.1f} s"]
        seen, body = -1, []
        for at, text in self.lines:
            if int(at) > seen:
                seen = int(at)
                body.append(f"{at:5.1f} s | {text}")
        return "\n".join([*head, *body, self.verdict(), ""])

    def verdict(self) -> str:
        """Return by how much the time left was wrong, at worst and as a rule."""
        errors = self.errors()
        if not errors:
            return "no time left was shown from a fifth of the run on"
        at, worst, text = max(errors, key=lambda error: error[1])
        share = np.mean([factor <= 2 for _, factor, _ in errors])
        return (
            f"time left, from a fifth of the run on: wrong by a factor of {worst:.1f} at worst, at {at:.1f} s "
            f"({text.strip()}); within a factor of 2 in {share:.0%} of {len(errors)} states"
        )


def seconds_left(text: str) -> float | None:
    """Return the seconds left that a line tells, if it does."""
    found = _LEFT.search(text)
    if found is None:
        return None
    hours, minutes, seconds = (int(part or 0) for part in found.groups()[1:])
    return 3600.0 * hours + 60 * minutes + seconds


def record(command: list[str], columns: int) -> Recording:
    """Run a command on a terminal of its own.

    Parameters
    ----------
    command : list of str
        The command.
    columns : int
        Width of the terminal.
    """
    begin = time.perf_counter()
    process, terminal = pty.fork()
    if process == 0:
        fcntl.ioctl(2, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        os.environ.update(TERM="xterm-256color", COLUMNS=str(columns), LINES="24")
        os.execvp(command[0], command)
    lines: list[tuple[float, str]] = []
    while True:
        select.select([terminal], [], [])
        try:
            piece = os.read(terminal, 65536)
        except OSError:  # the other end is closed
            break
        if not piece:
            break
        at = time.perf_counter() - begin
        plain = _CONTROL.sub("", piece.decode("utf-8", errors="replace"))
        states = [state.rstrip() for state in re.split(r"[\r\n]+", plain) if state.strip()]
        if states and (not lines or lines[-1][1] != states[-1]):
            lines.append((at, states[-1]))
    status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    if status != 0:
        raise RuntimeError(f"{' '.join(command)} ended with {status}: {lines[-3:]}")
    return Recording(columns, time.perf_counter() - begin, lines)


def _rows(n_rows: int, n_columns: int) -> np.ndarray:
    """Return rows around overlapping centres: neither noise nor clusters that are found at once."""
    random = np.random.default_rng(0)
    centers = random.normal(size=(100, n_columns))
    return (centers[random.integers(100, size=n_rows)] + random.normal(size=(n_rows, n_columns))).astype(
        np.float32
    )


def main(arguments: list[str] | None = None) -> None:
    """Record the jobs and print how wrong the time left was."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.time_left", description=__doc__.split("\n")[0]
    )
    parser.add_argument("methods", nargs="*", choices=[[], *JOBS], help="by default all")
    parser.add_argument("--columns", type=int, nargs="+", default=[40, 80, 120])
    parser.add_argument("--size", type=float, default=1.0, help="this times the rows of each job")
    parser.add_argument("--out", type=Path, help="a folder for the recordings")
    asked = parser.parse_args(arguments)
    for method in asked.methods or JOBS:
        n_rows, n_columns, options = JOBS[method]
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "rows.npy")
            np.save(file, _rows(int(asked.size * n_rows), n_columns))
            words = f"coterie fit rows.npy --method {method} {options}"
            rest = ["--out", str(Path(folder, "out")), "--force"]
            for columns in asked.columns:
                command = [sys.executable, "-m", "coterie", "fit", str(file), *words.split()[3:], *rest]
                made = record(command, columns)
                print(f"{method}, {columns} columns, {made.seconds:.1f} s: {made.verdict()}", flush=True)
                if asked.out is not None:
                    asked.out.mkdir(parents=True, exist_ok=True)
                    (asked.out / f"{method}-{columns}.txt").write_text(made.text(words), encoding="utf-8")


if __name__ == "__main__":
    main()
