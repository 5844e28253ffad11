"""Figure 1: the modes, beside the means and the rows nearest to them."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from benchmarks.harness.data.files import sampled
from benchmarks.harness.papers import PaperRun
from benchmarks.laplacian_kmodes.paper_sets import DIGITS, MNIST, PAPER_SETS
from benchmarks.laplacian_kmodes.rows import load_labeled

N_ROWS, N_NEAREST, LAMBDA = 10_000, 3, 1.3


def run_modes(data: Path, picture: Path, n_threads: int) -> list[dict[str, float]]:
    """Fit SLK-BO, draw it, and return of each cluster its rows and how far mode and mean are from the nearest row."""
    from coterie import LaplacianKModes
    from coterie.plotting import plot_modes

    X, _ = sampled(*load_labeled(data), N_ROWS)
    model = LaplacianKModes(
        10, graph_weight=LAMBDA, init="k-means++", random_state=0, n_threads=n_threads
    ).fit(X)
    side = round(X.shape[1] ** 0.5)
    plot_modes(X, model, (side, side), N_NEAREST).savefig(picture, dpi=110)
    found = []
    for cluster, mode in enumerate(model.modes_):
        rows = X[model.labels_ == cluster]
        facts = {"rows": float(len(rows))}
        for name, point in (("mode", mode), ("mean", rows.mean(axis=0) if len(rows) else mode)):
            facts[name] = float(np.linalg.norm(X - point, axis=1).min())
        found.append(facts)
    return found


def make_figure_1(run: PaperRun) -> None:
    """Figure 1: SLK-BO's modes are rows, means are none."""
    here = PAPER_SETS[MNIST]
    data = here.save(run.folder, run.quick)
    found: list[dict[str, float]] = []

    def draw(path: Path) -> None:
        found.extend(run.isolated(run_modes, data, path, run.threads))

    alt = "Of each of ten clusters: the mode, a sharp digit, the blurred mean, and the three rows nearest to the mode"
    run.draw("modes", draw, alt)
    run.report.data["rows"]["modes"] = found
    lines = [
        [str(cluster), f"{facts['rows']:,.0f}", f"{facts['mean']:.3f}"] for cluster, facts in enumerate(found)
    ]
    title = f"{N_ROWS:,} rows of MNIST" if here.is_here else DIGITS
    headers = ["cluster", "rows", "distance from the mean to the nearest row"]
    run.report.table(f"Figure 1: SLK-BO, {title}, lambda {LAMBDA:g}", headers, lines, 0)
