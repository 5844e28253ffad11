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
