"""Rows so small that their squared distances vanish: an error, as of the other methods, rather than noise alone.

Source: https://github.com/apache/datafusion/pull/25289 (distances of vectors of tiny numbers underflow).
"""

import warnings

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

import coterie

ROWS = np.concatenate([np.random.default_rng(i).normal(i, 0.05, (60, 3)) for i in range(4)])


@pytest.mark.parametrize("n_columns", [3, 12])
@pytest.mark.parametrize(("dtype", "scale"), [("f4", 1e-30), ("f4", 1e-23), ("f8", 1e-165)])
def test_squares_that_vanish_are_an_error(dtype, scale, n_columns):
    X = (np.tile(ROWS, n_columns // 3) * scale).astype(dtype)
    for model in (coterie.DensityClustering(), coterie.MultilevelGraphClustering(4), coterie.KMeans(4)):
        with pytest.raises(ValueError, match="differ too little"):
            model.fit(X)


def test_small_rows_are_clustered():
    labels = coterie.DensityClustering().fit((ROWS * 1e-15).astype("f4")).labels_
    assert adjusted_rand_score(np.repeat(range(4), 60), labels) > 0.9


@pytest.mark.parametrize("kind", ["tied_spherical", "spherical", "diag"])
def test_reg_covar_of_a_large_part_of_the_variance_is_warned_of(kind):
    """Source: https://github.com/scikit-learn/scikit-learn/issues/6694 (one cluster once columns are scaled)."""
    rows = ROWS / np.sqrt(ROWS.var(axis=0).mean())  # of variance 1
    for share, warns in ((0.9, True), (0.3, True), (0.02, False)):
        model = coterie.TruncatedGaussianMixture(4, covariance_type=kind, reg_covar=share, random_state=0)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            model.fit(rows)
        assert any("reg_covar" in str(one.message) for one in said) == warns
        if not warns:
            assert adjusted_rand_score(np.repeat(range(4), 60), model.labels_) > 0.9
