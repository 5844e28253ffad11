"""Sums of the rows of clusters, against plain ones."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie import _kernels
from coterie.blocks.kernel_rows import kernel_rows
from tests.reference import k_means as oracle
from tests.support.centers import DTYPES, SHAPES, rows_and_centers


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("sparse", [False, True])
@settings(max_examples=15)
@given(shape=SHAPES, seed=st.integers(0, 1000), weighted=st.booleans())
def test_add_to_clusters(dtype, sparse, shape, seed, weighted):
    X, block, _ = rows_and_centers(shape, dtype, sparse, seed)
    n_rows, n_columns, k = shape
    random = np.random.default_rng(seed)
    weights = random.random(n_rows).astype(dtype) if weighted else None
    shift = np.zeros(n_columns) if sparse else random.normal(size=n_columns)
    before = random.integers(-1, k, size=n_rows).astype(np.int32)
    labels = random.integers(0, k, size=n_rows).astype(np.int32)
    plain_weights = np.ones(n_rows) if weights is None else weights.astype(float)
    expected_sums, expected_masses = oracle.cluster_sums(X, labels, plain_weights, shift, k)
    known = before >= 0
    sums, masses = oracle.cluster_sums(X[known], before[known], plain_weights[known], shift, k)
    fresh_sums, fresh_masses = np.zeros((k, n_columns)), np.zeros(k)
    x = kernel_rows(block)
    _kernels.add_to_clusters(x, labels, None, weights, shift, fresh_sums, fresh_masses, 2)
    _kernels.add_to_clusters(x, labels, before, weights, shift, sums, masses, 2)
    for got_sums, got_masses in [(fresh_sums, fresh_masses), (sums, masses)]:
        np.testing.assert_allclose(got_sums, expected_sums, atol=1e-9)
        np.testing.assert_allclose(got_masses, expected_masses, atol=1e-9)
