"""One run of mixtures."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.harness.benchmark import Benchmark
from benchmarks.harness.processes import Processes
from benchmarks.harness.reporting import Report
from benchmarks.mixture.contenders import VC_GMM
from benchmarks.mixture.runs import FORECAST_ITERATIONS
from benchmarks.mixture.settings import ROWS

# What a run may take beside the fit: reading the rows, the parts once more, the error.
UNTIMED_SECONDS = 120.0
LABEL_REPEATS = 3


class MixtureBenchmark(Benchmark):
    """What steps work with, and the lines about labels that rows leave."""

    def __init__(
        self, options: argparse.Namespace, folder: Path, report: Report, processes: Processes
    ) -> None:
        super().__init__(options, folder, report, processes)
        self.labels: list[list[str]] = []
        report.data |= {"seeds": options.repeats, "heavy_seeds": options.heavy_seeds, "labels": {}}
        report.say(f"Seeds: {options.repeats}, of heavy fits {options.heavy_seeds}.")

    def within_budget(self, function: Callable[..., Any], *args: Any) -> Any:
        """Call a function in a process that is ended when it takes much longer than a fit may."""
        return self.isolated_within(self.options.budget + UNTIMED_SECONDS, function, *args)

    def finish(self) -> None:
        """Print what labels cost and what the tables mean."""
        if self.labels:
            headers = ["", "fit s", "exact s", "truncated s", "scikit-learn s", "truncated, times as fast"]
            headers += ["exact, times scikit-learn", "differ", "energy"]
            self.report.table(f"Labels of all rows after {VC_GMM}", headers, self.labels)
            self.report.say("", *LABEL_NOTES)
        if any(key in self.options.rows for key in ROWS):
            self.report.say("", *ROW_NOTES)
        super().finish()


ROW_NOTES = [
    "Error: mean squared distance of all rows to the nearest centroid or mean, relative to the median of the",
    "reference; in parentheses the range over the seeds. Speed-up: seconds of the reference over these.",
    "Seeded by: lines with a coreset have the same one; those seeded by AFK-MC2 on it begin with the same centers.",
    "Distances: those of the coreset (2 n), of the seeding (AFK-MC2: n + m C (C - 1) / 2; greedy k-means++: n for",
    "the first center and 2 + floor(log C) times n for each other) and of the iterations (Lloyd: n C each, n",
    "being the rows that are fitted); fewer times: those of the reference over these. Of coterie's k-means that",
    "is what Lloyd would take: it evaluates fewer. Mixtures count what their E-steps evaluated; the one before",
    "the first iteration is not in the history and is counted as the first that is. Coreset, seeding: shares of",
    "the seconds, timed in the fit for scikit-learn, for coresets in front of k-means and for AFK-MC2 in front of",
    "k-means; otherwise run once more on the same rows after the fit, so that they may be more than 100%",
    "together. MiB: peak beside the input. LWCS: lightweight coreset. Forecasts: scikit-learn's seeding of a few",
    f"clusters, extrapolated, and {FORECAST_ITERATIONS} iterations. Labels: of all rows, by each line's own predict",
    "after the fit, not counted in its seconds (mixtures: exact up to C = 1,000, else through cells of means).",
]
LABEL_NOTES = [
    f"Seed 0, medians of {LABEL_REPEATS}. Truncated: the best of the 4 sqrt(C) components around the nearest of 4",
    "sqrt(C) cells; finding the cells is counted. Differ: rows with another label than the exact one; energy:",
    "rise of the mean squared distance to the mean that is the label. scikit-learn: KMeans.predict with the same",
    "means.",
]
