"""Tables 2 and 3 and Figures 5 and 6: seconds of whole paths, ten replicates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import mean

import numpy as np

from benchmarks.convex.paper_pictures import COLORS
from benchmarks.convex.paths import PAPER_SIZES, PAPER_TOL, SOLVERS, run_path
from benchmarks.harness.contenders import Contender
from benchmarks.harness.papers import PaperRun
from benchmarks.harness.rounds import Result
from coterie.figures import new_figure

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
    """Time whole paths by every solver, on the same rows, and draw the box plots."""
    names = run.select({name: Contender("coterie", run_path) for name in SOLVERS})
    sizes, n_replicates = PAPER_SIZES[:1] if run.quick else PAPER_SIZES, len(run.seeds(REPLICATES))
    seconds: dict[str, dict[int, list[float]]] = {name: {} for name in names}
    gaps: dict[str, float] = dict.fromkeys(names, 0.0)
    for n_rows in sizes:

        def replicate(solver: str, seed: int, n_rows: int = n_rows) -> Result:
            return run.isolated(run_path, kind, n_rows, solver, run.threads, seed)

        summaries = run.measure(f"{kind}, n = {n_rows}", names, replicate, repeats=n_replicates)
        for name, s in summaries.items():
            seconds[name][n_rows] = [found["seconds"] for found in s["each"]]
            gaps[name] = max(gaps[name], *(found["gap"] for found in s["each"]))
    lines = [
        [f"coterie {name}", *_means([mean(by_size[n]) for n in by_size]), f"{gaps[name]:.0e}"]
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
    alt = "Seconds for 100 to 500 rows: boxes of our solvers, far below the published means"
    run.draw("boxes", partial(_draw_boxes, seconds, PUBLISHED[kind], weights), alt)


def _means(values: Sequence[float]) -> list[str]:
    return [f"{value:.3g}" if value < 100 else f"{value:,.0f}" for value in values]


make_table_2, make_table_3 = partial(_make, kind="dense"), partial(_make, kind="sparse")


def _draw_boxes(
    seconds: Mapping[str, Mapping[int, Sequence[float]]],
    published: Mapping[str, Sequence[float]],
    title: str,
    path: Path,
) -> None:
    """Draw box plots of the square root of seconds, as the paper does, with its means as crosses.

    `seconds` has the replicates by solver and number of rows, `published` the mean seconds for 100, 200, ... rows.
    """
    figure = new_figure((7.6, 5.4))
    axis = figure.subplots()
    width = 70 / len(seconds)
    for number, (solver, by_size) in enumerate(seconds.items()):
        color = COLORS[number % len(COLORS)]
        shift = width * (number - (len(seconds) - 1) / 2)
        axis.boxplot(
            [np.sqrt(values) for values in by_size.values()], positions=[n + shift for n in by_size],
            widths=0.8 * width, patch_artist=True, manage_ticks=False, label=f"ours, {solver}",
            boxprops={"facecolor": color, "edgecolor": color}, medianprops={"color": "white"},
            whiskerprops={"color": color}, capprops={"color": color},
            flierprops={"marker": ".", "markeredgecolor": color},
        )  # fmt: skip
    for (name, means), mark in zip(published.items(), "xv+"):
        sizes = 100 * np.arange(1, len(means) + 1)
        axis.plot(sizes, np.sqrt(means), mark, color="black", label=f"published mean, {name}")
    axis.set(yscale="log", xlabel="rows", ylabel="square root of seconds", title=title)
    axis.set_xticks(100 * np.arange(1, 6))
    figure.legend(loc="outside lower center", ncols=2, fontsize=8)
    figure.savefig(path, dpi=110)
