"""Memberships on a graph: the kernel against its plain version, and what the paper promises."""

from unittest.mock import patch

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import softmax

from coterie import _kernels
from coterie.laplacian_kmodes.memberships import GraphMemberships
from tests.reference import laplacian_kmodes as oracle
from tests.support.instruction_sets import FUSED, INSTRUCTION_SETS, using

DTYPES = [np.float32, np.float64]


def some_graph(n, density, dtype, seed, binary=True, symmetric=True):
    random = np.random.default_rng(seed)
    K = np.triu(random.random((n, n)) < density, 1) * (1.0 if binary else random.random((n, n)))
    K = K + K.T if symmetric else K
    return sp.csr_array(K.astype(dtype))


def some_problem(n, n_clusters, dtype, seed, density=0.1, **options):
    affinities = np.random.default_rng(seed + 1).random((n, n_clusters)).astype(dtype)
    return some_graph(n, density, dtype, seed, **options), affinities


def fitted(graph, affinities, lam, *, shift=True, n_threads=2, tol=0.0, max_updates=20):
    memberships = GraphMemberships(graph, affinities.shape[1], diagonal_shift=shift, n_threads=n_threads)
    memberships.affinities[:] = affinities
    return memberships, memberships.minimize(lam, tol=tol, max_updates=max_updates)


def dense(graph, shift=True):
    K = graph.toarray().astype(float)
    return oracle.shifted(K) if shift else K


@pytest.mark.parametrize("dtype", DTYPES)
class TestMinimize:
    @given(
        n=st.sampled_from([1, 2, 17, 300]), n_clusters=st.sampled_from([1, 2, 7, 8, 9, 16, 17, 40]),
        lam=st.sampled_from([0.0, 0.3, 1.3, 4.0]), shift=st.booleans(), binary=st.booleans(),
        n_updates=st.integers(1, 6), seed=st.integers(0, 999),
    )  # fmt: skip
    def test_against_the_oracle(self, dtype, n, n_clusters, lam, shift, binary, n_updates, seed):
        graph, affinities = some_problem(n, n_clusters, dtype, seed, density=min(1, 4 / n), binary=binary)
        K = dense(graph, shift)
        states = oracle.minimized(affinities.astype(float), K, lam, n_updates)
        objectives = [oracle.relaxed_objective(Z, affinities, K, lam) for Z in states]
        tolerance = 1e-4 * n if dtype == np.float32 else 1e-9 * n
        for name in INSTRUCTION_SETS:
            # Otherwise rows that hardly change stay as they are, and updates can magnify what is left out.
            with using(name), patch("coterie.laplacian_kmodes.memberships._SMALLEST_CHANGE", 0.0):
                memberships, fit = fitted(graph, affinities, lam, shift=shift, tol=-1, max_updates=n_updates)
            np.testing.assert_allclose(fit.relaxations, objectives[: len(fit.relaxations)], atol=tolerance)
            np.testing.assert_allclose(memberships.memberships.sum(axis=1), 1, rtol=1e-5)
            assert memberships.memberships.min() >= 0
            atol = 1e-2 if dtype == np.float32 else 1e-8
            np.testing.assert_allclose(memberships.memberships, states[len(fit.relaxations) - 1], atol=atol)

    @given(
        n=st.integers(2, 60), n_clusters=st.integers(1, 5), lam=st.floats(0, 8), density=st.floats(0, 1),
        shift=st.sampled_from([True, False, "auto"]), seed=st.integers(0, 999),
    )  # fmt: skip
    def test_relaxed_objective_never_increases_with_shift(
        self, dtype, n, n_clusters, lam, density, shift, seed
    ):
        graph, affinities = some_problem(n, n_clusters, dtype, seed, density=density)
        memberships, fit = fitted(graph, affinities, lam, shift=shift, max_updates=60, tol=1e-9)
        assert np.all(np.diff(fit.relaxations) <= 0)
        assert fit.is_shifted or shift is not True
        found = oracle.relaxed_objective(
            memberships.memberships.astype(float), affinities, dense(graph, fit.is_shifted), lam
        )
        np.testing.assert_allclose(found, fit.relaxation, rtol=1e-4, atol=1e-4 * n)

    @given(
        n=st.integers(2, 60), n_clusters=st.integers(2, 5), lam=st.floats(0.1, 8), seed=st.integers(0, 999)
    )
    def test_directed_graphs_are_evened_out_with_the_shift(self, dtype, n, n_clusters, lam, seed):
        """Proposition 1 of the paper; the source of the case is k-modes on a graph of nearest neighbors."""
        rng = np.random.default_rng(seed)
        graph = some_graph(n, 0.2, dtype, seed, symmetric=False)
        affinities = rng.random((n, n_clusters)).astype(dtype)
        memberships, fit = fitted(graph, affinities, lam, shift=True, max_updates=500, tol=-1)
        rounding = np.finfo(dtype).eps * 50 * (1 + np.abs(fit.relaxations).max())
        assert np.all(np.diff(fit.relaxations) <= rounding)
        Z, K = memberships.memberships.astype(float), dense(graph)
        np.testing.assert_allclose(
            oracle.relaxed_objective(Z, affinities, K, lam), fit.relaxation, rtol=1e-4, atol=1e-4 * n
        )

    def test_shift_ends_a_cycle(self, dtype):
        """Two rows, each of which wants to be where the other is."""
        graph = sp.csr_array(np.array([[0, 1], [1, 0]], dtype=dtype))
        affinities = np.array([[1, 0], [0, 1]], dtype=dtype) * dtype(0.5)
        assert fitted(graph, affinities, 8.0, shift="auto", tol=1e-6)[1].relaxations[-1] < 0
        stopped = fitted(graph, affinities, 8.0, shift=False, tol=1e-6)[1]
        assert np.all(np.diff(stopped.relaxations) <= 0)

    def test_threads_and_instruction_sets_agree_to_the_bit(self, dtype):
        graph, affinities = some_problem(1500, 23, dtype, 0, density=0.006, binary=False)
        found = []
        for name in FUSED:
            with using(name):
                for n_threads in (1, 2, 3):
                    memberships, fit = fitted(graph, affinities, 1.5, n_threads=n_threads, max_updates=40)
                    found.append((memberships.memberships.copy(), memberships.rests.copy(), fit.relaxations))
        for other in found[1:]:
            for left, right in zip(found[0], other):
                np.testing.assert_array_equal(left, right)

    def test_rests_order_saturated_memberships(self, dtype):
        graph = sp.csr_array(np.ones((60, 60), dtype=dtype) - np.eye(60, dtype=dtype))
        affinities = np.zeros((60, 3), dtype=dtype)
        affinities[:, 1] = np.linspace(0.5, 1, 60)
        memberships, _ = fitted(graph, affinities, 0.2, max_updates=300)
        K = dense(graph)
        Z = memberships.memberships.astype(float)
        logits = affinities + 0.2 * K @ Z
        expected = np.sum(np.exp(logits[:, [0, 2]] - logits[:, [1]]), axis=1)
        assert np.all(memberships.labels == 1)
        np.testing.assert_allclose(memberships.rests, expected, rtol=1e-3)
        assert memberships.rests.argmin() == 59

    def test_rows_without_neighbors_keep_their_affinities(self, dtype):
        graph, affinities = some_problem(50, 5, dtype, 0, density=0)
        memberships, _ = fitted(graph, affinities, 3.0)
        np.testing.assert_allclose(memberships.memberships, softmax(affinities, axis=1), rtol=1e-5)

    def test_far_affinities_give_no_membership(self, dtype):
        graph, affinities = some_problem(20, 4, dtype, 0)
        affinities[:, 2] = -1e4
        memberships, _ = fitted(graph, affinities, 1.0)
        assert np.all(memberships.memberships[:, 2] == 0)

    def test_permuted_rows_give_permuted_memberships(self, dtype):
        graph, affinities = some_problem(300, 6, dtype, 3, density=0.02)
        order = np.random.default_rng(0).permutation(300)
        expected, _ = fitted(graph, affinities, 1.3)
        found, _ = fitted(sp.csr_array(graph[order][:, order]), affinities[order], 1.3)
        np.testing.assert_allclose(found.memberships, expected.memberships[order], atol=1e-4)


def kernel_arguments(n=5, dtype=np.float64):
    of = GraphMemberships(sp.csr_array(np.eye(n, dtype=dtype)), 3, diagonal_shift=True, n_threads=1)
    of.affinities[:] = 0
    return dict(
        graph=of._kernel_graph(True), affinities=of._affinities, n_clusters=3, lambda_=1.0, smallest_change=0.0,
        before=of._current, after=of._next, moved_before=of._moved, moved_after=of._next_moved, rests=of.rests,
        attractions=of._attractions, own_terms=of._own_terms, sums=of._sums, n_threads=1,
    )  # fmt: skip


@pytest.mark.parametrize(
    "change",
    [
        dict(affinities=np.zeros((5, 7))),
        dict(n_clusters=9),
        dict(before=np.zeros((4, 8))),
        dict(after=np.zeros((5, 16))),
        dict(moved_before=np.zeros(4, dtype=np.uint8)),
        dict(moved_after=np.zeros(4, dtype=np.uint8)),
        dict(rests=np.zeros(4)),
        dict(attractions=np.zeros(4)),
        dict(own_terms=np.zeros(4)),
        dict(sums=np.zeros((2, 2))),
    ],
)
def test_the_kernel_checks_its_arguments(change):
    _kernels.update_memberships(*kernel_arguments().values())
    with pytest.raises(ValueError, match="kernel"):
        _kernels.update_memberships(*(kernel_arguments() | change).values())


@pytest.mark.parametrize(
    ("starts", "columns", "weights", "diagonal", "message"),
    [
        ([1, 2], [0, 0], None, [0.0], "begin with 0"),
        ([0, 2, 1], [0, 0], None, [0.0, 0], "decreases"),
        ([0, 1, 2], [0], None, [0.0, 0], "wrong shape"),
        ([0, 1, 2], [0, 2], None, [0.0, 0], "out of range"),
        ([0, 1, 2], [0, -1], None, [0.0, 0], "out of range"),
        ([0, 1, 2], [0, 1], [1.0], [0.0, 0], "wrong shape"),
        ([0, 1, 2], [0, 1], None, [0.0], "diagonal"),
    ],
)
def test_a_graph_is_checked(starts, columns, weights, diagonal, message):
    with pytest.raises(ValueError, match=message):
        _kernels.weighted_graph(
            np.array(starts),
            np.array(columns, dtype=np.int32),
            None if weights is None else np.array(weights),
            np.array(diagonal),
        )
