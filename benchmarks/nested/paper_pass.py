"""Table 1 of the paper: seconds of mini-batches to see every row once, on one thread."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from benchmarks.harness.cells import TIME_HEADERS, time_cells
from benchmarks.harness.data.files import real_file
from benchmarks.harness.data.splits import save_split
from benchmarks.harness.papers import PaperRun
from benchmarks.harness.rounds import Result, apart
from benchmarks.nested.one_pass import STREAMS, run_pass
from benchmarks.nested.paper_curves import PAPER_ROWS
from benchmarks.nested.rows import CurveRow

__all__ = ["make_table_1"]

# Rows and seconds of the paper's implementations, one thread each.
PUBLISHED = {
    "INFMNIST": (400_000, {"authors": 12.4, "scikit-learn": 20.6}),
    "RCV1": (781_265, {"authors": 15.2, "scikit-learn": 63.6, "sofia": 23.3}),
}
ROUNDS = 3


def make_table_1(run: PaperRun) -> None:
    """Time one pass, dense and sparse."""
    for name, (n_published, seconds) in PUBLISHED.items():
        row = PAPER_ROWS[name].for_options(run)
        if row.needs and real_file(row.needs) is None:
            run.report.say("", f"{name} is left out: {row.needs} is not in COTERIE_DATA.")
            continue
        train, valid = run.isolated(save_split, row.data, row.n_train, row.n_valid, run.folder)
        title = f"{name}: {row.title}, batches of {row.batch_size:,}, one thread"
        summaries = run.measure(
            title, run.select(STREAMS), partial(_pass, run, row, train, valid), repeats=len(run.seeds(ROUNDS)),
            group_of=apart,
        )  # fmt: skip
        cells = [
            [
                package,
                *time_cells(found),
                f"{1e6 * found['seconds'] / row.n_train:.1f}",
                f"{found['energy']:.4g}",
            ]
            for package, found in summaries.items()
        ]
        cells += [
            [
                f"published: {whose}",
                f"{theirs:g} for {n_published:,} rows",
                "",
                f"{1e6 * theirs / n_published:.1f}",
                "",
            ]
            for whose, theirs in seconds.items()
        ]
        run.report.table(title, ["", *TIME_HEADERS, "microseconds a row", "held-out energy"], cells)


def _pass(run: PaperRun, row: CurveRow, train: Path, valid: Path, package: str, seed: int) -> Result:
    options = (row.n_clusters, row.batch_size, seed, 1)
    return run.isolated(run_pass, package, train, valid, *options)
