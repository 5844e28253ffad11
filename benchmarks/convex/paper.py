"""The figures and tables of Chi and Lange (2015); here Figures 1 to 4: how the weights shape the path."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from benchmarks.convex.paper_data import (
    Known,
    five_clusters,
    iris,
    mammals,
    senate_as_published,
    senate_subsets,
    two_moons,
)
from benchmarks.convex.paper_pictures import Panel, draw_graph, draw_panels
from benchmarks.convex.paper_steps import make_solvers, make_table_1, make_warm_starts
from benchmarks.convex.paper_times import make_table_2, make_table_3
from benchmarks.harness.papers import Item, PaperRun

QUICK_GAMMAS, GAMMAS = 25, 200
SET_A: dict[str, Any] = {"weights": "dense", "distance_decay": 0.0}
HEADERS = ["weights", "edges", "ARI at k <= 2", "best ARI", "k at best ARI", "splits", "largest gap"]


def _path(run: PaperRun, known: Known, **weights: Any) -> Any:
    from coterie import ConvexClusterPath

    n_gammas = QUICK_GAMMAS if run.quick else GAMMAS
    return ConvexClusterPath(n_gammas=n_gammas, n_threads=run.threads, **weights).fit(known.rows)


def _cells(title: str, known: Known, path: Any) -> list[str]:
    """Return the adjusted Rand index of the labels at two clusters, and of the best ones."""
    from sklearn.metrics import adjusted_rand_score

    agreements = [float(adjusted_rand_score(known.classes, labels)) for labels in path.labels_path_]
    best = int(np.argmax(agreements))
    last = f"{agreements[path.index_at(2)]:.2f}" if path.n_clusters_path_.min() <= 2 else "-"
    return [
        title, f"{len(path.edges_):,}", last, f"{agreements[best]:.2f}", f"{path.n_clusters_path_[best]}",
        f"{path.n_splits_.sum()}", f"{float(path.relative_gaps_.max()):.0e}",
    ]  # fmt: skip


def _show(
    run: PaperRun, title: str, panels: list[Panel], n_columns: int, named: tuple[str, ...] = ()
) -> None:
    """Print what the panels agree with, where there are classes, and draw them."""
    if panels[0][1].classes is not None:
        run.report.table(title, HEADERS, [_cells(*panel) for panel in panels])
    alt = (
        "Paths of the centroids on two principal components, from the rows to one common point: a panel for each "
        "choice of weights"
    )
    run.draw("paths", partial(draw_panels, panels, n_columns, named), alt)


def make_figure_1(run: PaperRun) -> None:
    """Follow the graph of Figure 1 to its end: each component is at its mean."""
    from scipy.sparse import coo_array

    from coterie import ConvexClusterPath

    rows = np.array([[0.0, 0.0], [1.0, 1.2], [3.0, 0.2], [4.0, 1.0], [0.2, 2.0]])
    heads, tails = np.array([0, 0, 2]), np.array([1, 4, 3])
    upper = coo_array((np.ones(3), (heads, tails)), shape=(5, 5)).tocsr()
    gammas = np.concatenate([[0.0], np.geomspace(0.05, 5, 60)])
    path = ConvexClusterPath(gammas, weights="precomputed", tol=1e-10).fit(rows, graph=upper + upper.T)
    means = np.array([rows[[0, 1, 4]].mean(axis=0), rows[[2, 3]].mean(axis=0)])[[0, 0, 1, 1, 0]]
    ends = zip(path.labels_path_[-1], rows, path.centroids_path_[-1], means)
    cells = [
        [str(node), f"{label + 1}", *("({:.4f}, {:.4f})".format(*point) for point in points)]
        for node, (label, *points) in enumerate(ends, 1)
    ]
    title = "Edges 12, 15 and 34: the centroids at the last gamma are the means of their components (Proposition 2.2)"
    headers = ["node", "cluster", "row", "centroid at the last gamma", "mean of its component"]
    run.report.table(title, headers, cells)
    alt = "Five numbered nodes: the centroids of 1, 2 and 5 end at one point, those of 3 and 4 at another"
    run.draw("graph", partial(draw_graph, rows, path), alt)


def make_figure_2(run: PaperRun) -> None:
    """Follow five clusters that are well apart."""
    known = five_clusters()
    path = _path(run, known, n_neighbors=10, distance_decay=0.5, connect=True)
    _show(run, "Five clusters of 20 rows", [("10 neighbors, phi = 0.5", known, path)], 1)


def make_figure_3(run: PaperRun) -> None:
    """Follow two half moons under two by two kinds of weights."""
    known = two_moons()
    panels: list[Panel] = [
        (
            f"{n_neighbors} neighbors, phi = {phi:g}",
            known,
            _path(run, known, n_neighbors=n_neighbors, distance_decay=phi, connect=True),
        )
        for n_neighbors in (10, 50)
        for phi in (0.0, 0.5)
    ]
    _show(run, "Two half moons of 100 rows each", panels, 2)


def _two_sets(run: PaperRun, known: Known, n_neighbors: int, phi: float) -> list[Panel]:
    sparse = _path(run, known, n_neighbors=n_neighbors, distance_decay=phi, connect=True)
    return [
        ("Set A: all weights 1", known, _path(run, known, **SET_A)),
        (f"Set B: {n_neighbors} neighbors, phi = {phi:g}", known, sparse),
    ]


def make_iris(run: PaperRun) -> None:
    """Follow Fisher's iris under the weights of Figure 4a."""
    _show(run, "Iris, 150 x 4", _two_sets(run, iris(), 5, 4.0), 2)


def make_senate(run: PaperRun) -> None:
    """Follow the senators of Figure 4b, and look at all choices of issues that the paper can have meant."""
    subsets = senate_subsets()
    panels = _two_sets(run, senate_as_published(subsets[0]), 15, 0.5)
    _show(run, "Senate, 29 x 15", panels, 2, ("Miller", "Jeffords", "Chafee"))
    chosen = subsets[:2] if run.quick else subsets
    cells = [_senate_cells(run, issues) for issues in chosen]
    title = f"All {len(subsets)} choices of 15 of 20 issues that leave 15 Democrats, 13 Republicans, 1 Independent"
    headers = [
        "issues left out",
        "clusters",
        "Democrats with the Republicans",
        "Republicans with the Democrats",
    ]
    run.report.table(title, headers, cells, 4)
    with_miller = sum("Miller" in line[2] for line in cells)
    run.say(f"Miller is separate from the other Democrats in {with_miller} of {len(cells)}.")


def _senate_cells(run: PaperRun, issues: tuple[int, ...]) -> list[str]:
    """Return who is on the other side where at most two clusters are left."""
    known = senate_as_published(issues)
    path = _path(run, known, n_neighbors=15, distance_decay=0.5, connect=True)
    at = int(np.argmax(path.n_clusters_path_ <= 2))
    labels, classes = path.labels_path_[at], known.classes
    assert classes is not None
    democrats = np.bincount(labels[classes == 0], minlength=labels.max() + 1).argmax()
    strayed = [known.names[i] for i in np.flatnonzero((classes == 0) & (labels != democrats))]
    opposed = [known.names[i] for i in np.flatnonzero((classes == 2) & (labels == democrats))]
    left_out = ", ".join(str(issue + 1) for issue in range(20) if issue not in issues)
    return [left_out, f"{labels.max() + 1}", ", ".join(strayed) or "none", ", ".join(opposed) or "none"]


def make_mammals(run: PaperRun) -> None:
    """Follow the teeth of 27 mammals (Figure 4c), and see whom the brown bat joins."""
    known = mammals()
    panels = _two_sets(run, known, 5, 0.5)
    _show(run, "", panels, 2, ("*",))
    cells = [
        [title, *_fusions_of(path, known, name), f"{float(path.relative_gaps_.max()):.0e}"]
        for title, _, path in panels
        for name in ("brownbat", "redbat")
    ]
    run.report.table(
        "First fusions of two bats", ["weights", "mammal", "at gamma", "fused with", "largest gap"], cells, 2
    )


def _fusions_of(path: Any, known: Known, name: str) -> list[str]:
    """Return at which gamma a row is no longer alone, and with whom."""
    row = next(at for at, known_name in known.names.items() if known_name == name)
    for gamma, labels in zip(path.gammas_, path.labels_path_):
        others = [known.names[i] for i in np.flatnonzero(labels == labels[row]) if i != row]
        if others:
            text = ", ".join(others) if len(others) <= 6 else f"{len(others)} others"
            return [name, f"{gamma:.3g}", text]
    return [name, "-", "none"]


ITEMS = {
    "figure-1": Item(make_figure_1),
    "figure-2": Item(make_figure_2),
    "table-1": Item(make_table_1),
    "algorithms-2-3": Item(make_solvers),
    "figure-3": Item(make_figure_3),
    "figure-4a": Item(make_iris),
    "figure-4b": Item(make_senate),
    "figure-4c": Item(make_mammals),
    "table-2": Item(make_table_2),
    "table-3": Item(make_table_3),
    "dense-warm-starts": Item(make_warm_starts),
}
