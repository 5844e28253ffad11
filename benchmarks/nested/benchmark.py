"""Time-energy curves of nested mini-batch k-means and of what competes with it, as in Figure 2 of its paper.

    python -m benchmarks.nested [--rows a,e] [--seeds 5] [--threads 2] [--only nested,faiss] [--budget 30]
                                [--quick] [--plot PATH]
    python -m benchmarks.nested --redraw RESULT.json ... --plot PATH

Rows a to e are curves: the energy (mean squared distance to the nearest centroid) of held-out rows against the
seconds of the fit, evaluation not counted. The start is the paper's, k distinct rows drawn uniformly, the same
for all that take one; in row e (a thousand blobs) each package begins with its own k-means++, whose time counts.
Row m is memory, row p one pass of mini-batches over sparse rows. Newling and Fleuret, Nested mini-batch k-means,
2016.
"""

from __future__ import annotations

import argparse
import json
import shlex
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks.harness.data import real_file, save_split
from benchmarks.harness.measuring import is_peer, isolated, limit_threads
from benchmarks.harness.reporting import Report
from benchmarks.kmeans.benchmark import (
    MIB,
    TIME_HEADERS,
    Benchmark,
    Summaries,
    range_cell,
    ratio_cell,
    time_cells,
)
from benchmarks.kmeans.fits import Contender
from benchmarks.nested.contenders import (
    CURVES,
    K_MEANS_PLUS_PLUS,
    LLOYD,
    NESTED,
    NESTED_DEFAULT_START,
    OWN_FIT,
    STREAM,
    STREAMS,
    SUPERKMEANS_ITERATIONS,
    run_curve,
    run_memory,
    run_pass,
)
from benchmarks.nested.curves import (
    LEVELS,
    RowCurves,
    draw,
    excess_cell,
    ratio_text,
    seconds_text,
    time_cell,
)

SCIKIT_LEARN = (STREAM, OWN_FIT)
QUICK_BUDGET, QUICK_SEEDS = 1.0, 2


@dataclass(frozen=True)
class Sooner:
    """Nested should reach a relative excess so many times sooner than the first of some peers."""

    level: float
    ratio: float
    peers: tuple[str, ...] = ()  # none: all peers but scikit-learn


@dataclass(frozen=True)
class CurveRow:
    """One data set, how it is divided, and what nested should reach on it."""

    data: str
    n_train: int
    n_valid: int
    n_clusters: int = 50
    batch_size: int = 5000
    start: str = "random"
    needs: str = ""  # a file of the folder of real data
    sparse: bool = False
    targets: tuple[Sooner, ...] = ()

    @property
    def title(self) -> str:
        """Return the heading of the row's table."""
        return f"{self.data}, {self.n_train:,} + {self.n_valid:,} rows, k = {self.n_clusters:,}"

    @property
    def sizes(self) -> tuple[int, int]:
        """Return the number of clusters and the batch size."""
        return self.n_clusters, self.batch_size


CURVE_ROWS = {
    "a": CurveRow("infmnist", 400_000, 20_000, targets=(Sooner(0.01, 20.0, SCIKIT_LEARN), Sooner(0.01, 2.0))),
    "b": CurveRow("mnist", 60_000, 10_000),
    "c": CurveRow("patches", 960_000, 40_000, needs="cifar10_12k.npz"),
    "d": CurveRow("rcv1", 23_613, 4_000, needs="rcv1_27k.npz", sparse=True),
    "e": CurveRow(
        "blobs",
        1_000_000,
        20_000,
        n_clusters=1000,
        start=K_MEANS_PLUS_PLUS,
        targets=(Sooner(0.02, 5.0, SCIKIT_LEARN),),
    ),
}
MEMORY_ROW, MEMORY_FRACTION = CURVE_ROWS["a"], 0.1
# Nested must see all rows before its peak is known; the others show theirs in a few iterations.
NESTED_MEMORY_BUDGET, OTHER_MEMORY_BUDGET = 4.0, 0.3
PASS_ROW, PASS_RATIO, PASS_REPEATS = CURVE_ROWS["d"], 3.0, 5
PASS_BATCHES = (5000, 1000)


class NestedBenchmark(Benchmark):
    """One run of the curves; what is common with whole fits comes from `benchmarks.kmeans`."""

    def __init__(self, options: argparse.Namespace, folder: Path, report: Report) -> None:
        super().__init__(options, folder, report)
        self.curves: list[RowCurves] = []
        self.budget = min(options.budget, QUICK_BUDGET) if options.quick else options.budget
        report.data |= {"seeds": options.repeats, "budget": self.budget, "curves": {}}
        report.say(f"{options.repeats} seeds; {self.budget:g} s for each fit.")

    def curve(self, key: str) -> None:
        """Rows a to e."""
        row = self._shrunk_curve(CURVE_ROWS[key])
        if not self._has_data(key, row):
            return
        train, valid = self._split(row)

        def run(name: str, seed: int) -> dict[str, Any]:
            options = (row.start, row.sizes, seed, self.options.threads, self.budget)
            return isolated(run_curve, name, train, valid, *options)

        title = f"{key}: {row.title}"
        # A group of its own for each: those that take long are just what is to be seen.
        summaries = self._measure(title, self._contenders(row), run, group_of=lambda name: name)
        curves = RowCurves.of_runs(f"{key}. {row.title}", self.report.data["rows"][title])
        if summaries:
            self.curves.append(curves)
            self.report.data["curves"][key] = curves.facts()
            self._curve_table(key, row, summaries, curves)
            self._judge_curves(key, row, curves)

    def memory(self, key: str) -> None:
        """Row m."""
        row = self._shrunk_curve(MEMORY_ROW)
        train, _ = self._split(row)
        title = f"memory beside the input: {row.title}"

        def run(name: str, seed: int) -> dict[str, Any]:
            share = NESTED_MEMORY_BUDGET if name.startswith(NESTED) else OTHER_MEMORY_BUDGET
            options = (row.start, row.sizes, seed, self.options.threads, share * self.budget)
            return isolated(run_memory, name, train, *options)

        summaries = self._measure(f"{key}: {title}", self._contenders(row), run, repeats=1)

        def cells(name: str, s: dict[str, Any]) -> list[str]:
            ended = "stopped" if s["cut"] else "by itself"
            return [
                f"{s['peak_bytes'] / MIB:.1f}",
                f"{s['peak_bytes'] / s['input_bytes']:.1%}",
                seconds_text(s["seconds"]),
                ended,
            ]

        self._table(key, title, ["MiB", "of the input", "seconds", "ended"], summaries, cells)
        if NESTED in summaries:
            fraction = summaries[NESTED]["peak_bytes"] / summaries[NESTED]["input_bytes"]
            self._judge(
                key,
                f"{NESTED}, memory beside the input",
                f"<= {MEMORY_FRACTION:.0%}",
                f"{fraction:.1%}",
                fraction <= MEMORY_FRACTION,
            )

    def one_pass(self, key: str) -> None:
        """Row p."""
        row = self._shrunk_curve(PASS_ROW)
        if not self._has_data(key, row):
            return
        train, valid = self._split(row)
        sizes = [size // 10 if self.options.quick else size for size in PASS_BATCHES]
        names = {_pass_name(package, size): (package, size) for size in sizes for package in STREAMS}
        contenders: dict[str, Contender] = {name: STREAMS[package] for name, (package, _) in names.items()}
        title = f"one pass of partial_fit: {row.data}, {row.n_train:,} rows, k = {row.n_clusters}"

        def run(name: str, seed: int) -> dict[str, Any]:
            package, size = names[name]
            options = (row.n_clusters, size, seed, self.options.threads)
            return isolated(run_pass, package, train, valid, *options)

        summaries = self._measure(
            f"{key}: {title}",
            self._select(contenders),
            run,
            repeats=max(PASS_REPEATS, self.options.repeats),
            group_of=lambda name: name,
        )

        def cells(name: str, s: dict[str, Any]) -> list[str]:
            ours = _pass_name("coterie", names[name][1])
            ratio = ratio_cell(s["seconds"], summaries, ours)
            return [*time_cells(s), f"{s['energy']:.4f}", ratio]

        self._table(key, title, [*TIME_HEADERS, "energy", "ratio"], summaries, cells)
        for size in sizes:
            ours, peer = _pass_name("coterie", size), _pass_name("scikit-learn", size)
            if ours in summaries and peer in summaries:
                self._judge_ratio(key, ours, peer, PASS_RATIO, summaries)

    def picture(self) -> None:
        """Say what the tables of the curves mean, and draw them."""
        if not self.curves:
            return
        self.report.say("", *CURVE_NOTES)
        path = self.options.plot or self.report.save().with_suffix(".png")
        try:
            draw(self.curves, path)
        except ImportError as error:
            self.report.say("", f"No picture: {error}.")
        else:
            self.report.say("", f"Drawn to {path.name}")

    def _shrunk_curve(self, row: CurveRow) -> CurveRow:
        if not self.options.quick:
            return row
        return replace(
            row,
            n_train=row.n_train // 20,
            n_valid=row.n_valid // 20,
            n_clusters=max(10, row.n_clusters // 10),
            batch_size=row.batch_size // 10,
        )

    def _has_data(self, key: str, row: CurveRow) -> bool:
        found = not row.needs or real_file(row.needs) is not None
        if not found:
            self.report.say("", f"Row {key} skipped: {row.needs} is not in COTERIE_DATA.")
        return found

    def _split(self, row: CurveRow) -> tuple[Path, Path]:
        return isolated(save_split, row.data, row.n_train, row.n_valid, self.folder)

    def _contenders(self, row: CurveRow) -> list[str]:
        if row.sparse:
            dense_only = [name for name, contender in CURVES.items() if not contender.sparse]
            self.report.say("", "Skipped, do not take sparse rows: " + "; ".join(dense_only))
        fitting: dict[str, Contender] = {
            name: contender
            for name, contender in CURVES.items()
            if (contender.sparse or not row.sparse)
            and (name != NESTED_DEFAULT_START or row.start != K_MEANS_PLUS_PLUS)  # the same as NESTED there
        }
        return self._select(fitting)

    def _curve_table(self, key: str, row: CurveRow, summaries: Summaries, curves: RowCurves) -> None:
        def cells(name: str, s: dict[str, Any]) -> list[str]:
            ratios = [
                ratio_text(*curves.ratio(level, NESTED, [name])) if NESTED in curves.curves else "-"
                for level in LEVELS
            ]
            start = "" if CURVES[name].takes_centers else "*"
            return [
                *(time_cell(curves, name, level) for level in LEVELS),
                *ratios,
                excess_cell(curves, name) + start,
                range_cell(s),
            ]

        percents = [f"{100 * level:g}%" for level in LEVELS]
        headers = [
            *(f"seconds to {p}" for p in percents),
            *(f"ratio {p}" for p in percents),
            "final excess",
            "seconds in all",
        ]
        self._table(key, row.title, headers, summaries, cells)
        self.report.say("", f"E* = {curves.best_energy:.6g}")

    def _judge_curves(self, key: str, row: CurveRow, curves: RowCurves) -> None:
        if NESTED not in curves.curves:
            return
        for target in row.targets:
            self._judge_sooner(key, target, curves)
        if LLOYD in curves.curves and self.options.repeats > 1:
            above, spread = curves.within_one_deviation(NESTED, LLOYD)
            measured = f"{100 * above:+.2f}% (deviation {100 * spread:.2f}%)"
            what = f"{NESTED}, final energy above that of {LLOYD}"
            self._judge(key, what, "<= 1 deviation", measured, above <= spread)

    def _judge_sooner(self, key: str, target: Sooner, curves: RowCurves) -> None:
        others = tuple(name for name in curves.curves if is_peer(name) and name not in SCIKIT_LEARN)
        peers = [name for name in target.peers or others if name in curves.curves]
        if not peers:
            return
        ratio, bounded = curves.ratio(target.level, NESTED, peers)
        first = min(peers, key=lambda name: curves.time(name, target.level))
        whom = "any of " + "; ".join(peers) if bounded else first
        measured = ratio_text(ratio, bounded) if ratio else "never"
        what = f"{NESTED}, times as soon at {100 * target.level:g}% as {whom}"
        self._judge(key, what, f">= {target.ratio:g}", measured, ratio >= target.ratio)
        if bounded and 0 < ratio < target.ratio:
            self.targets[-1][-1] = "open: raise --budget"


CURVE_NOTES = [
    "Seconds to: median (range) over the seeds until the energy of the held-out rows is so near E*, the lowest one",
    "that anything in the run found; never: in fewer than half of the seeds. Ratio: over those of coterie nested;",
    ">: at least, because it never got there in its seconds. Final excess: mean and standard deviation of the",
    "relative excess at the end; * the package draws its own initial centroids. superkmeans tells nothing while it",
    f"runs: each point is a fit of its own ({', '.join(map(str, SUPERKMEANS_ITERATIONS))} iterations).",
]


def _pass_name(package: str, batch_size: int) -> str:
    return f"{package}, batches of {batch_size:,}"


STEPS: dict[str, Callable[[NestedBenchmark, str], None]] = {
    **dict.fromkeys(CURVE_ROWS, NestedBenchmark.curve),
    "m": NestedBenchmark.memory,
    "p": NestedBenchmark.one_pass,
}


def redraw(results: Sequence[Path], plot: Path) -> None:
    """Draw the curves of saved results; of a row that is in several of them, the last."""
    rows: dict[str, RowCurves] = {}
    for path in results:
        data = json.loads(path.read_text())
        for key, facts in data["curves"].items():
            _, title = facts["title"].split(". ", 1)
            rows[key] = RowCurves.of_runs(facts["title"], data["rows"][f"{key}: {title}"])
    draw([rows[key] for key in sorted(rows)], plot)


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.nested", description=__doc__.splitlines()[0])
    parser.add_argument("--rows", default=",".join(STEPS), help="rows to run, such as a,e (default: all)")
    parser.add_argument("--seeds", dest="repeats", type=int, help="fits of each (default: 5; quick: 2)")
    parser.add_argument("--threads", type=int, default=2, help="threads of every contender (default: 2)")
    parser.add_argument("--budget", type=float, default=30.0, help="seconds of each fit (default: 30)")
    parser.add_argument("--only", default="", help="run only contenders whose name has one of these words")
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that everything runs")
    parser.add_argument("--plot", type=Path, help="the picture (default: beside the JSON file)")
    parser.add_argument("--redraw", type=Path, nargs="+", help="draw these JSON files instead of running")
    options = parser.parse_args(arguments)
    if options.repeats is None:
        options.repeats = QUICK_SEEDS if options.quick else 5
    options.rows = [key.strip() for key in options.rows.split(",")]
    unknown = [key for key in options.rows if key not in STEPS]
    if unknown or options.repeats < 1 or options.threads < 1 or not options.budget > 0:
        parser.error(f"rows are {', '.join(STEPS)}; seeds and threads are at least 1, the budget is above 0")
    if options.redraw and not options.plot:
        parser.error("--redraw needs --plot")
    return options


def main() -> None:
    """Run the rows that were asked for."""
    options = parse()
    if options.redraw:
        redraw(options.redraw, options.plot)
        return
    limit_threads(options.threads)
    report = Report("nested", shlex.join(["python", "-m", "benchmarks.nested", *sys.argv[1:]]))
    with tempfile.TemporaryDirectory(prefix="coterie-benchmark-") as folder:
        benchmark = NestedBenchmark(options, Path(folder), report)
        for key in options.rows:
            STEPS[key](benchmark, key)
        benchmark.picture()
        benchmark.finish()


if __name__ == "__main__":
    main()
