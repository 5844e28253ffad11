"""ConvexClusterPath: certificates, labels, and what is drawn from them."""

import pickle

import numpy as np
import pytest
from sklearn.datasets import make_moons
from sklearn.exceptions import ConvergenceWarning

from coterie import ConvexClustering, ConvexClusterPath, load, save
from coterie.convex.linkage import n_splits


def test_every_gamma_is_certified(moons):
    path = ConvexClusterPath(n_gammas=20, n_neighbors=10, distance_decay=2.0, connect=True, tol=1e-6).fit(
        moons
    )
    assert path.converged_
    assert np.all(path.dual_gaps_ <= 1e-6 * path.objectives_ + 1e-20)
    assert path.gammas_[0] == 0
    assert path.n_clusters_path_[0] == 300
    assert path.n_clusters_path_[-1] == 1
    assert path.labels_path_.shape == (20, 300)
    assert path.centroids_path_.shape == (20, 300, 2)
    assert path.history_["n_steps"].sum() == path.n_iter_
    for gamma, centroids, labels in list(zip(path.gammas_, path.centroids_path_, path.labels_path_))[4::5]:
        alone = ConvexClustering(gamma, n_neighbors=10, distance_decay=2.0, connect=True, tol=1e-8).fit(moons)
        radius = np.sqrt(4e-6 * alone.objective_)
        assert np.linalg.norm(alone.centroids_ - centroids) <= radius
        assert len(np.unique(labels)) == labels.max() + 1


def test_labels_at_every_number_of_clusters(moons):
    path = ConvexClusterPath(n_gammas=12).fit(moons)
    assert len(np.unique(path.n_clusters_path_)) < 20
    before = np.arange(len(moons))
    for n_clusters in range(len(moons), 0, -1):
        labels = path.labels_at(n_clusters)
        assert len(np.unique(labels)) == labels.max() + 1 == n_clusters
        assert labels[0] == 0
        at = path.index_at(n_clusters)
        if path.n_clusters_path_[at] == n_clusters:
            np.testing.assert_array_equal(labels, path.labels_path_[at])
        elif n_clusters < len(moons) and not path.n_splits_.any():
            assert not n_splits(before, labels)
        before = labels


def test_labels_of_a_path_that_begins_late(moons):
    path = ConvexClusterPath([1.0, 1e6]).fit(moons)
    assert path.n_clusters_path_[0] < 250
    assert len(np.unique(path.labels_at(250))) == 250


def test_numbers_of_clusters_that_a_path_has_not(moons):
    short = ConvexClusterPath([0.0, 0.001], n_neighbors=10).fit(moons)
    with pytest.raises(ValueError, match="at least"):
        short.labels_at(1)
    with pytest.raises(ValueError, match="n_clusters=301 is more than the 300 different rows"):
        short.labels_at(301)


@pytest.mark.parametrize(
    "options", [dict(solver="admm"), dict(norm="l1"), dict(norm="linf"), dict(weights="dense")]
)
def test_options(options):
    X = make_moons(60, noise=0.05, random_state=0)[0]
    path = ConvexClusterPath(n_gammas=8, connect=True, max_iter=50_000, **options).fit(X)
    assert path.converged_
    assert path.n_clusters_path_[-1] == 1


def test_stopped_path_keeps_solved_gammas(moons):
    with pytest.warns(ConvergenceWarning, match="max_time"):
        short = ConvexClusterPath(n_gammas=6, max_time=1e-9).fit(moons)
    assert len(short.gammas_) == 1 == len(short.labels_path_)
    stopped = ConvexClusterPath(n_gammas=6, callback=lambda progress: progress.iteration == 2).fit(moons)
    assert len(stopped.gammas_) == 2


def test_centroids_path_is_computed_on_access(tmp_path):
    X = make_moons(60, noise=0.05, random_state=0)[0]
    path = ConvexClusterPath(n_gammas=15).fit(X)
    copies = [pickle.loads(pickle.dumps(path))]
    path = ConvexClusterPath(n_gammas=15).fit(X)
    between = next(k for k in range(2, 60) if k not in path.n_clusters_path_)
    labels, of_some = path.labels_at(between), path.centroids_of([7, 3])
    assert "centroids_path_" not in vars(path)
    centroids = path.centroids_path_
    np.testing.assert_array_equal(of_some, centroids[:, [7, 3]])
    assert path.centroids_path_ is centroids
    assert [len(np.unique(found, axis=0)) for found in centroids] == path.n_clusters_path_.tolist()
    np.testing.assert_array_equal(path.labels_at(between), labels)
    save(path, tmp_path / "path.coterie")
    for copy in [*copies, load(tmp_path / "path.coterie")]:
        np.testing.assert_array_equal(copy.centroids_path_, centroids)
        np.testing.assert_array_equal(copy.labels_at(between), labels)
        np.testing.assert_array_equal(copy.centroids_of([7, 3]), of_some)
    assert path.fit(X[:50]).centroids_path_.shape[1] == 50
    assert not hasattr(ConvexClusterPath(), "centroids_path_")
