"""The solvers as functions: what ends them, what they leave alone, and that a fit stores its result last."""

import inspect
from dataclasses import FrozenInstanceError
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

from coterie import BisectingKMeans, KMeans, MiniBatchKMeans, NestedMiniBatchKMeans
from coterie.centers.lloyd import ClusteredRows, lloyd
from coterie.fitting.report import Report, Stop
from coterie.kmeans import mini_batch as mini_batch_module
from coterie.kmeans.mini_batch import MiniBatchState, mini_batch
from coterie.passes import Passes, measure
from coterie.rows import as_rows


def report_of(callback=None, max_time=None):
    estimator = SimpleNamespace(callback=callback, max_time=max_time, verbose=0)
    return Report(estimator, (("center_shift", float),)).start_run()


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


@pytest.mark.parametrize("sparse", [False, True])
def test_copied_state_is_independent(blobs, sparse):
    rows = as_rows(sp.csr_array(np.maximum(blobs, 0)) if sparse else blobs)
    model = MiniBatchKMeans(9, random_state=0)
    state = model._begin(rows, None, None, np.random.RandomState(0), 1)
    options = dict(batch_size=50, reassignment_ratio=0.01, patience=None, stop=Stop(5, -1.0))
    mini_batch(rows, None, state, report=report_of(), **options)
    before = state.means.centers.copy(), state.means.sums.copy(), state.means.masses.copy()
    copied = state.copy()
    copied.random = np.random.RandomState(7)
    result = mini_batch(rows, None, copied, report=report_of(), **options)
    assert result.reason == "max_iter"
    assert (state.n_steps, copied.n_steps) == (5, 10)
    for now, then in zip((state.means.centers, state.means.sums, state.means.masses), before):
        np.testing.assert_array_equal(now, then)
    # It moves as the one that it was copied from does.
    state.random = np.random.RandomState(7)
    np.testing.assert_array_equal(
        mini_batch(rows, None, state, report=report_of(), **options).centers, result.centers
    )


def test_a_batch_that_fails_after_the_centers_have_moved_changes_nothing(blobs, monkeypatch):
    model = MiniBatchKMeans(9, random_state=0).partial_fit(blobs[:200])
    before, centers = dict(vars(model)), model.cluster_centers_.copy()
    assign, calls = mini_batch_module.assign_batch, []

    def failing(state: MiniBatchState, batch):
        calls.append(state)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return assign(state, batch)

    monkeypatch.setattr(mini_batch_module, "assign_batch", failing)
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(blobs[200:400])
    assert vars(model).keys() - {"_centers"} == before.keys() - {"_centers"}
    assert model.n_steps_ == 1
    np.testing.assert_array_equal(model.cluster_centers_, centers)
    np.testing.assert_array_equal(model._means.centers, centers)


@pytest.mark.parametrize("kind", [KMeans, NestedMiniBatchKMeans, MiniBatchKMeans, BisectingKMeans])
def test_a_fit_that_is_interrupted_stores_nothing(kind, blobs):
    def interrupt(progress):
        raise KeyboardInterrupt

    model = kind(9, random_state=0, callback=interrupt)
    before = dict(vars(model))
    with pytest.raises(KeyboardInterrupt):
        inspect.unwrap(kind.fit)(model, blobs)
    assert vars(model) == before
