"""Parameters of a mixture: energies are made of their parts."""

import numpy as np
import pytest

from coterie.mixture.parameters import MixtureParameters
from tests.mixture.mixtures import DTYPES
from tests.reference import truncated_mixture as oracle


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (6,), (6, 3)])
def test_energies_are_made_of_their_parts(dtype, shape):
    random = np.random.default_rng(0)
    X, means = random.normal(size=(20, 3)).astype(dtype), random.normal(size=(6, 3)).astype(dtype)
    variances, weights = random.uniform(0.1, 9, size=shape), random.dirichlet(np.ones(6))
    weights[2] = 0
    parameters = MixtureParameters(means, variances, weights / weights.sum())
    scales, precisions, offsets, base = parameters.energies()
    assert (scales is None) == (len(shape) < 2)
    assert precisions.dtype == offsets.dtype == dtype
    assert offsets.min() == 0
    assert np.isinf(offsets[2])
    relative = (X.astype(float)[:, None, :] - means) * (1 if scales is None else scales.astype(float))
    found = precisions * np.sum(relative**2, axis=2) + offsets + base
    expected = oracle.energies(X, means, variances, parameters.weights)
    np.testing.assert_allclose(found, expected, rtol=1e-5 if dtype == np.float32 else 1e-12)
