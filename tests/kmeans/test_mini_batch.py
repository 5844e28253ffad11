"""MiniBatchKMeans: running means, scikit-learn's rules, and what both kinds of mini-batch k-means share."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.cluster import MiniBatchKMeans as ScikitLearnMiniBatchKMeans
from sklearn.datasets import load_digits, make_blobs
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from coterie import MiniBatchKMeans
from tests.reference import k_means, nested_k_means


def mini_batch(n_clusters, **parameters):
    return MiniBatchKMeans(n_clusters, **(dict(batch_size=200, max_iter=5, random_state=0) | parameters))


class TestRunningMeans:
    @given(
        sizes=st.lists(st.integers(1, 40), min_size=1, max_size=6), d=st.integers(1, 20), k=st.integers(1, 15),
        sparse=st.booleans(), weighted=st.booleans(), seed=st.integers(0, 99),
    )  # fmt: skip
    def test_a_stream_against_the_oracle(self, sizes, d, k, sparse, weighted, seed):
        random = np.random.default_rng(seed)
        sizes = [max(sizes[0], k), *sizes[1:]]
        init = random.normal(size=(k, d))
        model = MiniBatchKMeans(k, init=init, reassignment_ratio=0)
        centers, sums, counts = init, np.zeros((k, d)), np.zeros(k)
        for number, size in enumerate(sizes):
            batch = random.normal(size=(size, d)) * (random.random(size=(size, d)) < 0.5 if sparse else 1)
            weights = random.random(size) if weighted else None
            centers, sums, counts = nested_k_means.mini_batch_step(batch, centers, sums, counts, weights)
            model.partial_fit(sp.csr_array(batch) if sparse else batch, sample_weight=weights)
            np.testing.assert_allclose(model.cluster_centers_, centers, atol=1e-10)
            np.testing.assert_allclose(model.counts_, counts, atol=1e-10)
            assert model.n_steps_ == number + 1
            assert model.labels_.shape == (size,)

    @pytest.mark.parametrize("sparse", [False, True])
    def test_single_precision(self, blobs, sparse):
        """Blobs far apart, so that rounding does not change a label."""
        X, blob = make_blobs(600, 7, centers=9, cluster_std=0.5, center_box=(-50, 50), random_state=0)
        init = X[np.unique(blob, return_index=True)[1]]
        model = MiniBatchKMeans(9, init=init, reassignment_ratio=0)
        centers, sums, counts = init, np.zeros((9, 7)), np.zeros(9)
        for batch in np.split(X.astype(np.float32), 6):
            centers, sums, counts = nested_k_means.mini_batch_step(batch, centers, sums, counts)
            model.partial_fit(sp.csr_array(batch) if sparse else batch)
            np.testing.assert_array_equal(model.counts_, counts)
        assert model.cluster_centers_.dtype == np.float32
        np.testing.assert_allclose(model.cluster_centers_, centers, atol=2e-5)
        own = k_means.square_distances(batch, centers).min(axis=1)
        np.testing.assert_allclose(-model.score(batch), own.sum(), rtol=1e-4)

    def test_one_row_whose_nearest_center_rounding_hides(self):
        X = np.random.default_rng(0).normal(size=(50, 2))
        X[7] = [1e12, 3]
        model = MiniBatchKMeans(3, init=[[0, 0], [1e12, 0], [1e12, 5]], reassignment_ratio=0).partial_fit(X)
        np.testing.assert_array_equal(model.labels_, np.where(np.arange(50) == 7, 2, 0))

    def test_center_without_rows_stays(self):
        init = np.array([[0.0, 0.0], [500.0, 500.0]])
        model = MiniBatchKMeans(2, init=init, reassignment_ratio=0)
        for seed in range(3):
            model.partial_fit(np.random.default_rng(seed).normal(size=(50, 2)))
        np.testing.assert_array_equal(model.cluster_centers_[1], init[1])
        np.testing.assert_array_equal(model.counts_, [150, 0])

    def test_counts_sum_to_the_rows_of_all_batches(self, blobs):
        model = mini_batch(9, reassignment_ratio=0, max_no_improvement=None).fit(blobs)
        np.testing.assert_allclose(model.counts_.sum(), model.n_steps_ * 200)

    def test_dense_and_sparse_batches_of_one_stream(self, blobs):
        X = np.maximum(blobs, 0).astype(np.float64)
        dense, mixed = (MiniBatchKMeans(9, init=X[:9], reassignment_ratio=0) for _ in range(2))
        for number, batch in enumerate(np.split(X, 6)):
            dense.partial_fit(batch)
            mixed.partial_fit(sp.csr_array(batch) if number % 2 else batch)
        np.testing.assert_allclose(mixed.cluster_centers_, dense.cluster_centers_, atol=1e-10)
        np.testing.assert_allclose(mixed.counts_, dense.counts_)


class TestResults:
    @pytest.mark.parametrize("sparse", [False, True])
    @pytest.mark.parametrize("init", ["k-means++", "random"])
    def test_as_good_as_scikit_learn(self, sparse, init):
        X = load_digits().data
        X = sp.csr_matrix(X) if sparse else X
        common = dict(batch_size=256, init=init, n_init=3)
        ours = [mini_batch(20, **common, max_iter=20, random_state=s).fit(X).inertia_ for s in range(6)]
        with threadpool_limits(1):  # its threads get in each other's way on a machine that is not quiet
            theirs = [
                ScikitLearnMiniBatchKMeans(20, **common, max_iter=20, random_state=s).fit(X).inertia_
                for s in range(6)
            ]
        assert np.mean(ours) < 1.02 * np.mean(theirs)

    def test_sparse_is_dense(self, blobs):
        X = np.maximum(blobs, 0).astype(np.float64)
        dense = mini_batch(20, init=X[:20]).fit(X)
        sparse = mini_batch(20, init=X[:20]).fit(sp.csr_array(X))
        assert sparse.n_steps_ == dense.n_steps_
        np.testing.assert_array_equal(sparse.labels_, dense.labels_)
        np.testing.assert_allclose(sparse.cluster_centers_, dense.cluster_centers_, atol=1e-10)
        np.testing.assert_allclose(sparse.inertia_, dense.inertia_)
        np.testing.assert_allclose(sparse.history_.objective, dense.history_.objective, rtol=1e-8)

    def test_labels_are_those_of_the_centroids(self, blobs):
        model = mini_batch(20).fit(blobs)
        np.testing.assert_array_equal(model.predict(blobs), model.labels_)
        np.testing.assert_allclose(-model.score(blobs), model.inertia_)
        np.testing.assert_array_equal(mini_batch(20).fit_predict(blobs), model.labels_)
        assert model.transform(blobs).shape == (3000, 20)

    def test_compute_labels(self, blobs):
        without = mini_batch(9, compute_labels=False).fit(blobs)
        assert not hasattr(without, "labels_")
        with_labels = mini_batch(9).fit(blobs)
        np.testing.assert_array_equal(without.predict(blobs), with_labels.labels_)
        with_labels.set_params(compute_labels=False).fit(blobs[:1000])
        assert not hasattr(with_labels, "labels_")

    def test_weights_may_be_scaled(self, blobs):
        weights = np.random.default_rng(0).integers(1, 5, size=len(blobs))
        plain = mini_batch(20).fit(blobs, sample_weight=weights)
        scaled = mini_batch(20).fit(blobs, sample_weight=64 * weights)
        np.testing.assert_array_equal(plain.cluster_centers_, scaled.cluster_centers_)
        np.testing.assert_allclose(64 * plain.counts_, scaled.counts_)
        np.testing.assert_allclose(64 * plain.inertia_, scaled.inertia_)

    @pytest.mark.parametrize("init", ["k-means++", "random"])
    def test_rows_of_weight_zero_have_no_effect(self, blobs, init):
        X = np.vstack([blobs, np.full((1000, 11), 1000.0, dtype=np.float32)])
        weights = np.repeat([1.0, 0.0], [len(blobs), 1000])
        model = mini_batch(10, init=init, reassignment_ratio=0).fit(X, sample_weight=weights)
        assert np.all(np.abs(model.cluster_centers_) <= np.abs(blobs).max())

    @pytest.mark.parametrize("sparse", [False, True])
    def test_as_many_clusters_as_rows(self, sparse):
        X = np.random.default_rng(0).normal(size=(40, 3))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = mini_batch(40).fit(sp.csr_array(X) if sparse else X)
        assert model.cluster_centers_.shape == (40, 3)
        assert np.all(np.isfinite(model.cluster_centers_))

    def test_duplicates(self):
        X = np.repeat([[0.0, 0.0], [1.0, 1.0]], 50, axis=0)
        with pytest.warns(ConvergenceWarning, match=r"Number of distinct clusters \(2\) found smaller"):
            model = mini_batch(5).fit(X)
        assert model.inertia_ < 1e-20


class TestRules:
    """When to stop and whom to move, as scikit-learn has it."""

    @pytest.mark.parametrize(
        ("n", "batch_size", "max_iter"), [(3000, 200, 3), (3000, 700, 2), (100, 1024, 4)]
    )
    def test_max_iter_counts_epochs(self, blobs, n, batch_size, max_iter):
        common = dict(batch_size=batch_size, max_iter=max_iter, max_no_improvement=None, random_state=0)
        ours = MiniBatchKMeans(5, **common).fit(blobs[:n])
        theirs = ScikitLearnMiniBatchKMeans(5, n_init=1, **common).fit(blobs[:n])
        assert ours.n_steps_ == theirs.n_steps_ == len(ours.history_)
        assert ours.n_iter_ == theirs.n_iter_ <= max_iter
        np.testing.assert_array_equal(ours.history_.iteration, np.arange(1, ours.n_steps_ + 1))

    def test_no_improvement(self, blobs):
        steps = [
            mini_batch(23, max_iter=100, max_no_improvement=n).fit(blobs).n_steps_ for n in (1, 5, 20, None)
        ]
        assert steps == sorted(steps)
        assert steps[0] < steps[-1] == 1500

    def test_tolerance(self, blobs):
        common = dict(max_iter=100, max_no_improvement=None, reassignment_ratio=0)
        steps = [mini_batch(23, tol=tol, **common).fit(blobs).n_steps_ for tol in (1e9, 1e-1, 1e-3, 0.0)]
        assert steps == sorted(steps)
        assert steps[0] <= 2
        assert steps[1] < steps[2] < steps[3] == 1500
        model = mini_batch(23, tol=1e-2, **common).fit(blobs)
        limit = 1e-2 * np.mean(np.var(blobs.astype(float), axis=0))
        assert model.history_.center_shift[-1] <= 1.2 * limit
        assert np.all(model.history_.center_shift[1:-1] > 0.8 * limit)

    @pytest.mark.parametrize("sparse", [False, True])
    def test_centers_of_few_rows_are_reassigned(self, blobs, sparse):
        X = np.maximum(blobs, 0)
        init = np.vstack([X[:9], np.full((1, 11), 1000.0)]).astype(np.float32)
        X = sp.csr_array(X) if sparse else X
        with pytest.warns(ConvergenceWarning, match="distinct clusters"):
            stays = mini_batch(10, init=init, reassignment_ratio=0).fit(X)
        np.testing.assert_array_equal(stays.cluster_centers_[9], init[9])
        moves = mini_batch(10, init=init, reassignment_ratio=0.01).fit(X)
        assert len(np.unique(moves.labels_)) == 10
        assert np.all(np.abs(moves.cluster_centers_) <= np.abs(blobs).max())
        assert moves.inertia_ < stays.inertia_
        assert np.all(moves.counts_ > 0)
        stream = MiniBatchKMeans(10, init=init, random_state=0)
        for start in range(0, 3000, 500):
            stream.partial_fit(X[start : start + 500])
        assert np.all(np.abs(stream.cluster_centers_) <= np.abs(blobs).max())

    def test_several_starts(self, blobs):
        one, many = (mini_batch(23, init="random", n_init=n, max_iter=1).fit(blobs) for n in (1, 20))
        assert many.history_.objective[0] < one.history_.objective[0]

    def test_several_starts_need_something_to_draw(self, blobs):
        with pytest.warns(RuntimeWarning, match="Explicit initial center position passed"):
            mini_batch(9, init=blobs[:9], n_init=5).fit(blobs)

    @pytest.mark.filterwarnings("ignore:init_size")
    @pytest.mark.parametrize("init_size", [None, 3, 50, 10_000])
    def test_size_of_the_initialization(self, blobs, init_size):
        seen = []

        def first_rows(X, n_clusters, random_state):
            seen.append(X.shape)
            return X[:n_clusters]

        mini_batch(7, init=first_rows, init_size=init_size, n_init=1).fit(blobs)
        assert seen == [({None: 600, 3: 21, 50: 50, 10_000: 3000}[init_size], 11)]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (dict(n_clusters=7), "n_samples=6 should be >= n_clusters=7"),
        (dict(init="best"), "init must be one of 'k-means"),
        (dict(init=np.zeros((2, 2))), "does not match the number of clusters 3 and of features 2"),
        (dict(n_init="many"), "n_init must be"),
    ],
)
def test_bad_parameters(parameters, message):
    X = np.arange(12.0).reshape(6, 2)
    model = MiniBatchKMeans(**(dict(n_clusters=3) | parameters))
    for method in (model.fit, model.partial_fit):
        with pytest.raises(ValueError, match=message):
            method(X)
