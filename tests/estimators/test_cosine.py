"""`metric="cosine"` of the methods that are not k-means: the fit of the rows at length 1."""

import numpy as np
import pytest
from sklearn.preprocessing import normalize

from coterie import (
    DensityClustering,
    LaplacianKModes,
    MultilevelGraphClustering,
    TotalVariationClustering,
    TruncatedGaussianMixture,
)
from coterie.rows import as_rows
from coterie.rows.derived import normalized
from tests.support.bits import same_bits

MODELS = [
    TruncatedGaussianMixture(6, covariance_type="diag", random_state=0),
    TruncatedGaussianMixture(6, coreset_size=150, random_state=0),
    TotalVariationClustering(6, n_init=2, random_state=0),
    LaplacianKModes(6, n_init=2, random_state=0),
    DensityClustering(),
    MultilevelGraphClustering(6),
]
each = pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)


@pytest.fixture(scope="module")
def rays():
    """Rows in six directions. Powers of 2 as lengths, so that dividing by them rounds alike."""
    random = np.random.default_rng(0)
    directions = random.normal(size=(6, 8))
    return normalize(directions[np.arange(300) % 6] + 0.2 * random.normal(size=(300, 8)))


@each
def test_the_fit_is_that_of_rows_at_length_1(model, rays):
    lengths = 2.0 ** np.random.default_rng(1).integers(-9, 10, size=(len(rays), 1))
    expected = normalized(as_rows(rays)).read()
    plain = type(model)(**model.get_params()).fit(expected)
    cosine = type(model)(**model.get_params() | {"metric": "cosine"}).fit(rays * lengths)
    same_bits(cosine.labels_, plain.labels_)
    same_bits(cosine.predict(rays * lengths), plain.predict(expected))
    assert len(np.unique(cosine.labels_[cosine.labels_ >= 0])) > 3
    if hasattr(model, "transform"):
        found = cosine.transform(3 * rays)
        np.testing.assert_allclose(found, plain.transform(expected), atol=1e-6)
        np.testing.assert_allclose(found.sum(axis=1), 1)


@each
def test_rows_of_zeros_are_not_scaled(model, rays):
    X = np.insert(rays, [0, 100], 0, axis=0)
    cosine = type(model)(**model.get_params() | {"metric": "cosine"}).fit(3 * X)
    plain = type(model)(**model.get_params()).fit(normalized(as_rows(3 * X)).read())
    same_bits(cosine.labels_, plain.labels_)


@pytest.mark.parametrize("estimator", [LaplacianKModes, TotalVariationClustering])
def test_cosine_refuses_affinities(estimator):
    with pytest.raises(
        ValueError, match="metric='cosine' divides rows by their lengths, which affinities do not"
    ):
        estimator(2, metric="cosine", affinity="precomputed").fit(np.ones((4, 4)))
