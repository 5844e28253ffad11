"""Draw the bar chart of the README and print its tables, from docs/figures.json.

    python -m benchmarks.chart

docs/figures.json has seconds of one run of `python -m benchmarks.whole_fits` and `.speed` on one machine, and
accuracies of other pages. Tests compare it with the README and with these pages.
"""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.harness.reporting import DOCS, bold_best
from coterie.figures import INK, new_figure, tidy

FIGURES, IMAGE = DOCS / "figures.json", DOCS / "images" / "speed.png"


def table(figures: dict[str, Any]) -> str:
    """Return the table of seconds of the README as Markdown."""
    lines = ["| work | coterie, s | strongest competitor, s | competitor | difference in quality |"]
    lines.append("|---|---:|---:|---|---|")
    return "\n".join(lines + [_line(row, "work", "g", min, row["quality"]) for row in figures["rows"]])


def accuracy_table(figures: dict[str, Any]) -> str:
    """Return the table of accuracies of the README as Markdown."""
    lines = ["| data | coterie | strongest competitor | competitor |", "|---|---:|---:|---|"]
    return "\n".join(lines + [_line(row, "data", ".1f", max) for row in figures["accuracy"]])


def _line(row: dict[str, Any], what: str, form: str, best: Callable[..., float], *others: str) -> str:
    values = [row["coterie"], row["competitor"]]
    cells = bold_best([format(value, form) for value in values], values, best)
    return f"| {' | '.join([row[what], *cells, row['name'], *others])} |"


def draw(figures: dict[str, Any], path: Path) -> None:
    """Draw how many times the seconds of coterie the strongest competitor takes, a bar a row."""
    rows = figures["rows"][::-1]
    ratios = [row["competitor"] / row["coterie"] for row in rows]
    figure = new_figure((7, 0.6 * len(rows) + 0.7))
    axes = figure.subplots()
    axes.axvline(1, color="#0a7d91", lw=2)
    bars = axes.barh(range(len(rows)), ratios, height=0.55, color="#9fb8bf")
    notes = [f"{ratio:.2f}x {row['name']}" for ratio, row in zip(ratios, rows)]
    white = {"facecolor": "white", "edgecolor": "none", "pad": 1.5}
    axes.bar_label(bars, notes, padding=6, fontsize=11, color=INK, bbox=white)
    names = [re.sub(r", (until|\d+ iter).*", "", row["work"]) for row in rows]
    names = [re.sub(r"(: |, )", r"\1\n", name, count=1) for name in names]
    axes.set_yticks(range(len(rows)), names, fontsize=11)
    axes.set_xlim(0, 1.9 * max(ratios))
    axes.set_title("Time of the fastest competitor / time of coterie", loc="right", fontsize=12)
    tidy(axes)
    figure.savefig(path, dpi=130)


if __name__ == "__main__":
    figures = json.loads(FIGURES.read_text(encoding="utf-8"))
    draw(figures, IMAGE)
    print(table(figures), accuracy_table(figures), sep="\n\n")
