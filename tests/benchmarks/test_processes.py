"""Where runs of benchmarks take place, and when they are ended."""

import os
import time

import pytest

from benchmarks.harness.measuring import Processes


def test_a_limit_counts_the_processor_with_one_thread():
    """Sleeping takes nothing of it; to be at work does, and ends the process."""
    processes = Processes(n_threads=1)
    assert processes.run_within(1, _sleep, 1.5) == 1.5
    with pytest.raises(TimeoutError, match="not done after 1 s of a processor"):
        processes.run_within(1, _work)


def test_a_limit_counts_the_clock_with_more():
    with pytest.raises(TimeoutError, match=r"not done after 0\.5 s$"):
        Processes(n_threads=2).run_within(0.5, _sleep, 60.0)


def test_exit_for_another_reason_is_not_a_timeout():
    with pytest.raises(Exception, match="terminated abruptly"):
        Processes(n_threads=1).run_within(30, os._exit, 3)


def _sleep(seconds):
    time.sleep(seconds)
    return seconds


def _work():
    while True:
        pass
