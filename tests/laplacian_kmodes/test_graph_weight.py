"""Scans of the graph weight: one graph, warm starts, and the choice of the model."""

from unittest.mock import patch

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.metrics.pairwise import rbf_kernel

import coterie.laplacian_kmodes.estimator
from coterie import GraphWeightScan, LaplacianKModes, select_graph_weight
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
def scan(digits, some_labels):
    estimator = LaplacianKModes(10, init="k-means++", metric="cosine", random_state=0)
    return select_graph_weight(estimator.set_params(n_init=3), digits[0], [4, 0.3, 1.3], y=some_labels)


def test_one_graph_and_ascending_weights(digits):
    estimator = LaplacianKModes(10, graph_weight=7.0, random_state=0)
    neighbors_with_ties = coterie.laplacian_kmodes.estimator.neighbors_with_ties
    with patch("coterie.laplacian_kmodes.estimator.neighbors_with_ties", wraps=neighbors_with_ties) as search:
        scan = select_graph_weight(estimator, digits[0], [2, 1, 3])
    assert search.call_count == 1
    np.testing.assert_array_equal(scan.graph_weights, [1, 2, 3])
    assert [model.graph_weight for model in scan.models] == [1, 2, 3]
    assert estimator.graph_weight == 7.0
    assert not hasattr(estimator, "labels_")


def test_rows_are_read_once_for_all_weights(digits):
    rows = CountingSource(as_rows(digits[0]))
    select_graph_weight(LaplacianKModes(10, n_init=3, metric="cosine", random_state=0), rows, [1, 2, 4])
    assert rows.n_passes == 1


@pytest.mark.parametrize("mode_update", ["byproduct", "mean_shift"])
def test_smaller_weights_start_from_the_modes_of_the_largest(digits, mode_update):
    X = digits[0]
    estimator = LaplacianKModes(10, mode_update=mode_update, random_state=3)
    scan = select_graph_weight(estimator, X, [1, 2])
    plain = LaplacianKModes(10, mode_update=mode_update, graph_weight=2, random_state=3).fit(X)
    assert np.array_equal(scan.models[1].labels_, plain.labels_)
    assert scan.models[1].objective_ == plain.objective_
    if mode_update == "mean_shift":  # modes that are rows begin at the densest row near a given center
        warm = LaplacianKModes(
            10, mode_update=mode_update, graph_weight=1, init=plain.modes_, random_state=3
        ).fit(X)
        assert np.array_equal(scan.models[0].labels_, warm.labels_)


def test_models_of_a_scan_are_complete(digits, scan):
    for model in scan.models:
        assert model.predict(digits[0][:50]).shape == (50,)
        assert model.affinity_matrix_.shape == (len(digits[0]), len(digits[0]))
        assert model.bandwidth_ == scan.models[0].bandwidth_


def test_scores_are_those_of_the_rows_with_labels(scan, some_labels):
    known = some_labels >= 0
    for i, model in enumerate(scan.models):
        assert scan.accuracy[i] == clustering_accuracy(some_labels[known], model.labels_[known])
        nmi = normalized_mutual_info_score(some_labels[known], model.labels_[known])
        assert scan.normalized_mutual_information[i] == nmi
    assert scan.best_graph_weight == scan.graph_weights[np.argmax(scan.accuracy)]


def test_highest_modularity_is_selected_without_labels(digits):
    scan = select_graph_weight(
        LaplacianKModes(10, metric="cosine", random_state=0), digits[0][:400], [1.3, 4]
    )
    assert scan.accuracy is None
    assert scan.normalized_mutual_information is None
    assert np.all(scan.sizes > 0)
    K = scan.best_model.affinity_matrix_.toarray()
    for model, found in zip(scan.models, scan.modularities):
        assert found == pytest.approx(objective("modularity", K + K.T, model.labels_))
    assert scan.best_model is scan.models[int(np.argmax(scan.modularities))]


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
    scan = select_graph_weight(estimator, X, [1.3, 4], y=known)

    def rank(model):
        n_empty = 10 - len(np.unique(model.labels_))
        return n_empty, -clustering_accuracy(known[known >= 0], model.labels_[known >= 0])

    for model in scan.models:
        assert rank(model) == min(map(rank, runs[model.graph_weight]))
        assert model.objective_ in [other.objective_ for other in runs[model.graph_weight]]
    assert rank(scan.best_model) == min(rank(model) for found in runs.values() for model in found)


def test_empty_clusters_lose_even_with_labels():
    """Two blobs are the classes: rows of the other clusters are wrong, so that fewer clusters are more accurate."""
    X, y = make_blobs(200, 3, centers=2, cluster_std=0.1, random_state=0)
    with pytest.warns(UserWarning, match="empty"):
        scan = select_graph_weight(
            LaplacianKModes(6, n_neighbors=20, init="k-means++", random_state=0), X, [0.01, 8], y=y
        )
    n_empty = np.sum(scan.sizes == 0, axis=1)
    assert n_empty[0] < n_empty[1]
    assert scan.accuracy[0] < scan.accuracy[1]
    assert scan.best_graph_weight == 0.01


def test_given_affinities(digits):
    X, y = digits[0][:300], digits[1][:300]
    affinities = rbf_kernel(X, gamma=1e-2)
    estimator = LaplacianKModes(10, affinity="precomputed", mode_update="densest", n_init=3, random_state=0)
    scan = select_graph_weight(estimator, affinities, [0.5, 1], y=np.where(np.arange(300) % 5, -1, y))
    assert len(scan.best_model.predict(affinities[:9])) == 9
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        select_graph_weight(estimator, affinities, [0.5, 1], y=[0, 1])


def test_empty_clusters_come_last():
    X, _ = make_blobs(200, 3, centers=2, cluster_std=0.1, random_state=0)
    with pytest.warns(UserWarning, match="empty"):
        scan = select_graph_weight(
            LaplacianKModes(6, n_neighbors=20, init="k-means++", random_state=0), X, [0.01, 8]
        )
    n_empty = np.sum(scan.sizes == 0, axis=1)
    assert n_empty[0] < n_empty[1]
    assert scan.best_graph_weight == 0.01


def test_the_table(scan):
    lines = str(scan).split("\n")
    headers = "graph weight objective modularity smallest largest empty NMI accuracy"
    assert lines[0].split() == headers.split()
    assert [line.split()[0] for line in lines[1:]] == ["0.3", "1.3", "4"]
    assert [line.endswith("*") for line in lines[1:]].count(True) == 1
    assert len({len(line.removesuffix(" *")) for line in lines}) == 1


@pytest.mark.parametrize("labeled", [True, False])
def test_the_picture(scan, labeled, tmp_path):
    figure = (scan if labeled else GraphWeightScan(scan.models)).plot()
    np.testing.assert_array_equal(figure.axes[0].lines[0].get_ydata(), scan.objectives)
    assert len(figure.axes[1].lines) == 10 + 1
    drawn = [line.get_ydata() for line in figure.axes[2].lines[:-1]]
    np.testing.assert_array_equal(
        drawn, [scan.normalized_mutual_information, scan.accuracy] if labeled else [scan.modularities]
    )
    figure.savefig(tmp_path / "scan.png")


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
