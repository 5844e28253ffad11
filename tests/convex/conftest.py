"""Rows that the tests of paths use."""

import pytest
from sklearn.datasets import make_moons


@pytest.fixture(scope="session")
def moons():
    return make_moons(300, noise=0.05, random_state=0)[0]
