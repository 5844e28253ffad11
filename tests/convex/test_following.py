"""Some rows stand for all where `max_time` is too short for a path of all."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import coterie
from coterie.convex.following import followed_in_time
from coterie.convex.method import CONVEX_PATH
from coterie.fitting.deadline import Deadline
from coterie.rows import as_rows
from tests.support.clocks import TickingClock

# Three groups of rows that are far from each other, each as often as it is given.
CENTERS = np.array([[0.0, 0.0], [40.0, 0.0], [0.0, 40.0]])


@pytest.fixture(scope="module")
def data():
    random = np.random.default_rng(0)
    groups = random.integers(3, size=900)
    return CENTERS[groups] + random.normal(size=(900, 2)), groups


def hurried(monkeypatch, model, rows):
    """Fit where the comparison of rows takes so long that few can be solved for."""
    monkeypatch.setattr("coterie.graphs.hurried.seconds_of_pass", lambda *_: 1.0)
    with pytest.warns(ConvergenceWarning) as told:
        model.set_params(max_time=30).fit(rows)
    assert "of the 900 rows, drawn at random" in str(told[0].message)
    return model


def test_followers_have_the_labels_of_those_they_follow_along_the_whole_path(data, monkeypatch):
    rows, groups = data
    path = hurried(monkeypatch, coterie.ConvexClusterPath(n_gammas=30, random_state=0), rows)
    some, followed = path.sample_indices_, path.followed_
    assert 60 <= len(some) < 200
    assert path.labels_path_.shape == (len(path.gammas_), 900)
    assert path.centroids_path_.shape == (len(path.gammas_), len(some), 2)
    assert path.linkage_.shape == (len(some) - 1, 4)
    assert path.edges_.max() < len(some)
    squares = ((rows[:, None] - rows[some]) ** 2).sum(axis=2)
    np.testing.assert_array_equal(followed, squares.argmin(axis=1))
    np.testing.assert_array_equal(path.labels_path_, path.labels_path_[:, some[followed]])
    assert path.n_clusters_path_[-1] == 1
    for n_clusters in (1, 3, 5):
        labels = path.labels_at(n_clusters)
        _, first = np.unique(labels, return_index=True)
        assert len(first) == n_clusters
        assert list(first) == sorted(first)  # numbered by their first rows
    assert coterie.metrics.clustering_accuracy(groups, path.labels_at(3)) == 1


def test_a_single_gamma_has_labels_and_centroids_of_all_rows(data, monkeypatch):
    rows, _ = data
    model = hurried(monkeypatch, coterie.ConvexClustering(gamma=1.0, random_state=0), rows)
    some = model.sample_indices_[model.followed_]
    np.testing.assert_array_equal(model.labels_, model.labels_[some])
    np.testing.assert_array_equal(model.centroids_, model.centroids_[some])
    assert model.outlier_scores_.shape == (900,)
    assert len(model.cluster_centers_) == model.n_clusters_ == model.labels_.max() + 1
    assert len(model.dual_) == len(model.edges_)


def test_the_model_can_be_saved_drawn_and_fitted_anew(data, monkeypatch, tmp_path):
    rows, _ = data
    path = hurried(monkeypatch, coterie.ConvexClusterPath(n_gammas=8, max_iter=50, random_state=0), rows)
    path.save(tmp_path / "path.coterie")
    again = coterie.load(tmp_path / "path.coterie")
    np.testing.assert_array_equal(again.labels_at(3), path.labels_at(3))
    assert f"{len(path.sample_indices_)} rows" in path.plot().get_title()
    with pytest.raises(ValueError, match="one entry for each of the 900 rows"):
        path.plot_dendrogram(names=["one"])
    path.plot_dendrogram(names=[f"row {i}" for i in range(900)])
    path.set_params(max_time=None, tol=0.1).fit(rows[:50])
    assert not hasattr(path, "sample_indices_")
    assert path.solved_labels_path_.shape == path.labels_path_.shape == (len(path.gammas_), 50)


def test_all_rows_are_solved_for_where_there_is_time_or_none_is_set(data):
    rows, _ = data
    random = np.random.RandomState(0)
    for deadline in (Deadline(), Deadline(1e6)):
        assert followed_in_time(rows, 5, 1e6, random, 1, deadline) is None
    free = coterie.ConvexClusterPath(n_gammas=5).fit(rows[:60])
    limited = coterie.ConvexClusterPath(n_gammas=5, max_time=1e6).fit(rows[:60])
    np.testing.assert_array_equal(free.centroids_path_, limited.centroids_path_)


def test_weights_between_all_rows_are_taken_as_a_whole(data, monkeypatch):
    rows, _ = data
    TickingClock(monkeypatch, 0.01)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = coterie.ConvexClustering(gamma=1.0, weights="dense", max_time=1.0).fit(rows[:100])
    assert not hasattr(model, "sample_indices_")
    assert len(model.edges_) == 100 * 99 / 2


def test_a_short_time_takes_the_memory_of_few_rows():
    rows = as_rows(np.broadcast_to(np.float32(0), (300_000, 64)))

    def needed(max_time):
        model = coterie.ConvexClusterPath(max_time=max_time, n_threads=2)
        return sum(need.n_bytes for need in CONVEX_PATH.memory(model, rows))

    assert needed(2.0) < 0.1 * needed(None)
    assert needed(1e6) == needed(None)
