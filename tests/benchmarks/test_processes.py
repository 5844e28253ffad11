"""Where runs of benchmarks take place, and when they are ended."""

import os
import time

import pytest

from benchmarks.harness.measuring import Processes


def test_a_call_that_takes_too_long_is_ended():
    assert Processes().run_within(30, _sleep, 0.0) == 0.0
    with pytest.raises(TimeoutError, match=r"not done after 0\.5 s$"):
        Processes().run_within(0.5, _sleep, 60.0)


def test_exit_for_another_reason_is_not_a_timeout():
    with pytest.raises(Exception, match="terminated abruptly"):
        Processes().run_within(30, os._exit, 3)


def _sleep(seconds):
    time.sleep(seconds)
    return seconds
