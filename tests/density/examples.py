"""Rows for the tests of density-based clustering."""

import numpy as np
from hypothesis import strategies as st

from coterie.density.spanning_tree import reachability_tree
from coterie.graphs.equal_rows import equal_rows
from coterie.graphs.spanning import near_rows


@st.composite
def rows(draw, most=30):
    """Rows with ties and repetitions, or without."""
    n, d = draw(st.integers(1, most)), draw(st.integers(1, 9))
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    if draw(st.booleans()):
        return random.integers(0, draw(st.integers(1, 5)), (n, d)).astype(float)
    return random.normal(size=(n, d))


def tree_of(X, min_samples, n_neighbors, method="exact", n_threads=1):
    equal = equal_rows(X)
    points = np.ascontiguousarray(X[equal.first])
    k = min(max(n_neighbors, min_samples), len(points) - 1)
    found = near_rows(points, k, method=method, seed=0, n_threads=n_threads)
    return reachability_tree(points, equal, found, min_samples, n_threads=n_threads)
