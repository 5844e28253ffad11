"""`choose_k`: the number of clusters, or that there are none."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

import coterie
from coterie.selection import choose_k as choose
from coterie.selection.choose_k import PathLikeness, SerialDependence
from coterie.selection.criteria_by_k import (
    Criterion,
    Resampling,
    bic,
    gap_statistic,
    stability,
)
from coterie.selection.modes import Modes


@pytest.fixture
def no_curves(monkeypatch):
    """Compute the number only; the criteria have tests of their own."""
    monkeypatch.setattr(choose, "_CRITERIA", ())


def blobs(k, n, d, seed=0, distance=12.0):
    random = np.random.RandomState(seed)
    centers = (
        distance * np.eye(max(k, d))[:k, :d] if k <= d else distance * np.arange(k)[:, None] * np.eye(1, d)
    )
    return random.permutation(np.concatenate([random.normal(center, 1, (n, d)) for center in centers]))


@pytest.mark.parametrize(("k", "d"), [(2, 2), (4, 40)])
def test_finds_the_number_of_blobs(no_curves, k, d):
    found = coterie.choose_k(blobs(k, 60, d), (2, 20), random_state=0, n_threads=1)
    assert found.n_clusters == k
    assert found.reasons[0] == f"The data have {k} clusters."
    assert found.interval[0] <= k <= found.interval[1]


@pytest.mark.parametrize(
    "draw",
    [
        lambda random: random.standard_normal((300, 8)),
        lambda random: random.permutation(np.cumsum(random.standard_normal((800, 15)), axis=0)),
    ],
    ids=["gaussian", "shuffled walk"],
)
def test_data_without_clusters(no_curves, draw):
    found = coterie.choose_k(draw(np.random.RandomState(3)), (2, 20), random_state=0, n_threads=1)
    assert found.n_clusters is None
    assert str(found).startswith("The data have no clusters")


def test_plausible_range_of_a_clear_number(no_curves):
    found = coterie.choose_k(blobs(4, 60, 5), (2, 9), random_state=0, n_threads=1)
    assert found.plausible == (4, 4)
    assert found.answer == "4 clusters"


def judged(halves, labels=(0, 1, 2)):
    """Return the decision for three prominent modes and one below the threshold."""
    modes = Modes(np.array([np.inf, 3.0, 2.0, 1.2, 0.1]), np.arange(3), np.arange(3), {}, 2.0)
    halves, threshold = np.array(halves), 1.5
    plausible = choose._plausible(modes, threshold, halves)
    independent, scattered = SerialDependence(1.0, 1.0), PathLikeness(0.3, 1.0, 3)
    return plausible, choose._judged(
        halves, modes, threshold, np.array(labels), independent, scattered, plausible, (2, 9)
    )


def test_plausible_range_where_half_samples_disagree():
    plausible, (verdict, reasons) = judged([2, 2, 2, 2, 3, 3, 2, 2, 3, 2])
    assert (plausible, verdict) == ((2, 4), 3)
    assert (
        reasons[0]
        == "The data have clusters, but their number is not clear: 3 prominent modes, 2 to 4 plausible."
    )
    assert "1 more mode is above the median of data without clusters" in reasons[1]
    assert judged([3] * 8 + [2] * 2)[0] == (3, 3)


def test_mode_with_most_rows_may_be_several_clusters():
    assert not any("One mode holds" in line for line in judged([3] * 10)[1][1])
    said = judged([3] * 10, labels=[0] * 7 + [1, 1, 2])[1][1]
    assert "or more" not in judged([2] * 10)[1][1][0]
    assert "2 to 4 or more plausible" in judged([2] * 10, labels=[0] * 7 + [1, 1, 2])[1][1][0]
    assert said[-1].startswith("One mode holds 70% of the rows: touching clusters can share a mode")


def test_most_stable_numbers_are_listed_where_none_is_clear():
    ks, values = np.arange(2, 6), np.array([0.5, 0.9, 0.85, 0.75])
    curve = Criterion("stability", "", ks, values, values - 0.1, values + 0.1, np.full(4, 0.4), None, "")
    (said,) = choose._equally_stable((2, 4), (curve,))
    assert said.startswith("K-means is most stable for k = 3, 4, 5 (ARI of half samples 0.90 for 3)")
    assert choose._equally_stable((3, 3), (curve,)) == []
    chance = replace(curve, chance=np.ones(4))
    assert choose._equally_stable((2, 4), (chance,)) == []
    assert choose._equally_stable((2, 4), ()) == []


def test_number_outside_of_the_range(no_curves):
    found = coterie.choose_k(blobs(5, 60, 5), (2, 3), random_state=0, n_threads=1)
    assert found.n_clusters is None
    assert "5 clusters, outside of the range" in found.reasons[0]


def test_sparse_rows_and_samples(no_curves):
    rows = np.abs(blobs(3, 150, 6))
    rows[rows < 3] = 0
    assert coterie.choose_k(sp.csr_array(rows), (2, 9), random_state=0, n_threads=1).n_clusters == 3
    sampled = coterie.choose_k(blobs(3, 400, 3), (2, 9), sample_size=300, random_state=0, n_threads=1)
    assert (sampled.n_clusters, sampled.facts["sample_rows"]) == (3, 300)


def test_same_seed_same_answer_for_any_number_of_threads(no_curves):
    X = blobs(3, 50, 3)
    first, second = (coterie.choose_k(X, (2, 9), random_state=1, n_threads=threads) for threads in (1, 2))
    np.testing.assert_array_equal(first.prominences, second.prominences)
    assert first.threshold == second.threshold


@pytest.mark.parametrize("criterion", [gap_statistic, stability, bic])
def test_each_criterion_has_intervals_and_chooses_three(criterion):
    task = Resampling(blobs(3, 60, 3), [2, 3, 4, 5], np.random.RandomState(0), 1, lambda: None)
    curve = criterion(task)
    assert curve.choice == 3
    assert np.all(curve.low <= curve.values)
    assert np.all(curve.values <= curve.high)
    assert 3 in curve.ks


@pytest.mark.parametrize("criterion", [gap_statistic, bic])
def test_gap_and_bic_choose_one_cluster_on_one_gaussian(criterion):
    points = np.random.RandomState(1).standard_normal((240, 3))
    assert criterion(Resampling(points, [2, 3, 4], np.random.RandomState(0), 1, lambda: None)).choice == 1


def test_table_of_criteria_and_time_limit():
    pytest.importorskip("pyarrow")
    X = blobs(3, 40, 2)
    late = coterie.choose_k(X, (2, 4), max_time=1e-9, random_state=0, n_threads=1)
    assert (late.n_clusters, late.criteria, len(late.left_out)) == (3, (), 1)
    table = coterie.choose_k(X, (2, 4), random_state=0, n_threads=1).table()
    assert table.column_names == ["criterion", "k", "value", "low", "high", "chance", "chosen"]
    assert set(table["criterion"].to_pylist()) == {"gap", "stability", "bic"}


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


def test_equal_rows_have_no_clusters(no_curves):
    assert coterie.choose_k(np.ones((50, 3)), (2, 9), random_state=0, n_threads=1).n_clusters is None


def test_callback_names_each_step():
    steps = []
    coterie.choose_k(blobs(2, 40, 2), (2, 3), random_state=0, n_threads=1, callback=steps.append)
    assert steps[:3] == ["modes of the density", "modes of half samples", "gap statistic"]
    assert len(steps) == 5
