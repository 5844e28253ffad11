"""Units, origins, rotations and orders do not matter to the defaults."""

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_moons
from sklearn.metrics import adjusted_rand_score

from coterie import LaplacianKModes


def blobs():
    random = np.random.default_rng(3)
    sizes = [90, 40, 25, 15]
    centers = random.normal(scale=8, size=(4, 5))
    return np.vstack([center + random.normal(size=(size, 5)) for center, size in zip(centers, sizes)]), 4


def moons():
    return make_moons(240, noise=0.04, random_state=0)[0], 2


def flowers():
    return load_iris(return_X_y=True)[0].astype(np.float64), 3


def rotated(X):
    rotation = np.linalg.qr(np.random.default_rng(0).normal(size=(X.shape[1], X.shape[1])))[0]
    return X @ rotation


CHANGES = {
    "times 1e-6": lambda X: X * 1e-6,
    "times 1e6": lambda X: X * 1e6,
    "plus 1e4": lambda X: X + 1e4,
    "rotated": rotated,
    "columns in another order": lambda X: X[:, ::-1],
}


def fitted(X, n_clusters, mode_update):
    return LaplacianKModes(n_clusters, mode_update=mode_update, n_init=4, random_state=0).fit(X)


@pytest.mark.parametrize("mode_update", ["byproduct", "mean_shift"])
@pytest.mark.parametrize("make", [blobs, moons, flowers])
def test_clusters_do_not_depend_on_shift_rotation_or_scale(make, mode_update):
    X, n_clusters = make()
    labels = fitted(X, n_clusters, mode_update).labels_
    for name, change in CHANGES.items():
        other = fitted(change(X), n_clusters, mode_update).labels_
        assert adjusted_rand_score(labels, other) == 1, name


@pytest.mark.parametrize("make", [blobs, moons])
def test_rows_in_another_order(make):
    X, n_clusters = make()
    labels = fitted(X, n_clusters, "byproduct").labels_
    order = np.random.default_rng(1).permutation(len(X))
    other = fitted(X[order], n_clusters, "byproduct").labels_
    assert adjusted_rand_score(labels[order], other) == 1


def test_each_row_twice():
    """Copies are each other's nearest neighbors: the graph is a thinner one, so clusters must be clear."""
    X, n_clusters = blobs()
    labels = fitted(X, n_clusters, "byproduct").labels_
    other = fitted(np.repeat(X, 2, axis=0), n_clusters, "byproduct").labels_
    np.testing.assert_array_equal(other[::2], other[1::2])
    assert adjusted_rand_score(labels, other[::2]) == 1


def test_attributes_with_a_unit_scale_with_it():
    X, n_clusters = blobs()
    model, larger = (fitted(rows, n_clusters, "byproduct") for rows in (X, 1024 * X))
    assert larger.bandwidth_ == pytest.approx(1024 * model.bandwidth_)
    assert larger.graph_weight_ == model.graph_weight_
    assert larger.objective_ == pytest.approx(model.objective_)
    np.testing.assert_array_equal(larger.memberships_, model.memberships_)
