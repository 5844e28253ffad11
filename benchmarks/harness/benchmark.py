"""One run of a system: its options, its folder of data files and its report."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from benchmarks.harness.cells import Columns
from benchmarks.harness.contenders import Contender, selected
from benchmarks.harness.data.files import real_file
from benchmarks.harness.data.tables import save_rows
from benchmarks.harness.processes import Processes, limit_threads
from benchmarks.harness.reporting import Report, command_line
from benchmarks.harness.rounds import Result, Summaries, interleave, summarize


class Benchmark:
    """What the steps of a system work with.

    `folder` is removed in the end; `kept` is what rows leave for the end.
    """

    def __init__(
        self, options: argparse.Namespace, folder: Path, report: Report, processes: Processes
    ) -> None:
        self.options, self.folder, self.report = options, folder, report
        self.quick: bool = options.quick
        self.threads: int = options.threads
        self.isolated, self.isolated_within = processes.run, processes.run_within
        self.kept: list[Any] = []
        report.data |= {"threads": options.threads, "rows": {}}

    def data(self, name: str, n_rows: int) -> Path:
        """Return the file of a data set of `benchmarks.harness.data.tables`."""
        if name == "mnist" and real_file("mnist.npz") is None:
            self.say("MNIST is not in COTERIE_DATA: scikit-learn's digits, enlarged, replace it.")
        return self.isolated(save_rows, name, n_rows, self.folder)

    def select(self, contenders: Mapping[str, Contender]) -> list[str]:
        """Return the names of contenders that --only and --skip leave and that are installed."""
        return selected(contenders, self.options, self.say)

    def measure(
        self,
        title: str,
        names: Sequence[str],
        run: Callable[[str, int], Result],
        *,
        repeats: int | None = None,
        **order: Any,
    ) -> Summaries:
        """Run contenders in turns (see `interleave`), keep all results, return those that did not fail in summary."""
        print(title, file=sys.stderr)
        results = interleave(names, run, repeats=repeats or self.options.repeats, **order)
        failed = [f"Not measured: {name}; {runs}" for name, runs in results.items() if isinstance(runs, str)]
        if failed:
            self.say(*failed)
        self.report.data["rows"][title] = results
        done = {name: runs for name, runs in results.items() if runs and not isinstance(runs, str)}
        return {name: summarize(runs) | {"name": name, "each": runs} for name, runs in done.items()}

    def say(self, *lines: str) -> None:
        """Print a paragraph and keep it."""
        self.report.say("", *lines)

    def table(self, title: str, columns: Columns, summaries: Summaries) -> None:
        """Print a table with a line for each contender."""
        self.report.columns(title, columns, summaries)
        self.say_disturbed(summaries)

    def say_disturbed(self, summaries: Summaries) -> None:
        """Say what the marks of a table mean, if it has any."""
        if any(summary["disturbed"] for summary in summaries.values()):
            self.say("! other processes used a tenth of a processor or more during at least one run.")
        self.report.save()

    def draw(self, name: str, draw: Callable[[Path], None], alt: str = "") -> None:
        """Draw a picture to the path of --plot, else beside the report, and show it there with an alternative text.

        `name` distinguishes the pictures of a report.
        """
        path = getattr(self.options, "plot", None)
        if path is None:
            path = self.report.save().with_suffix("")
            path = path.with_name(f"{path.name}-{name}.png")
        path.parent.mkdir(parents=True, exist_ok=True)
        draw(path)
        self.report.data.setdefault("pictures", []).append(path.name)
        self.say(f"![{alt or name}]({path.name})")


def run_steps(
    system: str,
    options: argparse.Namespace,
    steps: Mapping[str, Callable[[Benchmark, str], None]],
    finish: Callable[[Benchmark], None] | None = None,
) -> None:
    """Run the rows that were asked for, each by its step, in one report."""
    with begun(options, Report(system, command_line(system))) as benchmark:
        for key in options.rows:
            steps[key](benchmark, key)
        if finish is not None:
            finish(benchmark)


@contextmanager
def begun(options: argparse.Namespace, report: Report, kind: type[Benchmark] = Benchmark) -> Iterator[Any]:
    """Give a benchmark with its folder and its processes; save its report in the end."""
    limit_threads(options.threads)
    if options.folder is not None:
        options.folder.mkdir(parents=True, exist_ok=True)
    processes = Processes(options.threads, kept=options.quick)
    with (
        tempfile.TemporaryDirectory(prefix="coterie-benchmark-", dir=options.folder) as folder,
        closing(processes),
    ):
        yield kind(options, Path(folder), report, processes)
        report.say("", f"Written to {report.save().name}")
