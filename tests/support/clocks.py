"""A clock for tests of time: it goes on by itself at each look, so that no test depends on the machine."""

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
