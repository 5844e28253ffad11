"""The figures of the README: one run on one machine, and the bar chart of it.

    COTERIE_DATA=folder python -m benchmarks.chart --measure    # about five minutes; writes docs/figures.json
    python -m benchmarks.chart                                  # draws docs/images/speed.png, prints the table

Every contender runs in a fresh process, in turns, and gets the same work: k-means the same initial rows, a coreset the
same seeds, graph methods the number of classes. CPU seconds of all threads are compared, which other processes change
less than seconds of the clock.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.graphs.runs import run_graph
from benchmarks.graphs_quality.contenders import LEIDEN, SLK_BO, TV_3
from benchmarks.graphs_quality.runs import run_cell, warm_up
from benchmarks.graphs_quality.sets import prepared
from benchmarks.harness.benchmark import Benchmark, begun
from benchmarks.harness.options import SystemParser
from benchmarks.harness.reporting import Report, command_line, machine_line
from benchmarks.kmeans.fits import run_fit as run_k_means
from benchmarks.kmeans.rows import FIT_ROWS
from benchmarks.mixture.contenders import PEER_CHAIN, VC_GMM
from benchmarks.mixture.runs import run_fit as run_mixture
from benchmarks.mixture.settings import ROWS as MIXTURE_ROWS

__all__ = ["FIGURES", "draw", "table"]

ROOT = Path(__file__).parents[1]
FIGURES = ROOT / "docs" / "figures.json"
IMAGE = ROOT / "docs" / "images" / "speed.png"
Run = Callable[[str], dict[str, Any]]


def _k_means(key: str) -> Callable[[Benchmark], Run]:
    def prepare(benchmark: Benchmark) -> Run:
        row = FIT_ROWS[key].for_options(benchmark)
        files = row.files(benchmark)
        return lambda name: benchmark.isolated(
            run_k_means, name, *files, row.max_iter, benchmark.options.threads
        )

    return prepare


def _mixture(benchmark: Benchmark) -> Run:
    row = MIXTURE_ROWS["aug90"].for_options(benchmark)
    data = row.file(benchmark, "aug90")
    return lambda name: benchmark.isolated(run_mixture, name, data, row.setting, 0, benchmark.options.threads)


def _graph(benchmark: Benchmark) -> Run:
    data = benchmark.data("embeddings", 3_000 if benchmark.options.quick else 20_000)
    return lambda name: benchmark.isolated(run_graph, name, data, 15, benchmark.options.threads)


def _pendigits(benchmark: Benchmark) -> Run:
    data = benchmark.isolated(
        prepared, "pendigits", 1_000 if benchmark.options.quick else 10_992, benchmark.folder
    )
    return lambda name: benchmark.isolated(run_labeled, name, data)


def run_labeled(method: str, data: Path) -> dict[str, Any]:
    """Cluster a labeled set by a method whose libraries are imported and compiled."""
    warm_up(method)
    return {"other_seconds": 0.0} | run_cell(method, data, 0)


# What is done; the contenders, of which those of coterie come first; what runs them; what the results are compared by.
ROWS: dict[str, tuple[str, tuple[str, ...], Callable[[Benchmark], Run], str]] = {
    "mnist": (
        "k-means, MNIST 70,000 x 784, k = 50, to convergence",
        ("coterie auto", "scikit-learn lloyd", "superkmeans"),
        _k_means("a"),
        "inertia",
    ),
    "embeddings": (
        "k-means, embeddings 100,000 x 768, k = 1,000, 10 iterations",
        ("coterie auto", "scikit-learn lloyd", "faiss", "superkmeans"),
        _k_means("d"),
        "inertia",
    ),
    "coreset": (
        "4,000 clusters of 515,345 x 90 on a coreset, from the same seeds",
        (VC_GMM, PEER_CHAIN),
        _mixture,
        "error",
    ),
    "graph": (
        "15 nearest neighbors, embeddings 20,000 x 768",
        ("coterie recall=0.98", "pynndescent"),
        _graph,
        "recall",
    ),
    "modes": (
        "pendigits 10,992 x 16, ten classes: Laplacian K-modes",
        (SLK_BO, LEIDEN),
        _pendigits,
        "accuracy",
    ),
    "cuts": ("pendigits 10,992 x 16, ten classes: total variation", (TV_3, LEIDEN), _pendigits, "accuracy"),
}


def measure(options: argparse.Namespace) -> None:
    """Measure all rows and write the figures."""
    report = Report("chart", command_line("chart"))
    figures: dict[str, Any] = {
        "machine": machine_line(report.data["machine"]),
        "threads": options.threads,
        "rows": {},
    }
    with begun(options, report, Benchmark) as benchmark:
        for key in options.rows:
            work, contenders, prepare, quality = ROWS[key]
            run = prepare(benchmark)
            summaries = benchmark.measure(key, contenders, lambda name, _, run=run: run(name))
            figures["rows"][key] = {
                "work": work,
                "quality": quality,
                "cpu_seconds": {name: round(found["cpu_seconds"], 3) for name, found in summaries.items()},
                "result": {name: found[quality] for name, found in summaries.items()},
                "peak_mib": {name: round(found["peak_bytes"] / 2**20) for name, found in summaries.items()},
            }
            if not options.quick:
                FIGURES.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")


def rows_of(figures: dict[str, Any]) -> list[list[str]]:
    """Return the lines of the README's table: work, seconds and results of coterie and of the fastest other package."""
    lines = []
    for row in figures["rows"].values():
        (ours, seconds), *others = row["cpu_seconds"].items()
        peer, peer_seconds = min(others, key=lambda other: other[1])
        least = min(seconds, peer_seconds)
        cells = [
            f"**{_short(value)}**" if value == least else _short(value) for value in (seconds, peer_seconds)
        ]
        lines.append([row["work"], *cells, peer.split(" lloyd")[0], *_results(row, ours, peer)])
    return lines


def _results(row: dict[str, Any], ours: str, peer: str) -> list[str]:
    """Return the results in percent: accuracy or recall, or how far the objective is above that of the peer."""
    values = row["result"][ours], row["result"][peer]
    if row["quality"] in ("inertia", "error"):
        return [f"{100 * (values[0] / values[1] - 1):+.2f}% {row['quality']}", ""]
    best = max(values)
    return [f"**{100 * value:.1f}**%" if value == best else f"{100 * value:.1f}%" for value in values]


def _short(value: float) -> str:
    return f"{value:.3g}"


def table(figures: dict[str, Any]) -> str:
    """Return the table of the README."""
    head = "| work | coterie, CPU s | fastest other, CPU s | which | result of coterie | of the other |"
    lines = [f"| {' | '.join(line)} |" for line in rows_of(figures)]
    return "\n".join([head, "|---|---:|---:|---|---:|---:|", *lines])


def draw(figures: dict[str, Any], path: Path) -> None:
    """Draw CPU seconds as bars, relative to those of coterie, for the rows in which all give the same result."""
    from coterie.figures import new_figure

    rows = [row for row in figures["rows"].values() if row["quality"] != "accuracy"]
    figure = new_figure((9, 1.5 * len(rows)))
    for ax, row in zip(figure.subplots(len(rows)), rows):
        ours, *_ = row["cpu_seconds"]
        names = list(row["cpu_seconds"])[::-1]
        seconds = [row["cpu_seconds"][name] for name in names]
        labels = ["coterie" if name == ours else name.split(" lloyd")[0] for name in names]
        bars = ax.barh(
            labels, seconds, color=["#0a7d91" if label == "coterie" else "0.75" for label in labels]
        )
        ax.bar_label(bars, [f"{value:.3g} s" for value in seconds], padding=4)
        ax.set_title(row["work"], loc="left", fontsize=11)
        ax.set_xlim(0, 1.15 * max(seconds))
        ax.xaxis.set_visible(False)
        ax.spines[["top", "right", "bottom"]].set_visible(False)
    figure.savefig(path, dpi=150)


if __name__ == "__main__":
    parser = SystemParser("chart", __doc__, list(ROWS), rounds=("--repeats", 1))
    parser.add("--seed", type=int, default=0, help="draws the initial centers of k-means")
    parser.add_argument("--measure", action="store_true", help="measure, and write docs/figures.json")
    options = parser.read()
    if options.measure:
        measure(options)
    if not options.quick:
        found = json.loads(FIGURES.read_text(encoding="utf-8"))
        draw(found, IMAGE)
        print(table(found))
