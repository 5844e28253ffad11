"""A clock for tests of time limits that advances at each reading, independent of the machine."""

from types import SimpleNamespace

import pytest


class TickingClock:
    """Goes on by the same time whenever a fit looks at it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, tick: float) -> None:
        self.seconds, self.tick = 0.0, tick
        monkeypatch.setattr("coterie.fitting.deadline.time", SimpleNamespace(perf_counter=self))

    def __call__(self) -> float:
        self.seconds += self.tick
        return self.seconds
