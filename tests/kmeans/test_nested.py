"""NestedMiniBatchKMeans: the paper's algorithm, round by round, and the laws of the estimator."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from coterie import KMeans, NestedMiniBatchKMeans
from coterie.blocks.shuffled import run_length, shuffled
from coterie.kmeans.nested import BOUNDS
from coterie.rows import as_rows
from tests.reference import k_means, nested_k_means
from tests.support.bits import same_fits
from tests.support.storages import stored


def nested(n_clusters, **parameters):
    return NestedMiniBatchKMeans(n_clusters, **(dict(batch_size=200, random_state=0) | parameters))


def on_a_grid(values):
    """Numbers whose sums are exact in float64, and which float32 holds, so that a mean that rests rests exactly."""
    return np.round(values * 2**16) / 2**16


def check_against_the_oracle(X, init, seed, batch_size, threshold, dtype, atol, sparse):
    block = sp.csr_array(X.astype(dtype)) if sparse else X.astype(dtype)
    model = nested(
        len(init), init=init.astype(dtype), tol=0, batch_size=batch_size, doubling_threshold=threshold,
        random_state=seed,
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # clusters may be left empty
        model.fit(block)
    order = shuffled(len(X), run_length(as_rows(block), batch_size), np.random.RandomState(seed))
    centers, rounds = nested_k_means.nested_mini_batches(
        X[order], init.astype(dtype), batch_size=batch_size, doubling_threshold=threshold
    )
    sizes, n_changed, labels = zip(*rounds)
    np.testing.assert_array_equal(model.history_.batch_size, sizes)
    np.testing.assert_array_equal(model.history_.n_changed, n_changed)
    assert model.n_iter_ == len(rounds)
    np.testing.assert_array_equal(model.labels_[order], labels[-1])
    np.testing.assert_allclose(model.cluster_centers_, centers, atol=atol)
    own = k_means.square_distances(X, centers)[np.arange(len(X)), model.labels_]
    np.testing.assert_allclose(model.inertia_, own.sum(), rtol=1e-5 if dtype == np.float32 else 1e-10)
    np.testing.assert_allclose(model.history_.objective[-1], own.sum(), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("sparse", [False, True])
class TestAgainstTheOracle:
    @given(
        n=st.integers(10, 130), d=st.integers(2, 20), k=st.integers(1, 20), batch_size=st.integers(1, 40),
        threshold=st.sampled_from([0.1, 1.0, 10.0, 100.0, 1000.0]), seed=st.integers(0, 99),
    )  # fmt: skip
    def test_round_by_round(self, sparse, n, d, k, batch_size, threshold, seed):
        random = np.random.default_rng(seed)
        X = on_a_grid(random.normal(size=(n, d)) * (random.random(size=(n, d)) < 0.5 if sparse else 1))
        X[:, 0] = on_a_grid(random.normal(size=n))  # no two rows are equal
        init = random.normal(size=(min(k, n), d))
        check_against_the_oracle(X, init, seed, batch_size, threshold, np.float64, 1e-10, sparse)

    @settings(max_examples=10)
    @given(k=st.integers(1, 9), batch_size=st.integers(5, 40), threshold=st.sampled_from([1.0, 100.0]),
           seed=st.integers(0, 99))  # fmt: skip
    def test_single_precision(self, sparse, k, batch_size, threshold, seed):
        """Far apart, so that no rounding of a distance changes a label."""
        random = np.random.default_rng(seed)
        means = 20 * np.hstack([np.eye(9)[:k], random.integers(0, 2, size=(k, 3))])
        X = on_a_grid(means[np.arange(120) % k] + random.normal(size=(120, 12)))
        init = means + random.normal(size=means.shape)
        check_against_the_oracle(X, init, seed, batch_size, threshold, np.float32, 1e-4, sparse)


class TestVotes:
    @pytest.mark.parametrize(
        ("dtype", "weighted", "sparse"),
        [
            (np.float32, True, False),
            (np.float64, False, False),
            (np.float32, False, True),
            (np.float64, True, True),
        ],
    )
    def test_sums_equal_a_recount_after_hundreds_of_rounds(self, dtype, weighted, sparse):
        """On a nearly even line, the centroids move for very long."""
        random = np.random.default_rng(0)
        n, k = 3000, 50
        line = 1 + (random.permutation(n) + 0.5 * random.random(n)) / n
        X = np.column_stack([line, np.zeros(n)]).astype(dtype)
        weights = random.uniform(0.999, 1.001, size=n).astype(dtype) if weighted else None
        init = np.column_stack([1 + np.linspace(0, 1, k) ** 2, np.zeros(k)])
        model = nested(k, init=init, tol=0, batch_size=750, n_threads=1)
        model.fit(sp.csr_array(X) if sparse else X, sample_weight=weights)
        assert model.n_iter_ > 300
        assert model.history_.n_changed[-1] == 0  # the sums are of labels_
        plain_weights = np.ones(n) if weights is None else weights.astype(float)
        shift = np.asarray(model._shift)
        sums, masses = k_means.cluster_sums(X, model.labels_, plain_weights, shift, k)
        squares = np.bincount(model.labels_, plain_weights * np.sum((X - shift) ** 2, axis=1), minlength=k)
        found = model._sums, model.counts_, model._squares
        if sparse and dtype == np.float32:  # rounding may give a row at a border another label in the end
            np.testing.assert_allclose(found[1], masses, atol=2.1)
            return
        np.testing.assert_allclose(found[0], sums, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(found[1], masses, rtol=1e-9)
        np.testing.assert_allclose(found[2], squares, rtol=1e-9 if dtype == np.float64 else 1e-5)

    @pytest.mark.parametrize("sparse", [False, True])
    def test_at_the_end_every_centroid_is_the_mean_of_its_rows(self, blobs, sparse):
        X = np.maximum(blobs, 0).astype(np.float64)
        weights = np.random.default_rng(0).random(len(X))
        model = nested(30, tol=0).fit(sp.csr_array(X) if sparse else X, sample_weight=weights)
        for label, center in enumerate(model.cluster_centers_):
            own = model.labels_ == label
            np.testing.assert_allclose(center, np.average(X[own], axis=0, weights=weights[own]), atol=1e-10)
        np.testing.assert_array_equal(model.labels_, model.predict(X))


class TestSameBits:
    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    @pytest.mark.parametrize("n_clusters", [2, 40])
    @pytest.mark.parametrize("metric", ["euclidean", "cosine"])
    def test_bounds_do_not_matter(self, blobs, dtype, n_clusters, metric):
        X = blobs.astype(dtype)
        fits = [nested(n_clusters, bounds=bounds, metric=metric, tol=0).fit(X) for bounds in BOUNDS]
        for other in fits[1:]:
            same_fits(other, fits[0])
        assert len({model.inertia_ for model in fits}) == 1


class TestBounds:
    def test_sparse_rows_have_no_bounds(self, blobs):
        X = sp.csr_array(np.maximum(blobs, 0))
        same_fits(nested(9, bounds="off").fit(X), nested(9).fit(X))
        with pytest.raises(ValueError, match=r"bounds='elkan' is for dense rows.*bounds=\"off\""):
            nested(9, bounds="elkan").fit(X)


class TestResults:
    @pytest.mark.parametrize("sparse", [False, True])
    def test_as_good_as_k_means(self, sparse):
        X = load_digits().data.astype(np.float32)
        X = sp.csr_array(X) if sparse else X
        best = min(KMeans(30, random_state=seed).fit(X).inertia_ for seed in range(3))
        ours = [nested(30, random_state=seed).fit(X).inertia_ for seed in range(5)]
        assert np.median(ours) < 1.015 * best

    def test_small_clusters_get_a_center(self):
        random = np.random.default_rng(0)
        means, classes = random.normal(size=(5, 80)), np.repeat(range(5), (1500, 600, 200, 80, 30))
        X = random.normal(means[classes], 0.7)

        def scores(**parameters):
            models = (NestedMiniBatchKMeans(5, random_state=seed, **parameters).fit(X) for seed in range(3))
            return [adjusted_rand_score(classes, model.labels_) for model in models]

        assert min(scores()) > 0.99
        assert np.mean(scores(init="k-means++")) < 0.9

    def test_batch_doubles_until_it_has_all_rows(self, blobs):
        history = nested(23, tol=0).fit(blobs).history_
        sizes = np.unique(history.batch_size)
        np.testing.assert_array_equal(sizes, [200, 400, 800, 1600, 3000])
        assert np.all(np.diff(history.batch_size) >= 0)
        assert history.n_changed[-1] == 0
        np.testing.assert_array_equal(history.iteration, np.arange(1, len(history) + 1))
        low, high = (nested(23, tol=0, doubling_threshold=t).fit(blobs).n_iter_ for t in (1e-3, 1e9))
        assert low < high

    @pytest.mark.parametrize("weighted", [False, True])
    def test_fit_ends_when_further_rows_improve_little(self, weighted):
        random = np.random.default_rng(0)
        X = random.normal(size=(40_000, 8)) + 2 * random.normal(size=(6, 8))[random.integers(6, size=40_000)]
        weights = random.integers(1, 4, size=len(X)).astype(float) if weighted else None
        whole, some, rough = (
            nested(6, batch_size=500, min_improvement=gain).fit(X, sample_weight=weights)
            for gain in (0, 2e-3, 0.05)
        )
        assert whole.history_.batch_size[-1] == len(X)
        assert 500 < rough.history_.batch_size[-1] < some.history_.batch_size[-1] < len(X)
        assert some.inertia_ < whole.inertia_ * (1 + 2e-3)
        assert rough.inertia_ < whole.inertia_ * 1.05

    def test_all_rows_are_used_before_convergence(self, blobs):
        whole, some = (nested(300, batch_size=500, min_improvement=gain).fit(blobs) for gain in (0, 1e-4))
        assert some.history_.batch_size[-1] == len(blobs)
        np.testing.assert_array_equal(some.labels_, whole.labels_)

    def test_one_batch_is_lloyd(self, blobs):
        X = blobs.astype(np.float64)
        ours = nested(23, init=X[:23], tol=0, batch_size=10_000).fit(X)
        lloyd = KMeans(23, init=X[:23], tol=0).fit(X)
        np.testing.assert_array_equal(ours.labels_, lloyd.labels_)
        np.testing.assert_allclose(ours.history_.objective, lloyd.history_.objective)
        assert ours.n_iter_ == lloyd.n_iter_

    def test_weights_may_be_scaled(self, blobs):
        weights = np.random.default_rng(0).integers(1, 5, size=len(blobs))
        plain = nested(20, init=blobs[:20]).fit(blobs, sample_weight=weights)
        scaled = nested(20, init=blobs[:20]).fit(blobs, sample_weight=64 * weights)
        np.testing.assert_array_equal(plain.labels_, scaled.labels_)
        np.testing.assert_array_equal(plain.cluster_centers_, scaled.cluster_centers_)
        np.testing.assert_array_equal(plain.history_.batch_size, scaled.history_.batch_size)
        np.testing.assert_allclose(64 * plain.history_.objective, scaled.history_.objective)
        np.testing.assert_allclose(64 * plain.inertia_, scaled.inertia_)

    def test_compute_labels(self, blobs):
        without = nested(9, compute_labels=False).fit(blobs)
        assert without.inertia_ == without.history_.objective[-1]  # an estimate


class TestDegenerate:
    @pytest.mark.parametrize("sparse", [False, True])
    def test_as_many_clusters_as_rows(self, sparse):
        X = np.random.default_rng(0).normal(size=(40, 3))
        model = nested(40, batch_size=5, init="random").fit(sp.csr_array(X) if sparse else X)
        assert len(np.unique(model.labels_)) == 40
        assert model.inertia_ < 1e-12

    @pytest.mark.parametrize("init", ["k-means++", "random", "afk-mc2"])
    def test_duplicates(self, init):
        X = np.repeat([[0.0, 0.0], [1.0, 1.0]], 50, axis=0)
        with pytest.warns(ConvergenceWarning, match=r"Number of distinct clusters \([12]\) found smaller"):
            model = nested(5, init=init, batch_size=10).fit(X)
        assert np.all(np.isfinite(model.cluster_centers_))
        assert np.all(np.isfinite(model.history_.objective))

    @pytest.mark.parametrize("seed", [2, 6, 8, 11])
    def test_rounding_does_not_keep_the_batch_small(self, seed):
        """With one row so far off, float32 is so coarse that some rows change their label in every round."""
        X = np.random.default_rng(seed).uniform(30, 31, size=(200, 1)).astype(np.float32)
        X[0] = -1e5
        model = nested(3, init=X[1:4], batch_size=100, random_state=seed).fit(X)
        assert model.history_.batch_size[-1] == 200
        assert model.n_iter_ < 1000


class TestFitting:
    def test_one_chunk_is_a_fit(self, blobs):
        same_fits(nested(20).partial_fit(blobs), nested(20).fit(blobs))

    @pytest.mark.filterwarnings("ignore:Number of distinct clusters")
    @pytest.mark.parametrize("sparse", [False, True])
    def test_chunks(self, blobs, sparse):
        X = np.maximum(blobs, 0)
        X = sp.csr_array(X) if sparse else X
        model = nested(23)
        for start in range(0, 3000, 600):
            model.partial_fit(X[start : start + 600])
            np.testing.assert_allclose(model.counts_.sum(), start + 600)
            assert model.counts_.shape == (23,)
        assert -model.score(X) < 1.25 * nested(23).fit(X).inertia_
        chunk = X[:5]  # fewer than clusters
        model.partial_fit(chunk)
        np.testing.assert_allclose(model.counts_.sum(), 3005)
        assert model.labels_.shape == (5,)

    def test_chunks_with_weights(self, blobs):
        weights = np.random.default_rng(0).random(len(blobs))
        model = nested(9).partial_fit(blobs[:1500], sample_weight=weights[:1500])
        model.partial_fit(blobs[1500:], sample_weight=weights[1500:])
        np.testing.assert_allclose(model.counts_.sum(), weights.sum(), rtol=1e-5)


@pytest.mark.parametrize("storage", ["array", "npy", "csr"])
@pytest.mark.parametrize("init", ["k-means++", "given"])
def test_bad_rows_are_named(storage, init, tmp_path):
    X = np.random.default_rng(0).normal(size=(1000, 2))
    X[777, 1] = np.nan
    rows = {"array": X, "csr": sp.csr_array(X), "npy": stored(X, "npy", tmp_path)}[storage]
    with pytest.raises(ValueError, match=r"contains NaN.*First bad row: 777( of \S+)?\."):
        nested(3, init=X[:3] if init == "given" else init, batch_size=10, compute_labels=False, tol=0).fit(
            rows
        )
    with pytest.raises(ValueError, match=r"too large for float32.*First bad row: 777\."):
        nested(3, batch_size=10, tol=0).fit(np.where(np.isnan(X), 1e30, X).astype(np.float32))
