"""Table S.1 and Figure S.1: what the algorithms cost, by formula and measured."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness.cells import mib_cell, number
from benchmarks.harness.measuring import measured
from benchmarks.harness.papers import PaperRun
from benchmarks.mixture.contenders import OWN_CHAIN, SEEDS_ALONE, VAR_GMM_S, VC_GMM
from benchmarks.mixture.paper_sweeps import STYLES
from benchmarks.mixture.settings import PUBLISHED, ROWS, Setting, draw_coreset, draw_seeds
from coterie.figures import new_figure

N_CLUSTERS = (256, 512, 1024, 2048, 4096, 8192)
N_ITER = 7

# Distances of coreset, seeding and one iteration by the letters of the paper, n rows in all and s in the coreset. The
# least that an E-step can look at is C' (each neighborhood the same), the most C' G.
FORMULAS: dict[str, Callable[[int, Setting], tuple[float, float, float]]] = {
    SEEDS_ALONE: lambda n, s: (0, n + _chain(s), 0),
    OWN_CHAIN: lambda n, s: (2 * n, s.coreset_size + _chain(s), s.coreset_size * s.n_clusters),
    VAR_GMM_S: lambda n, s: (0, n + _chain(s), n * s.n_candidates * s.n_neighbors),
    VC_GMM: lambda n, s: (
        2 * n, s.coreset_size + _chain(s), s.coreset_size * s.n_candidates * s.n_neighbors
    ),
}  # fmt: skip
LETTERS = {
    SEEDS_ALONE: ("-", "N + m C²", "-", "N D + C D"),
    OWN_CHAIN: ("2 N", "N' + m C²", "N' C", "N' D + C D"),
    VAR_GMM_S: ("-", "N + m C²", "N C' G", "N (D + C') + C (D + G)"),
    VC_GMM: ("2 N", "N' + m C²", "N' C' G", "N' (D + C') + C (D + G)"),
}


def _chain(s: Setting) -> float:
    return s.chain_length * s.n_clusters**2 / 2


def run_costs(data: Path, setting: Setting, n_threads: int) -> dict[str, Any]:
    """Return seconds, distances and memory of coreset, seeding and EM iterations with the papers' steps."""
    X = np.load(data)
    random = np.random.RandomState(0)
    begin = time.perf_counter()
    coreset = draw_coreset(X, setting, random, n_threads)
    drawn = time.perf_counter()
    seeds = draw_seeds(coreset, setting, random, n_threads)
    seeded = time.perf_counter()
    model = setting.mixture(0, n_threads, init=seeds, max_iter=N_ITER, tol=0)
    with measured() as cost:
        model.fit(coreset[0], sample_weight=coreset[1])
    history = model.history_[1:]
    return {
        "coreset_seconds": drawn - begin,
        "seeding_seconds": seeded - drawn,
        "iteration_seconds": float(np.median(np.diff(history["seconds"]))),
        "n_distances": float(np.mean(history["n_distances"])),
        "peak_bytes": cost.peak_bytes,
    }


def make_costs(run: PaperRun) -> None:
    """Table S.1: the orders, and their numbers on a data set with the number of clusters growing."""
    rows = [[name.removeprefix("coterie "), *LETTERS[name]] for name in FORMULAS]
    headers = ["method", "coreset", "seeding", "an iteration", "memory, numbers"]
    run.report.table("Numbers of distances, and memory", headers, rows, 5)
    data, n_rows, settings = _settings(run)
    found = {f"C = {s.n_clusters:,}": run.isolated(run_costs, data, s, run.threads) for s in settings}
    columns = {
        "coreset, s": number("coreset_seconds", ".3f"),
        "seeding, s": number("seeding_seconds", ".3f"),
        "iteration, ms": lambda s: f"{1000 * s['iteration_seconds']:.1f}",
        "distances per row": lambda s: f"{s['n_distances'] / settings[0].coreset_size:.1f}",
        "EM, MiB": mib_cell,
    }
    title = (
        f"vc-GMM with the papers' steps, generated blobs, {n_rows:,} rows, N' = {settings[0].coreset_size:,}"
    )
    run.report.columns(title, columns, found)
    run.say(
        "An iteration evaluates at most C' G = 25 distances per row, for any number of clusters; means of "
        f"{N_ITER - 1} iterations. EM, MiB: peak memory of the iterations in addition to the coreset and the seeds.",
    )  # fmt: skip


def _settings(run: PaperRun) -> tuple[Path, int, list[Setting]]:
    row = ROWS["blobs64"].for_options(run)
    setting = replace(row.setting, **PUBLISHED)
    sizes = [c for c in N_CLUSTERS if not run.quick or 8 * c <= setting.coreset_size]
    return row.file(run, "blobs64"), row.n_rows, [replace(setting, n_clusters=c) for c in sizes]


def make_figure_s1(run: PaperRun) -> None:
    """Figure S.1: distances by formula, and those that were evaluated."""
    data, n_rows, settings = _settings(run)
    evaluated = {s.n_clusters: run.isolated(run_costs, data, s, run.threads)["n_distances"] for s in settings}
    run.say(
        f"{n_rows:,} rows. Lines: the formulas of Table S.1, with m C² / 2 for m C². Crosses: the distances that an "
        "iteration evaluated.",
    )
    alt = "Distances of coreset, seeding and one iteration against C, on logarithmic axes, a line for each method"
    run.draw("costs", lambda path: _draw(n_rows, settings, evaluated, path), alt)


def _draw(n_rows: int, settings: list[Setting], evaluated: dict[int, float], path: Path) -> None:
    figure = new_figure((11, 3.9))
    axes = figure.subplots(1, 3, sharey=True)
    sizes = [s.n_clusters for s in settings]
    for part, (axis, title) in enumerate(zip(axes, ("coreset", "seeding", "an iteration"))):
        for name, count in FORMULAS.items():
            color, marker, dash = STYLES[name]
            counts = [count(n_rows, s)[part] for s in settings]
            if any(counts):
                label = name.removeprefix("coterie ")
                axis.plot(sizes, counts, dash, marker=marker, color=color, label=label, alpha=0.8)
        axis.set(xscale="log", yscale="log", title=title, xlabel="clusters C")
        axis.minorticks_off()
        axis.set_xticks(sizes, [f"{c:,}" for c in sizes], rotation=30)
        axis.grid(color="#eeeeee", linewidth=0.8)
    axes[2].plot(sizes, [evaluated[c] for c in sizes], "k+", markersize=9, label="vc-GMM, evaluated")
    axes[0].set_ylabel("distances")
    handles = {label: h for axis in axes for h, label in zip(*axis.get_legend_handles_labels())}
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=5)
    figure.savefig(path, dpi=110)
