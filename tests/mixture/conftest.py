"""Rows that the tests of the mixture use."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs


@pytest.fixture(scope="session")
def blobs():
    X, _ = make_blobs(2000, 7, centers=23, cluster_std=2.0, random_state=0)
    return X.astype(np.float32)
