"""How many threads a fit may use, and that BLAS keeps out of the way."""

import builtins
import os
import subprocess
import sys

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from coterie.fitting.threads import _processors, effective_n_threads, single_threaded_blas


@pytest.mark.parametrize(
    ("value", "expected"), [("1", 1), ("1,2", 1), ("", None), ("many", None), ("0", None)]
)
def test_omp_num_threads_is_respected(monkeypatch, value, expected):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    everything = effective_n_threads(None)
    monkeypatch.setenv("OMP_NUM_THREADS", value)
    assert effective_n_threads(None) == (expected or everything)


def test_explicit_n_threads_overrides_the_environment(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert effective_n_threads(7) == 7


@pytest.mark.parametrize(
    ("files", "quota"),
    [
        ({"cpu.max": "150000 100000"}, 2),
        ({"cpu.max": "max 100000"}, None),
        ({"cpu/cpu.cfs_quota_us": "50000", "cpu/cpu.cfs_period_us": "100000"}, 1),
        ({"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"}, None),
        ({}, None),
    ],
)
def test_quota_of_a_container(monkeypatch, tmp_path, files, quota):
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    root, plain_open, plain_exists = "/sys/fs/cgroup/", builtins.open, os.path.exists

    def moved(path):
        return str(path).replace(root, f"{tmp_path}/")

    monkeypatch.setattr(builtins, "open", lambda path, *rest: plain_open(moved(path), *rest))
    monkeypatch.setattr(os.path, "exists", lambda path: plain_exists(moved(path)))
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 64)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: range(16), raising=False)
    _processors.cache_clear()
    try:
        assert effective_n_threads(None) == (quota or 16)
    finally:
        _processors.cache_clear()


def test_blas_has_one_thread_for_a_while():
    def n_threads():
        return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]

    np.eye(3) @ np.eye(3)
    with threadpool_limits(2, user_api="blas"):
        before = n_threads()
        with single_threaded_blas():
            assert set(n_threads()) == {1}
        assert n_threads() == before


@pytest.mark.parametrize("n_threads", [1, 2])
def test_a_process_ends_quietly_while_a_daemon_thread_fits(n_threads):
    """Python before 3.14 unwinds the stack of such a thread when it asks for the interpreter's lock."""
    program = f"""
import threading, numpy as np, coterie
X, has_begun = np.random.default_rng(0).normal(size=(20000, 16)), threading.Event()
model = coterie.KMeans(
    50, init="random", n_init=10**6, tol=0, n_threads={n_threads}, callback=lambda _: has_begun.set()
)
threading.Thread(target=model.fit, args=(X,), daemon=True).start()
has_begun.wait()
"""
    for _ in range(3):
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=100)
        assert (done.returncode, done.stderr) == (0, "")
