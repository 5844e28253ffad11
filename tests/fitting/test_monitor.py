"""The monitor of a fit: its clock, and when it says stop."""

from types import SimpleNamespace

import numpy as np

from coterie.fitting.monitor import FitMonitor


def test_what_a_callback_does_is_not_counted_but_uses_up_the_budget(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("coterie.fitting.deadline.time", SimpleNamespace(perf_counter=lambda: now[0]))

    def evaluate(progress):
        seen.append(progress.seconds)
        now[0] += 6  # a long evaluation

    seen: list[float] = []
    estimator = SimpleNamespace(max_iter=9, max_time=10, callback=evaluate, verbose=0)
    centers = np.zeros((1, 1))
    monitor = FitMonitor(estimator)
    monitor.start_run()
    now[0] += 1
    assert not monitor.report(0.0, centers)
    now[0] += 1
    assert monitor.report(0.0, centers)  # 14 s on the wall
    assert seen == [1, 2]
    assert monitor.history().seconds.tolist() == [1, 2]
    assert monitor.stopped_by == "max_time"


def reported(lengths):
    estimator = SimpleNamespace(max_iter=999, max_time=None, callback=None, verbose=0)
    monitor = FitMonitor(estimator)
    for run, length in enumerate(lengths):
        monitor.start_run()
        for iteration in range(length):
            monitor.report(100.0 * run + iteration, np.zeros((1, 1)))
    return monitor


def test_runs_has_every_run_and_history_the_last_one():
    monitor = reported([2, 3])
    runs = monitor.runs()
    assert runs.run.tolist() == [1, 1, 2, 2, 2]
    assert runs.iteration.tolist() == [1, 2, 1, 2, 3]
    assert runs.objective.tolist() == [0, 1, 100, 101, 102]
    assert monitor.history().objective.tolist() == [100, 101, 102]
    assert runs[-3:].seconds.tolist() == monitor.history().seconds.tolist()


def test_runs_stays_small():
    runs = reported([500, *[3] * 120]).runs()
    first = runs[runs.run == 1]
    assert len(first) == 100
    assert (first.iteration[0], first.iteration[-1]) == (1, 500)
    assert np.bincount(runs.run)[1:].tolist() == [100, *[3] * 99, *[1] * 21]
    assert runs.iteration[runs.run > 100].tolist() == [3] * 21


def test_runs_of_no_run():
    assert len(reported([]).runs()) == 0


def progress_of(monkeypatch, run, *, n_runs=1, max_iter=9):
    """What a callback is told by a run: a function of the monitor and of one that lets time pass."""
    now, told = [0.0], []

    def wait(seconds):
        now[0] += seconds

    monkeypatch.setattr("coterie.fitting.deadline.time", SimpleNamespace(perf_counter=lambda: now[0]))
    estimator = SimpleNamespace(max_iter=max_iter, max_time=None, callback=told.append, verbose=0)
    run(FitMonitor(estimator, n_runs), wait)
    return told


def test_what_only_the_limit_ends_is_foreseen(monkeypatch):
    """With a step for what comes after it."""

    def run(monitor, wait):
        monitor.steps_after_limit = 1.0
        monitor.start_run()
        for _ in range(9):
            wait(2)
            monitor.report(0.0, np.zeros((1, 1)))

    told = progress_of(monkeypatch, run)
    assert [progress.remaining for progress in told] == [18, 16, 14, 12, 10, 8, 6, 4, 2]
    assert all(progress.is_foreseen for progress in told)


def test_runs_foretell_the_next_ones(monkeypatch):
    """Two steps of a second each, after three seconds of a seeding; what comes before all runs is none of them."""

    def run(monitor, wait):
        wait(100)
        for _ in range(4):
            monitor.start_run()
            for _ in range(2):
                wait(1)
                monitor.report(0.0, np.zeros((1, 1)))
            wait(3)

    told = progress_of(monkeypatch, run, n_runs=4)
    assert [progress.is_foreseen for progress in told] == [False, False] + 6 * [True]
    assert [progress.remaining for progress in told[2:]] == [14, 13, 9, 8, 4, 3]
