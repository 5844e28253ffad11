"""KMeans: the laws of the estimator, not its timings."""

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from sklearn.cluster import KMeans as ScikitLearnKMeans
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning

from coterie import KMeans
from coterie.coresets import lightweight_coreset
from tests.reference import k_means as oracle
from tests.support.bits import same_fits

ALGORITHMS = ["lloyd", "elkan", "yinyang"]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
class TestEveryAlgorithm:
    @given(
        n=st.integers(30, 200), d=st.integers(1, 20), k=st.integers(1, 15), seed=st.integers(0, 999),
        dtype=st.sampled_from([np.float32, np.float64]), weighted=st.booleans(),
    )  # fmt: skip
    def test_fit_ends_in_a_local_minimum(self, algorithm, n, d, k, seed, dtype, weighted):
        random = np.random.default_rng(seed)
        X = random.normal(size=(n, d)).astype(dtype)
        weights = random.integers(1, 4, size=n) if weighted else np.ones(n, dtype=np.int64)
        model = KMeans(k, init=X[:k], tol=0, algorithm=algorithm).fit(X, sample_weight=weights)
        same_fits(model, KMeans(k, init=X[:k], tol=0, algorithm="lloyd").fit(X, sample_weight=weights))
        slack = 1e-4 if dtype == np.float32 else 1e-12
        squares = oracle.square_distances(X, model.cluster_centers_)
        own = squares[np.arange(n), model.labels_]
        np.testing.assert_allclose(own, squares.min(axis=1), rtol=slack, atol=slack)
        np.testing.assert_allclose(model.inertia_, weights @ own, rtol=1e-9, atol=1e-20)
        assert model.inertia_ <= (1 + slack) * (weights @ oracle.square_distances(X, X[:k]).min(axis=1))
        if model.history_.n_changed[-1] == 0:
            for label in np.unique(model.labels_):
                members = model.labels_ == label
                mean = np.average(X[members].astype(float), axis=0, weights=weights[members])
                np.testing.assert_allclose(model.cluster_centers_[label], mean, rtol=slack, atol=slack)

    def test_sparse_is_dense(self, algorithm, blobs):
        X = np.maximum(blobs, 0)
        dense = KMeans(20, init=X[:20], tol=0, algorithm=algorithm).fit(X)
        sparse = KMeans(20, init=X[:20], tol=0, algorithm=algorithm).fit(scipy.sparse.csr_array(X))
        np.testing.assert_array_equal(sparse.labels_, dense.labels_)
        np.testing.assert_allclose(sparse.inertia_, dense.inertia_, rtol=1e-5)

    def test_empty_clusters_take_the_farthest_rows(self, algorithm):
        X = np.array([[-10.0], [-9.0], [-9.5], [-8.5], [-10.5], [10.0], [9.0], [9.5], [8.5]])
        init = np.array([[-9.5], [100.0], [200.0]])
        model = KMeans(3, init=init, algorithm=algorithm, tol=0).fit(X)
        expected = ScikitLearnKMeans(3, init=init, n_init=1, tol=0).fit(X)
        assert len(np.unique(model.labels_)) == 3
        np.testing.assert_allclose(model.inertia_, expected.inertia_)

    def test_more_clusters_than_distinct_rows(self, algorithm):
        X = np.repeat([[0.0, 0.0], [1.0, 1.0]], 10, axis=0)
        with pytest.warns(ConvergenceWarning, match=r"Number of distinct clusters \(2\) found smaller"):
            model = KMeans(5, random_state=0, algorithm=algorithm).fit(X)
        assert model.inertia_ == 0


class TestResults:
    def test_like_scikit_learn(self):
        X, _ = make_blobs(1000, 6, centers=10, cluster_std=4.0, random_state=1)
        init = X[:10]
        ours = KMeans(10, init=init).fit(X)
        theirs = ScikitLearnKMeans(10, init=init, n_init=1).fit(X)
        assert ours.n_iter_ == theirs.n_iter_
        np.testing.assert_array_equal(ours.labels_, theirs.labels_)
        np.testing.assert_allclose(ours.inertia_, theirs.inertia_, rtol=1e-10)
        np.testing.assert_allclose(ours.transform(X), theirs.transform(X), atol=1e-8)
        np.testing.assert_allclose(ours.score(X), theirs.score(X))

    def test_several_starts_keep_the_best(self, blobs):
        one = KMeans(23, init="random", n_init=1, random_state=0).fit(blobs)
        many = KMeans(23, init="random", n_init=8, random_state=0).fit(blobs)
        assert many.inertia_ <= one.inertia_


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (dict(n_clusters=7), "n_samples=6 should be >= n_clusters=7"),
        (dict(init=np.zeros((2, 2))), "does not match the number of clusters 3 and of features 2"),
        (dict(init=np.full((3, 2), np.nan)), "contains NaN"),
    ],
)
def test_bad_parameters(parameters, message):
    X = np.arange(12.0).reshape(6, 2)
    with pytest.raises(ValueError, match=message):
        KMeans(**(dict(n_clusters=3) | parameters)).fit(X)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_overflow(algorithm):
    X = np.arange(40.0, dtype=np.float32).reshape(20, 2)
    with pytest.raises(ValueError, match=r"X is too large for float32.*First bad row: 0"):
        KMeans(3, algorithm=algorithm).fit(X * np.float32(1e30))
    with pytest.raises(ValueError, match="initial centers are too far from the rows"):
        KMeans(3, init=np.full((3, 2), 1e30), algorithm=algorithm).fit(X)


class TestCoreset:
    @pytest.mark.parametrize("sparse", [False, True])
    def test_a_fit_of_the_coreset_labels_all_rows(self, sparse):
        X = np.random.default_rng(0).normal(size=(4000, 6)) + 8 * np.repeat(np.eye(4, 6), 1000, axis=0)
        rows = scipy.sparse.csr_array(X) if sparse else X
        model = KMeans(4, coreset_size=300, random_state=3).fit(rows)
        np.testing.assert_array_equal(model.labels_, model.predict(rows))
        assert len(model.labels_) == 4000
        assert model.inertia_ == pytest.approx(-model.score(rows))
        assert model.inertia_ < 1.1 * KMeans(4, random_state=3).fit(rows).inertia_

    def test_coreset_fit_is_the_fit_of_weighted_rows(self):
        X = np.random.default_rng(0).normal(size=(2000, 3))
        weights = np.random.default_rng(1).uniform(0.5, 2, size=2000)
        model = KMeans(5, init=X[:5], coreset_size=200, random_state=3).fit(X, sample_weight=weights)
        rows, masses, _ = lightweight_coreset(X, 200, sample_weight=weights, random_state=3)
        plain = KMeans(5, init=X[:5]).fit(rows, sample_weight=masses)
        np.testing.assert_array_equal(model.cluster_centers_, plain.cluster_centers_)

    def test_bad_sizes(self):
        with pytest.raises(ValueError, match="coreset_size=3 should be >= n_clusters=4"):
            KMeans(4, coreset_size=3).fit(np.eye(9))


def test_with_a_time_limit_bounds_begin_in_the_second_iteration():
    X = np.random.default_rng(0).normal(size=(2000, 40))
    limited, free = (
        KMeans(20, init=X[:20], max_iter=6, tol=0, max_time=max_time).fit(X) for max_time in (1e6, None)
    )
    assert limited.history_.algorithm.tolist() == [0, 2, 2, 2, 2, 2]
    assert free.history_.algorithm.tolist() == [2] * 6
    np.testing.assert_array_equal(limited.labels_, free.labels_)
    np.testing.assert_array_equal(limited.cluster_centers_, free.cluster_centers_)


def test_one_cluster_has_no_bounds():
    with pytest.warns(RuntimeWarning, match="'lloyd' is used"):
        assert KMeans(1, algorithm="elkan").fit(np.eye(5)).inertia_ == pytest.approx(4)
