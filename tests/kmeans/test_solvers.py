"""The solvers as functions: what ends them, and what they leave alone."""

from dataclasses import FrozenInstanceError
from types import SimpleNamespace

import numpy as np
import pytest

from coterie import MiniBatchKMeans
from coterie.centers.lloyd import ClusteredRows, lloyd
from coterie.fitting.report import FitReport, Stop
from coterie.kmeans import mini_batch as mini_batch_module
from coterie.passes import Passes, measure
from coterie.rows import as_rows


def report_of(callback=None, max_time=None):
    estimator = SimpleNamespace(callback=callback, max_time=max_time, verbose=0)
    return FitReport(estimator, (("center_shift", float),)).start_run()


@pytest.mark.parametrize(
    ("options", "max_iter", "reason"),
    [({}, 100, "converged"), ({}, 2, "max_iter"), ({"callback": lambda progress: True}, 100, "callback"),
     ({"max_time": 1e-9}, 100, "max_time")],
)  # fmt: skip
def test_why_lloyd_stopped(blobs, options, max_iter, reason):
    data, centers = measure(Passes(as_rows(blobs), n_threads=1), 9), blobs[:9].copy()
    clusters, report = ClusteredRows.of(data, 9), report_of(**options)
    result = clusters.result(lloyd(clusters, centers, stop=Stop(max_iter), report=report), report)
    assert result.reason == reason
    assert len(result.history) <= max_iter
    with pytest.raises(FrozenInstanceError):
        result.reason = "another"


def test_a_batch_that_fails_after_the_centers_have_moved_changes_nothing(blobs, monkeypatch):
    model = MiniBatchKMeans(9, random_state=0).partial_fit(blobs[:200])
    before = {name: np.copy(value) for name, value in vars(model).items()}

    def failing(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(mini_batch_module, "label_all", failing)
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(blobs[200:400])
    assert vars(model).keys() == before.keys()
    for name, value in before.items():
        np.testing.assert_array_equal(getattr(model, name), value)
