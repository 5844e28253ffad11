"""Rows far from 0, such as projected coordinates and times: distances are as exact as differences.

Source: https://github.com/scikit-learn/scikit-learn/issues/9354 (distances of rows with a large offset).
"""

import numpy as np
import pytest
import scipy.sparse as sp

import coterie

BLOBS = np.concatenate([np.random.default_rng(m).normal(m, 1, (60, 2)) for m in (0, 20, 40)])


@pytest.mark.parametrize("kind", [coterie.KMeans, coterie.BisectingKMeans, coterie.NestedMiniBatchKMeans])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("offset", [0, 5.4e6, 1e8, 1e12])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_distances_to_centers(kind, dtype, offset, form):
    X = (BLOBS + offset).astype(dtype)
    if len(np.unique(X, axis=0)) < 3:
        return
    model = kind(3, random_state=0).fit(X)
    centers = model.cluster_centers_.astype(float)
    expected = np.sqrt(((X[:, None].astype(float) - centers) ** 2).sum(axis=2))
    eps = 1e-6 if dtype == "f4" else 1e-12
    tolerance = 1e-10 + 1e-7 * offset if form is sp.csr_array else 0.0  # sums of squares of sparse rows
    np.testing.assert_allclose(model.transform(form(X)), expected, rtol=eps, atol=tolerance)
    at_center = form(model.cluster_centers_[:1])
    assert model.transform(at_center)[0, 0] == 0


@pytest.mark.parametrize("kind", [coterie.NestedMiniBatchKMeans, coterie.MiniBatchKMeans])
def test_float64_streams_stay_in_float64(kind):
    """Source: https://github.com/scikit-learn/scikit-learn/issues/14314 (dtypes of the batches of a stream)."""
    rows = np.concatenate([np.random.default_rng(m).normal(m, 0.3, (200, 2)) for m in (0, 5, 10)]) + 1e8
    model = kind(3, random_state=0).partial_fit(rows)
    model.partial_fit(rows.astype(np.float32))
    assert model.cluster_centers_.dtype == np.float64
    model.partial_fit(rows)
    assert model.cluster_centers_.dtype == np.float64
    centers = np.sort(model.cluster_centers_[:, 0]) - 1e8
    np.testing.assert_allclose(centers, [0, 5, 10], atol=2)  # float32 has 1e8 + 8
