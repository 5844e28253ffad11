"""Cells of tables that several systems have."""

from __future__ import annotations

from benchmarks.harness.rounds import Result, Summaries

MIB = 2**20
TIME_HEADERS = ["seconds (range)", "CPU s"]


def time_cells(s: Result) -> list[str]:
    """Return the cells under `TIME_HEADERS`."""
    return [range_cell(s), f"{s['cpu_seconds']:.2f}"]


def range_cell(s: Result) -> str:
    """Return the median seconds, their range, and a mark for disturbed runs."""
    return _range_text(s, 1, 3 if s["seconds"] < 1 else 2)


def milliseconds_cell(s: Result) -> str:
    """Return the same in milliseconds."""
    return _range_text(s, 1000, 1)


def _range_text(s: Result, unit: float, digits: int) -> str:
    text = f"{unit * s['seconds']:.{digits}f}"
    if s["runs"] > 1:
        text += f" ({unit * s['seconds_min']:.{digits}f}-{unit * s['seconds_max']:.{digits}f})"
    return text + " !" * bool(s["disturbed"])


def ratio_cell(seconds: float, summaries: Summaries, ours: str) -> str:
    """Return the seconds over ours, "-" where ours did not run."""
    return f"{seconds / summaries[ours]['seconds']:.2f}" if ours in summaries else "-"


def memory_cell(s: Result) -> str:
    """Return the peak beside the input, also as a share of the input."""
    return f"{mib_cell(s)} MiB, {s['peak_bytes'] / s['input_bytes']:.0%}"


def mib_cell(s: Result) -> str:
    """Return the peak in MiB."""
    return f"{s['peak_bytes'] / MIB:.0f}"
