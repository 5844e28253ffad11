"""What commands say of their reports: lines for people."""

from __future__ import annotations

import shlex
from typing import Any

from coterie.cli.tables import table_lines

__all__ = [
    "fact_lines", "fit_lines", "path_lines", "predict_lines", "report_lines", "scan_lines",
]  # fmt: skip


def _counted(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def fit_lines(facts: dict[str, Any]) -> list[str]:
    """Return the lines of a fit."""
    source, sizes, left = facts["input"], facts["cluster_sizes"], facts["clusters_left"]
    asked, steps = facts["clusters"], facts["iterations"]
    dropped = f" ({asked - left:,} of {asked:,} dropped)" if left < asked else ""
    return [
        f"{source['file']}: {_counted(source['rows'], 'row')} x {_counted(source['columns'], 'column')} in "
        f"{_counted(left, 'cluster')}{dropped} by {facts['method']}",
        *([facts["used"]] if facts.get("used") else []),
        f"{'' if steps is None else _counted(steps, 'iteration') + ' in '}{facts['seconds']:.3g} s, {_objective(facts)}"
        f"{sizes['smallest']:,} to {_counted(sizes['largest'], 'row')} a cluster",
        *_cluster_lines(facts),
        *_outlier_lines(facts),
        *(f"{name.replace('_', ' ')} {score:.3f}" for name, score in facts.get("scores", {}).items()),
        *(line for race in facts.get("races", {}).items() for line in _race_lines(*race)),
        *_file_lines(facts),
        *_next_lines(facts),
    ]


def _cluster_lines(facts: dict[str, Any]) -> list[str]:
    """Return a table of the largest clusters."""
    table = facts.get("table_of_clusters", [])
    if not table:
        return []
    cells = [["cluster", "rows", "share", "spread", "distinctive features (in standard deviations)"]]
    for row in table:
        features = ", ".join(f"{name} {score:+.1f}" for name, score in row.get("features", {}).items())
        spread = f"{row['spread']:.3g}" if "spread" in row else "-"
        cells.append([str(row["cluster"]), f"{row['rows']:,}", f"{row['share']:.1%}", spread, features])
    widths = [max(map(len, column)) for column in zip(*cells)]
    lines = [
        "  ".join(f"{cell:>{width}}" for cell, width in zip(line[:-1], widths)) + f"  {line[-1]}"
        for line in cells
    ]
    others = facts["clusters_left"] - len(table)
    return ["", *(line.rstrip() for line in lines), *([f"and {others:,} more"] if others > 0 else []), ""]


def _next_lines(facts: dict[str, Any]) -> list[str]:
    """Return the command that shows more of a fit."""
    if facts["command"] != "fit" or "report" in facts["files"] or "hashes" not in facts:
        return []
    return [f"next: coterie report {shlex.quote(facts['folder'])}"]


def scan_lines(facts: dict[str, Any]) -> list[str]:
    """Return the lines of a scan of graph weights: a line for each, then those of the best fit."""
    names = [name.replace("_", " ") for name in facts["scan"][0]]
    rows = [
        [f"{value:.4g}" if isinstance(value, float) else f"{value:,}" for value in row.values()]
        for row in facts["scan"]
    ]
    widths = [max(map(len, column)) for column in zip(names, *rows)]
    table = ["  ".join(cell.rjust(width) for cell, width in zip(row, widths)) for row in [names, *rows]]
    return [*table, f"best graph weight {facts['best_graph_weight']:g}", *fit_lines(facts)]


def _outlier_lines(facts: dict[str, Any]) -> list[str]:
    """What a report says of rows that were marked as outliers: a line, or none."""
    found = facts.get("outliers")
    if found is None:
        return []
    marked = f"{found['marked']:,} outlier{'' if found['marked'] == 1 else 's'} labelled -1"
    return [f"{marked}: more than {found['threshold']:.3g} times as far as the median row of their clusters"]


def _objective(facts: dict[str, Any]) -> str:
    if facts["objective"] is None:
        return ""
    direction = " (higher is better)" if facts["higher_is_better"] else ""
    return f"{facts['objective_name']} {facts['objective']:.8g}{direction}, "


def _race_lines(title: str, results: dict[str, dict[str, Any]]) -> list[str]:
    """A table: a line for each method, a column for each result."""
    names = [name.replace("_", " ") for name in next(iter(results.values()))]
    width = max(len(method) for method in results) + 2
    lines = [" " * width + "  ".join(names)]
    for method, values in results.items():
        cells = ("-" if value is None else f"{value:.4g}" for value in values.values())
        shown = "  ".join(f"{cell:>{len(name)}}" for cell, name in zip(cells, names))
        lines.append(f"{method:<{width}}{shown}")
    return [f"{title}:", *(f"  {line}" for line in lines)]


def predict_lines(facts: dict[str, Any]) -> list[str]:
    """Return the lines of a prediction."""
    return [
        f"{facts['input']['file']}: {_counted(facts['input']['rows'], 'row')} labelled in {facts['seconds']:.3g} s, "
        f"{_counted(facts['clusters'], 'cluster')}",
        *_outlier_lines(facts),
        *_file_lines(facts),
    ]


def report_lines(facts: dict[str, Any]) -> list[str]:
    """Return the lines of a report that was written."""
    return _file_lines(facts)


def path_lines(facts: dict[str, Any]) -> list[str]:
    """Return the lines of a path."""
    source, counts = facts["input"], facts["clusters"]
    return [
        f"{source['file']}: {source['rows']:,} rows x {source['columns']:,} columns, "
        f"{len(facts['gammas']):,} gammas up to {facts['gammas'][-1]:.4g}, {counts[0]:,} to {counts[-1]:,} clusters",
        f"{facts['iterations']:,} iterations in {facts['seconds']:.3g} s, "
        f"duality gaps up to {facts['largest_gap']:.2g} of the objective",
        *(["clusters split at some gammas: see splits in summary.json"] if any(facts["splits"]) else []),
        *_file_lines(facts),
    ]


def _file_lines(facts: dict[str, Any]) -> list[str]:
    return ["wrote", *(f"  {path}" for path in facts["files"].values())]


def fact_lines(facts: dict[str, Any]) -> list[str]:
    """Name and value of each fact, the values aligned; of a table its columns besides."""
    if "table" in facts:
        short = {name: value for name, value in facts.items() if name not in ("table", "command", "problem")}
        return [*fact_lines(short), "", *table_lines(facts)]
    flat: dict[str, Any] = {}
    for name, value in facts.items():
        flat.update(value if isinstance(value, dict) else {name: value})
    width = max(map(len, flat)) + 2
    return [f"{name.replace('_', ' '):<{width}}{_in_words(value)}" for name, value in flat.items()]


def _in_words(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        shown = ", ".join(map(str, value[:12]))
        return shown if len(value) <= 12 else f"{shown} and {len(value) - 12:,} more"
    if isinstance(value, int):
        return f"{value:,}"
    return "-" if value is None else str(value)
