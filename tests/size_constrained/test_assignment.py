"""Assignments within bounds of sizes are the cheapest there are, and their certificates hold."""

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment, linprog

from coterie.blocks.kernel_rows import kernel_rows
from coterie.centers.frame import CenterFrame
from coterie.passes import measure_rows
from coterie.rows import as_rows
from coterie.size_constrained import assignment
from coterie.size_constrained.assignment import assign_within, move_rows
from coterie.size_constrained.dual_ascent import PriceProblem, ascend
from coterie.size_constrained.passes import FOLLOWED, Listing, SizedSearch, balanced
from coterie.size_constrained.priced_lists import PricedLists
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
    found = assign_within(PricedLists.of_all(scores), bounds)
    sizes = np.bincount(found.labels, minlength=scores.shape[1])
    least = least_cost(scores, bounds)
    assert found.is_within
    assert sizes.min() >= bounds.least
    assert sizes.max() <= bounds.most
    assert found.value == pytest.approx(scores[np.arange(len(scores)), found.labels].sum())
    np.testing.assert_allclose([found.value, found.bound], least, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("size", [1, 2, 5])
def test_places_are_those_of_the_linear_assignment(size):
    costs = np.random.default_rng(size).normal(size=(8 * size, 8))
    rows, places = linear_sum_assignment(np.repeat(costs, size, axis=1))
    found = assign_within(PricedLists.of_all(costs), SizeBounds(size, size))
    assert found.value == pytest.approx(costs[rows, places // size].sum())
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
    found = assign_within(PricedLists.of_all(scores), bounds, weights)
    sizes = np.bincount(found.labels, weights, minlength=scores.shape[1])
    assert found.is_within
    assert sizes.min() >= bounds.least - largest - 1e-9 * unit
    assert sizes.max() <= bounds.most + largest + 1e-9 * unit
    # The unit of the weights drops out of a linear program, but not of its solver's tolerances.
    least = unit * least_cost(scores, SizeBounds(bounds.least / unit, bounds.most / unit), weights / unit)
    assert found.bound <= least + 1e-8 * unit


@pytest.mark.parametrize("share", [0.05, 1.0])
@pytest.mark.parametrize("seed", range(8))
def test_clusters_that_lie_apart_are_filled_at_the_least_cost(seed, share, monkeypatch):
    # With 1, ways to all clusters are looked for at any cost after the first, so that many are not the shortest.
    monkeypatch.setattr("coterie.size_constrained.assignment._FAR", share)
    random = np.random.default_rng(seed)
    centers = random.normal(size=(10, 2))
    centers[:2] += random.normal(size=(2, 2)) * 40
    X = random.normal(size=(80, 2))
    scores = ((X[:, None] - centers) ** 2).sum(axis=2)
    problem = PriceProblem(PricedLists.of_all(scores), SizeBounds(8, 8), None)
    # Without any ascent all that these two lack is left to the moves.
    found = move_rows(problem, problem.at(np.zeros(10)))
    assert found.is_within
    rows, places = linear_sum_assignment(np.repeat(scores, 8, axis=1))
    assert scores[np.arange(80), found.labels].sum() == pytest.approx(scores[rows, places // 8].sum())
    assert problem.at(found.prices).value == pytest.approx(scores[rows, places // 8].sum())


def test_search_is_widened_until_all_rows_are_searched(monkeypatch):
    scores, bands = np.random.default_rng(0).normal(size=(60, 4)) + np.arange(4), []
    problem = PriceProblem(PricedLists.of_all(scores), SizeBounds(0, 25), np.linspace(1, 2, 60))

    def move_in_vain(moves, band, *_):
        bands.append(band)
        if len(bands) < 4:  # two fifths are left: such a widening does not count
            moves._sizes += 0.6 * (moves._held - moves._sizes)
        return assignment._BAND_ENDED

    monkeypatch.setattr(assignment._Moves, "_move", move_in_vain)
    move_rows(problem, problem.at(np.zeros(4)))
    np.testing.assert_array_equal(np.array(bands) / bands[0], [*2.0 ** np.arange(8), np.inf])


@pytest.mark.parametrize("slack", [1e-6, 40.0, 1e4])
@pytest.mark.parametrize("seed", range(6))
def test_moves_within_the_gap_cost_at_most_the_gap(seed, slack):
    random = np.random.default_rng(seed)
    X = random.normal(size=(240, 2)) + 30 * random.normal(size=(4, 2))[random.integers(0, 4, 240)]
    scores = ((X[:, None] - X[:12]) ** 2).sum(axis=2)
    problem = PriceProblem(PricedLists.of_all(scores), SizeBounds(20, 20), None)
    point = ascend(problem, np.zeros(12))
    found = move_rows(problem, point, slack)
    assert found.is_within
    assert set(np.bincount(found.labels)) == {20}
    rows, places = linear_sum_assignment(np.repeat(scores, 20, axis=1))
    least = scores[rows, places // 20].sum()
    # If not the cheapest, then near the bound by the prices before the moves.
    cost = problem.cost(found.labels)
    assert cost == pytest.approx(least) or cost <= point.value + slack
    assert problem.at(found.prices).value <= least * (1 + 1e-9)


def test_equal_weights_are_rows():
    _, scores, _ = drawn(5)
    weights = np.full(len(scores), 2.5)
    plain = assign_within(PricedLists.of_all(scores), SizeBounds(3, 9))
    weighted = assign_within(PricedLists.of_all(scores), SizeBounds(7.5, 22.5), weights)
    np.testing.assert_array_equal(weighted.labels, plain.labels)
    assert weighted.value == pytest.approx(2.5 * plain.value)


def test_any_prices_give_a_bound_and_newton_ascends():
    random, scores, _ = drawn(9)
    problem = PriceProblem(PricedLists.of_all(scores), SizeBounds(1, len(scores) // 2), None)
    least = least_cost(scores, problem.bounds)
    points = [problem.at(prices) for prices in random.normal(size=(20, scores.shape[1]))]
    assert all(point.value <= least + 1e-9 for point in points)
    assert all(ascend(problem, point.prices).value >= point.value for point in points)


def test_short_lists_bound_centroids_that_are_not_listed():
    random = np.random.default_rng(3)
    X, centers = random.normal(size=(400, 3)), random.normal(size=(40, 3))
    scores = (centers**2).sum(axis=1) - 2 * X @ centers.T
    ids = np.argsort(scores, axis=1)[:, :4].astype(np.int32)
    listed = np.take_along_axis(scores, ids, axis=1)
    short = PricedLists(ids, listed, np.zeros((1, 40)), listed[:, -1].copy(), np.zeros(400, dtype=np.int32))
    bounds = SizeBounds(8, 12)
    assert assign_within(short, bounds).bound <= least_cost(scores, bounds) + 1e-9


@pytest.mark.parametrize(("dtype", "weighted"), [(np.float32, True), (np.float64, False)])
def test_short_lists_reach_the_gap_on_any_threads(dtype, weighted, monkeypatch):
    monkeypatch.setattr("coterie.size_constrained.passes._WHOLE_BYTES", 0)
    random = np.random.default_rng(0)
    X = (random.normal(size=(2000, 4)) * np.linspace(0.1, 3, 2000)[:, None]).astype(dtype)
    weights = random.uniform(0.5, 1.5, size=2000) if weighted else None
    found = []
    for n_threads in (1, 2, 3):
        data = measure_rows(as_rows(X), weights, n_clusters=50, n_threads=n_threads).in_this_process()
        search = SizedSearch(SizeBounds(36, 44), data.total_weight, 50, gap=1e-3, n_threads=n_threads)
        frame = CenterFrame(X[:50], data.shift, n_threads)
        labels, inertia = search.labels(data.blocks, frame, data.squares, data.weights, data.take)
        sizes = np.bincount(labels, weights, minlength=50)
        slack = 1.5 if weighted else 0
        assert sizes.min() >= 36 - slack
        assert sizes.max() <= 44 + slack
        assert search.gap <= (0.01 if weighted else 1e-3)
        assert inertia == pytest.approx(
            np.sum(data.own_square_distances(X[:50], labels) * (1 if weights is None else weights)), rel=1e-4
        )
        found.append(labels)
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("kind", ["rows", "equal", "uneven"])
def test_balanced_sizes_are_within_the_bounds(seed, kind):
    random, scores, bounds = drawn(seed)
    n, k = scores.shape
    weights = {
        "rows": None,
        "equal": np.where(random.random(n) < 0.2, 0, 2.5),
        "uneven": random.uniform(0, 2, n),
    }[kind]
    if weights is not None:
        fair = weights.sum() / k
        bounds = SizeBounds(0.8 * fair, 1.1 * fair)
    lists = PricedLists.of_all(scores)
    labels = balanced(lists.price(np.zeros(k)), bounds, k, weights)
    sizes = np.bincount(labels, weights, minlength=k)
    slack = 0 if kind == "rows" else weights.max()
    assert bounds.least - slack <= sizes.min() <= sizes.max() <= bounds.most + slack


def test_prices_of_a_sample_need_few_new_lists(monkeypatch):
    monkeypatch.setattr("coterie.size_constrained.passes._WHOLE_BYTES", 0)
    random = np.random.default_rng(0)
    X = random.normal(size=(8000, 16))
    data = measure_rows(as_rows(X), n_clusters=40, n_threads=1).in_this_process()
    frame = CenterFrame(X[:40].copy(), data.shift)
    listed, n_passes = Listing.of_all, []

    def noting(listing, prices, at_least):
        n_passes[-1] += listing.n_rows == 8000
        return listed(listing, prices, at_least)

    monkeypatch.setattr(Listing, "of_all", noting)
    n_passes.append(0)
    search = SizedSearch(SizeBounds(190, 210), 8000, 40, gap=1e-3, n_threads=1)
    labels, _ = search.labels(data.blocks, frame, data.squares, None, data.take)
    sizes = np.bincount(labels)
    assert 190 <= sizes.min() <= sizes.max() <= 210
    assert search.gap <= 1e-3
    assert n_passes == [1]


def some_lists(seed):
    """Return all scores of rows in separate groups, what lists them, and a random generator."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(300, 3)) + 10 * random.normal(size=(6, 3))[random.integers(0, 6, 300)]
    centers = X[random.choice(300, 24, replace=False)]
    frame = CenterFrame(centers, np.zeros(3))
    held = as_rows(X)
    listing = Listing(lambda: iter([(slice(0, 300), kernel_rows(X))]), held.take, 300, frame, 1)
    return (centers**2).sum(axis=1) - 2 * X @ centers.T, listing, random


@pytest.mark.parametrize("seed", range(6))
def test_lists_that_are_made_anew_in_part_stay_bounds(seed, monkeypatch):
    monkeypatch.setattr("coterie.size_constrained.passes._WHOLE_BYTES", 0)
    scores, listing, random = some_lists(seed)
    prices = random.normal(size=24) * 20
    lists = listing.of_all(prices, 5)
    rows = np.arange(300)[:, None]
    for change in range(6):
        prices = prices + random.normal(size=24) * 5
        if change % 2 == 1:
            lists = listing.list_separately(
                lists, np.sort(random.choice(24, 3 + change, replace=False)), prices
            )
        lists = listing.list_again(lists, np.flatnonzero(random.random(300) < 0.3), prices)
        is_first = np.isfinite(lists.scores)
        expected = scores[rows, lists.ids][is_first]
        np.testing.assert_allclose(lists.scores[is_first], expected, atol=1e-9 * np.abs(scores).max())
        for ids, firsts in zip(lists.ids, is_first):
            assert len(set(ids[firsts])) == firsts.sum()
        for other in (prices, prices + random.normal(size=24) * 30, prices - 100 * (np.arange(24) == 3)):
            priced = scores + other
            pricing = lists.price(other)
            least = lists.least(pricing.values, other)
            assert np.all(least <= priced.min(axis=1) + 1e-9 * np.abs(priced).max())
            sure = ~lists.uncertain_rows(pricing.values, other)
            np.testing.assert_array_equal(pricing.labels[sure], priced.argmin(axis=1)[sure])


@pytest.mark.parametrize("seed", range(4))
def test_rows_of_separate_groups_are_assigned_within_the_gap(seed, monkeypatch):
    """Groups have room for more rows, or for fewer, than they have, so that some rows go far."""
    monkeypatch.setattr("coterie.size_constrained.passes._WHOLE_BYTES", 0)
    scores, listing, _ = some_lists(seed)
    bounds = SizeBounds(12, 13)
    search = SizedSearch(bounds, 300, 24, gap=0, n_threads=1)
    labels, _ = search.labels(listing.blocks, listing.frame, np.full(300, 1e6), None, listing.take)
    assert set(np.bincount(labels)) <= {12, 13}
    value = scores[np.arange(300), labels].sum()
    assert value == pytest.approx(assign_within(PricedLists.of_all(scores), bounds).value, rel=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_limited_lists_satisfy_sizes_and_report_the_gap(seed, monkeypatch):
    for name in ("_WHOLE_BYTES", "_LONGEST_BYTES"):
        monkeypatch.setattr(f"coterie.size_constrained.passes.{name}", 0)
    monkeypatch.setattr("coterie.size_constrained.passes._LISTED", 2)
    scores, listing, _ = some_lists(seed)
    bounds, widths, priced = SizeBounds(12, 13), [], PricedLists.price
    monkeypatch.setattr(
        PricedLists, "price", lambda lists, prices: widths.append(lists.ids.shape[1]) or priced(lists, prices)
    )
    search = SizedSearch(bounds, 300, 24, gap=0, n_threads=1)
    X = listing.take(np.arange(300))
    squares = np.sum(X**2, axis=1)
    labels, inertia = search.labels(listing.blocks, listing.frame, squares, None, listing.take)
    assert set(np.bincount(labels)) <= {12, 13}
    assert max(widths) <= 4 + FOLLOWED
    monkeypatch.undo()
    least = assign_within(PricedLists.of_all(scores), bounds).value + squares.sum()
    assert inertia == pytest.approx(scores[np.arange(300), labels].sum() + squares.sum(), rel=1e-9)
    assert least <= inertia * (1 + 1e-9)
    assert inertia - least <= search.gap * inertia + 1e-6
