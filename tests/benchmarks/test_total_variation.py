"""What stands beside total variation on few labels: labels of given sizes."""

import numpy as np
from sklearn.datasets import make_blobs

from benchmarks.total_variation.contenders import known_labels
from benchmarks.total_variation.cut_ssl import cut_ssl
from coterie.graphs import knn_graph
from coterie.metrics import clustering_accuracy


def test_cut_ssl_finds_clusters_of_the_given_sizes():
    X, y = make_blobs([60, 30, 15], cluster_std=0.8, centers=[[0, 0], [4, 0], [0, 4]], random_state=0)
    known = known_labels(y, 1.0, 0)
    labels = cut_ssl(knn_graph(X, 8), known, np.bincount(y) / len(y))
    assert np.array_equal(labels[known >= 0], y[known >= 0])
    assert clustering_accuracy(y, labels) > 0.9
    assert np.abs(np.bincount(labels, minlength=3) - np.bincount(y)).max() <= 3
