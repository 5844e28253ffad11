"""Tables 2 and 3 and Figures 5 and 6: seconds of whole paths, ten replicates."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from statistics import mean
from typing import Any

from benchmarks.convex.paper_pictures import draw_boxes
from benchmarks.convex.paths import PAPER_SIZES, PAPER_TOL, SOLVERS, run_path
from benchmarks.harness.contenders import Contender
from benchmarks.harness.papers import PaperRun
from benchmarks.harness.rounds import Result, apart

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
    sizes = PAPER_SIZES[:1] if run.quick else PAPER_SIZES
    seconds: dict[str, dict[int, list[float]]] = {name: {} for name in names}
    gaps: dict[str, float] = dict.fromkeys(names, 0.0)
    for n_rows in sizes:
        title = f"{kind}, n = {n_rows}"
        run.measure(
            title,
            names,
            partial(_replicate, run, kind, n_rows),
            repeats=len(run.seeds(REPLICATES)),
            group_of=apart,
        )
        for name in names:
            runs = run.report.data["rows"][title][name]
            if not isinstance(runs, str):
                seconds[name][n_rows] = [found["seconds"] for found in runs]
                gaps[name] = max(gaps[name], *(found["gap"] for found in runs))
    cells = [
        [f"coterie {name}", *_means([mean(by_size[n]) for n in by_size]), f"{gaps[name]:.0e}"]
        for name, by_size in seconds.items()
        if by_size
    ]
    cells += [
        [f"published: {name}", *_means(theirs[: len(sizes)]), "-"] for name, theirs in PUBLISHED[kind].items()
    ]
    weights = "dense weights" if kind == "dense" else "n / 4 neighbors"
    title = (
        f"Mean seconds of a path of 50 gammas, {weights}, phi = 2, {len(run.seeds(REPLICATES))} replicates"
    )
    run.report.table(title, ["solver", *map(str, sizes), "largest gap"], cells)
    run.report.say(
        "",
        f"Relative gap {PAPER_TOL:g}, or residuals to {PAPER_TOL:g}; the time includes the graph.",
    )
    run.report.data["seconds"] = seconds
    alt = "Seconds for 100 to 500 rows: boxes of our solvers, far below the published means"
    run.draw("boxes", draw_boxes(seconds, PUBLISHED[kind], weights), alt)


def _replicate(run: PaperRun, kind: str, n_rows: int, solver: str, seed: int) -> Result:
    found: dict[str, Any] = run.isolated(run_path, kind, n_rows, solver, run.threads, seed)
    return found


def _means(values: Sequence[float]) -> list[str]:
    return [f"{value:.3g}" if value < 100 else f"{value:,.0f}" for value in values]


def make_table_2(run: PaperRun) -> None:
    """Time dense weights."""
    _make(run, "dense")


def make_table_3(run: PaperRun) -> None:
    """Time sparse weights."""
    _make(run, "sparse")
