"""What a benchmark leaves behind: cells, Markdown tables on the terminal, the same with JSON, and kept results."""

import json
import os
import platform
import re
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from importlib.metadata import PackageNotFoundError, version
from math import isfinite, nan
from pathlib import Path
from typing import Any

Result = dict[str, Any]
Summaries = dict[str, Result]
# What makes a cell of each column, or the format of the number that has the column's name.
Columns = dict[str, Callable[[Result], str] | str]

MIB = 2**20
RESULTS = Path(__file__).parents[1] / "results"
DOCS = Path(__file__).parents[2] / "docs"
PACKAGES = (
    "coterie", "numpy", "scipy", "scikit-learn", "scikit-learn-intelex", "faiss-cpu", "superkmeans", "hnswlib",
    "pynndescent", "graphlearning", "scikit-network", "networkit", "genieclust", "leidenalg", "igraph", "evoc",
    "fast_hdbscan", "fast-plscan",
)  # fmt: skip


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
    return seconds_cell(s, 1000, 1)


def memory_cell(s: Result) -> str:
    """Return the peak beside the input, also as a share of the input."""
    return f"{mib_cell(s)} MiB, {s['peak_bytes'] / s['input_bytes']:.0%}"


def mib_cell(s: Result) -> str:
    return f"{s['peak_bytes'] / MIB:.0f}"


CPU = number("cpu_seconds", ".2f")
TIMES: Columns = {"seconds (range)": seconds_cell, "CPU s": CPU}


def bold_best(
    cells: Sequence[str], values: Sequence[float], best: Callable[[Sequence[float]], float] = min
) -> list[str]:
    """Return cells, those with the best of their values bold; values may be missing (NaN) or infinite."""
    wanted = best([value for value in values if isfinite(value)] or [nan])
    return [f"**{cell}**" if value == wanted else cell for cell, value in zip(cells, values)]


class Report:
    """Tables and notes of one benchmark; printed at once and saved as two files of one name.

    `stem` is the path of the files without their extensions; by default in the folder of results, with a time stamp.
    """

    def __init__(self, benchmark: str, command: str, stem: Path | None = None) -> None:
        started = datetime.now().astimezone()
        self._stem = stem or RESULTS / f"{benchmark}-{started:%Y%m%d-%H%M%S}"
        self.data: dict[str, Any] = {"benchmark": benchmark, "command": command, "machine": machine_facts()}
        self._lines: list[str] = []
        self.say(f"`{command}`, {started:%Y-%m-%d}", "", machine_line(self.data["machine"]))

    def say(self, *lines: str) -> None:
        """Print lines and keep them."""
        print(*lines, sep="\n", flush=True)
        self._lines.extend(lines)

    def table(
        self, title: str, headers: Sequence[str], rows: Sequence[Sequence[str]], n_left: int = 1
    ) -> None:
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
    return shlex.join(["python", "-m", f"benchmarks.{benchmark}", *sys.argv[1:]])


def lines_of(columns: Columns, found: Mapping[str, Result]) -> list[list[str]]:
    """Return the name of each result and its cells."""
    cells = [number(header, cell) if isinstance(cell, str) else cell for header, cell in columns.items()]
    return [[name, *(cell(result) for cell in cells)] for name, result in found.items()]


def markdown_table(headers: Sequence[str], rows: Sequence[Sequence[str]], n_left: int = 1) -> list[str]:
    """Return the lines of a Markdown table: the first `n_left` columns left, the others right."""
    widths = [max(3, *map(len, column)) for column in zip(headers, *rows)]

    def line(cells: Sequence[str]) -> str:
        padded = [c.ljust(w) if i < n_left else c.rjust(w) for i, (c, w) in enumerate(zip(cells, widths))]
        return "| " + " | ".join(padded) + " |"

    rule = ["-" * w if i < n_left else "-" * (w - 1) + ":" for i, w in enumerate(widths)]
    return [line(headers), line(rule), *map(line, rows)]


def write_parts(page: Path, parts: Mapping[str, str]) -> None:
    """Put texts into a page, each between `<!-- its name -->` and the next `<!-- end -->` or `<!-- up to here -->`."""
    text = page.read_text()
    for name, part in parts.items():
        place = rf"(<!-- {name} -->\n).*?(<!-- (?:end|up to here) -->)"
        text, n_places = re.subn(place, lambda at, new=part: f"{at[1]}{new}\n{at[2]}", text, flags=re.DOTALL)
        assert n_places == 1, name
    page.write_text(text)


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


def machine_line(facts: dict[str, Any] | None = None) -> str:
    """Return the facts of `machine_facts` in one line; of this machine unless they are given."""
    facts = facts or machine_facts()
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


Cell = dict[str, Any]

# The key of a cell that has none of the others: why there is no result.
FAILED = "failed"


class Results:
    """A folder of cells by set, method and seed, a file each, so that a run goes on where the last one was ended."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def read(self, name: str, method: str, seed: int) -> Cell | None:
        """Return a cell, None where there is none yet."""
        path = self._path(name, method, seed)
        return json.loads(path.read_text()) if path.exists() else None

    def keep(self, name: str, method: str, seed: int, cell: Cell) -> None:
        """Write a cell, whole or not at all."""
        path = self._path(name, method, seed)
        path.parent.mkdir(parents=True, exist_ok=True)
        half = path.with_suffix(".half")
        half.write_text(json.dumps(cell, indent=1) + "\n")
        half.rename(path)

    def made(self, name: str, method: str, seed: int, run: Callable[[], Cell]) -> Cell:
        """Return a cell; run what makes it unless it is there. The failure of a contender is a result."""
        cell = self.read(name, method, seed)
        if cell is None:
            try:
                cell = run()
            except Exception as error:
                cell = {FAILED: f"{type(error).__name__}: {error}".splitlines()[0]}
            cell |= {"machine": machine_facts()}
            self.keep(name, method, seed, cell)
            shown = {key: value for key, value in cell.items() if isinstance(value, (int, float, str))}
            print(f"{name}, {method}: {shown}", file=sys.stderr, flush=True)
        return cell

    def _path(self, name: str, method: str, seed: int) -> Path:
        folder, file = (re.sub(r"[^a-z0-9]+", "-", words.lower()).strip("-") for words in (name, method))
        return self.folder / folder / f"{file}-{seed}.json"
