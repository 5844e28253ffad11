"""Spherical k-means: `metric="cosine"` of the three estimators, against plain cosines and by its laws."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics.pairwise import cosine_distances

from coterie import KMeans, MiniBatchKMeans, NestedMiniBatchKMeans
from coterie.centers.means import Means
from coterie.kmeans.nested import GrowingSample, SampleSums
from coterie.passes import Passes
from coterie.rows import as_rows
from tests.reference import k_means as oracle
from tests.support.bits import same_bits, same_fits

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

ALGORITHMS = ["lloyd", "elkan", "yinyang"]
ESTIMATORS = [KMeans, NestedMiniBatchKMeans, MiniBatchKMeans]


def spherical(estimator, n_clusters=20, **parameters):
    own = {
        KMeans: {},
        NestedMiniBatchKMeans: dict(batch_size=200),
        MiniBatchKMeans: dict(batch_size=300, max_iter=4),
    }
    return estimator(n_clusters, metric="cosine", **(dict(random_state=0) | own[estimator] | parameters))


@pytest.fixture(scope="module")
def sparse(blobs):
    """Rows with many zeros, none of zeros alone."""
    X = np.maximum(blobs, 0)
    X[:, 0] = 1
    return sp.csr_array(X)


@pytest.fixture(scope="module")
def rays():
    """Eight directions, each with rows of all lengths near it."""
    random = np.random.default_rng(0)
    directions = oracle.unit_rows(random.normal(size=(8, 16)))
    X = directions[np.arange(800) % 8] + 0.05 * random.normal(size=(800, 16))
    return X * 10 ** random.uniform(-3, 3, size=(800, 1))


def with_zeros(X):
    """Rows of zeros among others, and the numbers of the others."""
    out = np.insert(X, [0, 5, 700, len(X)], 0, axis=0)
    return out, np.flatnonzero(out.any(axis=1))


class TestExact:
    @given(
        n=st.integers(20, 150), d=st.integers(2, 20), k=st.integers(1, 12), seed=st.integers(0, 999),
        algorithm=st.sampled_from(ALGORITHMS), weighted=st.booleans(), sparse=st.booleans(),
    )  # fmt: skip
    def test_against_the_oracle(self, n, d, k, seed, algorithm, weighted, sparse):
        random = np.random.default_rng(seed)
        X = random.normal(size=(n, d)) * 10 ** random.uniform(-3, 3, size=(n, 1))
        weights = random.integers(1, 4, size=n) if weighted else None
        centers, labels, objectives, n_iter = oracle.lloyd(X, X[:k], weights=weights, unit_length=True)
        model = KMeans(k, init=X[:k], tol=0, metric="cosine", algorithm=algorithm)
        model.fit(sp.csr_array(X) if sparse else X, sample_weight=weights)
        assert model.n_iter_ == n_iter
        np.testing.assert_array_equal(model.labels_, labels)
        np.testing.assert_allclose(model.cluster_centers_, centers, atol=1e-10)
        np.testing.assert_allclose(model.history_.objective, objectives[:-1], atol=1e-9)
        np.testing.assert_allclose(model.inertia_, objectives[-1], atol=1e-9)

    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_every_algorithm_gives_the_same_bits(self, blobs, dtype):
        X = blobs.astype(dtype)
        for k in (2, 23, 150):
            reference = KMeans(k, init=X[:k], tol=0, metric="cosine", algorithm="lloyd").fit(X)
            for algorithm in ALGORITHMS[1:]:
                same_fits(
                    KMeans(k, init=X[:k], tol=0, metric="cosine", algorithm=algorithm).fit(X), reference
                )

    def test_empty_clusters_take_the_farthest_rows(self):
        X = np.array([[1.0, 0], [1, 0.1], [1, -0.1], [0, 1], [0.1, 1], [-1, 0.1]])
        model = KMeans(3, init=[[1, 0], [1, 0], [1, 0]], metric="cosine", tol=0).fit(X)
        np.testing.assert_array_equal(np.sort(np.bincount(model.labels_)), [1, 2, 3])

    def test_rows_that_cancel_out(self):
        X = np.array([[3.0, 4], [-3, -4], [0.6, 0.8], [-6, -8]])
        model = KMeans(1, init=[[5.0, 0]], metric="cosine", tol=0).fit(X)
        np.testing.assert_array_equal(model.cluster_centers_, [[1, 0]])
        np.testing.assert_allclose(model.inertia_, 4)

    def test_given_centers_have_any_length(self, blobs):
        reference = spherical(KMeans, init=blobs[:20]).fit(blobs)
        same_fits(spherical(KMeans, init=4 * blobs[:20]).fit(blobs), reference)
        same_fits(spherical(KMeans, init=lambda X, k, random_state: X[:k], n_init=1).fit(blobs), reference)
        model = KMeans(20, random_state=0).fit(blobs)
        same_fits(
            spherical(KMeans, init=model).fit(blobs),
            spherical(KMeans, init=model.cluster_centers_).fit(blobs),
        )


@pytest.mark.parametrize("estimator", ESTIMATORS)
class TestEveryEstimator:
    def test_lengths_do_not_matter(self, estimator, blobs):
        random = np.random.default_rng(1)
        powers = 2.0 ** random.integers(-9, 9, size=(len(blobs), 1))
        reference = spherical(estimator).fit(blobs)
        same_fits(spherical(estimator).fit((blobs * powers).astype(np.float32)), reference)
        any_factor = random.uniform(0.1, 9, size=(len(blobs), 1))
        model = spherical(estimator, init=blobs[:20]).fit(blobs.astype(float) * any_factor)
        plain = spherical(estimator, init=blobs[:20]).fit(blobs.astype(float))
        np.testing.assert_allclose(model.cluster_centers_, plain.cluster_centers_, atol=1e-9)

    def test_predictions_distances_and_score(self, estimator, blobs):
        model = spherical(estimator).fit(blobs)
        distances = cosine_distances(blobs.astype(float), model.cluster_centers_.astype(float))
        np.testing.assert_allclose(model.transform(blobs), distances, atol=1e-6)
        same_bits(model.predict(blobs), model.labels_)
        same_bits(model.predict(8 * blobs), model.labels_)
        np.testing.assert_allclose(
            distances[np.arange(len(blobs)), model.labels_], distances.min(axis=1), atol=1e-6
        )
        np.testing.assert_allclose(model.inertia_, distances.min(axis=1).sum(), rtol=1e-5)
        assert model.score(blobs) == -model.inertia_

    def test_sparse_is_dense(self, estimator, sparse):
        X = sparse.toarray().astype(float)
        one = spherical(estimator, init=X[:20], tol=0).fit(X)
        other = spherical(estimator, init=X[:20], tol=0).fit(sp.csr_array(X))
        np.testing.assert_array_equal(other.labels_, one.labels_)
        np.testing.assert_allclose(other.cluster_centers_, one.cluster_centers_, atol=1e-9)
        np.testing.assert_allclose(other.inertia_, one.inertia_)


@pytest.mark.parametrize("estimator", ESTIMATORS)
class TestRowsOfZeros:
    @pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
    def test_rows_of_zeros_are_refused(self, estimator, blobs, kind):
        X = blobs.copy()
        X[[77, 1999]] = 0
        with pytest.raises(ValueError, match=r"rows of zeros.*First bad row: 77\. .*zero_rows='ignore'"):
            spherical(estimator).fit(kind(X))
        model = spherical(estimator).fit(blobs)
        for method in (model.predict, model.transform, model.score):
            with pytest.raises(ValueError, match="First bad row: 77"):
                method(kind(X))

    @pytest.mark.parametrize("kind", [np.asarray, sp.csr_array, as_rows])
    @pytest.mark.parametrize("weighted", [False, True])
    def test_rows_of_zeros_are_ignored(self, estimator, blobs, kind, weighted):
        X, others = with_zeros(blobs)
        weights = np.random.default_rng(0).uniform(0.5, 2, size=len(X)) if weighted else None
        model = spherical(estimator, zero_rows="ignore").fit(kind(X), sample_weight=weights)
        reference = spherical(estimator).fit(
            kind(blobs), sample_weight=None if weights is None else weights[others]
        )
        same_fits(model, reference, but=["labels_", "outlier_scores_"])
        same_bits(model.labels_[others], reference.labels_)
        assert np.all(np.delete(model.labels_, others) == -1)
        same_bits(model.predict(kind(X)), model.labels_)
        assert model.score(kind(X), sample_weight=weights) == model.score(
            kind(blobs), sample_weight=None if weights is None else weights[others]
        )
        distances = model.transform(kind(X))
        assert np.all(np.delete(distances, others, axis=0) == 1)

    def test_predict_only_rows_of_zeros(self, estimator, blobs):
        model = spherical(estimator, zero_rows="ignore").fit(blobs)
        np.testing.assert_array_equal(model.predict(np.zeros((3, 11))), [-1, -1, -1])
        with pytest.raises(ValueError, match="All rows of X are zeros"):
            spherical(estimator, zero_rows="ignore").fit(np.zeros((50, 11)))


class TestStreams:
    @pytest.mark.parametrize("estimator", [NestedMiniBatchKMeans, MiniBatchKMeans])
    @pytest.mark.parametrize(
        "kinds", [(np.asarray, np.asarray), (sp.csr_array, sp.csr_array), (np.asarray, sp.csr_array)]
    )
    def test_partial_fit(self, estimator, rays, kinds):
        X = rays * np.random.default_rng(3).uniform(1, 2, size=(800, 1))
        model = spherical(estimator, 8)
        for start, kind in zip((0, 400), kinds):
            model.partial_fit(kind(X[start : start + 400]))
            np.testing.assert_allclose(np.linalg.norm(model.cluster_centers_, axis=1), 1)
        labels = model.predict(X)
        assert len(np.unique(labels[:8])) == 8
        np.testing.assert_array_equal(labels, labels[np.arange(800) % 8])


class TestMovingDirections:
    @pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
    def test_at_the_end_every_centroid_is_the_direction_of_its_rows(self, sparse, kind):
        X = sparse.toarray().astype(float)
        weights = np.random.default_rng(0).random(len(X))
        model = spherical(NestedMiniBatchKMeans, tol=0).fit(kind(X), sample_weight=weights)
        scaled = oracle.unit_rows(X)
        for label, center in enumerate(model.cluster_centers_):
            own = model.labels_ == label
            direction = weights[own] @ scaled[own]
            np.testing.assert_allclose(center, direction / np.linalg.norm(direction), atol=1e-10)
        own = np.sum(scaled * model.cluster_centers_[model.labels_], axis=1)
        np.testing.assert_allclose(model.inertia_, np.sum(weights * (1 - own)))
        np.testing.assert_allclose(model.history_.objective[-1], model.inertia_)

    @pytest.mark.parametrize("spread", [0.05, 0.2, 0.6])
    def test_standard_errors(self, spread):
        """They say how far directions of samples are from the true one, and not less."""
        random = np.random.default_rng(0)
        n, d = 60, 30
        true = oracle.unit_rows(np.ones((1, d)))
        told, found = [], []
        for _ in range(200):
            X = oracle.unit_rows(true + spread * random.normal(size=(n, d)))
            data = GrowingSample(Passes(as_rows(X)), np.arange(n), n, n_clusters=1, shift=np.zeros(d))
            means = Means(true.copy(), np.zeros(d), 1, unit_length=True)
            sums = SampleSums(data, means, 0)
            for _ in range(2):  # the second time the center is at the mean of its rows
                sums.update()
                _, within = sums.move()
            told.append(sums.standard_errors(within)[0])
            found.append(np.linalg.norm(means.frame.centers - true))
        ratio = np.sqrt(np.mean(np.square(told)) / np.mean(np.square(found)))
        assert 0.97 < ratio < 1.1


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_initial_centers_of_zeros_are_refused(estimator):
    with pytest.raises(ValueError, match="initial center 1 is 0"):
        estimator(3, metric="cosine", init=[[1.0, 2], [0, 0], [1, 1]]).fit(np.ones((6, 2)))
