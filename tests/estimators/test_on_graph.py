"""What estimators on graphs share: checks, tags, predictions by affinities, weights of edges."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_blobs
from sklearn.utils import get_tags

from coterie import LaplacianKModes, MultilevelGraphClustering, TotalVariationClustering
from coterie.graphs import knn_graph
from coterie.metrics import clustering_accuracy

X = np.array([[0.0], [1], [2], [10], [11], [12]])
METHODS = [MultilevelGraphClustering, TotalVariationClustering, LaplacianKModes]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", [sp.csr_array.toarray, sp.csr_array])
def test_predict_uses_affinities(method, kind):
    graph = kind(knn_graph(X, 2))
    model = method(2, affinity="precomputed").fit(graph)
    np.testing.assert_array_equal(model.predict(graph), model.labels_)
    assert clustering_accuracy([0, 0, 0, 1, 1, 1], model.labels_) == 1
    if method is not LaplacianKModes:  # whose modes attract every row
        nothing = np.zeros((1, 6))
        assert (model.predict(nothing)[0], *model.transform(nothing)[0]) == (-1, 0, 0)


@pytest.mark.parametrize("method", METHODS)
def test_no_more_neighbors_than_there_are(method):
    model = method(2, n_neighbors=2).fit(X).set_params(n_neighbors=100)
    assert model.predict(X).shape == (6,)


@pytest.mark.parametrize("affinity", ["knn", "precomputed"])
def test_tags(affinity):
    tags = get_tags(MultilevelGraphClustering(affinity=affinity))
    assert tags.input_tags.sparse
    assert tags.input_tags.pairwise == (affinity == "precomputed")
    assert tags.estimator_type == "clusterer"


@pytest.mark.parametrize("method", METHODS)
def test_wrong_arguments(method):
    with pytest.raises(ValueError, match="n_samples=6 should be >= n_clusters=7"):
        method(7).fit(X)
    with pytest.raises(ValueError, match="symmetric"):
        method(2, affinity="precomputed").fit(np.triu(np.ones((6, 6))))


@pytest.mark.parametrize("method", [MultilevelGraphClustering, TotalVariationClustering])
def test_self_tuning_weights_are_those_of_the_graph(method):
    X, y = make_blobs([300, 300], 2, centers=[(0, 0), (8, 0)], cluster_std=[3, 0.3], random_state=0)
    binary, tuned = (method(2, n_neighbors=9, weights=w).fit(X) for w in ("binary", "self-tuning"))
    graph = knn_graph(X, 9, weights="self-tuning")
    np.testing.assert_allclose(tuned.affinity_matrix_.toarray(), graph.toarray())
    assert clustering_accuracy(y, tuned.labels_) > clustering_accuracy(y, binary.labels_)
