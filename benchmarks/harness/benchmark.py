"""One run of a system: its options, its folder of data files, its measurements in turns and its report."""

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.harness.contenders import Contender, is_peer, selected
from benchmarks.harness.data.files import real_file
from benchmarks.harness.data.tables import save_rows
from benchmarks.harness.measuring import Processes, limit_threads
from benchmarks.harness.reporting import Columns, Report, Result, Summaries, command_line

# Runs during which other processes used more than this fraction of a processor are marked as disturbed.
DISTURBED = 0.1
# A contender that needs this many times the seconds of the fastest peer is not worth repeating.
SLOW_FACTOR = 4.0

Run = Callable[[str, int], Result]


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

    def each(self, function: Callable[..., Result], *work: Any, limit: float | None = None) -> Run:
        """Return what calls `function(name, *work, seed, n_threads)` in a process of its own; the round is the seed."""
        return lambda name, seed: self.isolated_within(limit, function, name, *work, seed, self.threads)

    def measure(
        self,
        title: str,
        names: Sequence[str],
        run: Run,
        *,
        repeats: int | None = None,
        repeat_slow: bool = True,
        most_rounds: Mapping[str, int] | None = None,
    ) -> Summaries:
        """Run contenders in turns (A B C A B C ...), keep all results, return those that did not fail in summary.

        A machine that grows slower does so for all. Unless `repeat_slow`, a peer that took more than `SLOW_FACTOR`
        times the seconds of the fastest peer in the first round is not run again; those in `most_rounds` take part in
        so many rounds only.
        """
        print(title, file=sys.stderr)
        results: dict[str, list[Result]] = {name: [] for name in names}
        failed: dict[str, str] = {}
        repeats = repeats or self.options.repeats
        for repeat in range(repeats):
            for name, runs in results.items():
                if name in failed or repeat >= (most_rounds or {}).get(name, repeats):
                    continue
                if repeat and not repeat_slow and _is_slow(name, results):
                    continue
                try:
                    runs.append(run(name, repeat))
                    said = f"{runs[-1]['seconds']:.3f} s (round {repeat + 1} of {repeats})"
                except Exception as error:
                    failed[name] = said = f"{type(error).__name__}: {error}".splitlines()[0]
                    runs.clear()
                print(f"  {name}: {said}", file=sys.stderr, flush=True)
        if failed:
            self.say(*(f"Not measured: {name}; {why}" for name, why in failed.items()))
        self.report.data["rows"][title] = results | failed
        return {
            name: summarize(runs) | {"name": name, "each": runs} for name, runs in results.items() if runs
        }

    def say(self, *lines: str) -> None:
        self.report.say("", *lines)

    def table(self, title: str, columns: Columns, summaries: Summaries) -> None:
        self.report.columns(title, columns, summaries)
        self.say_disturbed(summaries)

    def say_disturbed(self, summaries: Summaries) -> None:
        """Say what the marks of a table mean, if it has any."""
        if any(summary["disturbed"] for summary in summaries.values()):
            self.say("! other processes used a tenth of a processor or more during at least one run.")
        self.report.save()


def _is_slow(name: str, results: Mapping[str, Sequence[Result]]) -> bool:
    seconds = {one: runs[0]["seconds"] for one, runs in results.items() if runs}
    return is_peer(name) and seconds[name] > SLOW_FACTOR * min(
        (seconds[one] for one in seconds if is_peer(one)), default=float("inf")
    )


def summarize(runs: Sequence[Result]) -> Result:
    """Reduce the runs of a contender: medians of every number, the range of the seconds, how many runs."""
    summary: Result = {
        key: median(run[key] for run in runs) if isinstance(value, (int, float)) else value
        for key, value in runs[0].items()
    }
    seconds = [run["seconds"] for run in runs]
    disturbed = sum(run["other_seconds"] > DISTURBED * run["seconds"] + 0.02 for run in runs)
    return summary | {
        "seconds_min": min(seconds), "seconds_max": max(seconds), "runs": len(runs), "disturbed": disturbed
    }  # fmt: skip


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
    with (
        tempfile.TemporaryDirectory(prefix="coterie-benchmark-", dir=options.folder) as folder,
        closing(Processes(kept=options.quick)) as processes,
    ):
        yield kind(options, Path(folder), report, processes)
        report.say("", f"Written to {report.save().name}")


class PaperRun(Benchmark):
    """What makes an item: a benchmark with seeds."""

    def seeds(self, published: int) -> range:
        """Return the seeds of repeated fits: as many as the paper has, or as --seeds says; one if quick."""
        return range(1 if self.quick else self.options.seeds or published)

    def limit(self, seconds: float) -> float:
        """Return the seconds after which a contender is given up on a set: as many as --limit says, if it does."""
        return float(self.options.limit or seconds)


@dataclass(frozen=True)
class Item:
    """What makes a figure or a table of a paper, and where the paper has it."""

    make: Callable[[PaperRun], None]  # tables and pictures; its docstring says what it shows
    place: str
    data: tuple[str, ...] = ()  # files of `COTERIE_DATA`; what is missing is left out, or others stand in

    @property
    def shows(self) -> str:
        return getattr(self.make, "func", self.make).__doc__.partition("\n")[0]
