"""Adaptive choice of bounds: labels equal those of the plain search."""

import itertools

import numpy as np
import pytest

from coterie import KMeans
from coterie.centers import adaptive
from coterie.centers.bounded import BoundedAssignment
from coterie.centers.choice import BoundsRule, choose_algorithm, compares_bounds
from coterie.centers.frame import CenterFrame
from coterie.centers.lloyd import ClusteredRows, lloyd
from coterie.fitting.report import Report, Stop
from coterie.passes import Passes, measure, measure_rows
from coterie.rows import as_rows
from tests.reference import k_means as oracle

ALGORITHMS = ("lloyd", "elkan", "yinyang", "hamerly")


def some_rows(dtype, n=6000, d=32, k=60):
    random = np.random.default_rng(0)
    return (random.normal(size=(n, d)) + 2 * random.normal(size=(k, d))[random.integers(k, size=n)]).astype(
        dtype
    )


def raced(X, k, passes, monkeypatch, seconds):
    """Run passes with a clock that says what it is told; return labels, centroids and what ran."""
    ticks = itertools.accumulate(itertools.chain(seconds, itertools.repeat(1.0)))
    monkeypatch.setattr(adaptive, "_clock", lambda: next(ticks))
    report, data = Report(fields=(("algorithm", int),)), measure(Passes(as_rows(X), n_threads=2), k)
    clusters = ClusteredRows(data, k, BoundsRule("adaptive"))
    frame = lloyd(clusters, X[:k].copy(), stop=Stop(passes, -1.0), report=report)
    ran = [ALGORITHMS[number] for number in report.history().algorithm]
    return labels_of(clusters), frame.centers, ran


def labels_of(clusters):
    return clusters.passes.run(lambda rows, state: state.labels, None, clusters.labels)[0].copy()


# The clock is asked when some rows begin and when they end: in the first pass those that have bounds of groups and
# those that have others, in a trial those that are on it and all others.
CHEAP_BOUNDS, DEAR_BOUNDS = [0, 1, 0, 1.05], [0, 1, 0, 1.2]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("bounds", [CHEAP_BOUNDS, DEAR_BOUNDS])
@pytest.mark.parametrize("trial", [0.1, 5.0])
def test_labels_do_not_depend_on_the_clock(dtype, bounds, trial, monkeypatch):
    X, k = some_rows(dtype), 60
    n_compared = 1 if bounds is CHEAP_BOUNDS else 2
    before, after = [0, 1, 0, 1] * n_compared, [0, trial, 0, 1] * (n_compared + 1)
    labels, centers, ran = raced(X, k, 24, monkeypatch, [*bounds, *before, 0, 0, *after])
    data = measure(Passes(as_rows(X), n_threads=2), k)
    plain = ClusteredRows.of(data, k, "lloyd")
    frame = lloyd(plain, X[:k].copy(), stop=Stop(24, -1.0), report=Report())
    np.testing.assert_array_equal(labels, labels_of(plain))
    np.testing.assert_array_equal(centers, frame.centers)
    assert ran[0] == ("elkan" if bounds is CHEAP_BOUNDS else "yinyang")
    assert (len(set(ran)) == 2) == (trial < 1)


def test_too_few_rows_for_a_comparison_have_bounds_of_groups(monkeypatch):
    X = some_rows(np.float32, n=adaptive._ROWS_PER_TRIED - 1, k=3)
    assert raced(X, 3, 2, monkeypatch, CHEAP_BOUNDS)[2] == ["yinyang"] * 2


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_groups", [1, 2, 4])
def test_copied_bounds_are_valid(dtype, n_groups):
    X, k = some_rows(dtype, n=500), 60
    data = measure_rows(as_rows(X), n_clusters=k, n_threads=1).in_this_process()
    ((part, x),) = data.blocks()
    first = CenterFrame(X[:k].copy(), data.shift)
    groups = BoundedAssignment(data, first, n_groups)
    groups.start(first)
    groups.assign(part, x)
    moved = X[:k] + 0.05
    lanes = groups.regrouped(None)
    lanes.copy_bounds(part, groups)
    again = lanes.regrouped(n_groups)
    again.copy_bounds(part, lanes)
    for assignment, before in ((groups, None), (lanes, groups), (again, lanes)):
        assignment.start(CenterFrame(moved.copy(), data.shift))
        in_force = assignment.lower_bounds(slice(None)).astype(np.float64)
        distances = np.sqrt(oracle.square_distances(X, moved))
        for slot, center in enumerate(assignment._order):
            group = slot if assignment.is_per_center else slot // assignment._width
            others = assignment.labels != center
            if center >= 0:
                assert np.all(in_force[others, group] <= distances[others, center])
        if before is not None:  # and tell as much as those that they are from
            assert np.mean(in_force[np.isfinite(in_force)]) > 0


def test_adaptive_bounds_need_many_iterations():
    options = dict(itemsize=4, is_sparse=False)
    chosen = [choose_algorithm((105_000, 256), 60, max_iter, **options) for max_iter in (3, 19, 20)]
    assert chosen == ["lloyd", "yinyang", "adaptive"]


def test_history_has_the_algorithm_of_adaptive_bounds():
    X, k = some_rows(np.float32, n=105_000), 70
    assert compares_bounds(X.shape, k, itemsize=4, is_sparse=False)
    assert not compares_bounds((100, 32), k, itemsize=4, is_sparse=False)
    assert not compares_bounds((10**7, 32), k, itemsize=4, is_sparse=False)  # too much memory
    assert not compares_bounds(X.shape, k, itemsize=4, is_sparse=True)
    model = KMeans(k, init=X[:k], max_iter=20, tol=0).fit(X)
    assert {ALGORITHMS[number] for number in model.history_.algorithm} <= {"elkan", "yinyang"}
    plain = KMeans(k, init=X[:k], max_iter=20, tol=0, algorithm="lloyd").fit(X)
    np.testing.assert_array_equal(model.labels_, plain.labels_)
    assert set(plain.history_.algorithm) == {0}
