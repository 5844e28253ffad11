"""The figures and tables of Ziko, Granger and Ben Ayed (2018); here Figure 1 and Tables 1 and 2."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks.harness.data.files import sampled
from benchmarks.harness.papers import Item, PaperRun
from benchmarks.laplacian_kmodes.contenders import (
    K_MEANS,
    K_MODES,
    KERNEL_K_MEANS,
    LK,
    MEAN_SHIFT,
    MODE_UPDATES,
    N_NEIGHBORS,
    NCUT,
    SLK_BO,
    SPECTRAL,
    Setting,
)
from benchmarks.laplacian_kmodes.criteria import make_selection
from benchmarks.laplacian_kmodes.paper_objectives import make_figure_2, make_table_3
from benchmarks.laplacian_kmodes.paper_sets import (
    DIGITS,
    MNIST,
    PAPER_SETS,
    PUBLISHED,
    PUBLISHED_SETS,
    SMALL,
    PaperSet,
)
from benchmarks.laplacian_kmodes.rows import LABELED_SHARE, Starts, load_labeled, run_graph, run_starts

# "in a small range from 1 to 4".
LAMBDAS, QUICK_LAMBDAS = (1.0, 1.3, 2.0, 3.0, 4.0), (1.0, 2.0)
# At larger ones LK puts all rows into a few clusters.
LK_LAMBDAS, QUICK_LK_LAMBDAS = (0.01, 0.03, 0.1, 0.3, 1.0), (0.1, 0.3)
SEEDS = 10  # "We run each algorithm over 10 trials"
LIMIT = 300.0  # seconds for all trials of a peer on a set
METHODS = (K_MEANS, K_MODES, MEAN_SHIFT, NCUT, SPECTRAL, KERNEL_K_MEANS, LK, *MODE_UPDATES)
# Of Figure 1.
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


def run_facts(data: Path) -> tuple[int, int, int, float]:
    """Return rows, columns, classes, and how many times the largest class is larger than the smallest."""
    X, y = load_labeled(data)
    sizes = np.unique(y, return_counts=True)[1]
    return (*X.shape, len(sizes), float(sizes.max() / sizes.min()))


def make_table_1(run: PaperRun) -> None:
    """Table 1: the published sizes beside those of the sets at hand."""
    lines = []
    for name, (n_rows, n_columns, n_clusters, imbalance) in PUBLISHED_SETS.items():
        line = [name, f"{n_rows:,}", f"{n_columns:,}", str(n_clusters), imbalance]
        here = PAPER_SETS.get(name)
        if here is None or not here.is_here:
            lines.append([*line, "no"])
            continue
        rows, columns, classes, times = run.isolated(run_facts, here.save(run.folder, run.quick))
        run.report.data["rows"][name] = [rows, columns, classes, times]
        lines.append([*line, f"{rows:,} x {columns:,}, imbalance {times:,.1f}"])
    headers = ["data", "rows", "columns", "clusters", "imbalance", "here"]
    run.report.table("Table 1: data sets, as published and ours", headers, lines)


def make_table_2(run: PaperRun) -> None:
    """Table 2: NMI and accuracy of every method, and seconds, on each set that is at hand."""
    lambdas, lk_lambdas = (", ".join(f"{lam:g}" for lam in _lambdas(run, method)) for method in (SLK_BO, LK))
    run.say(
        f"Of the runs with lambda {lambdas} (LK: {lk_lambdas}) and all seeds, each line shows the one with the highest "
        f"accuracy on {LABELED_SHARE:.0%} of the rows, as in the paper. Seconds: median of one run with "
        "the labels of all rows, without the search for neighbors, which all methods but k-means and mean shift "
        "need. All methods are initialized with the same k-means++ centers, except k-means, which draws its own, and "
        "NCut and mean shift, which need none. "
        f"The best is bold. own: our plain implementation. Seeds: {len(run.seeds(SEEDS))}.",
    )
    for name, here in PAPER_SETS.items():
        # One set stands in for all that are missing.
        if here.is_here or name == SMALL:
            _table_of_set(run, name, here)
        else:
            run.say(f"{name} is not in COTERIE_DATA.")


def _table_of_set(run: PaperRun, name: str, here: PaperSet) -> None:
    data = here.save(run.folder, run.quick)
    rows, columns, classes, _ = run.isolated(run_facts, data)
    graph = run.isolated(run_graph, data, run.threads)["seconds"]
    setting = Setting(classes, 1.0, 1, run.threads, here.bandwidth_factor if here.is_here else 1.0)
    published = PUBLISHED.get(name, {})
    lines, kept = [], {}
    for method in METHODS:
        if method == LK and not (name == SMALL or run.quick):
            lines.append([method, "-", "too slow", "-", "-"])
        else:
            kept[method] = _trials(run, method, data, setting)
            lines.append([method, *_cells(kept[method], run.limit(LIMIT))])
    headers = ["", "lambda", "NMI", "ACC", "seconds"]
    if published:
        headers += ["NMI, published", "ACC, published", "seconds, published"]
        for line in lines:
            quality, seconds = published.get(line[0], ("- / -", "-"))
            line += [*quality.split(" / "), seconds]
    for at, header in enumerate(headers):
        if header.startswith(("NMI", "ACC")):
            best = max((line[at] for line in lines if line[at][:1].isdigit()), key=float)
            for line in lines:
                line[at] = f"**{best}**" if line[at] == best else line[at]
    run.report.data["rows"][f"table-2: {name}"] = kept
    title = name if here.is_here else f"{name}, for which {DIGITS} stand in"
    shape = f"{rows:,} x {columns:,}, {classes} clusters"
    names = [[line[0].replace(" (own, plain)", ", own"), *line[1:]] for line in lines]
    run.report.table(f"Table 2: {title}; {shape}; {N_NEIGHBORS} neighbors in {graph:.2f} s", headers, names)
    run.report.save()


def _lambdas(run: PaperRun, method: str) -> tuple[float, ...]:
    if method not in (LK, *MODE_UPDATES):
        return (0.0,)
    if method == LK:
        return QUICK_LK_LAMBDAS if run.quick else LK_LAMBDAS
    return QUICK_LAMBDAS if run.quick else LAMBDAS


def _trials(run: PaperRun, method: str, data: Path, setting: Setting) -> dict[str, Starts] | str:
    """Return the trials with each lambda, where the method has one; or why there are none."""
    found: dict[str, Starts] = {}
    for lam in _lambdas(run, method):
        options: Any = (method, data, replace(setting, lam=lam), len(run.seeds(SEEDS)))
        limit = None if method in MODE_UPDATES or method == K_MEANS else run.limit(LIMIT)
        try:
            found[f"{lam:g}"] = run.isolated_within(limit, run_starts, *options)
        except TimeoutError as error:
            return str(error)
    return found


def _cells(found: dict[str, Starts] | str, limit: float) -> list[str]:
    """Return lambda, NMI, accuracy and seconds of the run that labels choose."""
    if isinstance(found, str):
        return ["-", f"> {limit:g} s", "-", "-"]
    runs = [(starts["known"][i], lam, i) for lam, starts in found.items() for i in range(len(starts["nmi"]))]
    _, lam, best = max(runs, key=lambda run: run[0])
    starts = found[lam]
    quality = [f"{starts[name][best]:.3f}" for name in ("nmi", "accuracy")]
    return ["-" if lam == "0" else lam, *quality, f"{median(starts['seconds']):.2f}"]


_MNIST, _STAND_IN = ("mnist.npz",), "scikit-learn's digits stand in"
_SETS = ("mnist.npz", "shuttle.npz")
ITEMS = {
    "figure-1": Item(make_figure_1, _MNIST, _STAND_IN),
    "figure-2": Item(make_figure_2, _MNIST, _STAND_IN),
    "table-1": Item(make_table_1, _SETS, "those at hand"),
    "selection": Item(make_selection),
    "table-2": Item(make_table_2, _SETS, _STAND_IN),
    "table-3": Item(make_table_3, _MNIST, _STAND_IN),
}
