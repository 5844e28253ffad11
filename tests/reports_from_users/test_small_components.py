"""Graphs of one large component and a few isolated vertices, pairs or triangles.

Sources: https://github.com/graspologic-org/graspologic/issues/803 (isolated vertices of a graph),
https://github.com/gephi/gephi-plugins/issues/203 (communities of a single vertex).
"""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score

import coterie


def _planted(seed, sizes, inside=0.3, between=0.01):
    rng = np.random.default_rng(seed)
    y = np.repeat(range(len(sizes)), sizes)
    chances = np.where(y[:, None] == y, inside, between)
    upper = np.triu(rng.random(chances.shape) < chances, 1)
    return upper + upper.T + 0.0, y


def _models(k):
    return [
        coterie.MultilevelGraphClustering(k, affinity="precomputed"),
        coterie.TotalVariationClustering(k, affinity="precomputed", random_state=0),
        coterie.LaplacianKModes(k, affinity="precomputed", random_state=0),
    ]


@settings(deadline=None, max_examples=20)
@given(
    seed=st.integers(0, 1000),
    parts=st.lists(st.integers(1, 3), min_size=1, max_size=10),
    number=st.integers(0, 2),
)
def test_planted_clusters_are_found_beside_small_components(seed, parts, number):
    planted, y = _planted(seed, [80, 80, 80])
    blocks = [np.ones((size, size)) - np.eye(size) for size in parts]
    graph = sp.csr_array(sp.block_diag([planted, *blocks]))
    with pytest.warns(UserWarning, match=f"{sum(parts)} of {240 + sum(parts)} vertices are in {len(parts)}"):
        model = _models(3)[number].fit(graph)
    assert adjusted_rand_score(y, model.labels_[:240]) == 1
    assert np.all(model.labels_[240:] == -1)
    assert not model.memberships_[240:].any()
    assert model.affinity_matrix_.shape == (240, 240)
    np.testing.assert_array_equal(model.predict(graph), model.labels_)
    if number == 1:
        assert np.isfinite(model.energy_)


def test_the_order_of_vertices_does_not_matter():
    planted, y = _planted(0, [60, 60])
    graph = sp.csr_array(sp.block_diag([np.zeros((2, 2)), planted, np.zeros((1, 1))]))
    with pytest.warns(UserWarning, match="3 of 123 vertices"):
        labels = coterie.MultilevelGraphClustering(2, affinity="precomputed").fit(graph).labels_
    assert labels[[0, 1, 122]].tolist() == [-1, -1, -1]
    assert adjusted_rand_score(y, labels[2:122]) == 1


def test_rows_of_small_components_join_the_nearest_cluster():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(mean, 1, (400, 2)) for mean in (0, 40, 80)])
    far = np.concatenate([rng.normal(mean, 0.01, (5, 2)) for mean in (110, -30)])  # groups of their own
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = coterie.MultilevelGraphClustering(3, n_neighbors=4).fit(np.r_[far, X])
    assert adjusted_rand_score(np.repeat([0, 1, 2], 400), model.labels_[10:]) == 1
    assert np.all(model.labels_[:5] == model.labels_[-1])
    assert np.all(model.labels_[5:10] == model.labels_[10])
    np.testing.assert_array_equal(model.predict(far), model.labels_[:10])


def test_labeled_components_are_not_set_aside():
    planted, _ = _planted(0, [60, 60])
    graph = sp.csr_array(sp.block_diag([planted, np.ones((3, 3)) - np.eye(3)]))
    known = np.full(123, -1)
    known[[0, 119, 120]] = [0, 1, 2]
    labels = (
        coterie.TotalVariationClustering(3, affinity="precomputed", random_state=0).fit(graph, known).labels_
    )
    assert labels.min() == 0
    assert labels[120:].tolist() == [2, 2, 2]


def test_many_small_components_are_the_graph():
    graph = sp.csr_array(sp.block_diag([np.ones((2, 2)) - np.eye(2)] * 50))
    labels = coterie.MultilevelGraphClustering(3, affinity="precomputed").fit(graph).labels_
    assert labels.min() == 0
    assert np.all(labels[::2] == labels[1::2])
