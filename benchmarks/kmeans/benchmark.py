"""K-means against scikit-learn, scikit-learn-intelex, faiss and superkmeans, in one interleaved run.

    python -m benchmarks.kmeans [--rows a,c] [--repeats 3] [--threads 2] [--seed 0] [--only auto,faiss]
                                [--quick] [--huge]

Rows a to d are whole fits, e is one assignment of all rows, f is memory, g is seeding; see `FIT_ROWS` and
the titles that are printed. Ratios are seconds of the contender over seconds of coterie.
"""

from __future__ import annotations

import argparse
import shlex
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.harness.data import mnist_is_real, save_first_centers, save_huge, save_rows
from benchmarks.harness.limits import sgemm_rate
from benchmarks.harness.measuring import interleave, is_peer, isolated, limit_threads, summarise
from benchmarks.harness.reporting import Report
from benchmarks.kmeans.fits import (
    ASSIGNMENTS,
    CUBE_LINE,
    FITS,
    GREEDY,
    SEEDINGS,
    Contender,
    run_assignment,
    run_fit,
    run_huge,
    run_seeding,
)

MIB = 2**20
OURS = "coterie auto"
REFERENCE = "scikit-learn lloyd"
Summaries = dict[str, dict[str, Any]]


@dataclass(frozen=True)
class Target:
    """At least `ratio` times as fast as the peer; without a peer: as the fastest one."""

    ratio: float
    peer: str = ""


@dataclass(frozen=True)
class FitRow:
    """One whole fit: data, number of clusters, iterations, and what coterie should reach."""

    data: str
    n_rows: int
    n_clusters: int
    max_iter: int
    targets: tuple[Target, ...] = ()
    skip: tuple[str, ...] = ()  # contenders that would keep a bound for every row and centroid

    @property
    def title(self) -> str:
        """Return the heading of the row's table."""
        until = "until convergence" if self.max_iter == 300 else f"{self.max_iter} iterations"
        return f"{self.data}, {self.n_rows:,} rows, k = {self.n_clusters:,}, {until}"


ELKAN = ("scikit-learn elkan", "coterie elkan")

FIT_ROWS = {
    "a": FitRow("mnist", 70_000, 50, 300, (Target(2.0),)),
    "b": FitRow("blobs", 1_000_000, 1000, 25, (Target(1.5),), skip=ELKAN),
    "c": FitRow("mnist", 20_000, 1000, 10, (Target(1.0, "superkmeans"),)),
    "d": FitRow("embeddings", 100_000, 1000, 10, (Target(1.0, "superkmeans"), Target(3.0, "faiss"))),
}
ASSIGNMENT_ROWS = [("mnist", 70_000, 50), ("embeddings", 100_000, 1000)]
SGEMM_FRACTION = 0.6
SEEDING_ROW = FitRow("blobs", 250_000, 1000, 0)
SEEDING_TARGETS = {
    f"scikit-learn {GREEDY}": 10.0,
    **{name: 1.0 for name in SEEDINGS if name.startswith("faiss")},
}
MEMORY_FRACTION = 0.15
HUGE_BYTES = 700e6


class Benchmark:
    """One run: its options, its folder of data files, its report and the targets seen so far."""

    def __init__(self, options: argparse.Namespace, folder: Path, report: Report) -> None:
        self.options, self.folder, self.report = options, folder, report
        self.targets: list[list[str]] = []
        self.sgemm = 0.0
        self.measure_limit()
        report.data |= {"threads": options.threads, "rows": {}}
        report.say(
            "", f"{options.threads} threads; float32 product of this machine: {self.sgemm:.0f} GFLOP/s."
        )
        if not mnist_is_real():
            report.say("MNIST is not in COTERIE_DATA: scikit-learn's digits, enlarged, stand in for it.")

    def measure_limit(self) -> None:
        """Measure the machine's sgemm rate; the best of all times is the limit."""
        self.sgemm = max(self.sgemm, isolated(sgemm_rate, self.options.threads))
        self.report.data["sgemm_gflops"] = self.sgemm

    def fit(self, key: str) -> None:
        """Rows a to d."""
        row = self._shrunk(FIT_ROWS[key])
        data, centers = self._files(row)
        names = self._select(FITS, row.skip)
        iterations = row.max_iter

        def run(name: str, repeat: int) -> dict[str, Any]:
            nonlocal iterations
            limit = row.max_iter if FITS[name].converges else iterations
            result = isolated(run_fit, name, data, centers, limit, self.options.threads)
            if name == REFERENCE:
                iterations = result["n_iter"]
            return result

        summaries = self._measure(f"{key}: {row.title}", names, run)
        reference = _first(summaries)
        flops = 2.0 * data_size(data) * row.n_clusters

        def cells(name: str, s: dict[str, Any]) -> list[str]:
            passes = s["n_iter"] + s["has_labels"]
            labels = s.get("label_seconds")
            return [
                f"{s['n_iter']:.0f}",
                *time_cells(s),
                "in fit" if labels is None else f"{labels:.2f}",
                f"{s['inertia'] / reference['inertia'] - 1:+.1e}" + ("" if FITS[name].takes_centers else "*"),
                _memory_cell(s),
                f"{flops * passes / s['seconds'] / self.sgemm / 1e9:.2f}",
                ratio_cell(s["seconds"], summaries),
                ratio_cell(s["seconds"] + (labels or 0), summaries),
            ]

        headers = [
            "iterations",
            *TIME_HEADERS,
            "labels s",
            "inertia",
            "memory",
            "of sgemm",
            "ratio",
            "with labels",
        ]
        self._table(key, row.title, headers, summaries, cells)
        self.report.say("", *FIT_NOTES)
        for target in row.targets:
            self._judge_fit(key, target, summaries)

    def assign(self, key: str) -> None:
        """Row e."""
        for data_name, n_rows, n_clusters in ASSIGNMENT_ROWS:
            row = self._shrunk(FitRow(data_name, n_rows, n_clusters, 1))
            data, centers = self._files(row)
            title = f"one assignment: {row.data}, {row.n_rows:,} rows, k = {row.n_clusters:,}"
            summaries = self._measure(
                f"{key}: {title}",
                self._select(ASSIGNMENTS),
                partial(self._assign_once, data, centers),
            )
            limit = max(self.sgemm, summaries.get(CUBE_LINE, {}).get("gflops", 0.0))

            def cells(name: str, s: dict[str, Any], limit: float = limit) -> list[str]:
                return [range_cell(s), f"{s['gflops']:.0f}", f"{s['gflops'] / limit:.0%}"]

            self._table(key, title, ["seconds (range)", "GFLOP/s", "of sgemm"], summaries, cells)
            for name in ("coterie kernel", "coterie predict"):
                if name in summaries:
                    fraction = summaries[name]["gflops"] / limit
                    what = f"{name}, {row.data}, of sgemm"
                    self._judge(
                        key, what, f">= {SGEMM_FRACTION:.0%}", f"{fraction:.0%}", fraction >= SGEMM_FRACTION
                    )

    def _assign_once(self, data: Path, centers: Path, name: str, _repeat: int) -> dict[str, Any]:
        return isolated(run_assignment, name, data, centers, self.options.threads)

    def memory(self, key: str) -> None:
        """Row f."""
        row = self._shrunk(replace(FIT_ROWS["a"], max_iter=10))
        data, centers = self._files(row)
        title = f"memory beside the input: {row.title}"
        summaries = self._measure(
            f"{key}: {title}",
            self._select(FITS),
            lambda name, _: isolated(
                run_fit, name, data, centers, row.max_iter, self.options.threads, memory=True
            ),
            repeats=1,
        )

        def cells(name: str, s: dict[str, Any]) -> list[str]:
            return [f"{s['peak_bytes'] / MIB:.1f}", f"{s['peak_bytes'] / s['input_bytes']:.1%}"]

        self._table(key, title, ["MiB", "of the input"], summaries, cells)
        if "coterie lloyd" in summaries:
            s = summaries["coterie lloyd"]
            fraction = s["peak_bytes"] / s["input_bytes"]
            self._judge(
                key, "coterie lloyd, of the input", "< 15%", f"{fraction:.1%}", fraction < MEMORY_FRACTION
            )
        if self.options.huge:
            self._huge(key)

    def _huge(self, key: str) -> None:
        n_clusters, max_iter = 100, 3
        path = save_huge(self.folder, *((200_000,) if self.options.quick else ()))
        size = path.stat().st_size / 1e9
        title = f"a file of {size:.1f} GB, k = {n_clusters}, {max_iter} iterations, random init"
        names = {reader: Contender("coterie", run_huge) for reader in ("open_rows", "memory map")}
        summaries = self._measure(
            f"{key}: {title}",
            self._select(names),
            lambda reader, _: isolated(run_huge, path, reader, n_clusters, max_iter, self.options.threads),
            repeats=1,
        )
        path.unlink()

        def cells(name: str, s: dict[str, Any]) -> list[str]:
            return [*time_cells(s), f"{s['peak_bytes'] / 1e6:.0f}", f"{s['process_peak_bytes'] / 1e6:.0f}"]

        headers = [*TIME_HEADERS, "MB beyond the interpreter", "MB of the process"]
        self._table(key, title, headers, summaries, cells)
        for reader, s in summaries.items():
            peak = s["peak_bytes"]
            self._judge(key, f"{reader}, resident", "< 700 MB", f"{peak / 1e6:.0f} MB", peak < HUGE_BYTES)

    def seed(self, key: str) -> None:
        """Row g."""
        row = self._shrunk(SEEDING_ROW)
        data = isolated(save_rows, row.data, row.n_rows, self.folder)
        title = f"seeding: {row.data}, {row.n_rows:,} rows, k = {row.n_clusters:,}"
        summaries = self._measure(
            f"{key}: {title}",
            self._select(SEEDINGS),
            lambda name, seed: isolated(run_seeding, name, data, row.n_clusters, seed, self.options.threads),
            group_of=lambda name: SEEDINGS[name].group,
        )
        reference = _first(summaries)

        def cells(name: str, s: dict[str, Any]) -> list[str]:
            ours = f"coterie {SEEDINGS[name].group}"
            return [
                *time_cells(s),
                f"{s['potential'] / reference['potential']:.3f}",
                _memory_cell(s),
                ratio_cell(s["seconds"], summaries, ours),
            ]

        self._table(key, title, [*TIME_HEADERS, "potential", "memory", "ratio"], summaries, cells)
        self.report.say("", "Potential: relative to the first line (median over the seeds).")
        for peer, wanted in SEEDING_TARGETS.items():
            ours = f"coterie {SEEDINGS[peer].group}"
            if peer in summaries and ours in summaries:
                self._judge_ratio(key, ours, peer, wanted, summaries)

    def finish(self) -> None:
        """Print what was aimed at and what was reached."""
        if self.targets:
            self.report.table("Targets", ["row", "what", "wanted", "measured", ""], self.targets, 2)
        self.report.data["targets"] = self.targets
        self.report.say("", f"Written to {self.report.save().name}")

    def _shrunk(self, row: FitRow) -> FitRow:
        if not self.options.quick:
            return row
        n_clusters = max(10, row.n_clusters // 10)
        return replace(row, n_rows=row.n_rows // 20, n_clusters=n_clusters, max_iter=min(row.max_iter, 300))

    def _files(self, row: FitRow) -> tuple[Path, Path]:
        data = isolated(save_rows, row.data, row.n_rows, self.folder)
        return data, isolated(save_first_centers, data, row.n_clusters, self.options.seed)

    def _select(self, contenders: dict[str, Contender], skip: Sequence[str] = ()) -> list[str]:
        wanted = [word.strip() for word in self.options.only.split(",") if word.strip()]
        names = [name for name in contenders if not wanted or any(word in name for word in wanted)]
        missing = [name for name in names if not contenders[name].installed]
        if missing:
            self.report.say("", "Skipped, not installed: " + ", ".join(missing))
        left_out = [name for name in names if name in skip]
        if left_out:
            self.report.say("", "Left out, bounds of rows x clusters are too large: " + ", ".join(left_out))
        return [name for name in names if name not in missing and name not in skip]

    def _measure(
        self,
        title: str,
        names: Sequence[str],
        run: Callable[[str, int], dict[str, Any]],
        repeats: int | None = None,
        group_of: Callable[[str], str] = lambda name: "",
    ) -> Summaries:
        print(title, file=sys.stderr)
        results = interleave(names, run, repeats=repeats or self.options.repeats, group_of=group_of)
        failed = [f"{name} failed: {runs}" for name, runs in results.items() if isinstance(runs, str)]
        if failed:
            self.report.say("", *failed)
        self.report.data["rows"][title] = results
        return {name: summarise(runs) for name, runs in results.items() if not isinstance(runs, str)}

    def _table(
        self,
        key: str,
        title: str,
        headers: Sequence[str],
        summaries: Summaries,
        cells: Callable[[str, dict[str, Any]], list[str]],
    ) -> None:
        rows = [[name, *cells(name, summary)] for name, summary in summaries.items()]
        self.report.table(f"{key}. {title}", ["", *headers], rows)
        if any(summary["disturbed"] for summary in summaries.values()):
            self.report.say(
                "", "! other processes used a tenth of a processor or more during at least one run."
            )
        self.report.save()

    def _judge_fit(self, key: str, target: Target, summaries: Summaries) -> None:
        peers = {name: s for name, s in summaries.items() if is_peer(name)}
        peer = target.peer or min(peers, key=lambda name: peers[name]["seconds"], default="")
        if OURS in summaries and peer in peers:
            self._judge_ratio(key, OURS, peer, target.ratio, summaries)

    def _judge_ratio(self, key: str, ours: str, peer: str, wanted: float, summaries: Summaries) -> None:
        ratio = summaries[peer]["seconds"] / summaries[ours]["seconds"]
        self._judge(
            key, f"{ours}, times as fast as {peer}", f">= {wanted:g}", f"{ratio:.2f}", ratio >= wanted
        )

    def _judge(self, key: str, what: str, wanted: str, measured: str, met: bool) -> None:
        self.targets.append([key, what, wanted, measured, "met" if met else "MISSED"])


TIME_HEADERS = ["seconds (range)", "CPU s"]
FIT_NOTES = [
    "Seconds: median wall time of the fit. Inertia: relative difference from the first line, all computed by",
    "one function; * the package draws its own initial centroids. Memory: peak beside the input. Of sgemm:",
    "2 n k d for each pass over the rows, per second, over the machine's rate. Ratio: seconds over those of",
    "coterie auto; with labels: where the fit gives no labels, the package's pass for them is added.",
]


def data_size(path: Path) -> int:
    """Return the number of entries of a float32 .npy file."""
    return path.stat().st_size // 4


def _first(summaries: Summaries) -> dict[str, Any]:
    return next(iter(summaries.values()), {})


def time_cells(s: dict[str, Any]) -> list[str]:
    """Return the cells under `TIME_HEADERS`."""
    return [range_cell(s), f"{s['cpu_seconds']:.2f}"]


def range_cell(s: dict[str, Any]) -> str:
    """Return the median seconds, their range, and a mark for disturbed runs."""
    digits = 3 if s["seconds"] < 1 else 2
    text = f"{s['seconds']:.{digits}f}"
    if s["runs"] > 1:
        text += f" ({s['seconds_min']:.{digits}f}-{s['seconds_max']:.{digits}f})"
    return text + " !" * bool(s["disturbed"])


def _memory_cell(s: dict[str, Any]) -> str:
    return f"{s['peak_bytes'] / MIB:.0f} MiB, {s['peak_bytes'] / s['input_bytes']:.0%}"


def ratio_cell(seconds: float, summaries: Summaries, ours: str = OURS) -> str:
    """Return the seconds over ours, "-" where ours did not run."""
    return f"{seconds / summaries[ours]['seconds']:.2f}" if ours in summaries else "-"


STEPS: dict[str, Callable[[Benchmark, str], None]] = {
    **dict.fromkeys(FIT_ROWS, Benchmark.fit),
    "e": Benchmark.assign,
    "f": Benchmark.memory,
    "g": Benchmark.seed,
}


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.kmeans", description=__doc__.splitlines()[0])
    parser.add_argument("--rows", default=",".join(STEPS), help="rows to run, such as a,c (default: all)")
    parser.add_argument("--repeats", type=int, default=3, help="rounds (default: 3)")
    parser.add_argument("--threads", type=int, default=2, help="threads of every contender (default: 2)")
    parser.add_argument("--seed", type=int, default=0, help="draws the initial centroids (default: 0)")
    parser.add_argument("--only", default="", help="run only contenders whose name has one of these words")
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that everything runs")
    parser.add_argument("--huge", action="store_true", help="row f: also cluster a generated file of 4 GB")
    options = parser.parse_args(arguments)
    options.rows = [key.strip() for key in options.rows.split(",")]
    unknown = [key for key in options.rows if key not in STEPS]
    if unknown or options.repeats < 1 or options.threads < 1:
        parser.error(f"rows are {', '.join(STEPS)}; repeats and threads are at least 1")
    return options


def main() -> None:
    """Run the rows that were asked for."""
    options = parse()
    limit_threads(options.threads)
    report = Report("kmeans", shlex.join(["python", "-m", "benchmarks.kmeans", *sys.argv[1:]]))
    with tempfile.TemporaryDirectory(prefix="coterie-benchmark-") as folder:
        benchmark = Benchmark(options, Path(folder), report)
        for key in options.rows:
            benchmark.measure_limit()
            STEPS[key](benchmark, key)
        benchmark.finish()


if __name__ == "__main__":
    main()
