"""The estimator: graphs, metrics, new rows."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_blobs

import coterie
from coterie.datasets import load_digits
from coterie.graphs import knn_graph
from coterie.metrics import clustering_accuracy


@pytest.fixture(scope="module")
def digits():
    return load_digits()


def test_digits(digits):
    X, y = digits
    model = coterie.MultilevelGraphClustering(10).fit(X)
    assert clustering_accuracy(y, model.labels_) > 0.87
    np.testing.assert_allclose(model.memberships_.sum(axis=1), 1)
    assert np.mean(model.predict(X) == model.labels_) > 0.99
    assert np.median(model.outlier_scores_) == pytest.approx(1, abs=0.1)


@pytest.mark.parametrize("sizes", [[1500, 150, 150], [1500, *[60] * 5], [1500, *[40] * 9], [200] * 6])
def test_one_dominant_class_is_not_split_and_equal_ones_are_found(sizes):
    y = np.repeat(range(len(sizes)), sizes)
    for seed in range(5):
        X = 6 * np.eye(len(sizes))[y] + np.random.default_rng(seed).normal(size=(len(y), len(sizes)))
        assert clustering_accuracy(y, coterie.MultilevelGraphClustering(len(sizes)).fit_predict(X)) > 0.98


def test_a_precomputed_graph_gives_the_same_clusters(digits):
    X = digits[0][:500] + np.random.default_rng(0).random((500, 64))  # without ties
    model = coterie.MultilevelGraphClustering(10, n_neighbors=8).fit(X)
    tuned = knn_graph(X, 8, weights="self-tuning")
    for graph in (tuned, tuned.toarray(), model.affinity_matrix_):
        other = coterie.MultilevelGraphClustering(10, affinity="precomputed").fit(graph)
        np.testing.assert_array_equal(other.labels_, model.labels_)
        assert other.objective_ == model.objective_
    np.testing.assert_array_equal(other.predict(graph[:20]), other.labels_[:20])


def test_loops_of_a_precomputed_graph_do_not_count(digits):
    graph = knn_graph(digits[0][:300], 8)
    model = coterie.MultilevelGraphClustering(5, affinity="precomputed").fit(graph)
    looped = coterie.MultilevelGraphClustering(5, affinity="precomputed").fit(graph + 3 * sp.eye_array(300))
    np.testing.assert_array_equal(looped.labels_, model.labels_)


def test_memberships_are_shares_of_edges():
    path = sp.diags_array([np.ones(4), np.ones(4)], offsets=[-1, 1], shape=(5, 5))
    model = coterie.MultilevelGraphClustering(2, affinity="precomputed").fit(path)
    assert model.labels_.tolist() in ([0, 0, 1, 1, 1], [0, 0, 0, 1, 1])
    border = np.flatnonzero(np.diff(model.labels_))[0]
    assert model.memberships_[border].tolist() == [0.5, 0.5]


def test_few_rows_are_all_neighbors():
    X = make_blobs(9, 2, centers=[(0, 0), (9, 9)], random_state=0)[0]
    with pytest.warns(UserWarning, match="n_neighbors=15 is not less than n_samples=9"):
        coterie.MultilevelGraphClustering(2).fit(X)
    assert coterie.MultilevelGraphClustering(1).fit([[1.0, 2.0]]).labels_.tolist() == [0]
    with pytest.raises(ValueError, match="n_clusters=10"):
        coterie.MultilevelGraphClustering(10).fit(X)
