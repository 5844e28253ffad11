"""Deadlines, and guesses of when something ends."""

import math
import time

import numpy as np
import pytest

from coterie.fitting.deadline import UNHURRIED, Deadline, OutOfTime, Phase
from coterie.fitting.forecast import Forecast, HalvingForecast, StagedForecast
from tests.support.clocks import TickingClock


def test_without_a_time_nothing_is_ever_late():
    deadline = Deadline()
    assert deadline.left == deadline.sooner(9).left == deadline.share(0.1).left == math.inf
    assert not UNHURRIED.is_late
    UNHURRIED.check()


def test_a_deadline_counts_from_when_it_is_made(monkeypatch):
    clock = TickingClock(monkeypatch, 0.0)
    deadline = Deadline(8)
    clock.seconds = 2
    assert (deadline.seconds, deadline.left) == (2, 6)
    assert deadline.sooner(4).left == 2
    assert deadline.sooner(400).left == 6 / 8  # for there must be some
    assert deadline.share(0.5).left == 3
    phase = Phase(deadline)
    clock.seconds = 8
    assert phase.is_late
    with pytest.raises(OutOfTime):
        phase.check()


def test_a_phase_tells_its_share():
    told = []
    Phase(listener=told.append).tell(3, 4)
    assert told == [0.75]


@pytest.mark.parametrize("power", [1.0, 2.0, 4.0])
def test_what_falls_like_a_power_is_foreseen(power):
    forecast, n_steps = Forecast(), 60
    for step in range(1, n_steps):
        forecast.note((n_steps / step) ** power)
        if step >= n_steps // 5:
            assert 0.5 <= forecast.steps_left() / (n_steps - step) <= 2


def test_what_falls_by_a_factor_is_foreseen():
    forecast, n_steps = Forecast(), 60
    for step in range(1, n_steps):
        forecast.note(np.exp(0.2 * (n_steps - step)))
        if step >= n_steps // 5:
            assert 0.5 <= forecast.steps_left() / (n_steps - step) <= 2


@pytest.mark.parametrize("series", [[1.0] * 9, [1.0, 2, 3, 4, 5, 6], [math.nan] * 9, [5.0, 1.0]])
def test_what_does_not_fall_is_not_foreseen(series):
    forecast = Forecast()
    for value in series:
        forecast.note(value)
    assert forecast.steps_left() is None


def staged(n_rows, growth, n_rounds, needed):
    """The rounds of a fit whose stages are alike: sizes, changes, when they are over, and whether the fit would end."""
    size, begin, each = n_rows // 16, 3.0, 0.02
    while True:
        for done in range(1, n_rounds + 1):
            share = done / n_rounds
            changes = round(size * (1 - share) ** 2)
            yield size, changes, begin + done * each, size < n_rows and share >= needed
            if size == n_rows and share >= needed:
                return
        begin, each, size = begin + n_rounds * each, growth * each, 2 * size


@pytest.mark.parametrize("growth", [1.6, 2.2, 2.9])
@pytest.mark.parametrize("needed", [1.0, 0.4])
def test_the_end_of_stages_that_are_alike_is_foreseen(growth, needed):
    rounds = list(staged(160_000, growth, 30, needed))
    end = rounds[-1][2]
    forecast = StagedForecast(160_000, 3.0)
    for size, changes, seconds, would_end in rounds:
        forecast.note(size, changes, seconds, would_end=would_end)
        if seconds >= 3 + 0.2 * (end - 3) and end - seconds > 0.05 * end:
            assert 0.5 <= forecast.seconds_left() / (end - seconds) <= 2


def test_the_first_stage_foresees_nothing():
    forecast = StagedForecast(100)
    forecast.note(50, 9, 1.0)
    assert forecast.seconds_left() is None


def test_a_guess_costs_the_same_after_many_steps():
    forecast = Forecast()
    for step in range(1, 10_001):
        forecast.note((20_000 / step) ** 2)
    assert 5_000 <= forecast.steps_left() <= 20_000
    begin = time.process_time()
    for _ in range(100):
        forecast.steps_left()
    assert time.process_time() - begin < 1


def test_halvings_are_foreseen():
    """A second for a thousand rows, and a hundredth for a halving: 64 groups of 10,000 rows."""
    forecast, sizes, seconds, told = HalvingForecast(64), [10_000], 0.0, []
    while len(sizes) < 64:
        sizes.sort()
        worst = sizes.pop()
        sizes += [worst - worst // 3, worst // 3]
        each = worst / 1000 + 0.01
        seconds += each
        forecast.note(worst, each)
        told.append((seconds, forecast.seconds_left(np.array(sizes))))
    labels = told[-1][1]
    assert 0 < labels < seconds / 2
    for at, left in told:
        assert 0.5 <= left / (seconds - at + labels) <= 2
