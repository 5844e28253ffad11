"""Laplacian K-modes: the estimator, and what the paper and its figures promise."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_blobs, make_moons
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import normalized_mutual_info_score

from coterie import LaplacianKModes
from coterie.metrics import clustering_accuracy
from coterie.rows import as_rows
from tests.reference import laplacian_kmodes as oracle
from tests.support.counting import CountingSource

DTYPES = [np.float32, np.float64]
MODE_UPDATES = ["byproduct", "mean_shift"]


@pytest.fixture(scope="module")
def moons():
    return make_moons(500, noise=0.05, random_state=0)


@pytest.fixture(scope="module")
def blobs():
    return make_blobs(400, 4, centers=6, cluster_std=0.8, random_state=0)


class TestFit:
    @pytest.mark.parametrize("mode_update", MODE_UPDATES)
    def test_clusters_of_any_shape(self, moons, mode_update):
        X, y = moons
        model = LaplacianKModes(
            2, graph_weight=2.0, n_neighbors=10, mode_update=mode_update, random_state=0
        ).fit(X)
        assert clustering_accuracy(y, model.labels_) > 0.99

    @pytest.mark.parametrize(
        ("mode_update", "dtype", "weights"),
        [
            ("byproduct", np.float32, "binary"),
            ("byproduct", np.float64, lambda squares: 1 / (1 + squares)),
            ("mean_shift", np.float32, lambda squares: 1 / (1 + squares)),
            ("mean_shift", np.float64, "gaussian"),
        ],
    )
    def test_fitted_attributes(self, blobs, mode_update, dtype, weights):
        X, y = blobs[0].astype(dtype), blobs[1]
        model = LaplacianKModes(
            6, graph_weight=0.7, mode_update=mode_update, weights=weights, n_init=3, random_state=0
        ).fit(X)
        assert clustering_accuracy(y, model.labels_) > 0.95
        assert model.labels_.dtype == np.int32
        assert model.memberships_.shape == (400, 6)
        assert model.memberships_.dtype == dtype
        np.testing.assert_allclose(model.memberships_.sum(axis=1), 1, rtol=1e-5)
        np.testing.assert_array_equal(model.memberships_.argmax(axis=1), model.labels_)
        affinities = oracle.kernel(X, model.modes_, model.bandwidth_)
        K = model.affinity_matrix_.toarray().astype(float)
        assert np.all(np.diag(K) == 0)
        expected = oracle.discrete_objective(model.labels_, affinities, K, 0.7)
        np.testing.assert_allclose(model.objective_, expected, rtol=1e-4, atol=1e-3)
        shifted = oracle.shifted(K) if model.is_shifted_ else K
        relaxed = oracle.relaxed_objective(model.memberships_.astype(float), affinities, shifted, 0.7)
        np.testing.assert_allclose(model.relaxation_, relaxed, rtol=1e-4, atol=1e-3)
        assert model.n_iter_ == len(model.history_)
        np.testing.assert_allclose(model.history_["objective"][-1], model.relaxation_, rtol=0.01)
        np.testing.assert_allclose(model.history_["discrete"][-1], model.objective_, rtol=0.05)
        assert model.modes_ is model.cluster_centers_

    def test_objective_on_the_directed_graph(self, blobs):
        X, y = blobs
        model = LaplacianKModes(6, graph_weight=0.7, n_init=3, random_state=0).fit(X)
        K = model.affinity_matrix_.toarray()
        assert np.all(K.sum(axis=1) == 5)
        assert clustering_accuracy(y, model.labels_) > 0.95
        expected = oracle.discrete_objective(
            model.labels_, oracle.kernel(X, model.modes_, model.bandwidth_), (K + K.T) / 2, 0.7
        )
        np.testing.assert_allclose(model.objective_, expected, rtol=1e-6)

    def test_mean_shifts_end_at_maxima_of_the_density(self, blobs):
        X = blobs[0]
        model = LaplacianKModes(6, graph_weight=0.7, mode_update="mean_shift", random_state=0).fit(X)
        assert np.all(model.mode_indices_ == -1)
        for cluster in range(6):
            once = oracle.mean_shift(
                X, model.memberships_[:, cluster], model.modes_[cluster], model.bandwidth_, 1
            )
            assert np.linalg.norm(once - model.modes_[cluster]) < 0.05 * model.bandwidth_

    def test_the_start_with_the_lowest_objective_is_kept(self, blobs):
        X = blobs[0]
        options = dict(graph_weight=0.7, init="k-means++", select_by="objective")
        several = LaplacianKModes(6, n_init=5, random_state=3, **options).fit(X)
        random = np.random.RandomState(3)
        alone = [LaplacianKModes(6, n_init=1, random_state=random, **options).fit(X) for _ in range(5)]
        assert several.objective_ == min(model.objective_ for model in alone)

    def test_without_a_graph_rows_go_to_the_closest_mode(self, blobs):
        model = LaplacianKModes(6, graph_weight=0.0, random_state=0, max_iter=1).fit(blobs[0])
        affinities = oracle.kernel(blobs[0], model.modes_, model.bandwidth_)
        np.testing.assert_array_equal(model.labels_, affinities.argmax(axis=1))

    @pytest.mark.parametrize("init", ["auto", "k-means++", "k-means", "spectral", "random"])
    def test_initializations_by_name(self, blobs, init):
        model = LaplacianKModes(6, graph_weight=0.7, init=init, random_state=0).fit(blobs[0])
        assert normalized_mutual_info_score(blobs[1], model.labels_) > (0.8 if init == "random" else 0.9)

    def test_given_initial_modes(self, blobs):
        X, y = blobs
        centers = np.array([X[y == c].mean(axis=0) for c in range(6)])
        first = LaplacianKModes(6, graph_weight=0.7, init=centers).fit(X)
        assert clustering_accuracy(y, first.labels_) > 0.95
        again = LaplacianKModes(6, graph_weight=0.7, init=first).fit(X)
        np.testing.assert_array_equal(again.labels_, first.labels_)
        called = LaplacianKModes(6, graph_weight=0.7, init=lambda X, k, random_state: centers, n_init=1).fit(
            X
        )
        np.testing.assert_array_equal(called.labels_, first.labels_)

    @pytest.mark.parametrize(
        ("init", "metric"),
        [("auto", "cosine"), ("k-means++", "euclidean"), ("k-means", "cosine"), ("random", "euclidean")],
    )
    def test_rows_are_read_once_for_all_starts(self, blobs, init, metric):
        X = blobs[0]
        rows = CountingSource(as_rows(X))
        model = LaplacianKModes(6, init=init, n_init=4, metric=metric, random_state=0).fit(rows)
        assert rows.n_passes == 1
        other = LaplacianKModes(6, init=init, n_init=4, metric=metric, random_state=0).fit(X)
        np.testing.assert_array_equal(model.memberships_, other.memberships_)

    def test_empty_cluster_keeps_its_mode(self, moons):
        X = moons[0]
        for mode_update in MODE_UPDATES:
            with pytest.warns(ConvergenceWarning, match="1 of 3 clusters are empty"):
                model = LaplacianKModes(3, mode_update=mode_update, init=[*X[:2], [900, 900]]).fit(X)
            assert np.all(np.isfinite(model.memberships_))
            assert set(model.labels_) == {0, 1}
            np.testing.assert_array_equal(model.modes_[2], [900, 900])
            assert model.modes_.shape == (3, 2)
            assert len(model.predict(X)) == len(X)


@pytest.mark.parametrize("name", ["cluster_centers_", "graph_weight_", "published_objective_"])
def test_there_are_no_modes_before_the_fit(name):
    with pytest.raises(NotFittedError):
        getattr(LaplacianKModes(2), name)


def test_attributes_with_a_unit_scale_with_it(blobs):
    model, larger = (
        LaplacianKModes(6, n_init=4, random_state=0).fit(rows) for rows in (blobs[0], 1024 * blobs[0])
    )
    assert larger.bandwidth_ == pytest.approx(1024 * model.bandwidth_)
    assert larger.graph_weight_ == model.graph_weight_
    assert larger.objective_ == pytest.approx(model.objective_)
    np.testing.assert_array_equal(larger.memberships_, model.memberships_)


class TestPredict:
    def test_new_rows_follow_their_neighbors(self, moons):
        model = LaplacianKModes(2, graph_weight=2.0, random_state=0).fit(moons[0])
        X, y = make_moons(300, noise=0.05, random_state=1)
        assert clustering_accuracy(y, model.predict(X)) > 0.99

    def test_by_the_formula(self, blobs):
        X, new = blobs[0][:300], blobs[0][300:]
        model = LaplacianKModes(6, graph_weight=0.7, random_state=0).fit(X)
        order = np.argsort(((new[:, None] - X) ** 2).sum(axis=2), axis=1)[:, :5]
        logits = oracle.kernel(new, model.modes_, model.bandwidth_)
        logits = logits + 0.7 * model.memberships_[order].sum(axis=1)
        np.testing.assert_array_equal(model.predict(new), logits.argmax(axis=1))


class TestPrecomputed:
    def test_any_kernel(self, moons):
        X, y = moons
        kernel = np.exp(-np.sum((X[:, None] - X) ** 2, axis=2) / (2 * 0.05**2))
        kernel[kernel < 1e-3] = 0
        for given in (kernel, sp.csr_array(kernel)):
            model = LaplacianKModes(
                2, graph_weight=2.0, affinity="precomputed", n_init=20, random_state=0
            ).fit(given)
            assert clustering_accuracy(y, model.labels_) > 0.95
            assert not hasattr(model, "modes_")
            np.testing.assert_array_equal(model.labels_[model.mode_indices_], [0, 1])
            assert np.mean(model.predict(given) == model.labels_) > 0.98


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (dict(n_clusters=21), "n_samples=20 should be >= n_clusters=21"),
        (dict(n_neighbors=20), "n_neighbors=20 should be < n_samples=20"),
        (dict(affinity="cosine"), "affinity must be one of 'knn', 'precomputed'"),
        (dict(diagonal_shift="never"), "diagonal_shift must be"),
        (dict(mode_update="median"), "mode_update must be one of 'byproduct', 'mean_shift'"),
        (dict(weights="heat"), "weights"),
        (dict(init="best"), "init must be one of"),
        (dict(init=np.zeros((3, 3))), "shape"),
        (dict(affinity="precomputed"), "square"),
        (dict(affinity="precomputed", mode_update="mean_shift"), "coordinates"),
    ],
)
def test_wrong_arguments(options, message):
    X = np.random.default_rng(0).normal(size=(20, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(ValueError, match=message):
            LaplacianKModes(**(dict(n_clusters=2) | options)).fit(X)


@pytest.mark.parametrize(
    ("init", "message"),
    [
        ("k-means", "random"),
        ("k-means++", "random"),
        ([0, 0], "distinct"),
        ([0, 99], "distinct"),
        ([0.5, 1], "row numbers"),
        ([1], "row numbers"),
    ],
)
def test_wrong_starts_of_affinities(init, message):
    with pytest.raises(ValueError, match=message):
        LaplacianKModes(2, affinity="precomputed", init=init).fit(np.ones((5, 5)))
