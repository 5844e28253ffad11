"""Laplacian K-modes against k-means and spectral clustering: quality, seconds, memory, and what a start decides.

    python -m benchmarks.laplacian_kmodes [--rows mnist,pendigits] [--repeats 3] [--seeds 10] [--threads 2]
                                          [--limit 120] [--only SLK] [--quick]

For each data set ten starts of each method on one graph of 5 nearest neighbours, then single starts over seeds and
values of lambda (--seeds 0: none). The other rows: a graph of the authors (gan), the rate of the update of the
memberships (update), and a million rows in 100 clusters against the search for neighbours alone (blobs).
Ziko, Granger and Ben Ayed, Scalable Laplacian K-modes, 2018.
"""

from __future__ import annotations

import argparse
import shlex
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.harness.data import has_labelled, real_file, save_labelled, save_rows
from benchmarks.harness.limits import memory_bandwidth
from benchmarks.harness.measuring import isolated, isolated_within, limit_threads
from benchmarks.harness.reporting import Report
from benchmarks.kmeans.benchmark import MIB, TIME_HEADERS, Benchmark, Summaries, range_cell, time_cells
from benchmarks.laplacian_kmodes.contenders import (
    CONTENDERS,
    GRAPH,
    K_MEANS,
    LABELLED_SHARE,
    MODE_UPDATES,
    N_NEIGHBORS,
    SLK_BO,
    SPECTRAL,
    Setting,
    run_clustering,
    run_given_graph,
    run_graph,
    run_starts,
    run_updates,
    run_whole,
)

STARTS = 10
LAMBDAS = (1.0, 1.3, 2.0, 3.0, 4.0)
BLOB_ROWS, BLOB_CLUSTERS, END_TO_END = 1_000_000, 100, 1.5
UPDATE_ROWS, UPDATE_CLUSTERS = 70_000, (10, 100)
GAN_GRAPH, GAN_LAMBDA = "mnist_gan_knn5_graph.npz", 1.3
Starts = dict[str, list[float]]


@dataclass(frozen=True)
class LabelledRow:
    """A data set, how it is scaled, and the NMI and accuracy that the run with the lowest objective should reach."""

    data: str
    scaling: str
    n_clusters: int
    lam: float
    bandwidth_factor: float = 1.0
    init: str = "k-means++"
    lambdas: tuple[float, ...] = LAMBDAS
    wanted: tuple[float, float] | None = None
    n_rows: int | None = None

    @property
    def title(self) -> str:
        """Return the heading of the row's table."""
        wide = f", bandwidth x {self.bandwidth_factor:g}" if self.bandwidth_factor != 1 else ""
        start = f", starts from {self.init}" if self.init != "k-means++" else ""
        return f"{self.data}, {self.scaling}, {self.n_clusters} clusters, lambda {self.lam:g}{wide}{start}"


UNIT = "rows of length 1"
ROWS = {
    "mnist": LabelledRow("mnist", UNIT, 10, 1.0, init="k-means", lambdas=(1.0, 1.3), wanted=(0.86, 0.80)),
    "shuttle": LabelledRow("shuttle", UNIT, 7, 2.0, wanted=(0.51, 0.71)),
    "shuttle-columns": LabelledRow("shuttle", "columns in 0..1", 7, 4.0, 20.0, wanted=(0.51, 0.71)),
    "optdigits": LabelledRow("optdigits", UNIT, 10, 1.3, wanted=(0.80, 0.0)),
    "optdigits-raw": LabelledRow("optdigits", "as they are", 10, 1.3, wanted=(0.80, 0.0)),
    "optdigits-columns": LabelledRow("optdigits", "standardised columns", 10, 1.3, wanted=(0.80, 0.0)),
    "pendigits": LabelledRow("pendigits", UNIT, 10, 1.3, wanted=(0.82, 0.79)),
    "pendigits-raw": LabelledRow("pendigits", "as they are", 10, 1.0, wanted=(0.82, 0.79)),
    "pendigits-columns": LabelledRow("pendigits", "standardised columns", 10, 1.0, wanted=(0.82, 0.79)),
    "digits": LabelledRow("digits", UNIT, 10, 2.0),
}


class LaplacianBenchmark(Benchmark):
    """One run; what is common with whole fits comes from `benchmarks.kmeans`."""

    def row(self, key: str) -> None:
        """Cluster a data set in all ways, then with single starts."""
        row = self._shrunk_row(ROWS[key])
        if not has_labelled(row.data):
            self.report.say("", f"{key}: skipped, {row.data}.npz is not in COTERIE_DATA.")
            return
        data = isolated(save_labelled, row.data, row.scaling, row.n_rows, self.folder)
        summaries = self._clusterings(key, row, data)
        self._row_table(key, row, summaries)
        self._judge_row(key, row, summaries)
        if self.options.seeds:
            self._spread(key, row, data)

    def _clusterings(self, key: str, row: LabelledRow, data: Path) -> Summaries:
        setting = self._setting(row)

        def run(name: str, repeat: int) -> dict[str, Any]:
            if name == GRAPH:
                return isolated(run_graph, data, self.options.threads)
            if name == SPECTRAL:
                return isolated_within(self.options.limit, run_clustering, name, data, setting, repeat)
            return isolated(run_clustering, name, data, setting, repeat)

        names = [GRAPH, *self._select(CONTENDERS)]
        # A group of its own for each: a slow one is repeated like any other.
        return self._measure(f"{key}: {row.title}", names, run, group_of=lambda name: name)

    def _row_table(self, key: str, row: LabelledRow, summaries: Summaries) -> None:
        graph = summaries[GRAPH]["seconds"]

        def cells(name: str, s: dict[str, Any]) -> list[str]:
            memory = f"{s['peak_bytes'] / MIB:.0f}"
            if name == GRAPH:
                return ["-", "-", "-", *time_cells(s), f"{graph:.2f}", memory]
            objective = "-" if s["objective"] is None else f"{s['objective']:,.0f}"
            total = s["seconds"] + (0 if name == K_MEANS else graph)
            return [
                f"{s['nmi']:.3f}",
                f"{s['accuracy']:.3f}",
                objective,
                *time_cells(s),
                f"{total:.2f}",
                memory,
            ]

        headers = ["NMI", "accuracy", "E", *TIME_HEADERS, "with graph s", "MiB"]
        self._table(key, row.title, headers, summaries, cells)
        self.report.say(
            "",
            f"Graph: {N_NEIGHBORS} neighbours, found once. {STARTS} starts each (spectral: one), the one with the "
            "lowest objective counts; medians over the seeds of the rounds.",
        )

    def _judge_row(self, key: str, row: LabelledRow, summaries: Summaries) -> None:
        found = [name for name in MODE_UPDATES if name in summaries]
        for name in found if row.wanted else ():
            s, (nmi, accuracy) = summaries[name], row.wanted or (0.0, 0.0)
            met = s["nmi"] >= nmi and s["accuracy"] >= accuracy
            what = f"{name}, lowest objective, NMI / accuracy"
            self._judge(
                key, what, f">= {nmi:.2f} / {accuracy:.2f}", f"{s['nmi']:.3f} / {s['accuracy']:.3f}", met
            )

    def _spread(self, key: str, row: LabelledRow, data: Path) -> None:
        """Single starts: how far they differ, and which one is picked by the objective or by some labels."""
        setting = self._setting(row)
        lines, kept = [], {}
        for name in (name for name in self._select(CONTENDERS) if name in MODE_UPDATES):
            for lam in row.lambdas:
                options = (name, data, replace(setting, lam=lam), self.options.seeds)
                kept[f"{name}, lambda {lam:g}"] = starts = isolated(run_starts, *options)
                lines.append([f"{name}, lambda {lam:g}", *_spread_cells(starts)])
        self.report.data["rows"][f"{key}: starts"] = kept
        headers = ["NMI (range)", "accuracy (range)", "lowest E", "10% labels", "seconds a start"]
        title = f"{row.data}, {row.scaling}: {self.options.seeds} single starts"
        self.report.table(f"{key}. {title}", ["", *headers], lines)
        for name in MODE_UPDATES:
            runs = [starts for tag, starts in kept.items() if tag.startswith(name)]
            if len(runs) > 1:
                best = {column: [value for run in runs for value in run[column]] for column in runs[0]}
                picked = _pick(best, max, "known")
                self.report.say(
                    "", f"{name}, lambda and seed by {LABELLED_SHARE:.0%} of the labels: {picked}"
                )
                self._judge_labels(key, name, row, picked)
        self.report.save()

    def _judge_labels(self, key: str, name: str, row: LabelledRow, picked: str) -> None:
        if row.wanted is None:
            return
        met = all(float(value) >= wanted for value, wanted in zip(picked.split(" / "), row.wanted))
        what = f"{name}, {LABELLED_SHARE:.0%} of the labels, NMI / accuracy"
        self._judge(key, what, ">= {:.2f} / {:.2f}".format(*row.wanted), picked, met)

    def gan(self, key: str) -> None:
        """Cluster the graph of features that the authors published without the features or labels."""
        path = real_file(GAN_GRAPH)
        if path is None:
            self.report.say("", f"{key}: skipped, {GAN_GRAPH} is not in COTERIE_DATA.")
            return
        setting = Setting(10, GAN_LAMBDA, 1, self.options.threads)
        title = f"the authors' graph of MNIST GAN features, lambda {GAN_LAMBDA:g}, one start"
        summaries = self._measure(
            f"{key}: {title}", [SLK_BO], lambda _, seed: isolated(run_given_graph, path, setting, seed)
        )

        def cells(_: str, s: dict[str, Any]) -> list[str]:
            sizes = f"{s['smallest']:,.0f} to {s['largest']:,.0f}"
            return [
                f"{s['objective']:,.0f}",
                f"{s['cut']:.2%}",
                sizes,
                f"{s['updates']:,.0f}",
                *time_cells(s),
                f"{s['peak_bytes'] / MIB:.0f}",
            ]

        headers = ["E", "weight cut", "rows a cluster", "updates", *TIME_HEADERS, "MiB"]
        self._table(key, title, headers, summaries, cells)
        self.report.say(
            "", "The kernel of the modes is the graph too, for features and labels are not published."
        )

    def update(self, key: str) -> None:
        """Measure the update of the memberships against the memory."""
        limit = isolated(memory_bandwidth, self.options.threads)["copy"]
        n_rows = UPDATE_ROWS // (20 if self.options.quick else 1)
        lines = []
        for n_clusters in UPDATE_CLUSTERS:
            s = isolated(run_updates, n_rows, n_clusters, self.options.threads)
            rate = 1e-9 * s["bytes"] / s["seconds"]
            lines.append(
                [
                    str(n_clusters),
                    f"{1e3 * s['seconds']:.2f}",
                    f"{s['bytes'] / MIB:.0f}",
                    f"{rate:.1f}",
                    f"{rate / limit:.0%}",
                ]
            )
            self.report.data["rows"][f"{key}: {n_clusters} clusters"] = s
        title = f"one update of the memberships of {n_rows:,} rows on {N_NEIGHBORS} neighbours"
        headers = ["clusters", "milliseconds", "MiB that must move", "GB/s", f"of {limit:.0f} GB/s (copy)"]
        self.report.table(f"{key}. {title}", headers, lines)
        self.report.save()

    def blobs(self, key: str) -> None:
        """Compare one start on a million rows with the search for their neighbours alone."""
        n_rows = BLOB_ROWS // (20 if self.options.quick else 1)
        data = isolated(save_rows, "blobs", n_rows, self.folder)
        setting = Setting(BLOB_CLUSTERS, 1.3, 1, self.options.threads)
        title = f"blobs, {n_rows:,} x 32, {BLOB_CLUSTERS} clusters, one start"
        summaries = self._measure(
            f"{key}: {title}", [GRAPH, SLK_BO], lambda name, _: isolated(run_whole, name, data, setting)
        )

        def cells(_: str, s: dict[str, Any]) -> list[str]:
            ratio = s["seconds"] / summaries[GRAPH]["seconds"]
            return [range_cell(s), f"{s['cpu_seconds']:.2f}", f"{ratio:.2f}", f"{s['peak_bytes'] / MIB:.0f}"]

        self._table(key, title, [*TIME_HEADERS, "of the graph alone", "MiB"], summaries, cells)
        if SLK_BO in summaries and GRAPH in summaries:
            ratio = summaries[SLK_BO]["seconds"] / summaries[GRAPH]["seconds"]
            self._judge(
                key, "end to end, of the graph alone", f"< {END_TO_END:g}", f"{ratio:.2f}", ratio < END_TO_END
            )

    def _setting(self, row: LabelledRow) -> Setting:
        return Setting(row.n_clusters, row.lam, STARTS, self.options.threads, row.bandwidth_factor, row.init)

    def _shrunk_row(self, row: LabelledRow) -> LabelledRow:
        return replace(row, n_rows=1500, lambdas=row.lambdas[:2]) if self.options.quick else row


def _spread_cells(starts: Starts) -> list[str]:
    def spread(name: str) -> str:
        values = starts[name]
        return f"{median(values):.3f} ({min(values):.3f}-{max(values):.3f})"

    picks = (_pick(starts, min, "objective"), _pick(starts, max, "known"))
    return [spread("nmi"), spread("accuracy"), *picks, f"{median(starts['seconds']):.2f}"]


def _pick(starts: Starts, best: Callable[..., int], column: str) -> str:
    """Return NMI and accuracy of the start that is best in a column."""
    chosen = best(range(len(starts[column])), key=starts[column].__getitem__)
    return f"{starts['nmi'][chosen]:.3f} / {starts['accuracy'][chosen]:.3f}"


STEPS: dict[str, Callable[[LaplacianBenchmark, str], None]] = {
    **dict.fromkeys(ROWS, LaplacianBenchmark.row),
    "gan": LaplacianBenchmark.gan,
    "update": LaplacianBenchmark.update,
    "blobs": LaplacianBenchmark.blobs,
}


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.laplacian_kmodes", description=__doc__.splitlines()[0]
    )
    parser.add_argument("--rows", default=",".join(STEPS), help="rows to run (default: all)")
    parser.add_argument("--repeats", type=int, default=3, help="rounds (default: 3)")
    parser.add_argument("--seeds", type=int, default=10, help="single starts for each lambda (default: 10)")
    parser.add_argument("--threads", type=int, default=2, help="threads of every contender (default: 2)")
    parser.add_argument(
        "--limit", type=float, default=120, help="seconds for spectral clustering (default: 120)"
    )
    parser.add_argument("--only", default="", help="run only contenders whose name has one of these words")
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that everything runs")
    options = parser.parse_args(arguments)
    options.rows = [key.strip() for key in options.rows.split(",")]
    unknown = [key for key in options.rows if key not in STEPS]
    if unknown or min(options.repeats, options.threads) < 1 or options.seeds < 0:
        parser.error(f"rows are {', '.join(STEPS)}; repeats and threads are at least 1, seeds at least 0")
    return options


def main() -> None:
    """Run the rows that were asked for."""
    options = parse()
    limit_threads(options.threads)
    report = Report(
        "laplacian_kmodes", shlex.join(["python", "-m", "benchmarks.laplacian_kmodes", *sys.argv[1:]])
    )
    with tempfile.TemporaryDirectory(prefix="coterie-benchmark-") as folder:
        benchmark = LaplacianBenchmark(options, Path(folder), report)
        for key in options.rows:
            STEPS[key](benchmark, key)
        benchmark.finish()


if __name__ == "__main__":
    main()
