"""MiniBatchKMeans: the rule of annealed running means against an oracle, and its laws."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_digits, make_blobs
from sklearn.preprocessing import normalize

from coterie import KMeans, MiniBatchKMeans
from coterie.centers import annealed
from coterie.fitting.report import FitReport, Stop
from coterie.passes import Passes, measure
from coterie.rows import as_rows
from tests.reference import nested_k_means as oracle
from tests.support.bits import same_fits


def mini_batch(n_clusters, **parameters):
    return MiniBatchKMeans(n_clusters, **(dict(batch_size=200, max_iter=3, random_state=0) | parameters))


def batches_of(plan, n_epochs, seed):
    random = np.random.RandomState(seed)
    return [np.split(order, ends[:-1]) for order, ends in (plan.shuffled(random) for _ in range(n_epochs))]


def run(
    X, centers, plan, n_epochs, memory, counts, *, weights=None, unit_length=False, n_threads=1, shift=None
):
    """Return the result of the solver from given centers, and its running means."""
    passes = Passes(as_rows(X), weights, n_threads)
    shift = measure(passes, len(centers)).shift if shift is None else shift
    means = annealed.running_means(passes, centers, counts, shift, plan.batch_size, unit_length=unit_length)
    result = annealed.anneal(
        passes, means, memory, plan, np.random.RandomState(0),
        stop=Stop(n_epochs, annealed.NEVER), report=FitReport(fields=annealed.HISTORY_FIELDS),
    )  # fmt: skip
    return result, means


class TestRule:
    @given(
        n=st.integers(12, 80), d=st.integers(1, 20), k=st.integers(1, 12), batch_size=st.integers(3, 90),
        kind=st.sampled_from(["dense", "sparse"]), weighted=st.booleans(), unit_length=st.booleans(),
        seed=st.integers(0, 99),
    )  # fmt: skip
    def test_against_the_oracle(self, n, d, k, batch_size, kind, weighted, unit_length, seed):
        random = np.random.default_rng(seed)
        X = random.normal(size=(n, d)) + 2
        X *= random.random(size=X.shape) < 0.7 if kind == "sparse" else 1
        X[:, 0] += 1
        weights = random.integers(1, 5, n) * 1.0 if weighted else None
        X = normalize(X) if unit_length else X
        centers = X[:k].copy()
        seen = annealed.RowsSeen().and_more(weights, n)
        memory, plan = annealed.Memory.of(k, seen), annealed.BatchPlan(n, batch_size)
        counts = np.full(k, memory.after(0.0))
        means, last, last_counts = oracle.annealed_epochs(
            X, weights, centers, batches_of(plan, 3, 0), unit_length=unit_length
        )
        rows = sp.csr_array(X) if kind == "sparse" else X
        result, found = run(rows, centers, plan, 3, memory, counts, weights=weights, unit_length=unit_length)
        np.testing.assert_allclose(result.centers, means[-1], atol=1e-8)
        np.testing.assert_allclose(found.centers, last, atol=1e-8)
        np.testing.assert_allclose(counts, last_counts, atol=1e-8)

    def test_one_batch_without_memory_is_an_iteration_of_lloyd(self, blobs):
        X, plan = blobs.astype(np.float64), annealed.BatchPlan(3000, 3000)
        result, means = run(X, X[:9], plan, 1, annealed.Memory(0.0, 0.0), np.zeros(9))
        lloyd = KMeans(9, init=X[:9], max_iter=1).fit(X)
        first = np.linalg.norm(X[:, None] - X[:9], axis=2).argmin(axis=1)
        expected = np.array([X[first == j].mean(axis=0) for j in range(9)])
        np.testing.assert_allclose(means.centers, expected, atol=1e-9)
        np.testing.assert_allclose(result.centers, lloyd.cluster_centers_, atol=1e-9)

    def test_unbounded_memory_gives_means_of_all_rows_received(self, blobs):
        X, plan, counts = blobs.astype(np.float64), annealed.BatchPlan(3000, 250), np.full(9, 1e-9)
        result, means = run(X, X[:9], plan, 1, annealed.Memory(np.inf, 0.0), counts)
        np.testing.assert_allclose(counts.sum(), 3000)
        np.testing.assert_allclose(means.centers, result.centers, atol=1e-7)

    @given(
        n=st.integers(1, 500), batch_size=st.integers(1, 600), run=st.integers(1, 70), seed=st.integers(0, 9)
    )
    def test_each_row_is_in_one_batch(self, n, batch_size, run, seed):
        plan = annealed.BatchPlan(n, batch_size, run)
        numbers, ends = plan.shuffled(np.random.RandomState(seed))
        np.testing.assert_array_equal(np.sort(numbers), np.arange(n))
        assert len(ends) == plan.n_batches
        for batch in np.split(numbers, ends[:-1]):
            assert np.all(np.diff(batch) > 0)
            assert len(batch) > 0

    @pytest.mark.parametrize("n_threads", [1, 3])
    def test_sums_of_a_batch_move_centers_as_its_rows_do(self, blobs, monkeypatch, n_threads):
        X, plan, memory = (
            blobs.astype(np.float64),
            annealed.BatchPlan(3000, 250),
            annealed.Memory(6.0, 0.1 / 9),
        )
        by_rows, _ = run(X, X[:9], plan, 2, memory, np.full(9, 6.0), n_threads=n_threads)
        # What rows on workers give: the sums of each batch.
        monkeypatch.setattr(annealed, "RunningMeans", annealed.SummedRunningMeans)
        by_sums, _ = run(X, X[:9], plan, 2, memory, np.full(9, 6.0), n_threads=n_threads)
        np.testing.assert_allclose(by_sums.centers, by_rows.centers, atol=1e-9)
        assert by_sums.n_batches == by_rows.n_batches


class TestReproducible:
    def test_rows_that_are_read(self, blobs, monkeypatch):
        """Without `kept_rows`, which would copy rows that are so few."""
        import coterie.blocks.dataset as dataset

        X = np.round(blobs * 10).astype(np.int16)
        one = mini_batch(20).fit(X)
        monkeypatch.setattr(dataset, "kept_rows", lambda rows: rows)
        monkeypatch.setattr(annealed, "_READ_BYTES", 11 * 4 * 500)
        same_fits(mini_batch(20).fit(X), one)

    def test_fewer_epochs_are_a_prefix(self, blobs):
        centers = []
        long = mini_batch(20, max_iter=4, callback=lambda p: centers.append(p.centers.copy())).fit(blobs)
        short = mini_batch(20, max_iter=2).fit(blobs)
        np.testing.assert_array_equal(short.history_.objective, long.history_.objective[:2])
        stopped = mini_batch(20, max_iter=4, callback=lambda p: p.iteration == 2).fit(blobs)
        np.testing.assert_array_equal(stopped.cluster_centers_, centers[1])

    @pytest.mark.parametrize("sparse", [False, True])
    def test_powers_of_two(self, blobs, sparse):
        X = np.maximum(blobs, 0)
        kind, weights = sp.csr_array if sparse else np.asarray, np.random.default_rng(0).integers(1, 5, 3000)
        plain = mini_batch(20).fit(kind(X), sample_weight=weights)
        larger = mini_batch(20).fit(kind(X * 4), sample_weight=weights)
        np.testing.assert_array_equal(larger.cluster_centers_, 4 * plain.cluster_centers_)
        np.testing.assert_array_equal(larger.labels_, plain.labels_)
        heavier = mini_batch(20).fit(kind(X), sample_weight=64 * weights)
        np.testing.assert_array_equal(heavier.cluster_centers_, plain.cluster_centers_)
        np.testing.assert_array_equal(heavier.counts_, 64 * plain.counts_)


class TestResults:
    @pytest.mark.parametrize("sparse", [False, True])
    def test_five_epochs_end_below_exact_k_means(self, sparse):
        X = load_digits().data
        kind = sp.csr_array if sparse else np.asarray
        ratios = [
            MiniBatchKMeans(100, random_state=s).fit(kind(X)).inertia_
            / KMeans(100, random_state=s).fit(kind(X)).inertia_
            for s in range(5)
        ]
        assert np.median(ratios) < 1

    def test_planted_blobs_of_many_sizes_are_found(self):
        sizes = np.maximum(3000 / np.arange(1, 101), 30).astype(int)
        X, blob = make_blobs(
            sizes, 8, centers=np.random.RandomState(0).uniform(-99, 99, (100, 8)), random_state=0
        )
        labels = MiniBatchKMeans(100, random_state=0).fit(X).labels_
        assert len(np.unique(labels * 1000 + blob)) == 100

    def test_heavy_rows_are_remembered(self):
        X = load_digits().data
        weights = np.random.RandomState(0).pareto(1.2, len(X)) + 1e-3
        model = MiniBatchKMeans(50, random_state=0).fit(X, sample_weight=weights)
        assert model.inertia_ <= 1.02 * KMeans(50, random_state=0).fit(X, sample_weight=weights).inertia_

    def test_runs_of_sorted_rows(self):
        """Batches of runs of rows that are sorted by class: within a percent of single rows."""
        X, digit = load_digits(return_X_y=True)
        X = X[np.argsort(digit, kind="stable")]
        start = X[np.random.RandomState(0).choice(len(X), 50, replace=False)]
        seen = annealed.RowsSeen().and_more(None, len(X))
        ends = []
        for run_length in (1, 8):
            memory = annealed.Memory.of(50, seen)
            plan = annealed.BatchPlan(len(X), 256, run_length)
            result, _ = run(X, start, plan, 5, memory, np.full(50, memory.after(0.0)))
            ends.append(-KMeans(50, init=result.centers, max_iter=1).fit(X).score(X))
        assert ends[1] < 1.01 * ends[0]

    def test_cosine(self):
        X = load_digits().data
        model = MiniBatchKMeans(60, metric="cosine", random_state=0).fit(X)
        sparse = MiniBatchKMeans(60, metric="cosine", random_state=0).fit(sp.csr_array(X))
        exact = KMeans(60, metric="cosine", random_state=0).fit(X)
        assert model.inertia_ < 1.01 * exact.inertia_
        assert sparse.inertia_ < 1.01 * exact.inertia_

    def test_labels_and_history(self, blobs):
        model = mini_batch(20).fit(blobs)
        np.testing.assert_array_equal(model.predict(blobs), model.labels_)
        np.testing.assert_allclose(-model.score(blobs), model.inertia_)
        assert (model.n_iter_, model.n_steps_, len(model.history_)) == (3, 45, 3)
        without = mini_batch(20, compute_labels=False).fit(blobs)
        np.testing.assert_allclose(without.inertia_, model.inertia_, rtol=0.2)

    def test_history_within_long_epochs(self, blobs, monkeypatch):
        monkeypatch.setattr(annealed, "_MULTIPLY_ADDS", 20 * 11 * 200 * 4)
        model = mini_batch(20).fit(blobs)
        assert len(model.history_) == 3 * 4
        stopped = mini_batch(20, callback=lambda progress: progress.iteration == 6).fit(blobs)
        assert (stopped.n_iter_, stopped.n_steps_) == (2, 23)

    def test_tolerance(self, blobs):
        epochs = [mini_batch(23, tol=tol, max_iter=30).fit(blobs).n_iter_ for tol in (1e9, 1e-1, 0.0)]
        assert epochs[0] == 1
        assert epochs[0] < epochs[1] < epochs[2] == 30

    @pytest.mark.parametrize("sparse", [False, True])
    @pytest.mark.parametrize("n_clusters", [1, 40])
    def test_one_cluster_and_as_many_as_rows(self, sparse, n_clusters):
        X = np.random.default_rng(0).normal(size=(40, 3))
        model = MiniBatchKMeans(n_clusters, random_state=0).fit(sp.csr_array(X) if sparse else X)
        if n_clusters == 1:
            np.testing.assert_allclose(model.cluster_centers_[0], X.mean(axis=0))
        else:
            assert model.inertia_ < 1e-12


class TestStreams:
    @pytest.mark.parametrize("sparse", [False, True])
    def test_a_batch_is_a_batch_of_the_rule(self, blobs, sparse):
        X, random = blobs.astype(np.float64), np.random.default_rng(0)
        model = MiniBatchKMeans(9, init=X[:9])
        centers, counts, seen = X[:9], np.full(9, 768 / 9), 0
        for number, batch in enumerate(np.split(random.permutation(X), 6)):
            memory = max(768 / 9, seen / 90)
            counts = np.minimum(counts, memory)
            _, after, received = oracle.annealed_epochs(batch, None, centers, [[np.arange(500)]], memory=0)
            step = (received / (counts + received))[:, None]
            centers, counts, seen = centers + step * (after - centers), counts + received, seen + 500
            model.partial_fit(sp.csr_array(batch) if sparse and number % 2 else batch)
            np.testing.assert_allclose(model.cluster_centers_, centers, atol=1e-8)
            np.testing.assert_allclose(model.counts_, counts)


class TestParameters:
    @pytest.mark.parametrize(
        "ignored", [{"max_no_improvement": 10}, {"reassignment_ratio": 0.01}, {"n_init": 3}]
    )
    def test_those_without_a_meaning_warn(self, blobs, ignored):
        with pytest.warns(UserWarning, match=f"{next(iter(ignored))}.* has no effect"):
            found = mini_batch(9, **ignored).fit(blobs)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            expected = mini_batch(9, max_no_improvement=None, reassignment_ratio=0, n_init=1).fit(blobs)
        np.testing.assert_array_equal(found.labels_, expected.labels_)

    @pytest.mark.parametrize(("init_size", "shape"), [(None, 3000), (50, 50), (10_000, 3000), (3, 27)])
    @pytest.mark.filterwarnings("ignore:init_size")
    def test_rows_of_the_initialization(self, blobs, init_size, shape):
        seen = []

        def first_rows(X, n_clusters, random_state):
            seen.append(X.shape)
            return X[:n_clusters]

        mini_batch(9, init=first_rows, init_size=init_size).fit(blobs)
        assert seen == [(shape, 11)]


def test_batches_of_sparse_rows_have_eight_entries_for_each_column():
    X = sp.csr_array((np.ones(100_000), (np.repeat(np.arange(5_000), 20), np.arange(100_000) % 10_000)))
    plan = annealed.BatchPlan.of(Passes(as_rows(X)), 3)
    assert 20 * plan.batch_size == pytest.approx(8 * 10_000, rel=0.05)
    assert annealed.BatchPlan.of(Passes(as_rows(X[:, :50].toarray())), 3).batch_size == 256
