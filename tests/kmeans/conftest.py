"""Rows that the tests of all kinds of k-means use."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs


@pytest.fixture(scope="session")
def blobs():
    """23 blobs that overlap, of float32."""
    X, _ = make_blobs(3000, 11, centers=23, cluster_std=2.0, random_state=0)
    return X.astype(np.float32)
