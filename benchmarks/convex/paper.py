"""The figures and tables of Chi and Lange (2015)."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial
from itertools import combinations
from statistics import mean
from typing import Any

import numpy as np
from sklearn.datasets import make_moons
from sklearn.metrics import adjusted_rand_score

from benchmarks.convex.paths import PAPER_SIZES, PAPER_TOL, PHI, SOLVERS, run_path
from benchmarks.harness.benchmark import Item, PaperRun
from benchmarks.harness.contenders import Contender
from coterie import ConvexClustering, ConvexClusterPath
from coterie.datasets import load_iris, load_mammals, load_senate

# The published table: senators and issues, and how many senators of each party (D, I, R).
SENATORS, ISSUES, PARTIES = 29, 15, (15, 1, 13)


@dataclass(frozen=True)
class Known:
    """Rows, their classes if there are any, and names of rows if they have some."""

    rows: np.ndarray
    classes: np.ndarray | None = None
    names: dict[int, str] = field(default_factory=dict)


def two_moons() -> Known:
    """Return two half moons of 100 rows each; the paper's are drawn anew, with noise of 0.1."""
    rows, classes = make_moons(200, noise=0.1, random_state=0)
    return Known(rows, classes)


def five_clusters() -> Known:
    """Return five clusters of 20 rows that are well apart."""
    random = np.random.default_rng(0)
    turn = 2 * np.pi * np.arange(5) / 5
    classes = np.repeat(np.arange(5), 20)
    rows = 3 * np.column_stack([np.cos(turn), np.sin(turn)])[classes] + 0.35 * random.normal(size=(100, 2))
    return Known(rows, classes)


def iris() -> Known:
    rows, classes = load_iris()
    return Known(rows.astype(float), classes)


def mammals() -> Known:
    """Return the teeth of 27 mammals."""
    table = load_mammals()
    return Known(table.data, names=dict(enumerate(map(str, table.row_names))))


def senate_as_published(issues: tuple[int, ...]) -> Known:
    """Return the unique voting records on 15 of 20 issues, coded 0 and 1 as in the paper; see `senate_subsets`."""
    table = load_senate()
    votes = table.data[:, list(issues)]
    kept = _unique_records(votes)
    names = dict(enumerate(map(str, table.row_names[kept])))
    return Known((votes[kept] > 0).astype(float), table.target[kept], names)


def senate_subsets() -> list[tuple[int, ...]]:
    """Return the choices of 15 issues that leave as many unique senators of each party as the paper has.

    Of the 20 issues that the table has, the paper takes 15 and does not say which; it says how many senators remain.
    """
    table = load_senate()
    found = []
    for issues in combinations(range(table.data.shape[1]), ISSUES):
        kept = _unique_records(table.data[:, list(issues)])
        if len(kept) == SENATORS and tuple(np.bincount(table.target[kept], minlength=3)) == PARTIES:
            found.append(issues)
    return found


def _unique_records(votes: np.ndarray) -> np.ndarray:
    """Return the rows without a missing vote; of equal ones the first."""
    complete = np.flatnonzero((votes != 0).all(axis=1))
    codes = (votes[complete] > 0) @ (1 << np.arange(votes.shape[1]))
    return complete[np.sort(np.unique(codes, return_index=True)[1])]


Panel = tuple[str, Known, Any]  # title, rows, fitted path


QUICK_GAMMAS, GAMMAS = 25, 200
SET_A: dict[str, Any] = {"weights": "dense", "distance_decay": 0.0}
HEADERS = ["weights", "edges", "ARI at k <= 2", "best ARI", "k at best ARI", "splits", "largest gap"]


def _path(run: PaperRun, known: Known, **weights: Any) -> Any:
    n_gammas = QUICK_GAMMAS if run.quick else GAMMAS
    return ConvexClusterPath(n_gammas=n_gammas, n_threads=run.threads, **weights).fit(known.rows)


def _cells(title: str, known: Known, path: Any) -> list[str]:
    """Return the adjusted Rand index of the labels at two clusters, and of the best ones."""
    agreements = [float(adjusted_rand_score(known.classes, labels)) for labels in path.labels_path_]
    best = int(np.argmax(agreements))
    last = f"{agreements[path.index_at(2)]:.2f}" if path.n_clusters_path_.min() <= 2 else "-"
    return [
        title, f"{len(path.edges_):,}", last, f"{agreements[best]:.2f}", f"{path.n_clusters_path_[best]}",
        f"{path.n_splits_.sum()}", f"{float(path.relative_gaps_.max()):.0e}",
    ]  # fmt: skip


def _show(run: PaperRun, title: str, panels: list[Panel]) -> None:
    """Print what the paths of some rows with known classes agree with."""
    run.report.table(title, HEADERS, [_cells(*panel) for panel in panels])


def _panel(run: PaperRun, known: Known, n_neighbors: int, phi: float) -> Panel:
    path = _path(run, known, n_neighbors=n_neighbors, distance_decay=phi, connect=True)
    return f"{n_neighbors} neighbors, phi = {phi:g}", known, path


def make_figure_2(run: PaperRun) -> None:
    """Follow five clusters that are well apart."""
    _show(run, "Five clusters of 20 rows", [_panel(run, five_clusters(), 10, 0.5)])


def make_figure_3(run: PaperRun) -> None:
    """Follow two half moons under two by two kinds of weights."""
    panels = [_panel(run, two_moons(), n_neighbors, phi) for n_neighbors in (10, 50) for phi in (0.0, 0.5)]
    _show(run, "Two half moons of 100 rows each", panels)


def _two_sets(run: PaperRun, known: Known, n_neighbors: int, phi: float) -> list[Panel]:
    title, *sparse = _panel(run, known, n_neighbors, phi)
    return [("Set A: all weights 1", known, _path(run, known, **SET_A)), (f"Set B: {title}", *sparse)]


def make_iris(run: PaperRun) -> None:
    """Follow Fisher's iris under the weights of Figure 4a."""
    _show(run, "Iris, 150 x 4", _two_sets(run, iris(), 5, 4.0))


def make_senate(run: PaperRun) -> None:
    """Follow the senators of Figure 4b, and look at all choices of issues that the paper can have meant."""
    subsets = senate_subsets()
    panels = _two_sets(run, senate_as_published(subsets[0]), 15, 0.5)
    _show(run, "Senate, 29 x 15", panels)
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
    cells = [
        [title, *_fusions_of(path, known, name), f"{float(path.relative_gaps_.max()):.0e}"]
        for title, _, path in panels
        for name in ("brownbat", "redbat")
    ]
    headers = ["weights", "mammal", "at gamma", "fused with", "largest gap"]
    run.report.table("First fusions of two bats", headers, cells, 2)


def _fusions_of(path: Any, known: Known, name: str) -> list[str]:
    """Return at which gamma a row is no longer alone, and with whom."""
    row = next(at for at, known_name in known.names.items() if known_name == name)
    for gamma, labels in zip(path.gammas_, path.labels_path_):
        others = [known.names[i] for i in np.flatnonzero(labels == labels[row]) if i != row]
        if others:
            text = ", ".join(others) if len(others) <= 6 else f"{len(others)} others"
            return [name, f"{gamma:.3g}", text]
    return [name, "-", "none"]


ALGORITHMS: dict[str, dict[str, Any]] = {
    "Algorithm 1, ADMM; gap": {"solver": "admm"},
    "Algorithm 1, ADMM; nu = 1, gap": {"solver": "admm", "step_size": 1.0},
    "Algorithm 1, ADMM; Boyd's residuals": {"solver": "admm", "stopping": "residuals"},
    "Algorithm 2, AMA; the paper's step": {"solver": "plain-ama", "step_size": "paper"},
    "Algorithm 3, fast AMA with restarts; the paper's step": {"step_size": "paper"},
    "AMA; our steps by weight": {"solver": "plain-ama"},
    "fast AMA with restarts; our steps by weight": {},
}
MAX_ITER = 200_000


def make_solvers(run: PaperRun) -> None:
    """Count the iterations of the paper's algorithms, one gamma each; no timings."""
    n_rows, tol = (100, 1e-4) if run.quick else (500, 1e-6)
    rows = np.random.default_rng(0).standard_normal((n_rows, 2))
    cells = []
    graphs = {"dense": {"weights": "dense"}, "n / 4 neighbors": {"n_neighbors": n_rows // 4}}
    for weights, graph in graphs.items():
        for name, solver in ALGORITHMS.items():
            model = ConvexClustering(
                0.1, distance_decay=PHI, tol=tol, max_iter=MAX_ITER, n_threads=run.threads, **graph, **solver
            ).fit(rows)
            gap = model.dual_gap_ / model.objective_
            cells.append([weights, name, f"{model.n_iter_:,}", f"{gap:.0e}", f"{model.n_clusters_}"])
    title = f"Iterations until done: {n_rows} normal rows, gamma = 0.1, phi = 2, tol = {tol:g}"
    run.report.table(title, ["weights", "algorithm", "iterations", "relative gap", "clusters"], cells, 2)


REPLICATES = 10

# Mean seconds of the paper's own tables.
PUBLISHED: dict[str, dict[str, tuple[float, ...]]] = {
    "dense": {
        "subgradient (Hocking et al. 2011)": (44.40, 287.86, 2361.84, 3231.21, 13895.50),
        "fast AMA": (16.09, 71.67, 295.23, 542.45, 1109.67),
        "ADMM": (109.13, 922.72, 3322.83, 7127.22, 13087.09),
    },
    "sparse": {
        "subgradient (Hocking et al. 2011)": (6.52, 37.42, 161.68, 437.32, 386.45),
        "fast AMA": (1.50, 2.94, 4.46, 6.02, 7.44),
        "ADMM": (5.42, 30.93, 88.63, 192.54, 436.49),
    },
}


def _make(run: PaperRun, kind: str) -> None:
    """Time whole paths by every solver, on the same rows."""
    names = run.select({name: Contender("coterie", run_path) for name in SOLVERS})
    sizes, n_replicates = PAPER_SIZES[:1] if run.quick else PAPER_SIZES, len(run.seeds(REPLICATES))
    seconds: dict[str, dict[int, list[float]]] = {name: {} for name in names}
    gaps: dict[str, float] = dict.fromkeys(names, 0.0)
    for n_rows in sizes:
        each = run.each(run_path, kind, n_rows)
        for name, s in run.measure(f"{kind}, n = {n_rows}", names, each, repeats=n_replicates).items():
            seconds[name][n_rows] = [found["seconds"] for found in s["each"]]
            gaps[name] = max(gaps[name], *(found["largest gap"] for found in s["each"]))
    lines = [
        [f"coterie {name}", *_means(map(mean, by_size.values())), f"{gaps[name]:.0e}"]
        for name, by_size in seconds.items()
        if by_size
    ]
    lines += [
        [f"published: {name}", *_means(theirs[: len(sizes)]), "-"] for name, theirs in PUBLISHED[kind].items()
    ]
    weights = "dense weights" if kind == "dense" else "n / 4 neighbors"
    title = f"Mean seconds of a path of 50 gammas, {weights}, phi = 2, {n_replicates} replicates"
    run.report.table(title, ["solver", *map(str, sizes), "largest gap"], lines)
    run.say(f"Relative gap {PAPER_TOL:g}, or residuals to {PAPER_TOL:g}; the time includes the graph.")


def _means(values: Iterable[float]) -> list[str]:
    return [f"{value:.3g}" if value < 100 else f"{value:,.0f}" for value in values]


make_table_2, make_table_3 = partial(_make, kind="dense"), partial(_make, kind="sparse")


ITEMS = {
    "figure-2": Item(make_figure_2, "Figure 2"),
    "algorithms-2-3": Item(make_solvers, "Sections 3.4, 4.1 and 5, Algorithms 2 and 3"),
    "figure-3": Item(make_figure_3, "Figure 3"),
    "figure-4a": Item(make_iris, "Figure 4a"),
    "figure-4b": Item(make_senate, "Figure 4b"),
    "figure-4c": Item(make_mammals, "Figure 4c"),
    "table-2": Item(make_table_2, "Table 2"),
    "table-3": Item(make_table_3, "Table 3"),
}
