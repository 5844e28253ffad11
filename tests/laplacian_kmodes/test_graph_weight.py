"""Scans of the graph weight: one graph, warm starts, and the choice of the model."""

from unittest.mock import patch

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.metrics.pairwise import rbf_kernel

import coterie.laplacian_kmodes.estimator
from coterie import LaplacianKModes, select_graph_weight
from coterie.datasets import load_digits
from coterie.graphs.cuts import modularity
from coterie.metrics import clustering_accuracy, normalized_mutual_info_score
from coterie.rows import as_rows
from tests.reference.multilevel import objective
from tests.support.counting import CountingSource


@pytest.fixture(scope="module")
def digits():
    return load_digits()


@pytest.fixture(scope="module")
def some_labels(digits):
    y = digits[1]
    return np.where(np.random.default_rng(0).random(len(y)) < 0.1, y, -1)


@pytest.fixture(scope="module")
def selected(digits, some_labels):
    estimator = LaplacianKModes(10, init="k-means++", n_init=3, metric="cosine", random_state=0)
    return select_graph_weight(estimator, digits[0], [4, 0.3, 1.3], y=some_labels)


def test_one_graph_and_ascending_weights(digits):
    estimator = LaplacianKModes(10, graph_weight=7.0, random_state=0)
    neighbors_with_ties = coterie.laplacian_kmodes.estimator.neighbors_with_ties
    with patch("coterie.laplacian_kmodes.estimator.neighbors_with_ties", wraps=neighbors_with_ties) as search:
        _, fits = select_graph_weight(estimator, digits[0], [2, 1, 3])
    assert search.call_count == 1
    assert fits.graph_weight.tolist() == [1, 2, 3]
    assert estimator.graph_weight == 7.0
    assert not hasattr(estimator, "labels_")


def test_rows_are_read_once_for_all_weights(digits):
    rows = CountingSource(as_rows(digits[0]))
    select_graph_weight(LaplacianKModes(10, n_init=3, metric="cosine", random_state=0), rows, [1, 2, 4])
    assert rows.n_passes == 1


def test_smaller_weights_start_from_the_modes_of_the_largest(digits):
    estimator = LaplacianKModes(10, mode_update="mean_shift", random_state=3)
    _, fits = select_graph_weight(estimator, digits[0], [1, 2])
    plain = clone(estimator).set_params(graph_weight=2).fit(digits[0])
    warm = clone(estimator).set_params(graph_weight=1, init=plain.modes_).fit(digits[0])
    assert fits.objective.tolist() == [warm.objective_, plain.objective_]


def test_the_most_accurate_fit_is_selected_with_labels(selected, digits, some_labels):
    best, fits = selected
    known = some_labels >= 0
    row = fits[fits.graph_weight == best.graph_weight][0]
    assert row.accuracy == fits.accuracy.max() == clustering_accuracy(some_labels[known], best.labels_[known])
    assert row.nmi == normalized_mutual_info_score(some_labels[known], best.labels_[known])
    assert best.predict(digits[0][:50]).shape == (50,)


def test_the_highest_modularity_is_selected_without_labels(digits):
    estimator = LaplacianKModes(10, metric="cosine", random_state=0)
    best, fits = select_graph_weight(estimator, digits[0][:400], [1.3, 4])
    assert np.isnan([fits.accuracy, fits.nmi]).all()
    assert best.graph_weight == fits.graph_weight[fits.modularity.argmax()]
    K = best.affinity_matrix_.toarray()
    assert fits.modularity.max() == pytest.approx(objective("modularity", K + K.T, best.labels_))
    row = fits[fits.graph_weight == best.graph_weight][0]
    sizes = np.bincount(best.labels_, minlength=10)
    assert (row.smallest, row.largest, row.n_empty) == (sizes.min(), sizes.max(), np.sum(sizes == 0))


@pytest.mark.parametrize("n_labels", [1, 2, 7])
def test_modularity_of_directed_graphs(n_labels):
    random = np.random.default_rng(n_labels)
    K = random.random((50, 50)) * (random.random((50, 50)) < 0.1)
    labels = random.integers(n_labels, size=50).astype(np.int32)
    found = modularity(sp.csr_array(K), labels)
    assert found == pytest.approx(objective("modularity", K + K.T, labels), abs=1e-12)
    assert found == pytest.approx(modularity(sp.csr_array((K + K.T) / 2), labels), abs=1e-12)


def test_modularity_by_hand():
    """Two triangles with an edge between them: 12/14 of the ends are within, 1/2 would be by chance."""
    K = np.kron(np.eye(2), np.ones((3, 3)) - np.eye(3))
    K[2, 3] = K[3, 2] = 1
    assert modularity(sp.csr_array(K), np.repeat([0, 1], 3)) == pytest.approx(12 / 14 - 1 / 2)
    assert modularity(sp.csr_array(K), np.zeros(6, dtype=np.int32)) == pytest.approx(0)
    assert modularity(sp.csr_array((6, 6)), np.zeros(6, dtype=np.int32)) == 0


def test_labels_choose_among_all_runs_and_weights(digits, some_labels):
    """Each start goes through all lambdas: from modes of its own, whichever is kept."""
    X, known = digits[0][:500], some_labels[:500]
    random = np.random.RandomState(0)
    X = X / np.linalg.norm(X, axis=1, keepdims=True)
    starts = [X[random.choice(500, 10, replace=False)] for _ in range(4)]
    estimator = LaplacianKModes(10, mode_update="mean_shift", n_init=4)
    runs = {4: [], 1.3: []}
    for modes in starts:
        for weight, found in runs.items():
            model = clone(estimator).set_params(graph_weight=weight, init=modes, n_init=1).fit(X)
            modes = model.modes_
            found.append(model)
    drawn = iter(starts)
    estimator.set_params(init=lambda X, k, random_state: next(drawn))
    best, fits = select_graph_weight(estimator, X, [1.3, 4], y=known)

    def rank(model):
        n_empty = 10 - len(np.unique(model.labels_))
        return n_empty, -clustering_accuracy(known[known >= 0], model.labels_[known >= 0])

    for row in fits:
        assert (row.n_empty, -row.accuracy) == min(map(rank, runs[row.graph_weight]))
        assert row.objective in [model.objective_ for model in runs[row.graph_weight]]
    assert rank(best) == min(rank(model) for found in runs.values() for model in found)


@pytest.mark.parametrize("has_labels", [True, False])
def test_empty_clusters_come_last(has_labels):
    """Two blobs are the classes: rows of the other clusters are wrong, so that fewer clusters are more accurate."""
    X, y = make_blobs(200, 3, centers=2, cluster_std=0.1, random_state=0)
    estimator = LaplacianKModes(6, n_neighbors=20, init="k-means++", random_state=0)
    with pytest.warns(UserWarning, match="empty"):
        best, fits = select_graph_weight(estimator, X, [0.01, 8], y=y if has_labels else None)
    assert fits.n_empty[0] < fits.n_empty[1]
    assert not has_labels or fits.accuracy[0] < fits.accuracy[1]
    assert best.graph_weight == 0.01


def test_given_affinities(digits):
    X, y = digits[0][:300], digits[1][:300]
    affinities = rbf_kernel(X, gamma=1e-2)
    estimator = LaplacianKModes(10, affinity="precomputed", n_init=3, random_state=0)
    best, _ = select_graph_weight(estimator, affinities, [0.5, 1], y=np.where(np.arange(300) % 5, -1, y))
    assert len(best.predict(affinities[:9])) == 9


@pytest.mark.parametrize(
    ("graph_weights", "y", "message"),
    [
        ([], None, "different numbers"),
        ([1, 1.0], None, "different numbers"),
        ([1, -1], None, "graph_weight must be 'auto' or a finite non-negative number"),
        ([1], [0, 1], "inconsistent numbers of samples"),
        ([1], [-1] * 30, "all of them are -1"),
    ],
)
def test_wrong_arguments(graph_weights, y, message):
    X = np.random.default_rng(0).random((30, 2))
    with pytest.raises(ValueError, match=message):
        select_graph_weight(LaplacianKModes(2, random_state=0), X, graph_weights, y=y)
