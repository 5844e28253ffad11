"""Predictions for clusters that have fewer rows than half of `n_neighbors`.

Source: https://github.com/haifengl/smile/issues/719 (predict of the rows of the fit returns other labels).
"""

import numpy as np
import pytest

import coterie


def _rows(sizes, n_new):
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(i * 1000, 1, (size, 2)) for i, size in enumerate(sizes)])
    new = np.concatenate([rng.normal(i * 1000, 1, (n_new, 2)) for i in range(len(sizes))])
    return X, np.repeat(range(len(sizes)), sizes), new


@pytest.mark.parametrize("sizes", [(40, 3), (100, 6), (6, 6), (1000, 5, 5), (500, 9, 9)])
def test_small_clusters_are_predicted(sizes):
    X, y, new = _rows(sizes, 4)
    known = y.copy()
    known[0] = -1
    model = coterie.TotalVariationClustering(len(sizes), n_neighbors=20, random_state=0).fit(X, known)
    np.testing.assert_array_equal(model.labels_, y)
    np.testing.assert_array_equal(model.predict(X), y)
    np.testing.assert_array_equal(model.predict(new), np.repeat(range(len(sizes)), 4))
