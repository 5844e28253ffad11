"""Rows of tiny weight, and fewer rows of positive weight than clusters, in fits by mini-batches.

Source: https://github.com/scikit-learn/scikit-learn/issues/25527 (initial centers ignore sample weights).
"""

import numpy as np
import pytest

from coterie import MiniBatchKMeans, NestedMiniBatchKMeans

ESTIMATORS = [MiniBatchKMeans, NestedMiniBatchKMeans]


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("seed", range(5))
def test_a_row_of_tiny_weight_is_no_center(estimator, seed):
    X = np.array([[1.0], [1], [5], [5], [100], [100]])
    weights = 10.0 ** np.array([8, 8, 8, 8, -8, -8])
    model = estimator(2, random_state=seed).fit(X, sample_weight=weights)
    np.testing.assert_allclose(np.sort(model.cluster_centers_[:, 0]), [1, 5])


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("init", ["split-merge", "k-means++", "random"])
def test_fewer_rows_of_positive_weight_than_clusters(estimator, init):
    X, weights = np.random.default_rng(0).normal(size=(300, 4)), np.zeros(300)
    weights[0] = 1
    with pytest.raises(ValueError, match=r"Fewer than 5 rows, .* positive weight"):
        estimator(5, init=init, random_state=0).fit(X, sample_weight=weights)
