"""What a running command shows."""

import sys

import pytest

from coterie.cli import progress
from coterie.estimators import find_method


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

    callback = progress.fit_callback(Screen, find_method("k-means"), {"max_iter": 10})
    for iteration, seconds in ((1, 1.0), (2, 2.0), (1, 3.0), (2, 4.0)):
        fit_progress = type("P", (), {"iteration": iteration, "seconds": seconds, "objective": 5.0})
        fit_progress.remaining = None
        callback(fit_progress)
    assert [step.rate for step in shown] == [1.0] * 4
    assert [step.parts()[0] for step in shown] == ["iteration 1/10", "iteration 2/10", "start 2", "start 2"]


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.2, "0:00"), (59.6, "1:00"), (3599, "59:59"), (7322, "2:02:02")]
)
def test_clock(seconds, text):
    assert progress._clock(seconds) == text
