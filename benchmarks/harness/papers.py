"""The figures and tables of a paper: what makes each, and of which data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.harness.benchmark import Benchmark
from benchmarks.harness.data.files import real_file


@dataclass(frozen=True)
class Item:
    """What makes a figure or a table of a paper; the paper's page says what it shows."""

    make: Callable[[PaperRun], None]  # tables and pictures
    data: tuple[str, ...] = ()  # files of `COTERIE_DATA`
    stands_in: str = ""  # where they are missing; empty: it cannot be made

    def missing(self) -> list[str]:
        """Return the files that are not available."""
        return [name for name in self.data if real_file(name) is None]


class PaperRun(Benchmark):
    """What makes an item: a benchmark with seeds."""

    def seeds(self, published: int) -> range:
        """Return the seeds of repeated fits: as many as the paper has, or as --seeds says; one if quick."""
        return range(1 if self.quick else self.options.seeds or published)

    def limit(self, seconds: float) -> float:
        """Return the seconds after which a contender is given up on a set: as many as --limit says, if it does."""
        return float(self.options.limit or seconds)

    def within(self, seconds: float) -> float:
        """Return a time budget, a hundredth of it if quick."""
        return seconds / 100 if self.quick else seconds
