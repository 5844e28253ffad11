"""The figures and tables of a paper: what makes each, and of which data."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.harness.benchmark import Benchmark
from benchmarks.harness.data.files import real_file
from benchmarks.harness.reporting import Report


@dataclass(frozen=True)
class Item:
    """What makes a figure or a table of a paper; the paper's page says what it shows."""

    make: Callable[[PaperRun], None]  # tables and pictures
    data: tuple[str, ...] = ()  # files of `COTERIE_DATA`
    stands_in: str = ""  # where they are missing; empty: it cannot be made

    def missing(self) -> list[str]:
        """Return the files that are not available."""
        return [name for name in self.data if real_file(name) is None]

    def can_be_made(self) -> bool:
        """Whether its data are at hand or stood in for."""
        return not self.missing() or bool(self.stands_in)


class PaperRun(Benchmark):
    """What makes an item: a benchmark with seeds, and pictures beside its report."""

    def __init__(self, options: argparse.Namespace, folder: Path, report: Report, processes: Any) -> None:
        super().__init__(options, folder, report, processes)
        self.quick: bool = options.quick
        self.threads: int = options.threads

    def seeds(self, published: int) -> range:
        """Return the seeds of repeated fits: as many as the paper has, or as --seeds says; one if quick."""
        return range(1 if self.quick else self.options.seeds or published)

    def limit(self, seconds: float) -> float:
        """Return the seconds after which a contender is given up on a set: as many as --limit says, if it does."""
        return float(self.options.limit or seconds)

    def within(self, seconds: float) -> float:
        """Return a time budget, a hundredth of it if quick."""
        return seconds / 100 if self.quick else seconds

    def draw(self, name: str, draw: Callable[[Path], None], alt: str = "") -> None:
        """Draw a picture to a path beside the report, and show it there with an alternative text.

        `name` distinguishes the pictures of an item.
        """
        path = self.report.save().with_suffix("")
        path = path.with_name(f"{path.name}-{name}.png")
        try:
            draw(path)
        except ImportError as error:
            self.report.say("", f"No picture: {error}.")
        else:
            self.report.data.setdefault("pictures", []).append(path.name)
            self.report.say("", f"![{alt or name}]({path.name})")
