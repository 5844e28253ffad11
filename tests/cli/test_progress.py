"""What a running command shows."""

import sys

import numpy as np
import pytest

from coterie import KMeans
from coterie.cli import progress
from coterie.estimators import find_method
from coterie.fitting.monitor import FitProgress


def steps(seconds):
    return [progress.Step(i + 1, 9, "iteration", s, 4.0, 61.4) for i, s in enumerate(seconds)]


def test_plain_lines_come_at_most_once_a_second(capsys):
    with progress.display(quiet=False) as screen:
        for step in steps([0.1, 0.2, 1.0, 1.2, 1.9, 2.3, 2.4]):
            screen.show(step)
    lines = capsys.readouterr().err.splitlines()
    assert [line.split(",")[0] for line in lines] == [f"iteration {i}/9" for i in (1, 4, 6, 7)]
    assert lines[0] == "iteration 1/9, 4.0 iterations/s, at most 1:01 left"


def test_live_line_on_a_terminal(capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    with progress.display(quiet=False) as screen:
        assert type(screen).__name__ == "_LiveLine"
        for step in steps([0.1, 0.2]):
            screen.show(step)
    assert "iteration 2/9" in capsys.readouterr().err


def test_several_starts_share_one_rate():
    shown = []

    class Screen:
        show = staticmethod(shown.append)

    callback = progress.FitCallback(Screen, find_method("k-means"), {"max_iter": 10})
    for iteration, seconds in ((1, 1.0), (2, 2.0), (1, 3.0), (2, 4.0)):
        fit_progress = type("P", (), {"iteration": iteration, "seconds": seconds, "objective": 5.0})
        fit_progress.remaining, fit_progress.is_foreseen = None, False
        callback(fit_progress)
    assert [step.rate for step in shown] == [1.0] * 4
    assert [step.parts()[0] for step in shown] == ["iteration 1/10", "iteration 2/10", "start 2", "start 2"]


@pytest.mark.parametrize(
    ("max_time", "is_foreseen", "text"),
    [(None, True, "about 0:41 left"), (None, False, ""), (60.0, False, "at most 0:41 left")],
)
def test_the_most_that_iterations_may_take_is_not_told(max_time, is_foreseen, text):
    shown = []
    screen = type("Screen", (), {"show": staticmethod(shown.append)})
    callback = progress.FitCallback(screen, find_method("k-means"), {"max_iter": 10, "max_time": max_time})
    callback(FitProgress(1, 5.0, 2.0, 41.0, np.zeros(1), is_foreseen))
    assert [part for part in shown[0].parts() if "left" in part] == [text] * bool(text)


@pytest.mark.parametrize(("remaining", "is_told"), [(0.0, False), (0.49, False), (0.6, True), (None, False)])
def test_less_than_a_second_is_not_told(remaining, is_told):
    assert ("left" in "".join(progress.Step(1, 9, "step", 1.0, 4.0, remaining).parts())) == is_told


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.2, "0:00"), (59.6, "1:00"), (3599, "59:59"), (7322, "2:02:02")]
)
def test_clock(seconds, text):
    assert progress._clock(seconds) == text


@pytest.mark.parametrize(
    ("width", "shown"),
    [
        (None, ["start 2", "iteration 1/9", "4.0 iterations/s", "at most 1:01 left", "inertia 5"]),
        (60, ["start 2", "iteration 1/9", "at most 1:01 left", "inertia 5"]),
        (45, ["start 2", "iteration 1/9", "at most 1:01 left"]),
        (35, ["iteration 1/9", "at most 1:01 left"]),
        (28, ["at most 1:01 left"]),
        (1, ["at most 1:01 left"]),
    ],
)
def test_the_time_left_is_the_last_to_go(width, shown):
    step = progress.Step(1, 9, "iteration", 1.0, 4.0, 61.4, before="start 2", detail="inertia 5")
    assert step.parts(width) == shown


def test_phases_are_shown():
    shown = []

    class Screen:
        show = staticmethod(shown.append)

    rows = np.random.default_rng(0).normal(size=(200, 2))
    callback = progress.FitCallback(Screen, find_method("k-means"), {"max_iter": 10})
    KMeans(5, coreset_size=50, random_state=0, callback=callback).fit(rows)
    names = [step.name for step in shown if isinstance(step, progress.PhaseStep)]
    assert list(dict.fromkeys(names)) == ["coreset", "seeding", "labels"]
    assert progress.PhaseStep("seeding", 0.25, 2.0, 6.0).parts() == [
        "seeding",
        "25%",
        "about 0:06 left of it",
    ]
    assert progress.PhaseStep("seeding", 0.25, 2.0, 6.0).parts(24) == ["about 0:06 left of it"]


@pytest.mark.parametrize("columns", [40, 80, 120])
def test_the_time_left_is_seen_on_terminals_of_any_width(columns, capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    for name, value in (("TERM", "xterm"), ("COLUMNS", str(columns)), ("FORCE_COLOR", "1")):
        monkeypatch.setenv(name, value)
    with progress.display(quiet=False) as screen:
        screen.show(progress.Step(1, 9, "iteration", 1.0, 4.0, 61.4, before="start 2", detail="inertia 5"))
    assert "1:01 left" in capsys.readouterr().err


def test_plain_lines_are_of_phases_that_take_long(capsys):
    with progress.display(quiet=False) as screen:
        for name, share, seconds in (
            ("graph", 0, 0.0), ("graph", 1, 0.1), ("seeding", 0, 0.1), ("seeding", 0.5, 5.1), ("seeding", 1, 10.1)
        ):  # fmt: skip
            screen.show(progress.PhaseStep(name, share, seconds, 5.0))
        screen.show(progress.Step(1, 9, "iteration", 10.2, 0.1))
    lines = capsys.readouterr().err.splitlines()
    assert lines == ["seeding, 50%, about 0:05 left of it", "seeding", "iteration 1/9, 0.1 iterations/s"]
