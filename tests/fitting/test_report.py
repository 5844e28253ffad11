"""The report of a fit: its history, its clock, and when it stops the fit."""

from types import SimpleNamespace

import numpy as np
import pytest

from coterie.fitting.report import FitReport
from tests.support.clocks import TickingClock


def test_callback_time_is_not_in_seconds_but_counts_to_max_time(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("coterie.fitting.deadline.time", SimpleNamespace(perf_counter=lambda: now[0]))

    def evaluate(progress):
        seen.append(progress.seconds)
        now[0] += 6  # a long evaluation

    seen: list[float] = []
    estimator = SimpleNamespace(max_iter=9, max_time=10, callback=evaluate, verbose=0)
    centers = np.zeros((1, 1))
    report = FitReport(estimator)
    report.start_run()
    now[0] += 1
    assert not report(0.0, centers)
    now[0] += 1
    assert report(0.0, centers)  # 14 s on the wall
    assert seen == [1, 2]
    assert report.history().seconds.tolist() == [1, 2]
    assert report.reason == "max_time"


def remaining_of(monkeypatch, run, **options):
    """Return `remaining` of each report of a run: a function of the report and of one that lets time pass."""
    clock, seen = TickingClock(monkeypatch, 0.0), []

    def wait(seconds):
        clock.seconds += seconds

    estimator = SimpleNamespace(max_iter=9, max_time=None, callback=seen.append, verbose=0)
    run(FitReport(estimator, **options), wait)
    return [progress.remaining for progress in seen]


def test_remaining_time_where_the_number_of_steps_is_known(monkeypatch):
    def run(report, wait):
        wait(100)
        report.start_run()
        for _ in range(9):
            wait(2)
            report(0.0, np.zeros((1, 1)))

    assert remaining_of(monkeypatch, run, n_steps=9) == [16, 14, 12, 10, 8, 6, 4, 2, 0]
    assert remaining_of(monkeypatch, run) == [None] * 9


def test_remaining_time_by_the_runs_that_are_over(monkeypatch):
    def run(report, wait):
        wait(100)
        for _ in range(4):
            report.start_run()
            for _ in range(2):
                wait(1)
                report(0.0, np.zeros((1, 1)))

    assert remaining_of(monkeypatch, run, n_runs=4) == [None, None, 5, 4, 3, 2, 1, 0]


@pytest.mark.parametrize(("n_final_steps", "n_steps"), [(None, 9), (0.0, 10), (4.0, 6)])
def test_iterations_stop_in_time_for_the_labels(n_final_steps, n_steps, monkeypatch):
    """Ten steps of a second: a last one and what follows must fit into what is left."""
    clock = TickingClock(monkeypatch, 0.0)
    estimator = SimpleNamespace(max_iter=99, max_time=10.5, callback=None, verbose=0)
    report = FitReport(estimator)
    report.n_final_steps = n_final_steps
    report.start_run()
    clock.seconds += 1
    while not report(0.0, np.zeros((1, 1))):
        clock.seconds += 1
    assert (len(report.history()), report.reason) == (n_steps, "max_time")


def test_time_for_the_labels_is_that_of_the_first_step(monkeypatch):
    """The first step reads all rows, as that for the labels does, and takes three seconds; others take one."""
    clock = TickingClock(monkeypatch, 0.0)
    report = FitReport(SimpleNamespace(max_iter=99, max_time=10.5, callback=None, verbose=0))
    report.n_final_steps = 1.0
    report.start_run()
    clock.seconds += 3
    while not report(0.0, np.zeros((1, 1))):
        clock.seconds += 1
    assert clock.seconds == 7
