"""What estimators on graphs share: checks, tags, predictions by the nearest training rows."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import get_tags

from coterie import MultilevelGraphClustering, TotalVariationClustering
from coterie.estimators.on_graph import GraphEstimator
from coterie.estimators.parameters import Affinity, Clusters, Iterations, Neighbors, Tolerance
from coterie.graphs import knn_graph
from coterie.graphs.distinct import Vertices
from coterie.metrics import clustering_accuracy

X = np.array([[0.0], [1], [2], [10], [11], [12]])


class NearestHalf(GraphEstimator):
    """Rows below and above 5, and a third cluster that is empty; neighbors have one vote each."""

    def __init__(
        self,
        n_clusters: Clusters = 3,
        n_neighbors: Neighbors = 2,
        affinity: Affinity = "knn",
        max_iter: Iterations = 1,
        tol: Tolerance = 0.0,
        max_time=None,
        callback=None,
    ):
        self.n_clusters, self.n_neighbors, self.affinity = n_clusters, n_neighbors, affinity
        self.max_iter, self.tol, self.max_time, self.callback = max_iter, tol, max_time, callback
        self.n_threads, self.weights = None, "binary"

    def fit(self, X):
        self.check_parameters()
        rows, columns = self._rows_to_fit(X)
        self._check_n_rows(rows)
        labels = np.repeat([0, 1], rows.shape[0] // 2).astype(np.int32)
        self._warn_of_empty_clusters(labels, "; so it is.")
        training_rows = rows.read() if self.affinity == "knn" else None
        self._store_fitted(
            columns
            | {"labels_": labels, "memberships_": np.eye(3)[labels], "_training_rows": training_rows}
            | Vertices(np.zeros((rows.shape[0], 1))).fitted
        )
        return self

    def _scores_by_affinities(self, affinities):
        return affinities @ self.memberships_

    def _scores_by_neighbors(self, rows, ids, squares):
        assert squares.shape == ids.shape
        return self.memberships_[ids].sum(axis=1)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
class TestPredict:
    @pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
    def test_predict_uses_memberships_of_nearest_training_rows(self, kind):
        found = NearestHalf().fit(kind(X)).predict(kind([[-3.0], [5], [7], [90]]))
        np.testing.assert_array_equal(found, [0, 0, 1, 1])
        assert found.dtype == np.int32

    @pytest.mark.parametrize("kind", [sp.csr_array.toarray, sp.csr_array])
    def test_predict_uses_affinities(self, kind):
        graph = knn_graph(X, 2)
        model = NearestHalf(affinity="precomputed").fit(graph)
        np.testing.assert_array_equal(model.predict(kind(graph)), model.labels_)

    def test_no_more_neighbors_than_there_are(self):
        model = NearestHalf().fit(X).set_params(n_neighbors=100)
        assert model.predict(X).shape == (6,)

    def test_rows_of_another_width(self):
        with pytest.raises(ValueError, match="features"):
            NearestHalf().fit(X).predict(np.ones((2, 3)))


def test_warning_of_empty_clusters():
    with pytest.warns(ConvergenceWarning, match="1 of 3 clusters are empty; so it is."):
        NearestHalf().fit(X)


@pytest.mark.parametrize("affinity", ["knn", "precomputed"])
def test_tags(affinity):
    tags = get_tags(NearestHalf(affinity=affinity))
    assert tags.input_tags.sparse
    assert tags.input_tags.pairwise == (affinity == "precomputed")
    assert tags.estimator_type == "clusterer"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (dict(n_clusters=7), "n_samples=6 should be >= n_clusters=7"),
        (dict(affinity="cosine"), "affinity must be one of 'knn', 'precomputed', got 'cosine'"),
    ],
)
def test_wrong_arguments(options, message):
    with pytest.raises(ValueError, match=message):
        NearestHalf(**options).fit(X)


@pytest.mark.parametrize("method", [MultilevelGraphClustering, TotalVariationClustering])
def test_self_tuning_weights_are_those_of_the_graph(method):
    X, y = make_blobs([300, 300], 2, centers=[(0, 0), (8, 0)], cluster_std=[3, 0.3], random_state=0)
    binary, tuned = (method(2, n_neighbors=9, weights=w).fit(X) for w in ("binary", "self-tuning"))
    graph = knn_graph(X, 9, weights="self-tuning")
    np.testing.assert_allclose(tuned.affinity_matrix_.toarray(), graph.toarray())
    assert clustering_accuracy(y, tuned.labels_) > clustering_accuracy(y, binary.labels_)
