"""Workers in threads of this process, for tests that need no more of a cluster than that."""

import contextlib

import pytest

from tests.dask.clusters import in_threads


@pytest.fixture(scope="module")
def client():
    """Two workers."""
    with contextlib.ExitStack() as stack:
        yield in_threads(stack, 2)
