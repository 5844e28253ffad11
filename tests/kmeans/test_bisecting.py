"""Bisecting k-means: its tree, cuts of it, and scikit-learn's own results."""

import numpy as np
import pytest
import sklearn.cluster
from sklearn.exceptions import ConvergenceWarning

import coterie
from coterie import BisectingKMeans, KMeans
from coterie.kmeans.bisecting import BisectionTree
from tests.support.bits import same_bits


@pytest.fixture(scope="module")
def rows():
    random = np.random.default_rng(0)
    return np.concatenate([random.normal(size=(40, 3)) + 8 * random.normal(size=3) for _ in range(9)])


def test_every_cut_is_the_fit_of_so_many_clusters(rows):
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


def test_centroids_are_means_and_rows_are_predicted_as_they_were_labeled(rows):
    model = BisectingKMeans(12, random_state=0).fit(rows)
    same_bits(model.predict(rows), model.labels_)
    for label, center in enumerate(model.cluster_centers_):
        np.testing.assert_allclose(center, rows[model.labels_ == label].mean(axis=0))
    assert model.score(rows) == pytest.approx(-model.inertia_)
    np.testing.assert_array_equal(model.history_.n_clusters, np.arange(2, 13))
    assert np.all(np.diff(model.history_.objective) < 0)


def test_weights_are_repetitions(rows):
    def first_and_last(X, n_clusters, random_state):
        rows = np.asarray(X)
        return rows[[rows[:, 0].argmin(), rows[:, 0].argmax()]]

    times = np.random.default_rng(1).integers(1, 4, size=len(rows))
    weighted = BisectingKMeans(7, init=first_and_last, tol=0).fit(rows, sample_weight=times)
    repeated = BisectingKMeans(7, init=first_and_last, tol=0).fit(np.repeat(rows, times, axis=0))
    np.testing.assert_allclose(weighted.cluster_centers_, repeated.cluster_centers_)
    assert weighted.inertia_ == pytest.approx(repeated.inertia_)


def test_a_saved_tree_is_cut_and_predicts(rows, tmp_path):
    model = BisectingKMeans(6, random_state=0).fit(rows)
    model.save(tmp_path / "tree.coterie")
    loaded = coterie.load(tmp_path / "tree.coterie")
    same_bits(loaded.labels_at(4), model.labels_at(4))
    same_bits(loaded.predict(rows), model.labels_)


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
        (dict(n_init=0), "n_init must be a positive integer"),
        (dict(bisecting_strategy="worst"), "bisecting_strategy must be one of 'biggest_inertia', 'largest_cluster'"),
        (dict(algorithm="full"), "algorithm must be one of"),
        (dict(init=np.zeros((2, 3))), "init must say how the two centroids of a split are drawn, got ndarray"),
        (dict(init=KMeans(2)), "init must say how .* got KMeans"),
        (dict(n_clusters=1000), "n_samples=360 should be >= n_clusters=1000"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told(parameters, message, rows):
    with pytest.raises(ValueError, match=message):
        BisectingKMeans(**parameters).fit(rows)


def test_one_cluster_is_all_rows(rows):
    model = BisectingKMeans(1, random_state=0).fit(rows)
    np.testing.assert_allclose(model.cluster_centers_[0], rows.mean(axis=0))
    assert not model.labels_.any()
    assert len(model.history_) == len(model.splits_) == 0
