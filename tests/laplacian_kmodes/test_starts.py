"""The starts and the weight of the graph that a fit chooses by itself."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_wine, make_blobs
from sklearn.preprocessing import StandardScaler

from coterie import KMeans, LaplacianKModes
from coterie.fitting.monitor import FitMonitor
from coterie.graphs import knn_graph
from coterie.laplacian_kmodes import starts
from coterie.laplacian_kmodes.criterion import (
    cluster_means,
    cut_weight,
    demerit,
    demerits_in_doubt,
    effective_clusters,
    in_main_directions,
    normalized_cut,
    spreads,
)
from coterie.laplacian_kmodes.problem import HISTORY_FIELDS, Run
from coterie.laplacian_kmodes.starts import automatic_lambda
from coterie.metrics import clustering_accuracy
from tests.reference import laplacian_kmodes as oracle


@pytest.fixture(scope="module")
def outliers():
    """Two clusters and three rows far out, each of which k-means gives a cluster of its own."""
    X, y = make_blobs(150, 3, centers=[[0, 0, 0], [9, 9, 9]], random_state=0)
    return np.vstack([X, [[60, 0, 0], [0, 60, 0], [0, 0, 60]]]), np.r_[y, 2, 3, 4]


class TestLambda:
    @pytest.mark.parametrize(
        ("n_clusters", "critical"), [(2, 2), (3, 4 * np.log(2)), (10, 9 / 4 * np.log(9))]
    )
    def test_one_and_a_half_times_where_memberships_settle(self, n_clusters, critical):
        graph = knn_graph(np.arange(40.0)[:, None], 4, symmetrize="none")
        assert automatic_lambda(graph, n_clusters) == pytest.approx(1.5 * critical / 4)

    @pytest.mark.parametrize("n_clusters", [2, 3, 10, 100])
    def test_memberships_begin_to_differ_there(self, n_clusters):
        """Mean field of a Potts model: one state stays ahead above the critical weight, not below."""

        def ahead(weight):
            z = np.r_[0.9, np.full(n_clusters - 1, 0.1 / (n_clusters - 1))]
            for _ in range(3000):
                z = np.exp(weight * (z - z.max()))
                z /= z.sum()
            return z[0] - z[1] > 0.1

        critical = automatic_lambda(sp.csr_array(np.ones((1, 1))), n_clusters) / 1.5
        assert ahead(1.1 * critical)
        assert not ahead(0.8 * critical)

    def test_the_unit_of_the_weights_does_not_matter(self):
        graph = knn_graph(np.arange(40.0)[:, None], 4, weights="gaussian")
        assert automatic_lambda(graph * 1e6, 3) == pytest.approx(1e-6 * automatic_lambda(graph, 3))
        assert automatic_lambda(graph * 0, 3) == 1
        assert automatic_lambda(graph, 1) > 0

    def test_a_number_keeps_its_meaning(self, outliers):
        model = LaplacianKModes(2, lam=0.7, init="k-means++", n_init=2, random_state=0).fit(outliers[0])
        assert model.lam_ == 0.7
        model.set_params(lam="auto").fit(outliers[0])
        assert model.lam_ == automatic_lambda(model.affinity_matrix_, 2)
        assert model.predict(outliers[0]).shape == (153,)

    @pytest.mark.parametrize("lam", ["best", -1.0, float("nan")])
    def test_what_is_none(self, lam):
        with pytest.raises(ValueError, match="lam must be 'auto' or a number that is not negative"):
            LaplacianKModes(2, lam=lam).fit(np.arange(20.0)[:, None])


def with_islands(distance):
    """Return a graph whose edges leave no island of six rows, but clusters that overlap; rows, classes, islands."""
    random = np.random.RandomState(1)
    classes = np.arange(300) % 4
    rows = random.normal(size=(318, 4))
    rows[:300] += distance * np.eye(4)[classes]
    # Of five neighbours four are of the own class.
    ends = (np.arange(300)[:, None] + [4, 8, 12, 16, 1]) % 300
    islanders = np.repeat([0, 1, 2], 6)
    graph = sp.block_diag([
        sp.csr_array((np.ones(1500), ends.ravel(), np.arange(0, 1501, 5)), shape=(300, 300)),
        *(np.ones((6, 6)) for _ in range(3)),
    ], format="csr")  # fmt: skip
    graph += sp.csr_array(([1.0] * 3, ([300, 306, 312], [0, 1, 2])), shape=graph.shape)
    right = np.r_[classes, islanders].astype(np.int32)
    apart = np.r_[np.zeros(300), islanders + 1].astype(np.int32)
    return graph, rows, right, apart


class TestCriterion:
    def test_cut_by_hand(self):
        # 0 - 1 - 2 - 3, the middle edge one way only.
        graph = sp.csr_array([[0, 1.0, 0, 0], [1, 0, 1, 0], [0, 0, 0, 1], [0, 0, 1, 0]])
        labels = np.array([0, 0, 1, 1], dtype=np.int32)
        assert normalized_cut(graph, labels, 2) == pytest.approx(1 / 5 + 1 / 5)
        assert normalized_cut(graph, labels, 3) == pytest.approx(2 / 5)

    @pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
    def test_spreads_by_hand(self, storage):
        rows, labels = storage([[0.0, 0], [2, 0], [5, 5]]), np.array([0, 0, 2], dtype=np.int32)
        np.testing.assert_allclose(cluster_means(rows, labels, 3), [[1, 0], [0, 0], [5, 5]])
        np.testing.assert_allclose(spreads(rows, labels, 3), [2, 0, 0])

    def test_clusters_count_by_their_sizes(self):
        assert effective_clusters(np.array([0, 1, 1, 3, 3, 0], dtype=np.int32)) == pytest.approx(3)
        assert effective_clusters(np.zeros(5, dtype=np.int32)) == 1
        assert 1 < effective_clusters(np.repeat(np.arange(3, dtype=np.int32), [98, 1, 1])) < 1.2

    def test_islands_are_no_clusters(self):
        graph, rows, right, apart = with_islands(3)
        assert normalized_cut(graph, apart, 4) < 0.1 * normalized_cut(graph, right, 4)
        assert demerit(graph, rows, right, 4) < demerit(graph, rows, apart, 4)

    def test_the_order_is_that_of_any_unit(self, outliers):
        X, y = outliers
        graph = knn_graph(X, 5)
        first, second = y.astype(np.int32), np.arange(len(y), dtype=np.int32) % 5
        far = demerit(graph, X, second, 5) - demerit(graph, X, first, 5)
        assert far > 0
        scaled = demerit(graph * 7, X * 1e6, second, 5) - demerit(graph * 7, X * 1e6, first, 5)
        assert scaled == pytest.approx(far)
        assert demerit(graph, None, first, 5) < demerit(graph, None, second, 5)


class TestMainDirections:
    def test_few_columns_are_left_as_they_are(self, outliers):
        assert in_main_directions(outliers[0], 3) is outliers[0]

    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    @pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
    def test_they_hold_most_of_the_spread(self, storage, dtype):
        random = np.random.default_rng(0)
        X = (random.normal(size=(80, 12)) * np.arange(12, 0, -1) + 3).astype(dtype)
        found = in_main_directions(storage(X), 4)
        assert found.dtype == dtype
        assert found.shape == (80, 4)
        centered = X - X.mean(axis=0)
        singular = np.linalg.svd(centered, compute_uv=False)
        np.testing.assert_allclose(np.linalg.norm(found, axis=0), singular[:4], rtol=1e-4)

    @pytest.mark.filterwarnings("error")
    @pytest.mark.parametrize(
        "change", [lambda X: X * 1e-6, lambda X: X + 1e4, lambda X: X[:, ::-1], lambda X: X * 0]
    )
    def test_the_spread_is_that_of_any_unit_and_place(self, change):
        random = np.random.default_rng(1)
        X, labels = random.normal(size=(60, 9)), np.arange(60, dtype=np.int32) % 3
        other = change(X)
        scale = np.var(other) / np.var(X)
        found = [spreads(in_main_directions(rows, 3), labels, 3) for rows in (X, other)]
        np.testing.assert_allclose(found[1], scale * found[0], rtol=1e-6)

    @pytest.mark.parametrize("n_columns", [50, 200])
    def test_many_columns_are_no_reason_to_leave_k_means(self, n_columns):
        """In all columns wrong clusters have a spread of 1% more and a cut of 5% to 10% less, which was worth it."""
        random = np.random.RandomState(6)
        centers = random.normal(scale=3.2 / n_columns**0.5, size=(8, n_columns))
        classes = random.choice(8, 400)
        X = centers[classes] + random.normal(size=(400, n_columns))
        expected = clustering_accuracy(classes, KMeans(8, n_init=10, random_state=0).fit(X).labels_)
        model = LaplacianKModes(8, random_state=0).fit(X)
        assert clustering_accuracy(classes, model.labels_) > expected - 0.03


class TestClustersStay:
    @pytest.mark.parametrize("mode_update", ["byproduct", "mean_shift", "densest"])
    def test_no_cluster_is_lost(self, outliers, mode_update):
        X, _ = outliers
        with pytest.warns(UserWarning, match="3 of 5 clusters are empty|[12] of 5 clusters are empty"):
            LaplacianKModes(5, init="k-means", n_init=1, mode_update=mode_update, random_state=0).fit(X)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model = LaplacianKModes(5, n_init=3, mode_update=mode_update, random_state=0).fit(X)
        assert set(model.labels_) == set(range(5))

    def test_hubs(self):
        """Directed graphs of many columns have hubs, after whose clusters all other rows went."""
        random = np.random.default_rng(0)
        classes = random.integers(6, size=240)
        X = random.normal(scale=0.7, size=(6, 60))[classes] + random.normal(size=(240, 60))
        k_means = KMeans(6, n_init=3, random_state=0).fit(X)
        model = LaplacianKModes(6, n_init=3, random_state=0).fit(X)
        assert len(set(model.labels_)) == 6
        expected = clustering_accuracy(classes, k_means.labels_)
        assert clustering_accuracy(classes, model.labels_) > expected - 0.03

    def test_precomputed_affinities(self, outliers):
        graph = knn_graph(outliers[0], 5, weights="gaussian")
        model = LaplacianKModes(4, affinity="precomputed", n_init=3, random_state=0).fit(graph)
        assert len(set(model.labels_)) == 4

    def test_a_split_fills_each_empty_cluster(self, outliers):
        X, _ = outliers
        labels = np.where(np.arange(len(X)) % 2, 1, 3).astype(np.int32)
        fitted = LaplacianKModes(5, n_init=1, random_state=0)._fit(X)
        modes = fitted.best
        run = Run(0.0, 0.0, labels, np.zeros((len(X), 5)), modes, False, True, np.zeros(0))
        split = starts._with_clusters_split(fitted.problem, run, np.random.RandomState(0))
        assert set(split) == set(range(5))
        assert set(labels) == {1, 3}


class TestNoWorseThanTheStart:
    @pytest.mark.parametrize("scale", [False, True])
    def test_the_end_ranks_before_k_means(self, scale):
        X, y = load_wine(return_X_y=True)
        X = StandardScaler().fit_transform(X) if scale else X
        k_means = KMeans(3, n_init=1, random_state=np.random.RandomState(0).randint(2**31 - 1)).fit(X)
        model = LaplacianKModes(3, n_init=1, random_state=0).fit(X)
        graph, main = model.affinity_matrix_, in_main_directions(X, 3)
        assert demerit(graph, main, model.labels_, 3) <= demerit(graph, main, k_means.labels_, 3)
        best = KMeans(3, n_init=10, random_state=0).fit(X)
        accuracy = clustering_accuracy(y, LaplacianKModes(3, random_state=0).fit(X).labels_)
        assert accuracy > clustering_accuracy(y, best.labels_) - 0.03

    def test_k_means_stays_where_no_run_is_clearly_better(self):
        """On 25 round blobs runs lower the cut by a quarter, and are less right."""
        random = np.random.RandomState(11)
        classes = random.randint(25, size=1000)
        X = 4.0 * np.c_[classes % 5, classes // 5] + random.normal(scale=0.9, size=(1000, 2))
        k_means = KMeans(25, n_init=10, random_state=0).fit(X)
        model = LaplacianKModes(25, random_state=0).fit(X)
        graph = model.affinity_matrix_
        found, usual = (demerits_in_doubt(graph, X, some.labels_, 25) for some in (model, k_means))
        assert np.all(found <= usual)
        accuracy, usual = (clustering_accuracy(classes, found.labels_) for found in (model, k_means))
        assert accuracy >= usual - 0.01

    def test_k_means_stays_where_a_run_ends_with_islands(self, monkeypatch):
        """Their cut is so small that the spread does not outweigh it."""
        graph, rows, right, apart = with_islands(1.8)
        model = LaplacianKModes(4, n_init=1, max_iter=1, random_state=0)
        problem = model._fit(rows).problem
        monkeypatch.setitem(problem.__dict__, "connected_graph", graph)
        random, monitor = np.random.RandomState(0), FitMonitor(model, 4, HISTORY_FIELDS)
        k_means, islands = (
            starts.Start(problem.search.modes_of(labels, 4, random), labels) for labels in (right, apart)
        )
        # With clusters counted by their root, as among runs, and no lower weight of the spread.
        usual = demerit(graph, rows, right, 4) - demerit(graph, rows, apart, 4)
        spread = np.log(spreads(rows, apart, 4).sum() / spreads(rows, right, 4).sum())
        assert usual - spread > starts._CLEARLY
        run = problem.held(islands.modes, apart, 0.9, monitor)
        kept = starts.clearly_better_run(problem, run, k_means, 0.9, monitor)
        np.testing.assert_array_equal(kept.labels, right)

    def test_an_outlier_apart_is_no_reason_to_cut_more_edges(self):
        """Of a cluster of one row all edges leave, which is a whole cluster of the normalised cut."""
        random = np.random.RandomState(0)
        rows = random.normal(size=(101, 2))
        rows[100] = 20
        graph = knn_graph(rows, 5)
        apart = (np.arange(101) == 100).astype(np.int32)
        halves = (rows[:, 0] > 0).astype(np.int32)
        (first_normalised, first_share), (normalised, share) = (
            demerits_in_doubt(graph, rows, labels, 2) for labels in (apart, halves)
        )
        assert cut_weight(graph, apart) < cut_weight(graph, halves)
        assert normalized_cut(graph, apart, 2) > normalized_cut(graph, halves, 2)
        assert share - first_share > normalised - first_normalised

    def test_a_run_that_is_clearly_better_stays(self, outliers):
        X, y = outliers
        model = LaplacianKModes(5, n_init=1, random_state=0)
        problem = model._fit(X).problem
        random, monitor = np.random.RandomState(0), FitMonitor(model, 4, HISTORY_FIELDS)
        right, wrong = y.astype(np.int32), np.arange(len(y), dtype=np.int32) % 5
        first, other = (
            starts.Start(problem.search.modes_of(labels, 5, random), labels) for labels in (wrong, right)
        )
        run = problem.held(other.modes, right, 0.9, monitor)
        assert starts.clearly_better_run(problem, run, first, 0.9, monitor) is run
        assert starts.clearly_better_run(problem, run, other, 0.9, monitor) is run
        worse = problem.held(first.modes, wrong, 0.9, monitor)
        kept = starts.clearly_better_run(problem, worse, other, 0.9, monitor)
        np.testing.assert_array_equal(kept.labels, right)
        none = starts.Start(other.modes)
        assert starts.clearly_better_run(problem, worse, none, 0.9, monitor) is worse

    def test_a_start_that_is_held_says_what_it_is(self, outliers):
        """Memberships are those of the labels, and both objectives are theirs."""
        X, y = outliers
        model = LaplacianKModes(5, n_init=1, random_state=0)
        fitted = model._fit(X)
        random = np.random.RandomState(0)
        labels = y.astype(np.int32)
        modes = fitted.problem.search.modes_of(labels, 5, random)
        held = fitted.problem.held(modes, labels, 0.9, FitMonitor(model, 1, HISTORY_FIELDS))
        np.testing.assert_array_equal(held.memberships, np.eye(5)[labels])
        kernel = oracle.kernel(X, modes.points, model.bandwidth_)
        graph = model.affinity_matrix_.toarray()
        assert held.discrete == pytest.approx(oracle.discrete_objective(labels, kernel, graph, 0.9))
        relaxed = oracle.relaxed_objective(held.memberships, kernel, graph, 0.9)
        assert held.relaxation == pytest.approx(relaxed)
        assert len(held.history) == 1


@pytest.mark.parametrize("seed", [0, 1])
def test_clusters_within_each_other_are_found(seed):
    """Where k-means and the eigenvectors of a graph of few neighbours cut rings in parts."""
    random = np.random.RandomState(3)
    classes = np.arange(600) % 3
    angles, radii = random.uniform(0, 2 * np.pi, 600), 1 + 1.2 * classes
    X = np.c_[radii * np.cos(angles), radii * np.sin(angles)] + random.normal(scale=0.1, size=(600, 2))
    model = LaplacianKModes(3, n_init=3, random_state=seed).fit(X)
    assert clustering_accuracy(classes, model.labels_) == 1


def test_fewer_different_rows_than_clusters():
    X = np.repeat([[0.0, 0], [5, 5]], 10, axis=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = LaplacianKModes(4, random_state=0).fit(X)
    assert np.all(np.isfinite(model.memberships_))
    assert len(np.unique(model.labels_[:10])) <= 3


def test_large_problems_do_without_eigenvectors(monkeypatch, outliers):
    monkeypatch.setattr(starts, "_SPECTRAL_OPERATIONS", 0)
    monkeypatch.setattr(starts, "spectral_vectors", None)
    assert len(set(LaplacianKModes(3, n_init=2, random_state=0).fit(outliers[0]).labels_)) == 3
