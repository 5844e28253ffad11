"""Priors of clusters in total variation clustering, weights of rows, and bounds of sizes."""

import warnings
from itertools import permutations, product

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import make_blobs

from coterie import TotalVariationClustering
from coterie.arrays import padded_rows
from coterie.graphs import knn_graph
from coterie.graphs.cuts import balance_weights_of, normalized_cut
from coterie.graphs.edges import edges_of_graph
from coterie.graphs.spectral import spectral_vectors
from coterie.metrics import balanced_cut, clustering_accuracy
from coterie.multilevel.solver import NORMALIZED_ASSOCIATION, CoarseGraph, refined
from coterie.size_constrained.sizes import SizeBounds
from coterie.total_variation.descent import RowStatistics, TotalVariationDescent, WeightedStatistics
from coterie.total_variation.priors import priors_of_labels
from coterie.total_variation.problem import CutGraph
from coterie.total_variation.rounding import labels_within, matched_numbers
from tests.reference import total_variation as oracle
from tests.support.cuts import DTYPES, some_memberships, some_weights

SIZES = (600, 200, 60, 30)
SHARES = np.array(SIZES) / sum(SIZES)


def some_priors(R, seed):
    return np.random.default_rng(seed + 7).dirichlet(np.full(R, 2.0)) * 0.9 + 0.1 / R


@pytest.fixture(scope="module")
def uneven():
    """Blobs of unequal size; the two largest touch."""
    random = np.random.default_rng(0)
    centers = np.array([[0, 0, 0], [5.0, 0, 0], [0, 9, 0], [0, 0, 9]])
    X = np.concatenate([center + random.normal(size=(n, 3)) for center, n in zip(centers, SIZES)])
    return X.astype(np.float32), np.repeat(np.arange(4), SIZES)


class TestTheory:
    @pytest.mark.parametrize("dtype", DTYPES)
    @pytest.mark.parametrize("weighted", [False, True])
    @given(
        n=st.integers(3, 60),
        R=st.integers(2, 9),
        sharp=st.sampled_from([0.0, 0.7, 1.0]),
        seed=st.integers(0, 999),
    )
    def test_medians_and_balances_against_the_oracle(self, dtype, weighted, n, R, sharp, seed):
        n = max(n, R)
        W = some_weights(n, 3 / n, seed, binary=False)
        F = np.round(some_memberships(n, R, seed, sharp), 2).astype(dtype)
        lams = balance_weights_of(some_priors(R, seed))
        graph = CutGraph(sp.csr_array(W.astype(dtype)))
        rows = padded_rows(n, R, dtype)
        rows[:, :R] = F
        weights = (
            np.round(W.sum(axis=1) * (np.random.default_rng(seed).random(n) < 0.8), 3) if weighted else None
        )
        if weighted and not weights.any():
            return
        statistics = (
            WeightedStatistics(graph, lams, weights, 1) if weighted else RowStatistics(graph, lams, 1)
        )
        found = statistics.of(rows)
        for r, (f, lam) in enumerate(zip(F.astype(float).T, lams)):
            assert found.medians[r] == F.dtype.type(oracle.median(f, lam, weights))
            np.testing.assert_allclose(
                found.balances[r], oracle.balance(f, lam, weights), rtol=1e-5, atol=1e-5
            )
            np.testing.assert_allclose(found.variations[r], oracle.variation(W, f), rtol=1e-5, atol=1e-5)

    @given(n=st.integers(2, 40), lam=st.floats(0.05, 20), weighted=st.booleans(), seed=st.integers(0, 9999))
    def test_the_median_is_where_the_distance_is_least_and_v_is_a_subgradient(self, n, lam, weighted, seed):
        random = np.random.default_rng(seed)
        f, g = np.round(random.random((2, n)), 1)
        weights = np.round(random.random(n) + 0.01, 2) if weighted else np.ones(n)
        least = min(oracle.asymmetric_norm(f - value, lam, weights) for value in f)
        assert oracle.balance(f, lam, weights) == pytest.approx(least, abs=1e-9)
        v = oracle.subgradient(f, lam, weights)
        assert abs(v.sum()) < 1e-9
        assert np.all((v >= -weights - 1e-12) & (v <= lam * weights + 1e-12))
        assert oracle.balance(g, lam, weights) >= least + v @ (g - f) - 1e-9

    @given(n=st.integers(3, 60), R=st.integers(2, 6), weighted=st.booleans(), seed=st.integers(0, 9999))
    def test_energy_of_an_indicator_is_that_of_its_set(self, n, R, weighted, seed):
        """Theorem 1, with a prior for each cluster."""
        n = max(n, R)
        W, labels = some_weights(n, 0.2, seed, binary=False), np.random.default_rng(seed).integers(R, size=n)
        labels[:R] = np.arange(R)
        priors = some_priors(R, seed)
        lams, degrees = (1 - priors) / priors, W.sum(axis=1) if weighted else None
        descent = TotalVariationDescent(
            CutGraph(sp.csr_array(W)), R, balance_weights=lams, weights=degrees, n_threads=1
        )
        energy = descent.start(np.eye(R)[labels])
        expected = oracle.balanced_cut(W, labels, R, lams, degrees)
        np.testing.assert_allclose([energy, descent.rounded()[1]], expected)
        if not weighted:
            np.testing.assert_allclose(balanced_cut(W, labels, class_priors=priors), expected)

    @pytest.mark.parametrize("dtype", DTYPES)
    @settings(max_examples=20)
    @given(n=st.integers(6, 40), R=st.integers(2, 6), n_inner=st.integers(1, 8), seed=st.integers(0, 999))
    def test_outer_steps_against_the_oracle(self, dtype, n, R, n_inner, seed):
        n = max(n, R)
        W, F = some_weights(n, 3 / n, seed, False), some_memberships(n, R, seed, 0.3).astype(dtype)
        W = W.astype(dtype).astype(float)
        lams, degrees = balance_weights_of(some_priors(R, seed)), W.sum(axis=1)
        descent = TotalVariationDescent(
            CutGraph(sp.csr_array(W.astype(dtype))), R, balance_weights=lams, weights=degrees, n_threads=1
        )
        descent.start(F)
        descent.outer_step(-np.inf, n_inner)
        unit = W[W > 0].mean()
        steps = oracle.preconditioned_steps(W / unit)
        state = oracle.started(W / unit, F.astype(float), steps)
        # In the unit of the weights both cuts and degrees are smaller, and nothing else changes.
        state = oracle.outer_step(W / unit, state, steps, n_inner, None, lams, None, degrees / unit)
        np.testing.assert_allclose(descent.memberships, state.F, atol=4e-3 if dtype == np.float32 else 1e-6)


class TestBruteForce:
    """The best of all partitions of small graphs."""

    @pytest.mark.parametrize("priors", [(0.5, 0.5), (0.8, 0.2), (0.3, 0.7)])
    def test_small_graph_is_cut_optimally(self, priors):
        # Twelve points on a line, close together on the left.
        points = np.cumsum([0, 1, 1, 1, 2, 1, 1, 1, 1.2, 1, 1, 1.5])
        W = np.exp(-np.abs(points[:, None] - points) * 2) * (1 - np.eye(12))
        partitions = np.array(list(product((0, 1), repeat=12)))[1:-1]
        cuts = np.einsum("pi,ij,pj->p", partitions, W, 1 - partitions)
        parts = [(side.sum(axis=1), prior) for side, prior in zip((1 - partitions, partitions), priors)]
        energies = sum(cuts / np.minimum((1 - p) / p * size, 12 - size) for size, p in parts)
        model = TotalVariationClustering(
            2, affinity="precomputed", class_priors=priors, n_init=4, random_state=0
        ).fit(W)
        assert model.energy_ == pytest.approx(energies.min(), rel=1e-6)
        np.testing.assert_allclose(model.class_priors_, priors)

    @settings(max_examples=20)
    @given(n=st.integers(8, 30), R=st.integers(2, 4), weighted=st.booleans(), seed=st.integers(0, 999))
    def test_clusters_get_the_priors_that_suit_them(self, n, R, weighted, seed):
        W, labels = some_weights(n, 0.3, seed, False), np.random.default_rng(seed).integers(R, size=n)
        labels[:R] = np.arange(R)
        lams, degrees = balance_weights_of(some_priors(R, seed)), W.sum(axis=1) if weighted else None
        numbers = matched_numbers(edges_of_graph(sp.csr_array(W)), labels, lams, degrees)
        costs = [
            oracle.balanced_cut(W, np.array(order)[labels], R, lams, degrees)
            for order in permutations(range(R))
        ]
        assert oracle.balanced_cut(W, numbers[labels], R, lams, degrees) == pytest.approx(min(costs))


class TestSizes:
    def test_rows_of_least_loss_are_moved(self):
        """A path: its clusters give the rows at their ends, which are all alike."""
        path = sp.csr_array(sp.diags_array([np.ones(29), np.ones(29)], offsets=[1, -1]))
        labels = np.repeat([0, 1, 2], [18, 8, 4]).astype(np.int32)
        found = labels_within(path, np.eye(3)[labels], labels, SizeBounds(9, 11), np.zeros(30, bool))
        sizes = np.bincount(found)
        assert sizes.min() >= 9
        assert sizes.max() <= 11
        assert np.count_nonzero(np.diff(found)) == 2
        within = labels_within(path, np.eye(3)[labels], labels, SizeBounds(4, 18), np.zeros(30, bool))
        np.testing.assert_array_equal(within, labels)

    def test_fixed_rows_stay(self):
        path = sp.csr_array(sp.diags_array([np.ones(29), np.ones(29)], offsets=[1, -1]))
        labels = np.repeat([0, 1], [24, 6]).astype(np.int32)
        fixed = np.arange(30) % 24 > 16
        found = labels_within(path, np.eye(2)[labels], labels, SizeBounds(12, 18), fixed)
        np.testing.assert_array_equal(found[fixed], labels[fixed])
        assert np.bincount(found).max() <= 18

    def test_an_estimator_within_bounds(self, uneven):
        X, y = uneven
        known = np.where(np.arange(len(y)) % 60 == 0, y, -1)
        model = TotalVariationClustering(
            4, size_min=200, size_max=0.3, n_init=1, max_iter=200, random_state=0
        ).fit(X, known)
        sizes = np.bincount(model.labels_)
        assert sizes.min() >= 200
        assert sizes.max() <= 267
        np.testing.assert_array_equal(model.labels_[known >= 0], known[known >= 0])

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            (dict(size_min=400), "size_min asks for 4 clusters of 400 or more"),
            (dict(size_max=100), "size_max allows 4 clusters of 100 at most"),
            (dict(size_max=300), "y puts 600 rows into class 0, and size_max allows 300"),
            (dict(size_min=100), "With the classes of y, size_min=100"),
        ],
    )
    def test_infeasible_sizes(self, uneven, options, message):
        X, y = uneven
        known = y.copy()
        known[-1] = -1
        with pytest.raises(ValueError, match=message):
            TotalVariationClustering(4, **options).fit(X, known)


class TestEstimator:
    def test_true_priors_find_unequal_blobs(self, uneven):
        X, y = uneven
        model = TotalVariationClustering(4, class_priors=SHARES, n_init=4, random_state=0).fit(X)
        assert clustering_accuracy(y, model.labels_) > 0.97
        np.testing.assert_allclose(np.sort(np.bincount(model.labels_))[::-1], SIZES, atol=20)

    @pytest.mark.parametrize("seed", range(5))
    @pytest.mark.parametrize("kind", ["normal", "heavy tails", "moons", "a column", "a few far rows"])
    def test_unequal_classes_are_found_by_default(self, kind, seed):
        random = np.random.default_rng(seed)
        if kind == "moons":
            y, angles = np.repeat([0, 1], (900, 110)), random.uniform(0, np.pi, 1010)
            moons = np.where(
                y == 0, [np.cos(angles), np.sin(angles)], [1 - np.cos(angles), 0.5 - np.sin(angles)]
            )
            X = moons.T + random.normal(scale=0.06, size=(1010, 2))
        elif kind == "a column":  # its gaps make more components than there are classes
            y = np.repeat([0, 1, 2], (900, 150, 60))
            X = (np.array([0, 12, 30])[y] + random.normal(size=1110))[:, None]
        else:
            y = np.repeat([0, 1, 2], (800, 100, 100))
            noise = (
                random.standard_t(3, (1000, 4)) if kind == "heavy tails" else random.normal(size=(1000, 4))
            )
            X = noise + (4 if kind == "a few far rows" else 10) * np.eye(4)[y]
            if kind == "a few far rows":  # they would be a cluster of the lowest normalized cut
                X[:6, 3] += 15
        model = TotalVariationClustering(y[-1] + 1, random_state=0).fit(X)
        assert clustering_accuracy(y, model.labels_) > 0.97
        if kind in ("heavy tails", "a few far rows"):
            np.testing.assert_allclose(np.sort(model.class_priors_)[::-1], [0.8, 0.1, 0.1], atol=0.02)

    def test_a_few_vertices_with_few_edges_are_no_cluster_by_default(self):
        X = np.random.default_rng(0).normal(size=(1000, 2))
        X[500:, 0] += 5
        graph = sp.lil_array(sp.block_diag([knn_graph(X, 10), np.ones((10, 10)) - np.eye(10)]))
        graph[999, 1000] = graph[1000, 999] = 1e-3
        model = TotalVariationClustering(2, affinity="precomputed", random_state=0).fit(graph)
        assert np.bincount(model.labels_).min() > 450

    @pytest.mark.parametrize("equal", ["auto", np.full(3, 1 / 3)])
    def test_equal_priors_are_none(self, equal):
        """They are given, or found where clusters are of equal size."""
        X = make_blobs(300, 3, centers=3, random_state=0)[0]
        plain, other = (
            TotalVariationClustering(3, class_priors=priors, n_init=2, random_state=0).fit(X)
            for priors in (None, equal)
        )
        np.testing.assert_array_equal(plain.memberships_, other.memberships_)
        assert plain.energy_ == other.energy_
        assert not hasattr(plain, "class_priors_")
        assert hasattr(other, "class_priors_") == isinstance(equal, np.ndarray)

    def test_estimated_priors_are_equal_where_others_lose_most_of_the_information(self):
        # A wide cloud, and three small groups at its edge.
        random = np.random.default_rng(4)
        groups = random.integers(0, 3, 60)
        small = 0.7 * random.normal(size=(60, 8)) + 3.2 * np.eye(8)[groups]
        X = np.concatenate([random.normal(size=(500, 8)), small])
        plain, found = (
            TotalVariationClustering(4, class_priors=priors, n_init=2, random_state=0).fit(X)
            for priors in (None, "auto")
        )
        graph = plain.affinity_matrix_
        y = np.append(np.full(500, 3), groups).astype(np.int32)
        unequal = refined(CoarseGraph(graph), NORMALIZED_ASSOCIATION, y, 4)
        cuts = [normalized_cut(graph, labels, 4) for labels in (unequal, plain.labels_)]
        assert cuts[0] < 0.8 * cuts[1]
        assert np.bincount(unequal).max() > 450
        np.testing.assert_array_equal(found.labels_, plain.labels_)
        assert not hasattr(found, "class_priors_")

    def test_priors_of_labels(self, uneven):
        X, y = uneven
        assert priors_of_labels(np.array([0, -1, 1, 0, 0]), 3).tolist() == [4 / 7, 2 / 7, 1 / 7]
        known = np.where(np.arange(len(y)) % 10 == 0, y, -1)
        model = TotalVariationClustering(4, class_priors="labels", random_state=0).fit(X, known)
        assert np.mean(model.labels_ == y) > 0.97
        np.testing.assert_allclose(model.class_priors_, SHARES, atol=0.02)

    def test_priors_do_not_depend_on_threads(self, uneven):
        options = dict(class_priors=SHARES, size_max=325, n_init=1, random_state=3)
        models = [TotalVariationClustering(4, n_threads=n, **options).fit(uneven[0][::2]) for n in (1, 2)]
        np.testing.assert_array_equal(models[0].memberships_, models[1].memberships_)
        assert models[0].energy_ == models[1].energy_

    def test_no_edges_and_one_cluster(self):
        for priors in (None, "auto"):
            model = TotalVariationClustering(
                2, affinity="precomputed", class_priors=priors, n_init=2, random_state=0
            )
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model.fit(np.zeros((6, 6)))
            one = TotalVariationClustering(1, class_priors=priors).fit(
                np.random.default_rng(0).random((20, 2))
            )
            assert np.all(one.labels_ == 0)

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            (dict(class_priors="guess"), "'labels' or a prior for each cluster, got 'guess'"),
            (dict(class_priors=[0.5, 0.5, 0.0]), "must have shape"),
            (dict(class_priors=[1.0, 0.0]), "above 0 and sum to 1"),
            (dict(class_priors=[90, 10]), "divide numbers of rows by their sum"),
            (dict(class_priors=["a", "b"]), "class_priors must be numbers"),
            (dict(class_priors=[0.5, np.nan]), "above 0 and sum to 1"),
            (dict(size_min=0.6, size_max=0.4), "more than size_max"),
        ],
    )
    def test_wrong_arguments(self, options, message):
        X = np.random.default_rng(0).normal(size=(20, 2))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with pytest.raises(ValueError, match=message):
                TotalVariationClustering(2, **options).fit(X)

    def test_a_cut_of_one_cluster_and_of_wrong_arguments(self):
        W = np.ones((3, 3)) - np.eye(3)
        with pytest.raises(ValueError, match="must have shape"):
            balanced_cut(W, [0, 1, 1], class_priors=[0.2, 0.3, 0.5])
        assert balanced_cut(W, [5, 5, 5]) == 0


def test_eigenvectors_of_all_components():
    X = np.random.default_rng(0).normal(size=(700, 2))
    X += np.repeat([[0, 0], [50, 0], [0, 50], [50, 50]], [300, 250, 100, 50], axis=0)
    graph = knn_graph(X, 8)
    found = spectral_vectors(graph, 6, 0, by_components=True)
    np.testing.assert_allclose(found.values[:4], 0, atol=1e-6)
    assert found.values[4] > 1e-3
    directions = spectral_vectors(graph, 4, 0, by_components=True).directions()
    np.testing.assert_allclose(directions.max(axis=1), 1)
    np.testing.assert_array_equal(np.bincount(directions.argmax(axis=1)), [300, 250, 100, 50])
    np.testing.assert_allclose(found.vectors.T @ found.vectors, np.eye(6), atol=1e-5)
