"""One run of the curves."""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks.harness.benchmark import Benchmark
from benchmarks.harness.contenders import Contender
from benchmarks.harness.data.files import real_file
from benchmarks.harness.data.splits import save_split
from benchmarks.harness.processes import Processes
from benchmarks.harness.reporting import Report
from benchmarks.nested.contenders import CURVES, NESTED_DEFAULT_START, SUPERKMEANS_ITERATIONS
from benchmarks.nested.curves import RowCurves
from benchmarks.nested.picture import draw
from benchmarks.nested.recorder import K_MEANS_PLUS_PLUS
from benchmarks.nested.rows import CurveRow


class NestedBenchmark(Benchmark):
    """What steps work with, and the curves that they leave."""

    def __init__(
        self, options: argparse.Namespace, folder: Path, report: Report, processes: Processes
    ) -> None:
        super().__init__(options, folder, report, processes)
        self.curves: list[RowCurves] = []
        report.data |= {"seeds": options.repeats, "budget": options.budget, "curves": {}}
        report.say(f"{options.repeats} seeds; {options.budget:g} s for each fit.")

    def has_data(self, key: str, row: CurveRow) -> bool:
        """Tell whether the data of a row are here, and say so if not."""
        found = not row.needs or real_file(row.needs) is not None
        if not found:
            self.report.say("", f"Row {key} skipped: {row.needs} is not in COTERIE_DATA.")
        return found

    def split(self, row: CurveRow) -> tuple[Path, Path]:
        """Return the files of the rows for training and for validation."""
        return self.isolated(save_split, row.data, row.n_train, row.n_valid, self.folder)

    def contenders(self, row: CurveRow) -> list[str]:
        """Return who can be fitted to the rows."""
        if row.sparse:
            dense_only = [name for name, contender in CURVES.items() if not contender.sparse]
            self.report.say("", "Skipped, do not take sparse rows: " + "; ".join(dense_only))
        fitting: dict[str, Contender] = {
            name: contender
            for name, contender in CURVES.items()
            if (contender.sparse or not row.sparse)
            and (name != NESTED_DEFAULT_START or row.start != K_MEANS_PLUS_PLUS)  # the same as NESTED there
        }
        return self.select(fitting)

    def finish(self) -> None:
        """Say what the tables of the curves mean, and draw them."""
        if self.curves:
            self.report.say("", *CURVE_NOTES)
            self.picture(lambda path: draw(self.curves, path))
        super().finish()


CURVE_NOTES = [
    "Seconds to: median (range) over the seeds until the energy of the held-out rows is within this excess over E*,",
    "the lowest of all fits of the run; never: in fewer than half of the seeds. Ratio: over those of coterie nested;",
    ">: at least, if it did not reach the level in its seconds. Final excess: mean and standard deviation of the",
    "relative excess at the end; * the package draws its own initial centroids. superkmeans reports no progress,",
    f"so each point is a separate fit ({', '.join(map(str, SUPERKMEANS_ITERATIONS))} iterations).",
]
