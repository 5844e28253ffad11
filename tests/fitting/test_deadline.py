"""Deadlines."""

import math

import pytest

from coterie.fitting.deadline import UNLIMITED, Deadline, OutOfTime
from tests.support.clocks import TickingClock


def test_deadline_without_a_limit_is_never_over():
    deadline = Deadline()
    assert deadline.left == deadline.share(0.1).left == math.inf
    assert not UNLIMITED.is_over
    UNLIMITED.check()


def test_a_deadline_counts_from_when_it_is_made(monkeypatch):
    clock = TickingClock(monkeypatch, 0.0)
    clock.seconds = 1
    deadline = Deadline(8)
    clock.seconds = 3
    assert (deadline.seconds, deadline.left) == (2, 6)
    assert deadline.share(0.5).left == 3
    clock.seconds = 9
    assert deadline.is_over
    with pytest.raises(OutOfTime):
        deadline.check()
