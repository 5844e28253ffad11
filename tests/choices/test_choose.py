"""`choose_k`: the natural number of clusters, or the sentence that there is none."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

import coterie
from coterie.choices import choose
from coterie.choices.by_k import (
    Criterion,
    Resampling,
    bic,
    convex_merges,
    eigengaps,
    gap_statistic,
    stability,
)
from coterie.choices.dependence import Succession, Thread
from coterie.choices.modes import Modes


@pytest.fixture
def no_curves(monkeypatch):
    """Only the answer; the curves are tested apart."""
    monkeypatch.setattr(choose, "_CRITERIA", ())


def blobs(k, n, d, seed=0, distance=12.0):
    random = np.random.RandomState(seed)
    centers = (
        distance * np.eye(max(k, d))[:k, :d] if k <= d else distance * np.arange(k)[:, None] * np.eye(1, d)
    )
    return random.permutation(np.concatenate([random.normal(center, 1, (n, d)) for center in centers]))


@pytest.mark.parametrize(("k", "d"), [(2, 2), (5, 5), (7, 1), (4, 40)])
def test_finds_blobs(no_curves, k, d):
    found = coterie.choose_k(blobs(k, 60, d), (2, 20), random_state=0, n_threads=1)
    assert found.n_clusters == k
    assert found.reasons[0] == f"The natural number of clusters is {k}."
    assert found.interval[0] <= k <= found.interval[1]


@pytest.mark.parametrize(
    "draw",
    [
        lambda random: random.uniform(size=(300, 2)),
        lambda random: random.standard_normal((300, 8)),
        lambda random: np.cumsum(random.standard_normal((400, 2)), axis=0),
        lambda random: random.permutation(np.cumsum(random.standard_normal((800, 15)), axis=0)),
    ],
    ids=["uniform", "gaussian", "walk", "shuffled walk"],
)
def test_says_that_there_are_none(no_curves, draw):
    found = coterie.choose_k(draw(np.random.RandomState(3)), (2, 20), random_state=0, n_threads=1)
    assert found.n_clusters is None
    assert str(found).startswith("The data show no natural k")


def test_clear_numbers_are_told_as_such(no_curves):
    found = coterie.choose_k(blobs(4, 60, 5), (2, 9), random_state=0, n_threads=1)
    assert found.plausible == (4, 4)
    assert found.answer == "4 clusters"


def judged(halves, labels=(0, 1, 2)):
    """What is said of three modes that stand out, and a fourth that might be chance."""
    modes = Modes(np.array([np.inf, 3.0, 2.0, 1.2, 0.1]), np.arange(3), np.arange(3), {}, 2.0)
    halves, threshold = np.array(halves), 1.5
    plausible = choose._plausible(modes, threshold, halves)
    in_no_order, scattered = Succession(1.0, 1.0), Thread(0.3, 1.0, 3)
    return plausible, choose._judged(
        halves, modes, threshold, np.array(labels), in_no_order, scattered, plausible, (2, 9)
    )


def test_a_number_that_few_halves_have_is_not_clear():
    plausible, (verdict, reasons) = judged([2, 2, 2, 2, 3, 3, 2, 2, 3, 2])
    assert (plausible, verdict) == ((2, 4), 3)
    assert (
        reasons[0] == "The data have clusters, but how many is not clear: 3 stand out, 2 to 4 are plausible."
    )
    assert "1 more mode stands out further than the highest of every second data set" in reasons[1]
    assert judged([3] * 8 + [2] * 2)[0] == (3, 3)


def test_a_mode_with_most_rows_may_be_several_clusters():
    assert not any("One mode holds" in line for line in judged([3] * 10)[1][1])
    said = judged([3] * 10, labels=[0] * 7 + [1, 1, 2])[1][1]
    assert "or more" not in judged([2] * 10)[1][1][0]
    assert "2 to 4 or more are plausible" in judged([2] * 10, labels=[0] * 7 + [1, 1, 2])[1][1][0]
    assert said[-1].startswith("One mode holds 70% of the rows: clusters that touch have one mode")


def test_numbers_that_are_equally_stable_are_named_where_none_is_clear():
    ks, values = np.arange(2, 6), np.array([0.5, 0.9, 0.85, 0.75])
    curve = Criterion("stability", "", ks, values, values - 0.1, values + 0.1, np.full(4, 0.4), None, "")
    (said,) = choose._equally_stable((2, 4), (curve,))
    assert said.startswith(
        "Half samples find k-means of k = 3, 4, 5 again as well as any (ARI of 0.90 for 3)"
    )
    assert choose._equally_stable((3, 3), (curve,)) == []
    chance = replace(curve, chance=np.ones(4))
    assert choose._equally_stable((2, 4), (chance,)) == []
    assert choose._equally_stable((2, 4), ()) == []


def test_a_number_outside_the_range_is_named_but_no_answer(no_curves):
    found = coterie.choose_k(blobs(5, 60, 5), (2, 3), random_state=0, n_threads=1)
    assert found.n_clusters is None
    assert "k = 5 outside of it" in found.reasons[0]


def test_sparse_rows_and_samples(no_curves):
    rows = np.abs(blobs(3, 150, 6))
    rows[rows < 3] = 0
    assert coterie.choose_k(sp.csr_array(rows), (2, 9), random_state=0, n_threads=1).n_clusters == 3
    sampled = coterie.choose_k(blobs(3, 400, 3), (2, 9), sample_size=300, random_state=0, n_threads=1)
    assert (sampled.n_clusters, sampled.facts["sample_rows"]) == (3, 300)


def test_same_seed_same_answer(no_curves):
    X = blobs(3, 50, 3)
    first, second = (coterie.choose_k(X, (2, 9), random_state=1, n_threads=threads) for threads in (1, 2))
    np.testing.assert_array_equal(first.prominences, second.prominences)
    assert first.threshold == second.threshold


@pytest.mark.parametrize("criterion", [gap_statistic, stability, eigengaps, bic, convex_merges])
def test_every_curve_has_intervals_and_takes_three(criterion):
    task = Resampling(blobs(3, 60, 3), [2, 3, 4, 5], np.random.RandomState(0), 1, lambda: None)
    curve = criterion(task)
    assert curve.choice == 3
    assert np.all(curve.low <= curve.values)
    assert np.all(curve.values <= curve.high)
    assert 3 in curve.ks


@pytest.mark.parametrize("criterion", [gap_statistic, bic])
def test_curves_that_know_of_none_take_none_on_one_gaussian(criterion):
    points = np.random.RandomState(1).standard_normal((240, 3))
    assert criterion(Resampling(points, [2, 3, 4], np.random.RandomState(0), 1, lambda: None)).choice == 1


def test_the_table_has_every_curve_and_a_time_limit_leaves_them_out():
    pytest.importorskip("pyarrow")
    X = blobs(3, 40, 2)
    late = coterie.choose_k(X, (2, 4), max_time=1e-9, random_state=0, n_threads=1)
    assert (late.n_clusters, late.criteria, len(late.left_out)) == (3, (), 1)
    table = coterie.choose_k(X, (2, 4), random_state=0, n_threads=1).table()
    assert table.column_names == ["criterion", "k", "value", "low", "high", "chance", "chosen"]
    assert set(table["criterion"].to_pylist()) == {"gap", "stability", "eigengap", "bic", "convex path"}


@pytest.mark.parametrize(
    ("X", "k_range", "message"),
    [
        (np.zeros((30, 2)), (1, 5), "must ascend from 2"),
        (np.zeros((30, 2)), (6, 5), "must ascend from 2"),
        (np.zeros((30, 2)), (2, 30), "below the number of rows"),
        (np.zeros((30, 2)), 5, "two whole numbers"),
        (np.zeros((5, 2)), (2, 3), "at least 20"),
    ],
)
def test_wrong_arguments(X, k_range, message):
    with pytest.raises(ValueError, match=message):
        coterie.choose_k(X, k_range)


def test_equal_rows_have_no_natural_number(no_curves):
    assert coterie.choose_k(np.ones((50, 3)), (2, 9), random_state=0, n_threads=1).n_clusters is None
