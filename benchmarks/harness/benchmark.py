"""One run of a system: its options, its folder of data files and its report."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, TypeVar

from benchmarks.harness.contenders import Contender
from benchmarks.harness.data.files import real_file
from benchmarks.harness.data.tables import save_rows
from benchmarks.harness.limits import CUBE, QUICK_CUBE, sgemm_rate
from benchmarks.harness.processes import FreshProcesses, KeptProcess, Processes, limit_threads
from benchmarks.harness.reporting import Report, command_line
from benchmarks.harness.rounds import Result, Summaries, interleave, summarize, together


class Benchmark:
    """What the steps of a system work with.

    `folder` is removed in the end; `sgemm` is the machine's float32 product in GFLOP/s, found by `measure_limit`.
    """

    def __init__(
        self, options: argparse.Namespace, folder: Path, report: Report, processes: Processes
    ) -> None:
        self.options, self.folder, self.report = options, folder, report
        self.isolated, self.isolated_within = processes.run, processes.run_within
        self.sgemm = 0.0
        report.data |= {"threads": options.threads, "rows": {}}

    def measure_limit(self) -> None:
        """Measure the machine's sgemm rate; the highest of all measurements is the limit."""
        cube = QUICK_CUBE if self.options.quick else CUBE
        self.sgemm = max(self.sgemm, self.isolated(sgemm_rate, self.options.threads, cube))
        self.report.data["sgemm_gflops"] = self.sgemm
        self.report.say(
            "", f"float32 product of this machine, {self.options.threads} threads: {self.sgemm:.0f} GFLOP/s"
        )

    def data(self, name: str, n_rows: int) -> Path:
        """Return the file of a data set of `benchmarks.harness.data.tables`."""
        if name == "mnist" and real_file("mnist.npz") is None:
            self.report.say("", "MNIST is not in COTERIE_DATA: scikit-learn's digits, enlarged, replace it.")
        return self.isolated(save_rows, name, n_rows, self.folder)

    # --- what runs

    def select(self, contenders: Mapping[str, Contender]) -> list[str]:
        """Return the names that --only and --skip leave, of packages that are installed; say which are missing."""
        left_out = [name for name in contenders if any(word in name for word in self.options.skip)]
        if left_out:
            self.report.say("", "Left out by --skip: " + "; ".join(left_out))
        wanted = self.options.only
        names = [
            name
            for name in contenders
            if name not in left_out and (not wanted or any(word in name for word in wanted))
        ]
        missing = [name for name in names if not contenders[name].installed]
        if missing:
            self.report.say("", "Skipped, not installed: " + ", ".join(missing))
        return [name for name in names if name not in missing]

    def measure(
        self,
        title: str,
        names: Sequence[str],
        run: Callable[[str, int], Result],
        *,
        repeats: int | None = None,
        group_of: Callable[[str], str] = together,
        most_rounds: Mapping[str, int] | None = None,
    ) -> Summaries:
        """Run contenders in turns (see `interleave`), keep all results, return those that did not fail in summary."""
        print(title, file=sys.stderr)
        results = interleave(
            names, run, repeats=repeats or self.options.repeats, group_of=group_of, most_rounds=most_rounds
        )
        failed = [f"Not measured: {name}; {runs}" for name, runs in results.items() if isinstance(runs, str)]
        if failed:
            self.report.say("", *failed)
        self.report.data["rows"][title] = results
        return {name: summarize(runs) for name, runs in results.items() if not isinstance(runs, str)}

    # --- what is shown

    def table(
        self,
        key: str,
        title: str,
        headers: Sequence[str],
        summaries: Summaries,
        cells: Callable[[str, Result], list[str]],
    ) -> None:
        """Print a table with a line for each contender."""
        rows = [[name, *cells(name, summary)] for name, summary in summaries.items()]
        self.report.table(f"{key}. {title}", ["", *headers], rows)
        self.say_disturbed(summaries)

    def say_disturbed(self, summaries: Summaries) -> None:
        """Say what the marks of a table mean, if it has any."""
        if any(summary["disturbed"] for summary in summaries.values()):
            self.report.say(
                "", "! other processes used a tenth of a processor or more during at least one run."
            )
        self.report.save()

    def picture(self, draw: Callable[[Path], None]) -> None:
        """Draw to the path of --plot, else beside the JSON file; say so, or what is not installed."""
        path = self.options.plot or self.report.save().with_suffix(".png")
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            draw(path)
        except ImportError as error:
            self.report.say("", f"No picture: {error}.")
        else:
            self.report.say("", f"Drawn to {path.name}")

    def finish(self) -> None:
        """Save the report and print where."""
        self.report.say("", f"Written to {self.report.save().name}")


BenchmarkKind = TypeVar("BenchmarkKind", bound=Benchmark)


def run_steps(
    system: str,
    options: argparse.Namespace,
    steps: Mapping[str, Callable[[Any, str], None]],
    kind: type[Benchmark] = Benchmark,
) -> None:
    """Run the rows that were asked for, in one report.

    The step of a row is called with the benchmark, which is of this kind, and the row's name.
    """
    with begun(options, Report(system, command_line(system)), kind) as benchmark:
        for key in options.rows:
            steps[key](benchmark, key)


@contextmanager
def begun(options: argparse.Namespace, report: Report, kind: type[BenchmarkKind]) -> Iterator[BenchmarkKind]:
    """Give a benchmark with its folder and its processes."""
    limit_threads(options.threads)
    processes: Processes = KeptProcess() if options.quick else FreshProcesses(options.threads)
    if options.folder is not None:
        Path(options.folder).mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory(prefix="coterie-benchmark-", dir=options.folder) as folder,
        closing(processes),
    ):
        benchmark = kind(options, Path(folder), report, processes)
        yield benchmark
        benchmark.finish()
