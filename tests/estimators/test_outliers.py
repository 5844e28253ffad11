"""Outlier scores: scales of clusters, what has none, and what a model says without them."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError

from coterie import (
    KMeans,
    LaplacianKModes,
    MiniBatchKMeans,
    NestedMiniBatchKMeans,
    TotalVariationClustering,
    TruncatedGaussianMixture,
)
from coterie.estimators.outliers import FitDistances, cluster_scales, relative_to_scales
from coterie.graphs import nearest_neighbors
from tests.reference import outliers as oracle
from tests.support.bits import same_bits

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def distances_to(X, points, labels):
    return np.linalg.norm(X - np.asarray(points, dtype=float)[labels], axis=1)


@pytest.fixture(scope="module")
def blobs():
    """Three clusters, of which one is ten times as wide as the others, and a row far outside of a narrow one."""
    random = np.random.default_rng(0)
    X = random.normal(size=(300, 3)) * np.repeat([1.0, 1.0, 10.0], 100)[:, None]
    X += np.repeat([[0.0, 0, 0], [60, 0, 0], [0, 200, 0]], 100, axis=0)
    X[7] = [0, -12, 0]
    return X


class TestScales:
    @given(
        st.lists(st.tuples(st.integers(-1, 4), st.integers(1, 9), st.integers(0, 3)), min_size=1, max_size=60)
    )
    def test_oracle(self, rows):
        labels, distances, weights = (np.array(part) for part in zip(*rows))
        labels, distances = labels.astype(np.int32), distances.astype(float)
        for repeats in (None, weights):
            counts = (labels >= 0) if repeats is None else repeats * (labels >= 0)
            if not np.any(counts > 0):
                continue
            own = FitDistances(labels, distances, np.zeros(5), repeats)
            expected = oracle.scales(labels, distances, 5, weights=repeats)
            same_bits(cluster_scales(own), expected)
            relative = relative_to_scales(distances, labels, cluster_scales(own))
            expected = oracle.scores(labels, distances, 5, weights=repeats)
            np.testing.assert_allclose(relative, expected, rtol=1e-6)

    def test_clusters_without_a_scale(self):
        labels = np.array([0, 0, 0, 1, 2, 2, 2, 3, 3], dtype=np.int32)
        distances = np.array([1.0, 2, 3, 0, 1e-9, 1e-9, 5, 8, 9])
        own = FitDistances(labels, distances, np.full(5, 1e-8))
        # One row; more than half of them equal but for rounding; none at all.
        assert cluster_scales(own).tolist() == [2, 2, 2, 8, 2]

    def test_rows_that_are_all_equal(self):
        labels, nowhere = np.zeros(3, dtype=np.int32), np.full(2, 1e-8)
        scales = cluster_scales(FitDistances(labels, np.array([0, 1e-9, 0]), nowhere))
        assert scales.tolist() == [1e-8, 1e-8]
        exact = cluster_scales(FitDistances(labels, np.zeros(3), np.zeros(1)))
        assert exact[0] > 0
        assert relative_to_scales(np.array([0.0, 1.0]), labels[:2], exact).tolist() == [0, np.inf]


class TestEachMethod:
    @pytest.mark.parametrize("make", [KMeans, NestedMiniBatchKMeans, MiniBatchKMeans])
    def test_centroids(self, blobs, make):
        model = make(3, random_state=0).fit(blobs)
        distances = distances_to(blobs, model.cluster_centers_, model.labels_)
        np.testing.assert_allclose(model.cluster_scales_, oracle.scales(model.labels_, distances, 3))
        np.testing.assert_allclose(
            model.outlier_scores_, oracle.scores(model.labels_, distances, 3), rtol=1e-6
        )
        assert model.outlier_scores_.dtype == np.float32
        assert model.outlier_scores_.argmax() == 7

    def test_angles(self, blobs):
        X = np.vstack([blobs + 1, np.zeros((2, 3))])
        model = KMeans(3, metric="cosine", zero_rows="ignore", random_state=0).fit(X)
        inside = model.labels_ >= 0
        distances = model.transform(X)[np.arange(len(X)), model.labels_]
        expected = oracle.scores(model.labels_, distances, 3)
        np.testing.assert_allclose(model.outlier_scores_, expected, rtol=1e-4)
        assert np.isnan(model.outlier_scores_[~inside]).tolist() == [True, True]
        same_bits(model.outlier_scores(X), model.outlier_scores_)
        labels, found = model.predict(X, return_distance=True)
        same_bits(labels, model.labels_)
        np.testing.assert_allclose(found[inside], distances[inside], rtol=1e-6)
        assert np.isnan(found[~inside]).all()

    @pytest.mark.parametrize("kind", ["tied_spherical", "spherical", "diag"])
    def test_mixtures(self, blobs, kind):
        model = TruncatedGaussianMixture(3, covariance_type=kind, init=blobs[[0, 100, 200]]).fit(blobs)
        variances = np.broadcast_to(np.reshape(model.covariances_, (-1, 1 if kind != "diag" else 3)), (3, 3))
        deviations = np.sqrt(variances)[model.labels_]
        distances = np.linalg.norm((blobs - model.means_[model.labels_]) / deviations, axis=1)
        np.testing.assert_allclose(model.cluster_scales_, oracle.scales(model.labels_, distances, 3))
        np.testing.assert_allclose(
            model.outlier_scores_, oracle.scores(model.labels_, distances, 3), rtol=1e-6
        )
        assert model.outlier_scores_.argmax() == 7
        given = model.outlier_scores(blobs, model.labels_)
        same_bits(given, model.outlier_scores_)

    def test_modes(self, blobs):
        model = LaplacianKModes(3, random_state=0).fit(blobs)
        distances = distances_to(blobs, model.modes_, model.labels_)
        expected = oracle.scores(model.labels_, distances, 3)
        np.testing.assert_allclose(model.outlier_scores_, expected, rtol=1e-6)

    def test_scores_of_a_fit_are_only_those_of_its_rows_and_labels(self, blobs):
        model = LaplacianKModes(3, random_state=0).fit(blobs)
        same_bits(model.outlier_scores(blobs, model.labels_), model.outlier_scores_)
        for rows, labels in ((blobs + 5, model.labels_), (blobs, (model.labels_ + 1) % 3)):
            assert np.all(model.outlier_scores(rows, labels) != model.outlier_scores_)

    def test_balanced_cuts(self, blobs):
        model = TotalVariationClustering(3, n_init=2, random_state=0).fit(blobs)
        distances = np.sqrt(nearest_neighbors(blobs, 10)[1]).mean(axis=1)
        expected = oracle.scores(model.labels_, distances, 3)
        np.testing.assert_allclose(model.outlier_scores_, expected, rtol=1e-6)
        others = blobs[:50] + 0.5
        labels, scores = model.predict(others), model.outlier_scores(others)
        near = np.sqrt(nearest_neighbors(blobs, 10, queries=others)[1]).mean(axis=1)
        np.testing.assert_allclose(scores, near / model.cluster_scales_[labels], rtol=1e-6)

    def test_sparse_rows(self, blobs):
        X = np.maximum(blobs, 0)
        for model in (KMeans(3, random_state=0), LaplacianKModes(3, random_state=0)):
            dense = model.fit(X).outlier_scores_
            sparse = model.fit(sp.csr_array(X))
            np.testing.assert_allclose(sparse.outlier_scores_, dense, rtol=1e-5, atol=1e-6)
            same_bits(sparse.outlier_scores(sp.csr_array(X)), sparse.outlier_scores_)

    def test_a_cluster_of_one_row(self, blobs):
        X = np.vstack([blobs, [[1e4, 0, 0]]])
        model = KMeans(4, init=X[[0, 100, 200, 300]]).fit(X)
        assert model.outlier_scores_[300] == 0
        scale = np.sort(model.cluster_scales_[:3])[1]
        assert model.cluster_scales_[3] == scale
        np.testing.assert_allclose(model.outlier_scores([[1e4 + 7, 0, 0]]), 7 / scale, rtol=1e-6)
        np.testing.assert_allclose(model.predict([[1e4 + 7, 0, 0]], return_distance=True)[1], 7, rtol=1e-6)

    def test_repeated_rows(self, blobs):
        """That all rows of a cluster are equal but for rounding makes none of them an outlier."""
        third = np.full((50, 3), 1e3 / 3, dtype=np.float32)
        X = np.vstack([blobs.astype(np.float32), third])
        for rows in (X, X + np.float32(1e4)):
            model = KMeans(4, init=rows[[0, 100, 200, 300]]).fit(rows)
            assert model.outlier_scores_[300:].max() < 0.01
            assert model.cluster_scales_.min() > 0.5


class TestWithoutScales:
    @pytest.mark.parametrize("make", [MiniBatchKMeans, NestedMiniBatchKMeans, TruncatedGaussianMixture])
    def test_fits_without_labels(self, blobs, make):
        model = make(3, random_state=0, compute_labels=True).fit(blobs)
        labels, centers = model.labels_, model.cluster_centers_
        model.set_params(compute_labels=False).fit(blobs)
        same_bits((model.predict(blobs), model.cluster_centers_), (labels, centers))
        assert not hasattr(model, "labels_")
        assert not hasattr(model, "outlier_scores_")
        with pytest.raises(ValueError, match=r"has no outlier scores: .* compute_labels=True"):
            model.outlier_scores(blobs)
        with pytest.raises(AttributeError, match="no outlier scores"):
            model.cluster_scales_  # noqa: B018

    def test_streams(self, blobs):
        model = MiniBatchKMeans(3, random_state=0).fit(blobs).partial_fit(blobs)
        with pytest.raises(ValueError, match=r"KMeans\(n_clusters, init=model, max_iter=1\)"):
            model.outlier_scores(blobs)
        labeled = KMeans(3, init=model, max_iter=1).fit(blobs)
        assert labeled.outlier_scores_.argmax() == 7
        nested = NestedMiniBatchKMeans(3, random_state=0).fit(blobs).partial_fit(blobs[:100])
        assert nested.outlier_scores_.shape == (100,)

    @pytest.mark.parametrize("make", [LaplacianKModes, TotalVariationClustering])
    def test_affinities(self, blobs, make):
        affinities = np.exp(-(np.linalg.norm(blobs[:, None] - blobs, axis=2) ** 2) / 50)
        model = make(3, n_init=1, random_state=0).fit(blobs)
        model.set_params(affinity="precomputed").fit(affinities)
        assert not hasattr(model, "outlier_scores_")
        with pytest.raises(ValueError, match="affinities say nothing of distances"):
            model.predict(affinities, return_distance=True)
        assert model.outlier_scores(affinities, model.labels_) is None

    def test_before_a_fit(self, blobs):
        for ask in (
            lambda model: model.outlier_scores_,
            lambda model: model.predict(blobs, return_distance=True),
        ):
            with pytest.raises(NotFittedError):
                ask(KMeans(3))
