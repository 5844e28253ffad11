"""Graph and kernel as two matrices, and modes where rows have no mean."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_blobs
from sklearn.neighbors import kneighbors_graph

import coterie
from coterie import LaplacianKModes
from coterie.datasets import load_senate
from coterie.graphs import knn_graph
from coterie.metrics import clustering_accuracy
from tests.reference import laplacian_kmodes as oracle

WORDS = ["anna", "hannah", "ana", "anne", "hanna", "stephen", "steven", "stefan", "stephan", "stevens"]


@pytest.fixture(scope="module")
def blobs():
    return make_blobs(60, 3, centers=4, cluster_std=1.2, random_state=0)


def two_matrices(X, bandwidth=1.5, n_neighbors=4, symmetrize="mean"):
    return knn_graph(X, n_neighbors, symmetrize=symmetrize), oracle.kernel(X, X, bandwidth)


def on_pair(n_clusters=4, **options):
    options = dict(graph_weight=0.8, affinity="precomputed", random_state=0) | options
    return LaplacianKModes(n_clusters, **options)


def edit_distance(left, right):
    """Levenshtein's: how many letters must be put in, left out or changed."""
    before = list(range(len(right) + 1))
    for i, letter in enumerate(left, 1):
        now = [i]
        for j, other in enumerate(right, 1):
            now.append(min(before[j] + 1, now[-1] + 1, before[j - 1] + (letter != other)))
        before = now
    return before[-1]


class TestAgainstTheOracle:
    @pytest.mark.parametrize("weight", [0.05, 0.4])
    @pytest.mark.parametrize("start", [[0, 1, 2, 3], [5, 17, 30, 59], [7, 8, 9, 11]])
    def test_whole_runs_with_modes_by_definition(self, blobs, weight, start):
        graph, kernel = two_matrices(blobs[0])
        Z, modes = oracle.alternated(graph.toarray(), kernel, np.array(start), weight, 12, 400)
        model = on_pair(
            mode_update="densest",
            init=start,
            graph_weight=weight,
            diagonal_shift=False,
            tol=0,
            membership_tol=1e-14,
        )
        model.fit((graph, kernel))
        np.testing.assert_array_equal(model.mode_indices_, modes)
        np.testing.assert_allclose(model.memberships_, Z, atol=1e-4)

    @pytest.mark.parametrize("symmetrize", ["none", "mean"])
    @pytest.mark.parametrize("mode_update", ["byproduct", "densest"])
    def test_objectives(self, blobs, symmetrize, mode_update):
        graph, kernel = two_matrices(blobs[0], symmetrize=symmetrize)
        model = on_pair(mode_update=mode_update).fit((graph, kernel))
        affinities, K = kernel[:, model.mode_indices_], graph.toarray()
        expected = oracle.discrete_objective(model.labels_, affinities, K, 0.8)
        np.testing.assert_allclose(model.objective_, expected)
        published = oracle.published_objective(model.labels_, affinities, K, 0.8)
        np.testing.assert_allclose(model.published_objective_, published)
        doubled = oracle.discrete_objective(model.labels_, affinities, K, 1.6)
        np.testing.assert_allclose(model.published_objective_, doubled)
        K = oracle.shifted(K) if model.is_shifted_ else K
        relaxed = oracle.relaxed_objective(model.memberships_, affinities, K, 0.8)
        np.testing.assert_allclose(model.relaxation_, relaxed)

    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    @pytest.mark.parametrize("is_sparse", [False, True])
    def test_modes_of_rows_are_the_densest(self, blobs, dtype, is_sparse):
        X = np.where(np.abs(blobs[0]) < 0.5, 0, blobs[0]).astype(dtype)
        model = LaplacianKModes(4, graph_weight=0.6, mode_update="densest", random_state=0)
        model.fit(sp.csr_array(X) if is_sparse else X)
        k = oracle.kernel(X, X, model.bandwidth_)
        np.testing.assert_array_equal(
            model.mode_indices_, oracle.densest(model.memberships_.astype(float), k)
        )
        np.testing.assert_array_equal(model.modes_, X[model.mode_indices_])


class TestFit:
    def test_no_other_row_is_a_better_mode(self, blobs):
        graph, kernel = two_matrices(blobs[0], bandwidth=0.7)
        model = on_pair(mode_update="densest", init="random", n_init=1, diagonal_shift=False, max_iter=1).fit(
            (graph, kernel)
        )
        assert model.relaxation_ < model.history_["objective"][-1]  # of the modes before
        for cluster in range(4):
            for row in range(60):
                modes = np.where(np.arange(4) == cluster, row, model.mode_indices_)
                others = oracle.relaxed_objective(model.memberships_, kernel[:, modes], graph.toarray(), 0.8)
                assert others >= model.relaxation_ - 1e-9

    def test_more_rows_than_a_part_and_any_number_of_threads(self):
        X, y = make_blobs(1100, 2, centers=3, cluster_std=0.5, random_state=4)
        models = [
            LaplacianKModes(
                3, graph_weight=0.6, mode_update="densest", n_init=2, random_state=0, n_threads=n
            ).fit(X)
            for n in (1, 3)
        ]
        assert clustering_accuracy(y, models[0].labels_) > 0.98
        np.testing.assert_array_equal(models[0].memberships_, models[1].memberships_)
        sums = models[0].memberships_.T @ oracle.kernel(X, X, models[0].bandwidth_)
        np.testing.assert_array_equal(models[0].mode_indices_, sums.argmax(axis=1))

    @pytest.mark.parametrize("mode_update", ["byproduct", "densest"])
    def test_dense_and_sparse_matrices_give_the_same(self, blobs, mode_update):
        graph, kernel = two_matrices(blobs[0])
        found = [
            on_pair(mode_update=mode_update).fit(pair)
            for pair in (
                (graph, kernel),
                (graph.toarray(), kernel.tolist()),
                (graph.tocsc(), sp.coo_array(kernel)),
                [coterie.as_rows(graph), coterie.as_rows(kernel)],
            )
        ]
        for model in found[1:]:
            np.testing.assert_allclose(model.memberships_, found[0].memberships_, atol=1e-10)
        assert found[0].n_features_in_ == 60

    def test_two_times_the_same_matrix_is_one_matrix(self, blobs):
        kernel = two_matrices(blobs[0])[1]
        one, two = on_pair().fit(kernel), on_pair().fit((kernel, kernel))
        np.testing.assert_array_equal(one.memberships_, two.memberships_)
        np.testing.assert_array_equal(one.predict(kernel[:9]), two.predict((kernel[:9], kernel[:9])))

    def test_kernel_may_be_negative_and_asymmetric(self, blobs):
        graph, _ = two_matrices(blobs[0])
        kernel = np.random.default_rng(0).normal(size=(60, 60))
        model = on_pair(mode_update="densest").fit((graph, kernel))
        np.testing.assert_array_equal(model.mode_indices_, oracle.densest(model.memberships_, kernel))

    def test_pair_gives_the_same_fit_as_rows(self, blobs):
        X, _ = blobs
        rows = LaplacianKModes(4, graph_weight=0.8, n_init=1, random_state=0).fit(X)
        kernel = oracle.kernel(X, X, rows.bandwidth_)
        start = LaplacianKModes(4, graph_weight=0.8, init=rows.modes_, max_iter=1).fit(X).mode_indices_
        pair = on_pair(init=start).fit((rows.affinity_matrix_, kernel))
        again = LaplacianKModes(4, graph_weight=0.8, init=X[start]).fit(X)
        assert pair.objective_ == pytest.approx(again.objective_, rel=0.05)

    def test_single_precision(self, blobs):
        graph, kernel = two_matrices(blobs[0])
        assert (
            on_pair().fit((graph.astype(np.float32), kernel.astype(np.float32))).memberships_.dtype
            == np.float32
        )
        assert on_pair().fit((graph.astype(np.float32), kernel)).memberships_.dtype == np.float64


class TestPredict:
    def test_by_the_formula(self, blobs):
        X, new = blobs[0][:50], blobs[0][50:]
        model = on_pair().fit(two_matrices(X))
        nearest = np.argsort(((new[:, None] - X) ** 2).sum(axis=2), axis=1)[:, :4]
        graph, kernel = np.zeros((10, 50)), oracle.kernel(new, X, 1.5)
        np.put_along_axis(graph, nearest, 1.0, axis=1)
        expected = kernel[:, model.mode_indices_] + 0.8 * graph @ model.memberships_
        for pair in (
            (graph, kernel),
            (sp.csr_array(graph), kernel),
            (sp.csr_array(graph), sp.csr_array(kernel)),
        ):
            np.testing.assert_array_equal(model.predict(pair), expected.argmax(axis=1))
        np.testing.assert_array_equal(
            model.predict(model._prepared((graph, kernel))), expected.argmax(axis=1)
        )

    def test_saved_models(self, blobs, tmp_path):
        pair = two_matrices(blobs[0])
        model = on_pair().fit(pair)
        model.save(tmp_path / "model.coterie")
        for other in (coterie.load(tmp_path / "model.coterie"), pickle.loads(pickle.dumps(model))):
            np.testing.assert_array_equal(other.predict(pair), model.predict(pair))
            assert other.published_objective_ == model.published_objective_

    def test_another_fit_forgets_the_pair(self, blobs):
        graph, kernel = two_matrices(blobs[0])
        model = on_pair().fit((graph, kernel)).fit(kernel)
        assert len(model.predict(kernel)) == 60


class TestDiscreteDomains:
    def test_strings(self):
        distances = np.array([[edit_distance(a, b) for b in WORDS] for a in WORDS], dtype=float)
        graph = kneighbors_graph(distances, 3, metric="precomputed", include_self=False)
        model = on_pair(2, mode_update="densest").fit((graph, np.exp(-distances)))
        assert clustering_accuracy([0] * 5 + [1] * 5, model.labels_) == 1
        expected = oracle.densest(model.memberships_, np.exp(-distances))
        np.testing.assert_array_equal(model.mode_indices_, expected)
        assert "anna" in [WORDS[row] for row in model.mode_indices_]

    def test_voting_records(self):
        """The share of votes in which two senators agree is a kernel; each mode is a senator of the own party."""
        senate = load_senate()
        votes = np.asarray(senate.data, dtype=float)
        agreement = np.mean(votes[:, None] == votes, axis=2)
        graph = kneighbors_graph(1 - agreement, 5, metric="precomputed", include_self=False)
        model = on_pair(2, mode_update="densest", graph_weight=1.0).fit((graph, agreement))
        party = np.asarray(senate.target)
        accuracy = clustering_accuracy(party, model.labels_)
        assert accuracy > 0.85
        assert len(set(party[model.mode_indices_])) == 2


@pytest.mark.parametrize(
    ("X", "options", "message"),
    [
        ((np.eye(6), np.eye(5)), {}, r"kernel must be square with a row for each of the graph's 6 vertices"),
        ((np.eye(6), np.full((6, 6), np.nan)), {}, "NaN"),
        ((-np.eye(6), np.eye(6)), {}, "negative weight. First bad row: 0"),
        ((np.ones((6, 5)), np.eye(6)), {}, "square"),
        ((np.eye(6), np.eye(6)), dict(affinity="knn"), "needs affinity='precomputed'"),
        (
            (np.eye(6), np.eye(6), np.eye(6)),
            {},
            r"a pair of two matrices, \(graph, kernel\), got tuple of 3 parts",
        ),
        ((np.eye(6), "kernel.npy"), {}, r"a pair of two matrices, \(graph, kernel\), got tuple of 2 parts"),
        ((np.eye(6), np.eye(6)), dict(metric="cosine"), "metric='cosine'"),
        ((np.eye(6), np.eye(6)), dict(mode_update="mean_shift"), "needs coordinates"),
        ((np.eye(6), np.eye(6)), dict(mode_update="median"), "'byproduct', 'mean_shift', 'densest'"),
    ],
)
def test_wrong_pairs(X, options, message):
    with pytest.raises(ValueError, match=message):
        on_pair(2, **options).fit(X)


def test_wrong_new_rows(blobs):
    graph, kernel = two_matrices(blobs[0])
    model = on_pair().fit((graph, kernel))
    for X, message in [
        (kernel, "must be a pair"),
        ((graph[:3], kernel[:2]), "the same shape"),
        ((graph[:, :9], kernel[:, :9]), "60 columns"),
    ]:
        with pytest.raises(ValueError, match=message):
            model.predict(X)
    alone = on_pair().fit(kernel)
    with pytest.raises(ValueError, match="fitted to one matrix"):
        alone.predict((graph, kernel))
    # Two rows of two columns are no pair of matrices.
    assert on_pair(1).fit(((0, 1), (1, 0))).labels_.tolist() == [0, 0]
