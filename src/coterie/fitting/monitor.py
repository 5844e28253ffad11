"""The former interface of `coterie.fitting.report`, for fits that do not call it yet."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from coterie.arrays import Array
from coterie.fitting.deadline import Deadline
from coterie.fitting.report import FitProgress, Report

__all__ = ["FitMonitor", "FitProgress"]


class FitMonitor(Report):
    """A `Report` under the names that it had before."""

    def __init__(
        self,
        estimator: Any,
        n_runs: int = 1,
        extra_fields: tuple[tuple[str, Any], ...] = (),
        max_reports: int | None = None,
    ) -> None:
        super().__init__(estimator, extra_fields, n_runs=n_runs, n_steps=max_reports)
        self.reserve, self.n_final_steps = 0.0, 0.0

    @property
    def stopped_by(self) -> str | None:
        """The reason."""
        return self.reason

    def has_time_for(self, seconds: float) -> bool:
        """Return whether this many seconds are left beside the reserve; if not, that ends the iterations."""
        return super().has_time_for(seconds + self.reserve)

    @property
    def out_of_time(self) -> bool:
        """Whether what is left of `max_time` is needed for what comes after."""
        return self.deadline.left <= self.reserve

    @property
    def step(self) -> Deadline:
        """The deadline of a long step, which leaves the reserve."""
        return self.deadline.sooner(self.reserve)

    @contextmanager
    def phase(self, name: str, deadline: Deadline | None = None) -> Iterator[Deadline]:
        """Return the deadline of a phase."""
        yield deadline or self.deadline

    def report(
        self, objective: float, centers: Array | Callable[[], Array], *, closeness: float = 0.0, **fields: Any
    ) -> bool:
        """Record one iteration; return True if the fit is to stop here."""
        return self(objective, centers, **fields)
