"""Bisecting k-means: its tree, cuts of it, and scikit-learn's own results."""

import numpy as np
import pytest
import sklearn.cluster
from sklearn.exceptions import ConvergenceWarning

from coterie import BisectingKMeans, KMeans
from coterie.kmeans.bisecting import BisectionTree
from tests.reference import k_means as oracle
from tests.support.bits import same_bits


@pytest.fixture(scope="module")
def rows():
    random = np.random.default_rng(0)
    return np.concatenate([random.normal(size=(40, 3)) + 8 * random.normal(size=3) for _ in range(9)])


def test_labels_at_equals_the_fit_of_that_number_of_clusters(rows):
    tree = BisectingKMeans(9, random_state=0).fit(rows)
    for n_clusters in range(1, 10):
        fewer = BisectingKMeans(n_clusters, random_state=0).fit(rows)
        same_bits(tree.labels_at(n_clusters), fewer.labels_)


def test_a_finer_cut_divides_clusters_of_a_coarser_one(rows):
    tree = BisectingKMeans(20, random_state=0).fit(rows)
    for n_clusters in range(2, 21):
        coarse, fine = tree.labels_at(n_clusters - 1), tree.labels_at(n_clusters)
        assert len(np.unique(fine)) == n_clusters
        assert len({(one, other) for one, other in zip(fine.tolist(), coarse.tolist())}) == n_clusters


@pytest.mark.parametrize("strategy", ["biggest_inertia", "largest_cluster"])
def test_clusters_are_as_good_as_those_of_scikit_learn(rows, strategy):
    parameters = dict(n_init=3, bisecting_strategy=strategy, random_state=0)
    theirs = sklearn.cluster.BisectingKMeans(9, **parameters).fit(rows)
    ours = BisectingKMeans(9, **parameters).fit(rows)
    assert ours.inertia_ <= 1.05 * theirs.inertia_
    assert ours.inertia_ == pytest.approx(((rows - ours.cluster_centers_[ours.labels_]) ** 2).sum())
    assert {"n_clusters", "init", "n_init", "random_state", "max_iter", "verbose", "tol", "copy_x", "algorithm",
            "bisecting_strategy"} <= ours.get_params().keys()  # fmt: skip


def test_the_cluster_that_is_halved_is_the_worst(rows):
    by_inertia = BisectingKMeans(2, random_state=0).fit(rows)
    inertias = [((rows[by_inertia.labels_ == c] - by_inertia.cluster_centers_[c]) ** 2).sum() for c in (0, 1)]
    assert BisectingKMeans(3, random_state=0).fit(rows).splits_[1] == 1 + np.argmax(inertias)
    by_size = BisectingKMeans(3, bisecting_strategy="largest_cluster", random_state=0).fit(rows)
    assert by_size.splits_[1] == 1 + np.argmax(np.bincount(by_size.labels_at(2)))


def test_centroids_are_means_and_predict_returns_labels(rows):
    model = BisectingKMeans(12, random_state=0).fit(rows)
    same_bits(model.predict(rows), model.labels_)
    for label, center in enumerate(model.cluster_centers_):
        np.testing.assert_allclose(center, rows[model.labels_ == label].mean(axis=0))
    assert model.score(rows) == pytest.approx(-model.inertia_)
    np.testing.assert_array_equal(model.history_.n_clusters, np.arange(2, 13))
    assert np.all(np.diff(model.history_.objective) < 0)


def test_a_tree_of_another_shape_is_refused():
    assert BisectionTree.problem(np.array([0, 1]), np.zeros((5, 2))) is None
    assert "tree_centers_ has 4 rows" in BisectionTree.problem(np.array([0, 1]), np.zeros((4, 2)))
    assert "a node twice" in BisectionTree.problem(np.array([0, 0]), np.zeros((5, 2)))
    assert "before there is one" in BisectionTree.problem(np.array([0, 4]), np.zeros((5, 2)))


def test_equal_rows_are_not_split():
    X = np.repeat([[0.0], [1.0], [5.0]], 4, axis=0)
    with pytest.warns(
        ConvergenceWarning, match=r"distinct clusters \(3\) found smaller than n_clusters \(5\)"
    ):
        model = BisectingKMeans(5, random_state=0).fit(X)
    assert len(model.cluster_centers_) == 3
    with pytest.raises(ValueError, match="n_clusters=4 is more than the 3 clusters of the tree"):
        model.labels_at(4)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (dict(init=np.zeros((2, 3))), "init must say how the two centroids of a split are drawn, got ndarray"),
        (dict(init=KMeans(2)), "init must say how .* got KMeans"),
        (dict(n_clusters=1000), "n_samples=360 should be >= n_clusters=1000"),
    ],
)  # fmt: skip
def test_invalid_parameters(parameters, message, rows):
    with pytest.raises(ValueError, match=message):
        BisectingKMeans(**parameters).fit(rows)


def rays(random, n=240, d=6):
    """Rows of all lengths, in twelve directions."""
    directions = random.normal(size=(12, d))
    X = directions[np.arange(n) % 12] + 0.1 * random.normal(size=(n, d))
    return X * 10 ** random.uniform(-3, 3, size=(n, 1))


@pytest.mark.parametrize("weighted", [False, True])
def test_cosine_splits_are_those_of_the_oracle(weighted):
    random = np.random.default_rng(4)
    X = rays(random)
    weights = random.integers(1, 4, size=len(X)) if weighted else None

    def first_and_last(rows, n_clusters, random_state):
        rows = np.asarray(rows)
        return rows[[rows[:, 0].argmin(), rows[:, 0].argmax()]]

    model = BisectingKMeans(12, init=first_and_last, tol=0, metric="cosine").fit(X, sample_weight=weights)
    units, masses = oracle.unit_rows(X), np.ones(len(X)) if weights is None else weights
    clusters = [np.arange(len(X))]

    def inertia(part):
        center = masses[part] @ units[part]
        return float(masses[part] @ (1 - units[part] @ center / np.linalg.norm(center)))

    while len(clusters) < 12:
        worst = clusters.pop(int(np.argmax([inertia(part) for part in clusters])))
        start = first_and_last(units[worst], 2, None)
        labels = oracle.lloyd(X[worst], start, weights=masses[worst], unit_length=True)[1]
        clusters += [worst[labels == label] for label in (0, 1)]
    assert {frozenset(np.flatnonzero(model.labels_ == label)) for label in range(12)} == set(
        map(frozenset, clusters)
    )
    assert model.inertia_ == pytest.approx(sum(map(inertia, clusters)))
    assert model.history_.objective[-1] == pytest.approx(model.inertia_)
    np.testing.assert_allclose(np.linalg.norm(model.cluster_centers_, axis=1), 1)
    same_bits(model.predict(1e3 * X), model.labels_)
    np.testing.assert_allclose(model.transform(X), 1 - units @ model.cluster_centers_.T, atol=1e-12)


def test_cosine_ignores_rows_of_zeros():
    X = rays(np.random.default_rng(5))
    with_zeros = np.insert(X, [0, 7, len(X)], 0, axis=0)
    others = np.flatnonzero(with_zeros.any(axis=1))
    with pytest.raises(ValueError, match=r"rows of zeros.*First bad row: 0"):
        BisectingKMeans(5, metric="cosine").fit(with_zeros)
    options = dict(metric="cosine", random_state=0)
    model = BisectingKMeans(5, zero_rows="ignore", **options).fit(with_zeros)
    same_bits(model.labels_[others], BisectingKMeans(5, **options).fit(X).labels_)
    same_bits(model.predict(with_zeros), model.labels_)
    for labels in (model.labels_, model.labels_at(3)):
        np.testing.assert_array_equal(
            np.flatnonzero(labels == -1), np.setdiff1d(np.arange(len(with_zeros)), others)
        )
    assert model.labels_at(3).max() == 2


def test_a_stopped_fit_does_not_warn_of_missing_clusters(recwarn):
    X = np.random.default_rng(0).normal(size=(100, 2))
    model = BisectingKMeans(5, callback=lambda _: True, random_state=0).fit(X)
    assert len(np.unique(model.labels_)) == 2
    assert not recwarn.list
