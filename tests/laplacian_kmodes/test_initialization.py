"""Initializations, the automatic weight of the graph, and which run a fit keeps."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_blobs, make_circles

from coterie import LaplacianKModes
from coterie.fitting.report import FitReport
from coterie.graphs import knn_graph
from coterie.graphs.cuts import normalized_cut
from coterie.laplacian_kmodes import initialization
from coterie.laplacian_kmodes.initialization import with_split_clusters
from coterie.laplacian_kmodes.modes import cluster_means
from coterie.laplacian_kmodes.solver import automatic_graph_weight, cut_weight
from coterie.metrics import clustering_accuracy


@pytest.fixture(scope="module")
def outliers():
    """Two clusters, and three outliers each of which k-means gives a cluster of its own."""
    X, y = make_blobs(150, 3, centers=[[0, 0, 0], [9, 9, 9]], random_state=0)
    return np.vstack([X, [[60, 0, 0], [0, 60, 0], [0, 0, 60]]]), np.r_[y, 2, 3, 4]


class TestAutomaticGraphWeight:
    @pytest.mark.parametrize("n_clusters", [2, 3, 10, 100])
    def test_memberships_differ_above_the_critical_weight(self, n_clusters):
        """Mean field of a Potts model: one state stays ahead above the critical weight, not below."""

        def ahead(weight):
            z = np.r_[0.9, np.full(n_clusters - 1, 0.1 / (n_clusters - 1))]
            for _ in range(3000):
                z = np.exp(weight * (z - z.max()))
                z /= z.sum()
            return z[0] - z[1] > 0.1

        critical = automatic_graph_weight(sp.csr_array(np.ones((1, 1))), n_clusters) / 1.5
        assert ahead(1.1 * critical)
        assert not ahead(0.8 * critical)

    def test_does_not_depend_on_the_unit_of_the_weights(self):
        graph = knn_graph(np.arange(40.0)[:, None], 4, weights="gaussian")
        assert automatic_graph_weight(graph * 1e6, 3) == pytest.approx(
            1e-6 * automatic_graph_weight(graph, 3)
        )
        assert automatic_graph_weight(graph * 0, 3) == 1
        assert automatic_graph_weight(graph, 1) > 0

    def test_a_given_number_is_used(self, outliers):
        model = LaplacianKModes(2, graph_weight=0.7, init="k-means++", n_init=2, random_state=0).fit(
            outliers[0]
        )
        assert model.graph_weight_ == 0.7
        model.set_params(graph_weight="auto").fit(outliers[0])
        assert model.graph_weight_ == automatic_graph_weight(model.affinity_matrix_, 2)
        assert model.predict(outliers[0]).shape == (153,)

    @pytest.mark.parametrize("weight", ["best", -1.0, float("nan")])
    def test_wrong_weights(self, weight):
        with pytest.raises(ValueError, match="graph_weight must be 'auto' or a finite non-negative number"):
            LaplacianKModes(2, graph_weight=weight).fit(np.arange(20.0)[:, None])


class TestCuts:
    # 0 - 1 - 2 - 3, the middle edge one way only.
    graph = sp.csr_array([[0, 1.0, 0, 0], [1, 0, 1, 0], [0, 0, 0, 1], [0, 0, 1, 0]])

    def test_normalized_cut_by_hand(self):
        labels = np.array([0, 0, 1, 1], dtype=np.int32)
        assert normalized_cut(self.graph, labels, 2) == pytest.approx(1 / 5 + 1 / 5)
        assert normalized_cut(self.graph, labels, 3) == pytest.approx(2 / 5)

    def test_cut_weight_by_hand(self):
        assert cut_weight(self.graph, np.array([0, 0, 1, 1], dtype=np.int32)) == 1
        assert cut_weight(self.graph, np.array([0, 1, 1, 1], dtype=np.int32)) == 2

    @pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
    def test_cluster_means_by_hand(self, storage):
        rows, labels = storage([[0.0, 0], [2, 0], [5, 5]]), np.array([0, 0, 2], dtype=np.int32)
        np.testing.assert_allclose(cluster_means(rows, labels, 3), [[1, 0], [0, 0], [5, 5]])


@pytest.fixture(scope="module")
def circles():
    return make_circles(400, noise=0.03, factor=0.3, random_state=3)


class TestKeptRun:
    """A fit returns one of its runs, the one that `select_by` says."""

    @pytest.fixture
    def recorded(self, monkeypatch):
        runs, solve = [], LaplacianKModes._results

        def record(self, *args, **kwargs):
            for result in solve(self, *args, **kwargs):
                runs.append((result.n_empty, result.labels.copy(), result.objective))
                yield result

        monkeypatch.setattr(LaplacianKModes, "_results", record)
        return runs

    @pytest.mark.parametrize("select_by", ["normalized_cut", "objective"])
    @pytest.mark.parametrize("init", ["auto", "k-means++", "k-means", "spectral"])
    def test_is_the_best_run(self, recorded, circles, init, select_by):
        X = circles[0]
        model = LaplacianKModes(2, init=init, n_init=4, select_by=select_by, random_state=0)
        fitted = model._fit(X)
        graph = fitted.problem.cut_graph

        def key(run):
            cut = normalized_cut(graph, run[1], 2)
            return (run[0], cut, run[2]) if select_by == "normalized_cut" else (run[0], run[2])

        assert len(recorded) == 4
        best = min(recorded, key=key)
        np.testing.assert_array_equal(model.labels_, best[1])
        assert model.objective_ == best[2]

    def test_nested_circles_are_found_by_the_cut(self, circles):
        X, y = circles
        model = LaplacianKModes(2, random_state=0).fit(X)
        assert clustering_accuracy(y, model.labels_) == 1

    @pytest.mark.parametrize("seed", [0, 1])
    def test_nested_rings(self, seed):
        random = np.random.RandomState(3)
        classes = np.arange(600) % 3
        angles, radii = random.uniform(0, 2 * np.pi, 600), 1 + 1.2 * classes
        X = np.c_[radii * np.cos(angles), radii * np.sin(angles)] + random.normal(scale=0.1, size=(600, 2))
        model = LaplacianKModes(3, n_neighbors=8, random_state=seed).fit(X)
        assert clustering_accuracy(classes, model.labels_) == 1

    @pytest.mark.parametrize("seed", range(5))
    @pytest.mark.parametrize("sizes", [(600, 300, 100), (830, 67, 102), (113, 312, 469, 104)])
    def test_unequal_classes_in_one_column(self, sizes, seed):
        """As many edges cross each gap of a column: their lengths tell the gaps between classes from those inside."""
        classes = np.repeat(np.arange(len(sizes)), sizes)
        X = np.random.default_rng(seed).normal(size=(len(classes), 1)) + 7.0 * classes[:, None]
        model = LaplacianKModes(len(sizes), random_state=seed).fit(X)
        assert clustering_accuracy(classes, model.labels_) > 0.98


class TestEmptyClusters:
    @pytest.mark.parametrize("mode_update", ["byproduct", "mean_shift"])
    def test_auto_keeps_all_clusters(self, outliers, mode_update):
        X, _ = outliers
        with pytest.warns(UserWarning, match="3 of 5 clusters are empty|[12] of 5 clusters are empty"):
            LaplacianKModes(5, init="k-means", n_init=1, mode_update=mode_update, random_state=0).fit(X)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model = LaplacianKModes(5, n_init=3, mode_update=mode_update, random_state=0).fit(X)
        assert set(model.labels_) == set(range(5))

    def test_precomputed_affinities(self, outliers):
        graph = knn_graph(outliers[0], 5, weights="gaussian")
        model = LaplacianKModes(4, affinity="precomputed", n_init=3, random_state=0).fit(graph)
        assert len(set(model.labels_)) == 4

    def test_a_split_fills_each_empty_cluster(self, outliers):
        X, _ = outliers
        labels = np.where(np.arange(len(X)) % 2, 1, 3).astype(np.int32)
        fitted = LaplacianKModes(5, n_init=1, random_state=0)._fit(X)
        start = with_split_clusters(fitted.problem, labels, np.random.RandomState(0), 1)
        assert set(start.labels) == set(range(5))
        assert set(labels) == {1, 3}

    def test_random_modes_are_different_rows(self, outliers):
        problem = LaplacianKModes(len(outliers[0]), n_init=1, random_state=0)._fit(outliers[0]).problem
        start = next(initialization.starts("random", problem, np.random.RandomState(0), FitReport(), 1))
        assert len(np.unique(start.modes.points, axis=0)) == len(outliers[0])

    def test_fewer_different_rows_than_clusters(self):
        X = np.repeat([[0.0, 0], [5, 5]], 10, axis=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = LaplacianKModes(4, random_state=0).fit(X)
        assert np.all(np.isfinite(model.memberships_))
        assert len(np.unique(model.labels_[:10])) <= 3


def test_large_graphs_do_without_eigenvectors(monkeypatch, circles):
    monkeypatch.setattr(initialization, "_SPECTRAL_OPERATIONS", 0)
    monkeypatch.setattr(initialization, "spectral_vectors", None)
    assert len(set(LaplacianKModes(2, n_init=2, random_state=0).fit(circles[0]).labels_)) == 2
