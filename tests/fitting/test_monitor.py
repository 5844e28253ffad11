import os
from types import SimpleNamespace

import numpy as np
import pytest

from coterie.fitting.monitor import FitMonitor
from coterie.fitting.threads import effective_n_threads


def test_all_processors_of_this_process(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    assert 1 <= effective_n_threads(None) <= (os.cpu_count() or 1)


@pytest.mark.parametrize(
    ("value", "expected"), [("1", 1), ("1,2", 1), ("", None), ("many", None), ("0", None)]
)
def test_omp_num_threads_is_respected(monkeypatch, value, expected):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    everything = effective_n_threads(None)
    monkeypatch.setenv("OMP_NUM_THREADS", value)
    assert effective_n_threads(None) == (expected or everything)


def test_an_explicit_number_wins(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert effective_n_threads(7) == 7


@pytest.mark.parametrize("bad", [0, -1, 1.5, True])
def test_bad_numbers(bad):
    with pytest.raises(ValueError, match="n_threads must be None or a positive integer"):
        effective_n_threads(bad)


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"cpu.max": "150000 100000"}, 2),
        ({"cpu.max": "max 100000"}, None),
        ({"cpu/cpu.cfs_quota_us": "50000", "cpu/cpu.cfs_period_us": "100000"}, 1),
        ({"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"}, None),
        ({}, None),
    ],
)
def test_quota_of_a_container(monkeypatch, tmp_path, files, expected):
    import builtins

    from coterie.fitting import monitor as fitting

    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    plain_open = builtins.open
    root = "/sys/fs/cgroup/"
    monkeypatch.setattr(
        builtins, "open", lambda path, *rest: plain_open(str(path).replace(root, f"{tmp_path}/"), *rest)
    )
    assert fitting._control_group_quota() == expected


def test_what_a_callback_does_is_not_counted_but_uses_up_the_budget(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("coterie.fitting.monitor.time", SimpleNamespace(perf_counter=lambda: now[0]))

    def evaluate(progress):
        seen.append(progress.seconds)
        now[0] += 6  # a long evaluation

    seen: list[float] = []
    estimator = SimpleNamespace(max_iter=9, max_time=10, callback=evaluate, verbose=0)
    model = SimpleNamespace(centers=np.zeros((1, 1)))
    monitor = FitMonitor(estimator)
    monitor.start_run()
    now[0] += 1
    assert not monitor.report(0.0, model)
    now[0] += 1
    assert monitor.report(0.0, model)  # 14 s on the wall
    assert seen == [1, 2]
    assert monitor.history().seconds.tolist() == [1, 2]
    assert monitor.stopped_by == "max_time"
