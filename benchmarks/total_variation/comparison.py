"""Purity, energy and seconds of all contenders on a graph."""

from __future__ import annotations

import warnings
from statistics import fmean
from typing import Any

import numpy as np

from benchmarks.harness.benchmark import Benchmark
from benchmarks.harness.cells import Columns, number
from benchmarks.harness.measuring import clock
from benchmarks.total_variation.contenders import CONTENDERS, GENIE, OURS, Task, takes
from benchmarks.total_variation.graphs import graph_file, known_labels, load_graph, load_rows

LABELS = (0.0, 1.0, 0.01, 0.025, 0.05, 0.1)
# What the paper reports: purity in percent, for the numbers of labels above.
PAPER = {
    "4moons": (99.53, 99.55, 99.55, 99.55, 99.53, 99.55),
    "optdigits": (98.29, 98.29, 98.29, 98.35, 98.38, 98.45),
    "pendigits": (89.06, 89.17, 93.73, 95.83, 97.98, 98.22),
    "mnist": (97.60, 97.53, 97.59, 97.72, 97.79, 98.05),
    "mnist-upright": (97.60, 97.53, 97.59, 97.72, 97.79, 98.05),
    "webkb4": (59.15, 56.58, 58.75, 57.01, 58.34, 62.01),
    "20news": (39.40, 50.07, 61.70, 67.61, 70.51, 73.97),
}


def run_contender(
    name: str, data: str, share: float, n_draws: int, n_init: int, n_threads: int
) -> dict[str, Any]:
    """Cluster a graph from several draws of labels; means over the draws."""
    draws = [run_draw(name, data, share, seed, n_init, n_threads) for seed in range(n_draws if share else 1)]
    purities = [draw["purity"] for draw in draws]
    best = min(draws, key=lambda draw: draw["energy"])
    return {
        "draws": len(draws),
        "accuracies": [draw["accuracy"] for draw in draws if share],
        "purity": fmean(purities),
        "purity_range": [min(purities), max(purities)],
        "purity_best": best["purity"],
        "energy": fmean(draw["energy"] for draw in draws),
        "energy_best": best["energy"],
        "seconds": fmean(draw["seconds"] for draw in draws),
    }


def run_draw(name: str, data: str, share: float, seed: int, n_init: int, n_threads: int) -> dict[str, float]:
    """Cluster a graph from one draw of labels, or none; return purity and accuracy in percent, energy and seconds."""
    from coterie.metrics import balanced_cut, purity

    warnings.simplefilter("ignore")
    seconds_by = clock(n_threads)
    graph, classes = load_graph(data)
    k, shares = len(np.unique(classes)), np.bincount(classes) / len(classes)
    known = known_labels(classes, share, seed) if share else None
    task = Task(graph, known, k, shares, load_rows(data), seed, n_threads, n_init)
    start = seconds_by()
    labels = CONTENDERS[name].call(task)
    seconds = seconds_by() - start
    unknown = np.ones(len(classes), dtype=bool) if known is None else known < 0
    return {
        "purity": 100 * purity(classes, labels),
        "energy": balanced_cut(graph, np.maximum(labels, 0).astype(np.int32), n_clusters=k),
        "seconds": seconds,
        "accuracy": 100 * float(np.mean((labels == classes)[unknown])),
    }


def has_what_it_needs(name: str, data: str) -> bool:
    """Tell whether a contender can do with what there is of a data set: dense rows, for one of them."""
    return name != GENIE or load_rows(data) is not None


def compare(benchmark: Benchmark, data: str) -> None:
    """Run all contenders on a graph."""
    options, names = benchmark.options, benchmark.select(CONTENDERS)
    is_real = graph_file(data) is not None
    columns: Columns = {
        "purity (range)": lambda s: "{purity:.2f} ({purity_range[0]:.2f}-{purity_range[1]:.2f})".format(**s),
        "of the lowest (P)": number("purity_best", ".2f"),
        "paper": number("paper", ".2f"),
        "accuracy": accuracy_cell,
        "(P)": number("energy", ".4f"),
        "lowest (P)": number("energy_best", ".4f"),
        "seconds": number("seconds", ".2f"),
    }
    rows = []
    for share in options.labels:
        for name in (name for name in names if takes(name, share) and has_what_it_needs(name, data)):
            sizes = (options.draws, options.trials, benchmark.threads)
            found = benchmark.isolated(run_contender, name, data, share, *sizes)
            if name == OURS and is_real and data in PAPER and share in LABELS:
                found["paper"] = PAPER[data][LABELS.index(share)]
            rows.append([share_in_words(share), name, *(cell(found) for cell in columns.values())])
    what = data if is_real else f"scikit-learn's digits in place of {data}"
    headers = ["labels", "", *columns]
    benchmark.report.table(f"{what}, means over {options.draws} draws", headers, rows, n_left=2)


def accuracy_cell(result: dict[str, Any]) -> str:
    """Return the mean accuracy of the rows without a label, and its standard deviation."""
    found = result["accuracies"]
    return f"{np.mean(found):.1f} ± {np.std(found):.1f}" if found else "-"


def share_in_words(share: float) -> str:
    """Return a number of labels in words: none, so many of each class, or a share."""
    return "none" if share == 0 else f"{share:.0f} per class" if share >= 1 else f"{share:.1%}"
