"""What a running command shows."""

import itertools
import sys

import numpy as np
import pytest

import coterie
from coterie.centers.lloyd import ClusteredRows
from coterie.cli import main, progress
from coterie.fitting.report import FitProgress


def steps(seconds):
    return [progress.Step(i + 1, 9, "iteration", s, 4.0, 61.4) for i, s in enumerate(seconds)]


def test_plain_lines_come_every_ten_seconds(capsys):
    with progress.display(quiet=False) as screen:
        for step in steps([0.1, 1.2, 5.0, 11.0, 11.3, 20.0, 22.4]):
            screen.show(step)
    lines = capsys.readouterr().err.splitlines()
    assert [line.split(",")[0] for line in lines] == [f"iteration {i}/9" for i in (2, 5, 7)]
    assert lines[0] == "iteration 2/9, 4.0 iterations/s, about 1:01 left"


def test_no_plain_line_of_a_short_job_or_after_an_error(capsys):
    with progress.display(quiet=False) as screen:
        for step in steps([0.1, 0.9]):
            screen.show(step)
    assert capsys.readouterr().err == ""
    screen = progress.display(quiet=False)
    for step in steps([1.1, 1.2, 1.3]):
        screen.show(step)
    screen.__exit__(ValueError)
    assert capsys.readouterr().err.count("\n") == 1


def test_live_line_on_a_terminal(capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    with progress.display(quiet=False) as screen:
        assert type(screen).__name__ == "_LiveLine"
        for step in steps([0.1, 0.2]):
            screen.show(step)
    assert "iteration 2/9" in capsys.readouterr().err


def test_an_error_replaces_the_live_line(rows, capsys, monkeypatch):
    next_pass, steps = ClusteredRows.next_pass, itertools.count()

    def fail_in_time(*arguments, **options):
        if next(steps) == 3:
            raise ValueError("Input X contains NaN.")
        return next_pass(*arguments, **options)

    monkeypatch.setattr(ClusteredRows, "next_pass", fail_in_time)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    for name, value in (("TERM", "xterm"), ("FORCE_COLOR", "1")):
        monkeypatch.setenv(name, value)
    assert main(["fit", rows, "-k", "20", "--init", "random", "--n-init", "1", "--out", "out"]) == 1
    before, last = capsys.readouterr().err.rsplit("\x1b[1A\x1b[2K", 1)  # up, and erase the line
    assert "iteration" in before
    assert before.count("\n") == 1
    assert last == "coterie: error: rows.npy: The input contains NaN.\n"


def test_several_starts_share_one_rate():
    shown = []

    class Screen:
        show = staticmethod(shown.append)

    model = coterie.KMeans(max_iter=10)
    with progress.watch(model, Screen):
        for iteration, seconds in ((1, 1.0), (2, 2.0), (1, 3.0), (2, 4.0)):
            model.callback(FitProgress(iteration, 5.0, seconds, None, np.zeros(1)))
    assert model.callback is None
    assert [step.rate for step in shown] == [1.0] * 4
    assert [step.parts()[0] for step in shown] == ["iteration 1/10", "iteration 2/10", "start 2", "start 2"]


@pytest.mark.parametrize(("remaining", "text"), [(41.0, "about 0:41 left"), (None, "")])
def test_remaining_time_is_shown_if_known(remaining, text):
    shown = []
    screen = type("Screen", (), {"show": staticmethod(shown.append)})
    model = coterie.KMeans(max_iter=10)
    with progress.watch(model, screen):
        model.callback(FitProgress(1, 5.0, 2.0, remaining, np.zeros(1)))
    assert [part for part in shown[0].parts() if "left" in part] == [text] * bool(text)


@pytest.mark.parametrize(("remaining", "is_told"), [(0.0, False), (0.49, False), (0.6, True), (None, False)])
def test_remaining_time_below_a_second_is_not_shown(remaining, is_told):
    assert ("left" in "".join(progress.Step(1, 9, "step", 1.0, 4.0, remaining).parts())) == is_told


@pytest.mark.parametrize(("seconds", "text"), [(59.6, "1:00"), (3599, "59:59"), (7322, "2:02:02")])
def test_remaining_time_in_words(seconds, text):
    assert f"about {text} left" in progress.Step(1, 9, "step", 1.0, 4.0, seconds).parts()


@pytest.mark.parametrize(
    ("width", "shown"),
    [
        (None, ["start 2", "iteration 1/9", "4.0 iterations/s", "about 1:01 left", "inertia 5"]),
        (60, ["start 2", "iteration 1/9", "about 1:01 left", "inertia 5"]),
        (45, ["start 2", "iteration 1/9", "about 1:01 left"]),
        (35, ["iteration 1/9", "about 1:01 left"]),
        (28, ["about 1:01 left"]),
        (1, ["about 1:01 left"]),
    ],
)
def test_remaining_time_is_dropped_last(width, shown):
    step = progress.Step(1, 9, "iteration", 1.0, 4.0, 61.4, before="start 2", detail="inertia 5")
    assert step.parts(width) == shown


@pytest.mark.parametrize("columns", [40, 80, 120])
def test_the_time_left_is_seen_on_terminals_of_any_width(columns, capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    for name, value in (("TERM", "xterm"), ("COLUMNS", str(columns)), ("FORCE_COLOR", "1")):
        monkeypatch.setenv(name, value)
    with progress.display(quiet=False) as screen:
        screen.show(progress.Step(1, 9, "iteration", 1.0, 4.0, 61.4, before="start 2", detail="inertia 5"))
    assert "1:01 left" in capsys.readouterr().err
