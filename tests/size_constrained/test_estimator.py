"""K-means with size constraints."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from coterie import KMeans, SizeConstrainedKMeans


@pytest.fixture(scope="module")
def uneven():
    """Rows two thirds of which lie close together."""
    X = np.random.default_rng(0).normal(size=(900, 4))
    X[:600] *= 0.1
    return X


@pytest.mark.parametrize("sizes", [(90, 90), (80, 100), (None, 120), (0.08, None), (0.1, 0.1)])
def test_sizes_are_within_the_bounds(sizes, uneven):
    model = SizeConstrainedKMeans(10, size_min=sizes[0], size_max=sizes[1], random_state=0).fit(uneven)
    counts = np.bincount(model.labels_, minlength=10)
    np.testing.assert_array_equal(model.size_range_, [counts.min(), counts.max()])
    least, most = (0 if sizes[0] is None else sizes[0]), (900 if sizes[1] is None else sizes[1])
    assert counts.min() >= (least * 900 if 0 < least < 1 else least)
    assert counts.max() <= (most * 900 if most < 1 else most)
    assert np.all(model.history_.gap <= 1e-3)


def test_sizes_of_sparse_rows_and_of_angles(uneven):
    sparse = SizeConstrainedKMeans(9, size_min=100, size_max=100, random_state=0).fit(sp.csr_array(uneven))
    by_angle = SizeConstrainedKMeans(9, size_min=100, size_max=100, metric="cosine", random_state=0).fit(
        uneven
    )
    for model in (sparse, by_angle):
        np.testing.assert_array_equal(np.bincount(model.labels_), 100)


def test_weighted_sizes_hold_up_to_a_weight(uneven):
    weights = np.random.default_rng(1).uniform(0, 2, size=900)
    model = SizeConstrainedKMeans(10, size_min=0.09, size_max=0.11, random_state=0).fit(
        uneven, sample_weight=weights
    )
    sizes = np.bincount(model.labels_, weights, minlength=10)
    assert sizes.min() >= 0.09 * weights.sum() - 2
    assert sizes.max() <= 0.11 * weights.sum() + 2
    np.testing.assert_allclose(model.size_range_, [sizes.min(), sizes.max()])


def test_inertia_never_rises_and_is_that_of_the_labels(uneven):
    model = SizeConstrainedKMeans(12, size_min=75, size_max=75, random_state=0, tol=0).fit(uneven)
    assert np.all(np.diff(model.history_.objective) <= 1e-9)
    assert model.history_.n_changed[-1] == 0
    distances = np.sum((uneven - model.cluster_centers_[model.labels_]) ** 2)
    assert model.inertia_ == pytest.approx(distances)


def test_bounds_that_do_not_bind_change_nothing(uneven):
    plain = KMeans(5, random_state=0, algorithm="lloyd").fit(uneven)
    bounded = SizeConstrainedKMeans(5, random_state=0, size_max=900, size_min=1).fit(uneven)
    np.testing.assert_array_equal(bounded.labels_, plain.labels_)
    np.testing.assert_array_equal(bounded.cluster_centers_, plain.cluster_centers_)


def test_predict_ignores_size_constraints(uneven):
    model = SizeConstrainedKMeans(9, size_max=100, random_state=0).fit(uneven)
    squares = ((uneven[:, None] - model.cluster_centers_) ** 2).sum(axis=2)
    np.testing.assert_array_equal(model.predict(uneven), squares.argmin(axis=1))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"size_min": 91}, "size_min asks for 10 clusters of 91 or more"),
        ({"size_max": 89}, "size_max allows 10 clusters of 89 at most"),
        ({"size_min": 20, "size_max": 10}, "size_min=20 is more than size_max=10"),
    ],
)
def test_infeasible_sizes_are_one_line(options, message, uneven):
    with pytest.raises(ValueError, match=message) as caught:
        SizeConstrainedKMeans(10, **options).fit(uneven)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("weighted", [False, True])
def test_out_of_time_sizes_still_hold_and_the_gap_is_true(weighted, uneven):
    weights = np.random.default_rng(1).uniform(0.5, 1.5, size=900) if weighted else None
    options = {"init": uneven[:10], "n_init": 1, "size_min": 0.1, "size_max": 0.1, "max_iter": 1}
    within = SizeConstrainedKMeans(10, **options).fit(uneven, sample_weight=weights)
    with pytest.warns(ConvergenceWarning, match="max_time"):
        hurried = SizeConstrainedKMeans(10, max_time=1e-9, **options).fit(uneven, sample_weight=weights)
    sizes = np.bincount(hurried.labels_, weights, minlength=10)
    mean, slack = sizes.mean(), 1.5 if weighted else 0.5
    assert mean - slack <= sizes.min() <= sizes.max() <= mean + slack
    cost, least = hurried.history_.objective[0], within.history_.objective[0]
    assert 1e-3 < hurried.history_.gap[0] < 1
    assert cost * (1 - hurried.history_.gap[0]) <= least * (1 + 1e-9) < cost


def test_rows_of_separate_groups():
    """Each group has room for more rows, or for fewer, than it has: duals differ by the distances between groups."""
    random = np.random.default_rng(0)
    rows = random.normal(size=(6000, 16)) + 4 * random.normal(size=(20, 16))[random.integers(0, 20, 6000)]
    model = SizeConstrainedKMeans(
        50, init=rows[:50], n_init=1, max_iter=3, tol=0, size_min=108, size_max=132
    ).fit(rows.astype(np.float32))
    assert model.history_.gap.max() <= 0.01
    assert 108 <= np.bincount(model.labels_).min() <= np.bincount(model.labels_).max() <= 132
