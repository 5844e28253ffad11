"""Convex clustering of very few rows, and of rows in very large and very small units."""

import numpy as np
import pytest

import coterie
from tests.support.changes import same_partition

MODELS = {
    "one gamma": lambda **options: coterie.ConvexClustering(**options),
    "path": lambda **options: coterie.ConvexClusterPath(n_gammas=10, **options),
    "tree": lambda **options: coterie.ConvexClusterPath(weights="tree", norm="l1", n_gammas=10, **options),
}


@pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)
@pytest.mark.parametrize("decay", ["auto", 0.0, 0.5])
@pytest.mark.parametrize("n_rows", range(1, 7))
def test_fewer_rows_than_neighbors(make, decay, n_rows):
    """Source: https://github.com/lmcinnes/umap/issues/266 (four rows, and a larger default number of neighbors)."""
    X = np.random.default_rng(0).normal(size=(n_rows, 2))
    model = make(distance_decay=decay).fit(X)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    if hasattr(model, "labels_path_"):
        assert model.n_clusters_path_[0] == n_rows
        assert model.n_clusters_path_[-1] == 1


@pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)
@pytest.mark.parametrize("scale", [1e30, 1e-30])
def test_rows_whose_squares_are_no_float32(make, scale):
    """Source: https://github.com/apache/datafusion/pull/25289 (distances of vectors of tiny numbers underflow)."""
    X = np.random.default_rng(0).normal(size=(60, 2)).astype(np.float32)
    X[:30] += 8
    options = {"gamma": 0.1} if make is MODELS["one gamma"] else {}
    plain = make(**options).fit(X)
    if options:
        options["gamma"] *= scale
    model = make(**options).fit(X * np.float32(scale))
    same_partition(model.labels_, plain.labels_)
    np.testing.assert_array_equal(model.predict(X * np.float32(scale)), model.labels_)
