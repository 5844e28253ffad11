"""The two figures of the paper: indicators where quadratic and factorized relaxations give ramps."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.harness.papers import PaperRun
from benchmarks.total_variation.graphs import graph_file, load_graph
from benchmarks.total_variation.left_stochastic import left_stochastic_memberships
from coterie.figures import new_figure

# Colors that also the color-blind tell apart (after Okabe and Ito).
OURS_COLOR, PEER_COLOR = "#d55e00", "#0072b2"
N_PATH = 20
FOUR, NINE = 4, 9

Panel = tuple[str, np.ndarray, str]


# --- Figure 1


def run_path(steps: str) -> dict[str, Any]:
    """Cut a path of 20 vertices by the total variation and by the quadratic relaxation."""
    from coterie import TotalVariationClustering

    path = sp.csr_array(sp.diags_array([np.ones(N_PATH - 1), np.ones(N_PATH - 1)], offsets=[1, -1]))
    ramp = np.linspace(1, 0, N_PATH)
    options: dict[str, Any] = {"init": np.column_stack([ramp, 1 - ramp]), "tol": 1e-9, "max_iter": 20000}
    model = TotalVariationClustering(2, affinity="precomputed", steps=steps, **options).fit(path)
    column = model.memberships_[:, model.labels_[0]]
    return {
        "total variation": scaled(column),
        "spectral": scaled(spectral_relaxation(path)),
        "energy": model.energy_,
    }


def spectral_relaxation(graph: sp.csr_array) -> np.ndarray:
    """Minimize ||f||_Lap / ||f - med(f)||_1, (P-rlx2) of two clusters.

    Where the signs v of f - med(f) stay, the best f solves L f = v; so f and v are found in turn, from the second
    eigenvector of L on.
    """
    from scipy.sparse.csgraph import laplacian

    L = np.asarray(laplacian(graph).toarray(), dtype=np.float64)
    f = np.linalg.eigh(L)[1][:, 1]
    while True:
        signs = np.sign(f - np.median(f))
        found = np.linalg.lstsq(L, signs - signs.mean(), rcond=None)[0]
        if np.array_equal(np.sign(found - np.median(found)), signs):
            return found if found[0] > found[-1] else -found
        f = found


def scaled(column: np.ndarray) -> np.ndarray:
    """Return a vertex function between 0 and 1: its energy depends neither on its height nor on its offset."""
    return (column - column.min()) / np.ptp(column)


def make_figure_1(run: PaperRun) -> None:
    """Draw the path of 20 vertices and both relaxations."""
    ours, paper = (run.isolated(run_path, steps) for steps in ("preconditioned", "paper"))
    indicator = np.repeat([1.0, 0.0], N_PATH // 2)
    rows = [
        [name, f"{np.abs(column - indicator).max():.1e}", f"{np.max(np.abs(np.diff(column))):.3f}"]
        for name, column in (
            ("total variation", ours["total variation"]),
            ("total variation, steps of the paper", paper["total variation"]),
            ("spectral", ours["spectral"]),
        )
    ]
    headers = [
        "relaxation",
        "farthest from the indicator of the middle cut",
        "largest step between neighbors",
    ]
    run.report.table("A path of 20 vertices in two clusters, functions scaled to 0..1", headers, rows)
    run.report.data["path"] = {name: ours[name].tolist() for name in ("total variation", "spectral")}
    panels = (
        ("total variation, (P-rlx)", ours["total variation"], OURS_COLOR),
        ("spectral, (P-rlx2)", ours["spectral"], PEER_COLOR),
    )
    alt = (
        "The minimum on a path of 20 vertices by each relaxation: a step by total variation, a ramp by the spectral "
        "relaxation"
    )
    run.draw("path", lambda path: _draw_path(panels, path), alt)


def _draw_path(panels: Sequence[Panel], path: Path) -> None:
    figure = new_figure((8.0, 4.2))
    axes = figure.subplot_mosaic([["graph", "graph"], [0, 1]], height_ratios=[1, 4])
    vertices = np.arange(1, N_PATH + 1)
    axes["graph"].plot(vertices, np.zeros(N_PATH), "o-", color="#555555", markersize=5, linewidth=1)
    axes["graph"].set_axis_off()
    axes["graph"].set_title("the graph: a path of 20 vertices, weights 1", fontsize=10)
    for place, (title, column, color) in enumerate(panels):
        axis = axes[place]
        axis.plot(vertices, column, "o-", color=color, markersize=5, linewidth=1)
        axis.set(title=title, xlabel="vertex", ylim=(-0.05, 1.05), xticks=[1, 5, 10, 15, 20])
        _tidy(axis)
    axes[0].set_ylabel("vertex function")
    figure.savefig(path, dpi=110)


# --- Figure 2


def run_digits(data: str, n_threads: int) -> dict[str, Any]:
    """Cluster digits by total variation and by left-stochastic factorization, from the same normalized cut."""
    from sklearn.cluster import SpectralClustering

    from coterie import TotalVariationClustering
    from coterie.metrics import purity

    graph, classes = load_graph(data)
    k = len(np.unique(classes))
    matrix = sp.csr_matrix(graph.astype(np.float64))
    cut = SpectralClustering(k, affinity="precomputed", random_state=0, n_jobs=n_threads).fit(matrix).labels_
    # As in the paper, the factorization begins a constant of 0.2 above.
    start = (np.eye(k)[cut] + 0.2) / (1 + 0.2 * k)
    factors = left_stochastic_memberships(graph, start)
    options: dict[str, Any] = dict(affinity="precomputed", n_init=5, random_state=0, n_threads=n_threads)
    found = {"factorization": factors}
    for name, steps in (("ours", "preconditioned"), ("paper", "paper")):
        model = TotalVariationClustering(k, steps=steps, **options).fit(graph)
        found[name] = model.memberships_
    shown = np.isin(classes, (FOUR, NINE))
    return {
        name: {
            "purity": 100 * purity(classes, memberships.argmax(axis=1)),
            "column": np.sort(_column_of_fours(memberships, classes)[shown])[::-1],
        }
        for name, memberships in found.items()
    } | {"n_fours": int(np.sum(classes == FOUR)), "n_nines": int(np.sum(classes == NINE))}


def _column_of_fours(memberships: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Return the column with the most of the fours."""
    return memberships[:, memberships[classes == FOUR].sum(axis=0).argmax()]


def make_figure_2(run: PaperRun) -> None:
    """Draw the memberships of fours and nines in the cluster of the fours, sorted."""
    data = "digits" if run.quick or graph_file("optdigits") is None else "optdigits"
    found = run.isolated(run_digits, data, run.threads)
    titles = {
        "ours": "total variation",
        "paper": "total variation, steps of the paper",
        "factorization": "left-stochastic factorization (LSD)",
    }
    rows = []
    for name, title in titles.items():
        column = found[name]["column"]
        between = float(np.mean((column > 0.1) & (column < 0.9)))
        rows.append([title, f"{found[name]['purity']:.2f}", f"{between:.1%}"])
        run.report.data.setdefault("columns", {})[name] = column.tolist()
    headers = ["", "purity of all digits, %", "fours and nines with a membership from 0.1 to 0.9"]
    what = data if data == "optdigits" else "scikit-learn's digits"
    run.report.table(f"Column of the fours, {what}", headers, rows)
    panels = [
        (titles[name], found[name]["column"], color)
        for name, color in (("ours", OURS_COLOR), ("factorization", PEER_COLOR))
    ]
    alt = (
        "Sorted memberships of the fours and nines: a sharp step by total variation, a smooth curve by matrix "
        "factorization"
    )
    run.draw("fours", lambda path: _draw_fours(panels, found["n_fours"], path), alt)


def _draw_fours(panels: Sequence[Panel], n_fours: int, path: Path) -> None:
    figure = new_figure((8.0, 3.4))
    for axis, (title, column, color) in zip(figure.subplots(1, len(panels), sharey=True), panels):
        axis.plot(np.arange(1, len(column) + 1), column, color=color, linewidth=1.8)
        axis.axvline(n_fours + 0.5, color="#999999", linewidth=0.8, linestyle=":")
        axis.annotate(f" {n_fours} fours", (n_fours, 0.5), fontsize=8, color="#555555")
        axis.set(title=title, xlabel="fours and nines, sorted", ylim=(-0.03, 1.03))
        _tidy(axis)
    figure.axes[0].set_ylabel("membership in the cluster of the fours")
    figure.savefig(path, dpi=110)


def _tidy(axis: Any) -> None:
    axis.spines[["top", "right"]].set_visible(False)
    axis.grid(axis="y", color="#eeeeee", linewidth=0.8)
