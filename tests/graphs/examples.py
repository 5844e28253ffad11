"""Rows and graphs, and the form in which graphs are stored."""

import numpy as np
import scipy.sparse as sp
from hypothesis import strategies as st

DTYPES = [np.float32, np.float64]
METHOD = dict(method="exact")
ROWS = [[0.0], [1.0], [3.0], [7.0]]
SHAPES = st.tuples(st.sampled_from([2, 3, 5, 17, 40, 101]), st.sampled_from([1, 2, 3, 7, 16, 17, 33, 65]))


def some_rows(n_rows, n_columns, seed, dtype=np.float64):
    return np.random.default_rng(seed).normal(size=(n_rows, n_columns)).astype(dtype)


def few_values(n_rows, n_columns, seed, dtype=np.float64):
    """Whole numbers from 0 to 2: many equal rows and many equal distances, all of them exact."""
    return np.random.default_rng(seed).integers(3, size=(n_rows, n_columns)).astype(dtype)


def clusters(n_rows, seed, dtype=np.float32):
    random = np.random.default_rng(seed)
    centers = 3 * random.normal(size=(12, 6))
    return (centers[random.integers(12, size=n_rows)] + random.normal(size=(n_rows, 6))).astype(dtype)


def shapes(kind, n=4000):
    """Rows whose neighbors are told apart by few directions, or by none of the first."""
    random = np.random.default_rng(5)
    if kind == "a plane":
        rows = random.normal(size=(n, 8)) @ random.normal(size=(8, 128)) + 0.05 * random.normal(size=(n, 128))
    elif kind == "no direction":
        rows = random.normal(size=(n, 96))
    elif kind == "noisy groups":  # most of the variance is between them, and neighbors differ in the rest
        rows = 4 * random.normal(size=(20, 96))[random.integers(20, size=n)] + random.normal(size=(n, 96))
    elif kind == "far rows":  # some directions are those of a few
        rows = random.standard_t(1.5, size=(n, 80))
    else:
        rows = random.integers(0, 3, size=(n, 64)).astype(float)
    return rows.astype(np.float32)


def random_graph(n, density, seed):
    random = np.random.default_rng(seed)
    W = np.triu(random.integers(1, 9, size=(n, n)) * (random.random((n, n)) < density), 1)
    return (W + W.T).astype(np.float64)


def check_stored(graph):
    """A CSR array with small indices that ascend in every row."""
    assert isinstance(graph, sp.csr_array)
    assert graph.indices.dtype == graph.indptr.dtype == np.int32
    for i in range(graph.shape[0]):
        assert np.all(np.diff(graph.indices[graph.indptr[i] : graph.indptr[i + 1]]) > 0)
