"""What is predicted for many machines follows from its rates."""

import pytest

from benchmarks.dask.prediction import Cluster, Fit, prediction_lines, straggling


def test_a_pass_of_known_rates():
    lines = list(prediction_lines(Fit(10**6, 100, 1000), Cluster(10, 2, 1e9, 1e8, 0.01)))
    assert lines[1] == "bytes per pass: 0.4 MB to and at most 1.6 MB from each worker"
    assert lines[2] == "seconds per pass: 10.0 computing without bounds, 0.2 traveling"
    assert lines[3].startswith("memory per worker: 0.0 GiB rows")


def test_the_slowest_of_many():
    assert straggling([2.0, 2.0], 64) == 1
    assert straggling([1.0, 3.0], 64) == pytest.approx(1.5)
    assert straggling([1.0, 1.0, 1.0, 5.0], 16) > straggling([1.0, 1.0, 1.0, 5.0], 2)
