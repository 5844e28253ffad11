"""Lloyd's algorithm, iteration by iteration, against the plain one."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie import _kernels
from coterie.centers.choice import ALGORITHMS, choose_algorithm
from coterie.centers.lloyd import ClusteredRows, lloyd
from coterie.fitting.report import FitReport, Stop
from coterie.passes import Passes, measure
from coterie.rows import as_rows
from tests.reference import k_means as oracle


def some_data(X, weights=None, *, k=5):
    return measure(Passes(as_rows(X), weights, 2), k)


def result_of(clusters, centers, stop, report):
    return clusters.result(lloyd(clusters, centers, stop=stop, report=report), report)


class Recorded(FitReport):
    """Keeps the centers of each iteration."""

    def into(self, seen):
        self._seen = seen
        return self

    def __call__(self, objective, centers, **fields):
        self._seen.append(centers.copy())
        return super().__call__(objective, centers, **fields)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@settings(max_examples=15)
@given(
    n=st.integers(5, 150), d=st.integers(1, 9), k=st.integers(1, 9), weighted=st.booleans(), sparse=st.booleans(),
    seed=st.integers(0, 999),
)  # fmt: skip
def test_lloyd_equals_the_oracle_step_by_step(algorithm, n, d, k, weighted, sparse, seed):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, d)) * (random.random((n, d)) < 0.5 if sparse else 1)
    # Where all rows are centroids, which of them are the farthest is a matter of rounding.
    k = min(k, max(1, len(np.unique(X, axis=0)) // 2))
    weights = random.integers(1, 4, size=n).astype(float) if weighted else None
    masses = np.ones(n) if weights is None else weights
    data, centers = some_data(sp.csr_array(X) if sparse else X, weights, k=k), random.normal(size=(k, d))
    seen, report = [centers], Recorded(fields=(("n_changed", int), ("center_shift", float)))
    result = result_of(ClusteredRows.of(data, k, algorithm), centers, Stop(100), report.into(seen))
    for before, after, row in zip(seen, seen[1:], result.history):
        squares = oracle.square_distances(X, before)
        np.testing.assert_allclose(row.objective, masses @ squares.min(axis=1), rtol=1e-9, atol=1e-9)
        expected, _, _, _ = oracle.lloyd(X, before, weights=weights, max_iter=1)
        if row.n_changed > 0:
            np.testing.assert_allclose(after, expected, atol=1e-9)
            np.testing.assert_allclose(row.center_shift, np.sum((expected - before) ** 2), atol=1e-8)
    assert result.reason == "converged"
    assert result.history.center_shift[-1] == 0
    squares = oracle.square_distances(X, result.centers)
    np.testing.assert_allclose(squares[np.arange(n), result.labels], squares.min(axis=1), atol=1e-9)
    np.testing.assert_allclose(result.inertia, masses @ squares.min(axis=1), rtol=1e-9, atol=1e-9)


def test_labels_fit_the_centroids_also_before_the_end():
    X = np.random.default_rng(0).normal(size=(300, 4))
    result = result_of(ClusteredRows.of(some_data(X, k=9), 9), X[:9], Stop(1), FitReport())
    assert result.labels.dtype == np.int32
    assert result.reason == "max_iter"
    np.testing.assert_array_equal(result.labels, oracle.square_distances(X, result.centers).argmin(axis=1))


@pytest.mark.parametrize("scale", [1, 1e-3])
def test_a_cluster_without_mass_takes_the_farthest_row_that_has_some(scale):
    X = scale * np.array([[0.0], [1], [2], [50], [90]])
    data, centers = some_data(X, np.array([1.0, 1, 1, 1, 0]), k=2), scale * np.array([[1.0], [500]])
    result = result_of(ClusteredRows.of(data, 2), centers, Stop(1), FitReport())
    np.testing.assert_allclose(result.centers, scale * np.array([[1], [50]]))


def test_choose_algorithm_by_shape():
    options = dict(itemsize=8, is_sparse=False)
    assert choose_algorithm(255, 3, **options) == "lloyd"
    assert choose_algorithm(255, 50, itemsize=8, is_sparse=True) == "lloyd"
    assert choose_algorithm(255, 50, 3, **options) == "lloyd"
    assert choose_algorithm(255, 50, **options) == "yinyang"
    assert choose_algorithm(32, 64, **options) == "lloyd"
    assert choose_algorithm(33, 10, **options) == "yinyang"
    assert choose_algorithm(784, 2000, is_settled=True, **options) == "yinyang"
    assert choose_algorithm(784, 50, **options) == "elkan"
    has_bytes = _kernels.byte_limits()[0] > 0
    assert choose_algorithm(64, 1000, **options) == ("lloyd" if has_bytes else "yinyang")
    assert choose_algorithm(64, 1000, is_settled=True, **options) == "yinyang"
    # Bounds that take over from bytes are those of limited memory.
    is_late = has_bytes and _kernels.byte_limits()[3] > 300
    assert choose_algorithm(300, 300, is_settled=True, **options) == ("yinyang" if is_late else "elkan")
