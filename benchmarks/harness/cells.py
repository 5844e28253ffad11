"""Cells of tables that several systems have, each of the summary of a contender."""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.harness.rounds import Result, Summaries

MIB = 2**20
Columns = dict[str, Callable[[Result], str]]


def number(key: str, form: str) -> Callable[[Result], str]:
    """Return what makes a cell of a number, "-" where there is none."""
    return lambda s: "-" if s.get(key) is None else format(s[key], form)


def seconds_cell(s: Result, unit: float = 1, digits: int | None = None) -> str:
    """Return the median seconds, their range, and a mark for disturbed runs."""
    digits = (3 if s["seconds"] < 1 else 2) if digits is None else digits
    text = f"{unit * s['seconds']:.{digits}f}"
    if s["runs"] > 1:
        text += f" ({unit * s['seconds_min']:.{digits}f}-{unit * s['seconds_max']:.{digits}f})"
    return text + " !" * bool(s["disturbed"])


def milliseconds_cell(s: Result) -> str:
    """Return the same in milliseconds."""
    return seconds_cell(s, 1000, 1)


def ratio_to(summaries: Summaries, name: str, key: str = "seconds") -> Callable[[Result], str]:
    """Return what makes a cell of a number over that of a contender, "-" where it did not run."""
    found = summaries.get(name, {}).get(key)
    return lambda s: f"{s[key] / found:.2f}" if found else "-"


def memory_cell(s: Result) -> str:
    """Return the peak beside the input, also as a share of the input."""
    return f"{mib_cell(s)} MiB, {s['peak_bytes'] / s['input_bytes']:.0%}"


def mib_cell(s: Result) -> str:
    """Return the peak in MiB."""
    return f"{s['peak_bytes'] / MIB:.0f}"


TIMES: Columns = {"seconds (range)": seconds_cell, "CPU s": number("cpu_seconds", ".2f")}
