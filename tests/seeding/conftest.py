"""Rows that the tests of all seedings use."""

import numpy as np
import pytest


@pytest.fixture(scope="session")
def blobs():
    random = np.random.default_rng(0)
    return (
        20 * random.normal(size=(30, 5))[random.integers(30, size=1500)] + random.normal(size=(1500, 5))
    ).astype(np.float32)
