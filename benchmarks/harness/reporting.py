"""What a benchmark leaves behind: Markdown tables on the terminal, and the same with JSON in its results."""

from __future__ import annotations

import json
import os
import platform
import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from datetime import datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from benchmarks.harness.cells import Columns
from benchmarks.harness.rounds import Result

RESULTS = Path(__file__).parents[1] / "results"
PACKAGES = (
    "coterie", "numpy", "scipy", "scikit-learn", "scikit-learn-intelex", "faiss-cpu", "superkmeans", "hnswlib",
    "pynndescent", "graphlearning", "scikit-network", "genieclust", "leidenalg", "igraph", "evoc",
    "fast_hdbscan", "fast-plscan",
)  # fmt: skip


class Report:
    """Tables and notes of one benchmark; printed at once and saved as two files of one name.

    `stem` is the path of the files without their extensions; by default in the folder of results, with a time stamp.
    """

    def __init__(self, benchmark: str, command: str, stem: Path | None = None) -> None:
        self.started = datetime.now().astimezone()
        self._stem = stem or RESULTS / f"{benchmark}-{self.started:%Y%m%d-%H%M%S}"
        self.data: dict[str, Any] = {"benchmark": benchmark, "command": command, "machine": machine_facts()}
        self._lines: list[str] = []
        self.say(f"`{command}`, {self.started:%Y-%m-%d}", "", machine_line(self.data["machine"]))

    def say(self, *lines: str) -> None:
        """Print lines and keep them."""
        print(*lines, sep="\n", flush=True)
        self._lines.extend(lines)

    def table(
        self, title: str, headers: Sequence[str], rows: Sequence[Sequence[str]], n_left: int = 1
    ) -> None:
        """Print a table under a heading."""
        self.say("", f"### {title}", "", *markdown_table(headers, rows, n_left))

    def columns(self, title: str, columns: Columns, found: Mapping[str, Result], corner: str = "") -> None:
        """Print a table with a line for each result, of which each column makes a cell."""
        self.table(title, [corner, *columns], lines_of(columns, found))

    def save(self) -> Path:
        """Write what has been collected so far; return the path of the JSON file."""
        self._stem.parent.mkdir(parents=True, exist_ok=True)
        self._stem.with_suffix(".md").write_text("\n".join(self._lines) + "\n")
        path = self._stem.with_suffix(".json")
        path.write_text(json.dumps(self.data, indent=1, default=str) + "\n")
        return path


def command_line(benchmark: str) -> str:
    """Return the command that runs now."""
    return shlex.join(["python", "-m", f"benchmarks.{benchmark}", *sys.argv[1:]])


def lines_of(columns: Columns, found: Mapping[str, Result]) -> list[list[str]]:
    """Return the name of each result and its cells."""
    return [[name, *(cell(result) for cell in columns.values())] for name, result in found.items()]


def markdown_table(headers: Sequence[str], rows: Sequence[Sequence[str]], n_left: int = 1) -> list[str]:
    """Return the lines of a Markdown table: the first `n_left` columns left, the others right."""
    widths = [max(3, *(len(row[i]) for row in [headers, *rows])) for i in range(len(headers))]

    def line(cells: Sequence[str]) -> str:
        padded = [c.ljust(w) if i < n_left else c.rjust(w) for i, (c, w) in enumerate(zip(cells, widths))]
        return "| " + " | ".join(padded) + " |"

    rule = ["-" * w if i < n_left else "-" * (w - 1) + ":" for i, w in enumerate(widths)]
    return [line(headers), line(rule), *(line(row) for row in rows)]


def machine_facts() -> dict[str, Any]:
    """Return what the numbers depend on: processor, cores, memory, system, versions."""
    return {
        "cpu": _cpu_name(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "date": datetime.now().astimezone().isoformat(timespec="seconds"),
        "versions": {name: _version(name) for name in PACKAGES},
    }


def machine_line(facts: dict[str, Any]) -> str:
    """Return the facts of `machine_facts` in one line."""
    versions = ", ".join(f"{name} {v}" for name, v in facts["versions"].items() if v)
    return (
        f"{facts['cpu']}, {facts['cores']} core{'s' * (facts['cores'] != 1)}, {facts['memory_gib']} GiB, "
        f"{facts['system']}, Python {facts['python']}, {versions}"
    )


def _cpu_name() -> str:
    path = Path("/proc/cpuinfo")
    if not path.exists():
        return platform.processor() or platform.machine()
    facts = dict(re.findall(r"^([\w ]+?)\s*: (.+)$", path.read_text(), re.MULTILINE))
    name = facts.get("model name", platform.machine())
    # Rented machines often hide the exact model; family and model number still tell the generation.
    return f"{name} (family {facts['cpu family']} model {facts['model']})" if "cpu family" in facts else name


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
