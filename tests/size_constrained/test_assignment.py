"""Assignments within bounds of sizes are the cheapest there are, and their certificates hold."""

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment, linprog

from coterie.centers.frame import CenterFrame
from coterie.fitting.deadline import Deadline
from coterie.passes import measure_rows
from coterie.rows import as_rows
from coterie.size_constrained.assignment import Candidates, assign_within
from coterie.size_constrained.passes import SizedSearch
from coterie.size_constrained.sizes import SizeBounds


def least_cost(scores, bounds, weights=None):
    """Return what the cheapest assignment costs, fractions of rows included."""
    n, k = scores.shape
    weights = np.ones(n) if weights is None else weights
    sizes = np.kron(weights, np.eye(k))
    found = linprog(
        (weights[:, None] * scores).ravel(),
        A_ub=np.vstack([sizes, -sizes]),
        b_ub=np.repeat([bounds.most, -bounds.least], k),
        A_eq=np.kron(np.eye(n), np.ones(k)),
        b_eq=np.ones(n),
    )
    return found.fun


def drawn(seed):
    random = np.random.default_rng(seed)
    k = int(random.integers(1, 7))
    n = int(random.integers(k, 40))
    scores = random.normal(size=(n, k)) + 2 * random.normal(size=k)
    scores = np.round(scores) if seed % 4 == 0 else scores
    bounds = SizeBounds(int(random.integers(0, n // k + 1)), int(random.integers(-(-n // k), n + 1)))
    return random, scores, SizeBounds(n // k, -(-n // k)) if seed % 3 == 0 else bounds


@pytest.mark.parametrize("seed", range(24))
def test_the_cheapest_assignment_within_the_bounds(seed):
    _, scores, bounds = drawn(seed)
    found = assign_within(Candidates.of_all(scores), bounds)
    sizes = np.bincount(found.labels, minlength=scores.shape[1])
    least = least_cost(scores, bounds)
    assert sizes.min() >= bounds.least
    assert sizes.max() <= bounds.most
    assert found.cost == pytest.approx(scores[np.arange(len(scores)), found.labels].sum())
    np.testing.assert_allclose([found.cost, found.bound], least, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("size", [1, 2, 5])
def test_places_are_those_of_the_linear_assignment(size):
    costs = np.random.default_rng(size).normal(size=(8 * size, 8))
    rows, places = linear_sum_assignment(np.repeat(costs, size, axis=1))
    found = assign_within(Candidates.of_all(costs), SizeBounds(size, size))
    assert found.cost == pytest.approx(costs[rows, places // size].sum())
    np.testing.assert_array_equal(found.labels, places // size)


@pytest.mark.parametrize("seed", range(12))
def test_weighted_sizes_hold_up_to_the_largest_weight(seed):
    random, scores, _ = drawn(seed)
    unit = [1.0, 1e-3, 1e3][seed % 3]
    weights = random.uniform(0, 2, size=len(scores))
    weights[random.random(len(scores)) < 0.2] = 0
    weights[0] = 1
    weights *= unit
    fair, largest = weights.sum() / scores.shape[1], weights.max()
    bounds = SizeBounds(0.7 * fair, 1.2 * fair)
    found = assign_within(Candidates.of_all(scores), bounds, weights)
    sizes = np.bincount(found.labels, weights, minlength=scores.shape[1])
    assert sizes.min() >= bounds.least - largest - 1e-9 * unit
    assert sizes.max() <= bounds.most + largest + 1e-9 * unit
    # The unit of the weights drops out of a linear program, but not of its solver's tolerances.
    least = unit * least_cost(scores, SizeBounds(bounds.least / unit, bounds.most / unit), weights / unit)
    assert found.bound <= least + 1e-8 * unit


@pytest.mark.parametrize("seed", range(8))
def test_clusters_that_lie_apart_are_filled_at_the_least_cost(seed):
    random = np.random.default_rng(seed)
    centers = random.normal(size=(10, 2))
    centers[:2] += random.normal(size=(2, 2)) * 40
    X = random.normal(size=(80, 2))
    scores = ((X[:, None] - centers) ** 2).sum(axis=2)
    found = assign_within(Candidates.of_all(scores), SizeBounds(8, 8))
    rows, places = linear_sum_assignment(np.repeat(scores, 8, axis=1))
    least = scores[rows, places // 8].sum()
    assert found.cost == pytest.approx(least)
    assert found.bound == pytest.approx(least)


def test_equal_weights_are_rows():
    _, scores, _ = drawn(5)
    weights = np.full(len(scores), 2.5)
    plain = assign_within(Candidates.of_all(scores), SizeBounds(3, 9))
    weighted = assign_within(Candidates.of_all(scores), SizeBounds(7.5, 22.5), weights)
    np.testing.assert_array_equal(weighted.labels, plain.labels)
    assert weighted.cost == pytest.approx(2.5 * plain.cost)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("weighted", [False, True])
def test_out_of_time_the_sizes_hold_and_the_bound_is_one(seed, weighted):
    random, scores, bounds = drawn(seed)
    weights = random.uniform(0.5, 1.5, size=len(scores)) if weighted else None
    found = assign_within(Candidates.of_all(scores), bounds, weights, deadline=Deadline(1e-9))
    sizes, slack = np.bincount(found.labels, weights, minlength=scores.shape[1]), 3.0 * weighted
    assert bounds.least - slack <= sizes.min() <= sizes.max() <= bounds.most + slack
    assert found.bound <= least_cost(scores, bounds, weights) + 1e-8


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_few_candidates_reach_the_gap_on_any_threads(dtype, monkeypatch):
    monkeypatch.setattr("coterie.size_constrained.passes._WHOLE_BYTES", 0)
    monkeypatch.setattr("coterie.size_constrained.passes._CANDIDATES", 4)
    X = np.random.default_rng(0).normal(size=(4000, 6)).astype(dtype)
    found = []
    for n_threads in (1, 3):
        data = measure_rows(as_rows(X), n_clusters=40, n_threads=n_threads).in_this_process()
        search = SizedSearch(SizeBounds(90, 110), 4000, 40, gap=1e-3, n_threads=n_threads)
        labels = search.labels(data.blocks, CenterFrame(X[:40].copy(), data.shift), data.squares, None)
        assert 90 <= np.bincount(labels).min() <= np.bincount(labels).max() <= 110
        assert 0 <= search.gap <= 1e-3
        found.append(labels)
    np.testing.assert_array_equal(*found)
    scores = ((X[:, None].astype(float) - X[:40]) ** 2).sum(axis=2)
    whole = assign_within(Candidates.of_all(scores), SizeBounds(90, 110))
    cost = scores[np.arange(4000), found[0]].sum()
    assert whole.bound - 1e-6 * cost <= cost <= whole.bound * (1 + 2e-3)


@pytest.mark.parametrize("seed", [12, 26, 50, 51, 56])
def test_rows_far_from_borders_move_where_that_is_the_cheapest(seed):
    random = np.random.default_rng(seed)
    X = random.normal(size=(900, 4))
    X[:600] *= 0.1
    scores = np.sum((X[:, None] - X[random.choice(900, 10, replace=False)]) ** 2, axis=2)
    found = assign_within(Candidates.of_all(scores), SizeBounds(0.0, 120.0))
    places = np.repeat(np.arange(10), 120)
    rows, chosen = linear_sum_assignment(scores[:, places])
    least = scores[rows, places[chosen]].sum()
    assert found.cost == pytest.approx(least, rel=1e-9)
    assert found.bound == pytest.approx(least, rel=1e-9)
