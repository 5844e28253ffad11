"""Total variation clustering: the estimator, with and without labels."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits, make_blobs, make_moons
from sklearn.exceptions import ConvergenceWarning

from coterie import MultilevelGraphClustering, TotalVariationClustering
from coterie.graphs import knn_graph
from coterie.metrics import balanced_cut, clustering_accuracy, purity
from tests.reference import total_variation as oracle


@pytest.fixture(scope="module")
def blobs():
    return make_blobs(300, 4, centers=5, cluster_std=0.8, random_state=0)


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return knn_graph(X.astype(np.float32), 10), y


def known(y, n_each, seed=0):
    random = np.random.default_rng(seed)
    labels = np.full(len(y), -1)
    for label in np.unique(y):
        rows = random.choice(np.flatnonzero(y == label), n_each, replace=False)
        labels[rows] = label
    return labels


class TestUnsupervised:
    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_fitted_attributes(self, blobs, dtype):
        X, y = blobs[0].astype(dtype), blobs[1]
        model = TotalVariationClustering(5, n_init=3, random_state=0).fit(X)
        assert clustering_accuracy(y, model.labels_) > 0.98
        assert model.labels_.dtype == np.int32
        assert model.memberships_.dtype == dtype
        assert model.memberships_.shape == (300, 5)
        assert model.memberships_.min() >= 0
        np.testing.assert_allclose(model.memberships_.sum(axis=1), 1, rtol=1e-5)
        np.testing.assert_array_equal(model.labels_, model.memberships_.argmax(axis=1))
        W = model.affinity_matrix_.toarray()
        np.testing.assert_array_equal(W, W.T)
        np.testing.assert_allclose(model.energy_, oracle.balanced_cut(W, model.labels_, 5))
        relaxed = sum(oracle.energy(W, f, 4) for f in model.memberships_.astype(float).T)
        np.testing.assert_allclose(model.relaxed_energy_, relaxed, rtol=1e-4, atol=1e-6)
        assert model.relaxed_energy_ in model.history_["objective"]
        assert model.energy_ == model.history_["cut"].min()
        assert np.all(np.diff(model.history_["objective"]) <= 0)
        assert model.history_["n_inner"].sum() == model.n_iter_
        assert len(model.energies_) == 3
        assert model.energy_ == model.energies_.min()

    def test_clusters_of_any_shape(self):
        X, y = make_moons(500, noise=0.08, random_state=0)
        model = TotalVariationClustering(2, n_init=5, random_state=0).fit(X)
        assert clustering_accuracy(y, model.labels_) > 0.99

    def test_digits_below_the_energy_of_the_authors(self, digits):
        graph, y = digits
        model = TotalVariationClustering(10, affinity="precomputed", n_init=5, random_state=3).fit(graph)
        assert model.energy_ <= 0.5137
        assert purity(y, model.labels_) > 0.88
        # The relaxation is tight; memberships are sharp where a fit goes on.
        assert abs(model.relaxed_energy_ / model.energy_ - 1) < 0.1
        longer = TotalVariationClustering(10, affinity="precomputed", init=model.memberships_).fit(graph)
        assert longer.energy_ <= model.energy_
        assert np.mean(longer.memberships_.max(axis=1) > 0.9) > 0.75

    def test_one_run_starts_from_the_multilevel_partition(self, digits):
        graph = digits[0]
        partition = MultilevelGraphClustering(10, affinity="precomputed").fit(graph).labels_
        options = {"affinity": "precomputed", "n_threads": 1}
        models = [TotalVariationClustering(10, random_state=seed, **options).fit(graph) for seed in (0, 1)]
        given = TotalVariationClustering(10, init=np.eye(10)[partition], **options).fit(graph)
        for model in (*models, given):
            np.testing.assert_array_equal(model.labels_, models[0].labels_)
            assert model.energies_.tolist() == models[0].energies_.tolist()
        more = TotalVariationClustering(10, n_init=3, random_state=0, **options).fit(graph)
        assert more.energies_[0] == models[0].energy_
        assert len(set(more.energies_)) > 1

    def test_given_memberships(self, blobs):
        X, y = blobs
        first = TotalVariationClustering(5, init=np.eye(5)[y]).fit(X)
        assert clustering_accuracy(y, first.labels_) > 0.98
        assert len(first.energies_) == 1
        again = TotalVariationClustering(5, init=first.memberships_).fit(X)
        assert again.energy_ <= first.energy_

    def test_components_have_zero_energy(self):
        X = np.concatenate([np.random.default_rng(0).normal(c, 0.1, (30, 2)) for c in (0, 10, 20)])
        model = TotalVariationClustering(3, n_neighbors=4, n_init=5, random_state=0).fit(X)
        assert model.energy_ == 0
        assert model.converged_
        assert TotalVariationClustering(3, n_neighbors=4).fit(X).n_iter_ <= 2
        assert clustering_accuracy(np.repeat([0, 1, 2], 30), model.labels_) == 1

    def test_one_cluster(self, blobs):
        model = TotalVariationClustering(1).fit(blobs[0])
        assert model.energy_ == model.relaxed_energy_ == 0
        assert np.all(model.labels_ == 0)
        np.testing.assert_array_equal(model.memberships_, np.ones((300, 1)))
        assert np.all(model.predict(blobs[0][:5]) == 0)

    def test_as_many_clusters_as_rows(self):
        model = TotalVariationClustering(4, n_neighbors=2, n_init=3, random_state=0)
        model.fit(np.array([[0.0], [1], [10], [11]]))
        assert sorted(model.labels_) == [0, 1, 2, 3]

    def test_empty_cluster_warns(self):
        init = np.tile([0.8, 0.1, 0.1], (9, 1))
        init[:4] = [[0.7, 0.2, 0.1], [0.7, 0.1, 0.2], [0.6, 0.2, 0.2], [0.6, 0.2, 0.2]]
        with pytest.warns(ConvergenceWarning, match="2 of 3 clusters are empty"):
            model = TotalVariationClustering(3, init=init, affinity="precomputed").fit(sp.csr_array((9, 9)))
        assert model.energy_ == np.inf

    def test_one_large_cluster_warns(self):
        def fit(largest, n_edges=2, **options):
            blocks = [np.ones((n, n)) - np.eye(n) for n in (largest, 3, 3)]
            graph = sp.block_diag(blocks, format="lil")
            for i in range(n_edges):
                graph[i, largest + 3 * i] = graph[largest + 3 * i, i] = 1
            options = {"affinity": "precomputed", "n_init": 3, "random_state": 0} | options
            return TotalVariationClustering(3, **options).fit(graph)

        with pytest.warns(UserWarning, match="One of 3 clusters has 60 of 66 rows.* size_min.* to 0.11,"):
            assert fit(60).energy_ == 1 / 6 + 1 / 6 + 2 / 6
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert np.bincount(fit(60, size_min=0.11).labels_).min() >= 7
            assert np.bincount(fit(60, class_priors=[60 / 66, 3 / 66, 3 / 66]).labels_).max() == 60
            assert np.bincount(fit(60, n_edges=0).labels_).max() == 60
            assert np.bincount(fit(50).labels_).max() == 50


class TestPaperSteps:
    """Algorithm 1 as published."""

    @pytest.mark.parametrize(("seed", "spread", "n_neighbors", "noise"), [
        (0, 2.0, 8, 0.0), (1, 2.0, 8, 0.0), (2, 2.0, 8, 0.0), (3, 2.0, 8, 0.0), (3, 1.5, 5, 0.6),
    ])  # fmt: skip
    def test_a_run_is_that_of_the_oracle(self, seed, spread, n_neighbors, noise):
        """The first outer step from 0/1 memberships leaves them as they are: this is no convergence."""
        X, y = make_blobs(60, centers=3, cluster_std=spread, random_state=seed)
        W = knn_graph(X, n_neighbors).toarray()
        random = np.random.default_rng(seed)
        F = np.eye(3)[np.where(random.random(60) < 0.25, random.integers(0, 3, 60), y)]
        F = (1 - noise) * F + noise * random.dirichlet(np.ones(3), 60)
        options = dict(affinity="precomputed", init=F, steps="paper", max_iter=300)
        model = TotalVariationClustering(3, **options).fit(W)
        memberships, states = oracle.algorithm_1(W, F, None, most=300)
        assert len(states) > 1
        assert model.relaxed_energy_ < sum(oracle.energy(W, f, 2) for f in F.T)
        np.testing.assert_allclose(model.memberships_, memberships, atol=1e-6)
        np.testing.assert_array_equal(model.history_["n_inner"], [state.n_inner for state in states])
        energies = [sum(oracle.energy(W, f, 2) for f in state.F.T) for state in states]
        np.testing.assert_allclose(model.history_["objective"], energies, rtol=1e-8)
        assert model.converged_ == (sum(state.n_inner for state in states) < 300)
        np.testing.assert_allclose(model.energy_, oracle.balanced_cut(W, model.labels_, 3))

    def test_known_rows_stay(self):
        X, y = make_blobs(60, centers=3, random_state=0)
        W = knn_graph(X, 5).toarray()
        labels, F = known(y, 3), np.full((60, 3), 1 / 3)
        F += 0.1 * np.random.default_rng(0).standard_normal((60, 3))
        F /= F.sum(axis=1)[:, None]
        rows = labels >= 0
        model = TotalVariationClustering(3, affinity="precomputed", init=F, steps="paper", max_iter=60)
        model.fit(W, labels)
        F[rows] = np.eye(3)[labels[rows]]
        np.testing.assert_allclose(
            model.memberships_, oracle.algorithm_1(W, F, None, rows, most=60)[0], atol=1e-6
        )

    def test_the_first_run_begins_with_the_cut_and_the_last_memberships_count(self, digits):
        graph, y = digits
        options = dict(affinity="precomputed", steps="paper", random_state=0)
        first = TotalVariationClustering(10, n_init=1, **options).fit(graph)
        again = TotalVariationClustering(10, n_init=2, **options).fit(graph)
        assert again.energies_[0] == first.energies_[0]
        assert first.energy_ == first.history_["cut"][-1]
        # From an indicator on, of a cut of some quality.
        assert purity(y, first.labels_) > 0.8


class TestLabels:
    def test_one_label_of_each_class(self, digits):
        graph, y = digits
        labels = known(y, 1)
        model = TotalVariationClustering(10, affinity="precomputed", random_state=0).fit(graph, labels)
        assert len(model.energies_) == 2
        assert np.mean(model.labels_ == y) > 0.85

    @pytest.mark.parametrize("sizes", [{}, dict(size_min=38, size_max=42)])
    def test_clusters_go_by_the_labels_inside_of_them(self, sizes):
        # Two cliques with a few edges between them. The run begins with each label's class in the other clique.
        n = 40
        graph = np.kron(np.eye(2), np.ones((n, n)))
        graph[:6, n : n + 6] = graph[n : n + 6, :6] = 1
        np.fill_diagonal(graph, 0)
        y = np.repeat([0, 1], n)
        labels = np.full(2 * n, -1)
        labels[[20, 60]] = y[[20, 60]]
        turned = np.eye(2)[1 - y]
        model = TotalVariationClustering(2, affinity="precomputed", init=turned, **sizes).fit(graph, labels)
        np.testing.assert_array_equal(model.labels_, y)
        np.testing.assert_array_equal(model.memberships_.argmax(axis=1), y)
        np.testing.assert_array_equal(model.memberships_[[20, 60]], np.eye(2)[y[[20, 60]]])
        assert model.energy_ == pytest.approx(balanced_cut(graph, y))
        # As published it ends where it began, at a larger cut.
        published = TotalVariationClustering(2, affinity="precomputed", init=turned, steps="paper")
        assert published.fit(graph, labels).energy_ > model.energy_

    def test_labeled_rows_stay(self, digits):
        graph, y = digits
        random = np.random.default_rng(0)
        labels = np.where(random.random(len(y)) < 0.1, y, -1)
        labels[labels >= 0] = random.permutation(labels[labels >= 0])  # against what the graph says
        model = TotalVariationClustering(10, affinity="precomputed", max_iter=50).fit(graph, labels)
        rows = labels >= 0
        np.testing.assert_array_equal(model.memberships_[rows], np.eye(10)[labels[rows]])
        np.testing.assert_array_equal(model.labels_[rows], labels[rows])

    def test_callbacks_see_memberships_in_the_order_of_the_data(self, digits):
        graph, y = digits
        labels, seen = known(y, 1), []
        TotalVariationClustering(10, affinity="precomputed", max_iter=20, callback=seen.append).fit(
            graph, labels
        )
        rows = labels >= 0
        for progress in seen:
            np.testing.assert_array_equal(progress.centers[rows], np.eye(10)[labels[rows]])

    def test_two_runs_from_labels_unless_one_is_asked_for(self, digits):
        graph, y = digits
        once, twice = (
            TotalVariationClustering(10, affinity="precomputed", n_init=n_init).fit(graph, known(y, 1))
            for n_init in (1, 30)
        )
        assert once.energies_.tolist() == [twice.energies_[0]]
        assert len(twice.energies_) == 2
        assert twice.energy_ in twice.energies_

    def test_a_class_without_labels_is_found(self, blobs):
        X, y = blobs
        labels = known(y, 2)
        labels[labels == 3] = -1
        model = TotalVariationClustering(5, n_init=4, random_state=0).fit(X, labels)
        assert len(model.energies_) == 4
        assert np.mean(model.labels_ == y) > 0.98
        # The first start has clusters with the numbers of known classes.
        once = TotalVariationClustering(5, n_init=1).fit(X, labels)
        assert np.mean(once.labels_ == y) > 0.98
        assert len(TotalVariationClustering(5, random_state=0).fit(X, labels).energies_) == 2

    def test_a_class_of_every_row_is_ignored(self, blobs):
        X, y = blobs
        plain = TotalVariationClustering(5, n_init=1, random_state=0).fit(X)
        other = TotalVariationClustering(5, n_init=1, random_state=0).fit(X, y[::-1])
        np.testing.assert_array_equal(plain.labels_, other.labels_)
        np.testing.assert_array_equal(
            TotalVariationClustering(5, n_init=1, random_state=0).fit_predict(X), plain.labels_
        )


class TestPredict:
    def test_new_rows_follow_their_neighbors(self):
        X, y = make_moons(600, noise=0.08, random_state=0)
        model = TotalVariationClustering(2, random_state=0).fit(X[:400], np.r_[y[:2], [-1] * 398])
        assert np.mean(model.predict(X[400:]) == y[400:]) > 0.99
        distances = ((X[400:, None] - X[:400]) ** 2).sum(axis=2)
        votes = model.memberships_[np.argsort(distances, axis=1)[:, :10]].sum(axis=1)
        np.testing.assert_array_equal(model.predict(X[400:]), votes.argmax(axis=1))


@pytest.mark.parametrize(
    ("options", "y", "message"),
    [
        (dict(affinity="precomputed"), None, "square"),
        (dict(init="random"), None, "init must be 'diffusion' or memberships"),
        (dict(init=np.ones((20, 3)) / 3), None, "shape"),
        (dict(init=np.full((20, 2), 0.4)), None, "sum to 1"),
        (dict(init=np.tile([1.5, -0.5], (20, 1))), None, "non-negative"),
        (dict(init=np.full((20, 2), 0.5)), None, "same membership in every row"),
        (dict(), [-1] * 19, "one label for each of the 20 rows"),
        (dict(), [2] + [-1] * 19, "from 0 to n_clusters - 1 = 1"),
        (dict(), [-2] + [-1] * 19, "from 0 to n_clusters - 1 = 1"),
        (dict(), [0.5] + [-1] * 19, "from 0 to n_clusters - 1 = 1"),
    ],
)
def test_wrong_arguments(options, y, message):
    X = np.random.default_rng(0).normal(size=(20, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(ValueError, match=message):
            TotalVariationClustering(**(dict(n_clusters=2) | options)).fit(X, y)


@pytest.mark.parametrize(
    ("labels", "n_clusters", "message"),
    [
        ([0, 1], None, "one for each vertex"),
        ([0, 1, 2], 2, "from 0 to n_clusters - 1 = 1"),
        ([0, 1, -1], 3, "from 0 to n_clusters - 1 = 2"),
        ([0.0, 1.0, 1.0], 2, "integers"),
    ],
)
def test_wrong_labels_of_a_cut(labels, n_clusters, message):
    with pytest.raises(ValueError, match=message):
        balanced_cut(np.ones((3, 3)), labels, n_clusters)


def test_cuts_of_few_and_of_empty_clusters():
    assert balanced_cut(np.ones((3, 3)), [4, 4, 4]) == 0
    assert balanced_cut(np.ones((3, 3)), [0, 0, 1], 3) == np.inf
    assert balanced_cut(np.ones((3, 3)), ["a", "b", "b"]) == 4.0


def test_few_rows_are_all_neighbors():
    X = np.random.default_rng(0).normal(size=(8, 2))
    with pytest.warns(UserWarning, match="n_neighbors=10 is not less than n_samples=8: all 7 other rows"):
        few = TotalVariationClustering(2, n_init=1, random_state=0).fit(X)
    all_others = TotalVariationClustering(2, n_init=1, n_neighbors=7, random_state=0).fit(X)
    np.testing.assert_array_equal(few.memberships_, all_others.memberships_)


@pytest.mark.parametrize("mark", [-2, 255])
def test_other_marks_of_unknown_classes_are_warned_of(mark):
    X, y = make_blobs(60, centers=3, random_state=0)
    marked = np.where(np.arange(60) % 4, mark, y)
    with pytest.warns(UserWarning, match=f"If {mark} marks"):
        TotalVariationClustering(3, random_state=0).fit(X, marked)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        TotalVariationClustering(3, random_state=0).fit(X, y)
        TotalVariationClustering(2, random_state=0).fit(X, y)
