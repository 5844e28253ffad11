"""The descent of total variation clustering: its kernels against plain versions, and what the paper's theorems say."""

from unittest.mock import patch

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie import _kernels
from coterie.arrays import padded_rows
from coterie.total_variation.descent import PaperSteps, PreconditionedSteps, TotalVariationDescent
from coterie.total_variation.problem import CutGraph
from tests.reference import total_variation as oracle
from tests.support.cuts import DTYPES, some_memberships, some_weights
from tests.support.instruction_sets import FUSED, INSTRUCTION_SETS, using

# lambda of (P), as a multiple of R - 1; None: that itself.
ASYMMETRIES = st.sampled_from([None, 0.3, 1.0, 2.5])
COLUMNS = st.sampled_from([2, 3, 4, 5, 7, 8, 9, 10, 13, 15, 16, 17, 20, 31, 33, 40])


def small_blocks(block_rows):
    return patch.object(CutGraph, "rows_of_a_block", staticmethod(lambda n: block_rows))


def some_descent(
    W, F, dtype, *, block_rows=7, order=None, fixed=None, n_threads=2, lam=None, steps_of=PreconditionedSteps
):
    with small_blocks(block_rows):
        graph = CutGraph(sp.csr_array(W.astype(dtype)), order, 1.0 if steps_of is PaperSteps else None)
    R = F.shape[1]
    lams = None if lam is None else np.full(R, float(lam))
    descent = TotalVariationDescent(
        graph, R, balance_weights=lams, steps=steps_of(graph), n_threads=n_threads
    )
    descent.start(graph.arranged(F.astype(dtype)), None if fixed is None else graph.arranged(fixed))
    return descent


def memberships_of(descent):
    """Return F in the order of the data."""
    return descent._graph.restored(descent.memberships)


def oracle_step(W, F, steps_of, n_inner, fixed=None, lam=None):
    W = W / W[W > 0].mean()
    steps = steps_of(W)
    return oracle.outer_step(W, oracle.started(W, F, steps), steps, n_inner, fixed, lam)


def lambda_of(factor, R):
    return None if factor is None else factor * (R - 1)


@pytest.mark.parametrize("dtype", DTYPES)
class TestKernels:
    @given(
        n=st.integers(2, 60), R=COLUMNS, binary=st.booleans(), block_rows=st.sampled_from([1, 4, 16, 100]),
        n_inner=st.integers(1, 12), sharp=st.sampled_from([0.0, 0.7]), factor=ASYMMETRIES,
        seed=st.integers(0, 999),
    )  # fmt: skip
    @pytest.mark.parametrize("steps_of", [PreconditionedSteps, PaperSteps])
    def test_outer_steps_against_the_oracle(
        self, dtype, steps_of, n, R, binary, block_rows, n_inner, sharp, factor, seed
    ):
        """With the steps of the paper, whose Algorithm 1 this is then, the unit of the weights counts."""
        n = max(n, R)
        W, F = some_weights(n, 3 / n, seed, binary), some_memberships(n, R, seed, sharp).astype(dtype)
        random = np.random.default_rng(seed)
        order, fixed = random.permutation(n), random.random(n) < 0.2
        fixed[R:] &= F.max(axis=1)[R:] == 1
        lam = lambda_of(factor, R)
        options = dict(block_rows=block_rows, order=order, fixed=fixed, lam=lam, steps_of=steps_of)
        if steps_of is PaperSteps:
            steps = oracle.authors_steps(W)
            start = oracle.started(W, F.astype(float), steps)
            state = oracle.outer_step(W, start, steps, n_inner, fixed, lam)
        else:
            state = oracle_step(W, F.astype(float), oracle.preconditioned_steps, n_inner, fixed, lam)
        for name in INSTRUCTION_SETS:
            with using(name):
                descent = some_descent(W, F, dtype, **options)
                if steps_of is PaperSteps:
                    descent._linearize(descent.statistics)
                    descent._iterate(n_inner)
                else:
                    descent.outer_step(-np.inf, n_inner)
            tolerance = 2e-3 if dtype == np.float32 else 1e-6
            np.testing.assert_allclose(memberships_of(descent), state.F, atol=tolerance)
            np.testing.assert_allclose(descent._tau, state.tau, rtol=1e-6)

    @given(
        n=st.integers(2, 300), R=COLUMNS, binary=st.booleans(), sharp=st.sampled_from([0.0, 0.5, 1.0]),
        block_rows=st.sampled_from([1, 16, 100, 1000]), factor=ASYMMETRIES, seed=st.integers(0, 999),
    )  # fmt: skip
    def test_statistics_against_the_oracle(self, dtype, n, R, binary, sharp, block_rows, factor, seed):
        n = max(n, R)
        W = some_weights(n, 3 / n, seed, binary)
        F = np.round(some_memberships(n, R, seed, sharp), 2).astype(dtype)  # with ties
        for name in INSTRUCTION_SETS:
            with using(name):
                found = some_descent(W, F, dtype, block_rows=block_rows, lam=lambda_of(factor, R)).statistics
            columns = F.astype(float).T
            lam = R - 1 if factor is None else lambda_of(factor, R)
            medians = [oracle.median(f, lam) for f in columns]
            np.testing.assert_array_equal(found.medians, medians)
            np.testing.assert_array_equal(found.n_above, [np.sum(f > m) for f, m in zip(columns, medians)])
            np.testing.assert_array_equal(found.n_below, [np.sum(f < m) for f, m in zip(columns, medians)])
            np.testing.assert_allclose(
                found.balances, [oracle.balance(f, lam) for f in columns], rtol=1e-5, atol=1e-5
            )
            np.testing.assert_allclose(
                found.variations, [oracle.variation(W, f) for f in columns], rtol=1e-5, atol=1e-5
            )

    @given(n=st.integers(2, 90), R=COLUMNS, scale=st.sampled_from([1e-3, 1.0, 1e3]), seed=st.integers(0, 999))
    def test_rows_stay_in_the_simplex(self, dtype, n, R, scale, seed):
        n = max(n, R)
        W = some_weights(n, 3 / n, seed, binary=False) * scale
        descent = some_descent(W, some_memberships(n, R, seed), dtype)
        for _ in range(4):
            if not descent.outer_step(1e-3).is_valid:
                break
            F = descent.memberships
            assert F.min() >= 0
            np.testing.assert_allclose(F.sum(axis=1), 1, rtol=2e-4 if dtype == np.float32 else 1e-10)

    @pytest.mark.parametrize("steps_of", [PreconditionedSteps, PaperSteps])
    def test_threads_and_instruction_sets_agree_to_the_bit(self, dtype, steps_of):
        W = some_weights(400, 0.02, 0, binary=False)
        F = some_memberships(400, 13, 0)
        found = []
        for name in FUSED:
            for n_threads in (1, 2, 3):
                with using(name):
                    descent = some_descent(W, F, dtype, block_rows=32, n_threads=n_threads, steps_of=steps_of)
                    energies = [descent.outer_step(1e-3).energy for _ in range(6)]
                found.append((descent.memberships, energies))
        for memberships, energies in found[1:]:
            np.testing.assert_array_equal(memberships, found[0][0])
            assert energies == found[0][1]

    def test_the_unit_of_the_weights_makes_no_difference(self, dtype):
        W, F = some_weights(120, 0.05, 0, binary=False), some_memberships(120, 4, 0).astype(dtype)
        one, other = some_descent(W, F, dtype), some_descent(W * 0.125, F, dtype)
        for _ in range(4):
            assert one.outer_step(1e-3).energy * 0.125 == other.outer_step(1e-3).energy
        np.testing.assert_array_equal(one.memberships, other.memberships)


class TestTheorems:
    """Of the paper, on random graphs."""

    @given(
        n=st.integers(8, 120), R=st.integers(2, 5), factor=ASYMMETRIES,
        steps_of=st.sampled_from([PreconditionedSteps, PaperSteps]), seed=st.integers(0, 9999),
    )  # fmt: skip
    def test_the_weighted_energy_descends(self, n, R, factor, steps_of, seed):
        """Theorem 3, with the factor 1 - eps, at every outer step that reached it."""
        W = some_weights(n, 4 / n, seed)
        F = some_memberships(n, R, seed)
        descent = some_descent(W, F, np.float64, lam=lambda_of(factor, R), steps_of=steps_of)
        n_descended = 0
        for _ in range(12):
            before, F = descent.statistics, descent.memberships
            result = descent.outer_step(1e-3, 400)
            if not result.is_valid:
                break
            after, square = descent.statistics, np.sum((descent.memberships - F) ** 2)
            fall = np.sum(after.balances / before.balances * (before.energies - after.energies))
            assert result.descended == (fall >= (1 - 1e-3) * square / before.balances.max())
            n_descended += result.descended
        assert n_descended > 0

    def test_a_path_is_cut_in_the_middle(self):
        """Figure 1: a path of 20 vertices gives the indicator of its middle, up to scale and offset, and no ramp."""
        W = np.diag(np.ones(19), 1) + np.diag(np.ones(19), -1)
        ramp = np.linspace(1, 0, 20)
        descent = some_descent(W, np.column_stack([ramp, 1 - ramp]), np.float64)
        for _ in range(200):
            descent.outer_step(1e-3)
        f = descent.memberships[:, 0]
        assert f[0] - f[-1] > 0.5
        np.testing.assert_allclose((f - f[-1]) / (f[0] - f[-1]), np.repeat([1.0, 0.0], 10), atol=1e-6)
        np.testing.assert_allclose(descent.statistics.energies.sum(), 2 / 10, rtol=1e-5)


class TestPaperSteps:
    """Algorithm 1 as published, against its oracle."""

    @settings(max_examples=15)
    @given(n=st.integers(5, 25), R=st.integers(2, 4), binary=st.booleans(), factor=ASYMMETRIES,
           seed=st.integers(0, 999))  # fmt: skip
    def test_outer_steps_end_where_those_of_the_oracle_do(self, n, R, binary, factor, seed):
        """The estimate (16) is tested after every inner iteration."""
        W, F = some_weights(n, 3 / n, seed, binary), some_memberships(n, R, seed)
        lam = lambda_of(factor, R)
        steps = oracle.authors_steps(W)
        state = oracle.started(W, F, steps)
        descent = some_descent(W, F, np.float64, lam=lam, steps_of=PaperSteps)
        for _ in range(4):
            before, state = state.F, oracle.outer_step(W, state, steps, 100, lam=lam, eps=1e-3)
            if np.abs(state.F - before).max() < 1e-4:
                # Both sides of (16) are all but 0, and rounding decides.
                break
            result = descent.outer_step(1e-3)
            assert result.n_inner == state.n_inner
            np.testing.assert_allclose(descent.memberships, state.F, atol=1e-6)

    @pytest.mark.parametrize("n", [40, 150])
    def test_the_norm_of_the_gradient(self, n):
        W = some_weights(n, 0.1, 0, binary=False)
        norm = np.linalg.norm(oracle.gradient(W), 2)
        graph = CutGraph(sp.csr_array(W), unit=1.0)
        np.testing.assert_allclose(PaperSteps(graph).first, 1 / norm, rtol=1e-6)


class TestDescent:
    def test_a_constant_column_has_no_energy(self):
        F = np.full((10, 2), 0.5)
        with small_blocks(4):
            graph = CutGraph(sp.csr_array(some_weights(10, 0.3, 0)))
        descent = TotalVariationDescent(graph, 2, n_threads=1)
        assert descent.start(F) == np.inf
        assert not descent.statistics.is_valid

    @pytest.mark.parametrize("steps_of", [PreconditionedSteps, PaperSteps])
    def test_a_graph_without_edges_costs_nothing(self, steps_of):
        descent = some_descent(np.zeros((12, 12)), some_memberships(12, 3, 0), np.float32, steps_of=steps_of)
        assert descent.outer_step(1e-3).energy == 0

    @settings(max_examples=8)
    @given(n=st.integers(5, 30), R=st.integers(2, 5), binary=st.booleans(), seed=st.integers(0, 999))
    def test_inner_steps_reach_the_minimum_of_an_outer_step(self, n, R, binary, seed):
        """The minimum is unique: where F has it, any other lies above by half of its squared distance to F."""
        W, F = some_weights(n, 3 / n, seed, binary), some_memberships(n, R, seed)
        descent = some_descent(W, F, np.float64)
        descent._linearize(descent.statistics)
        descent._iterate(5000)
        W = W / W[W > 0].mean()
        found = descent.memberships
        least = oracle.outer_objective(W, F, found)
        authors = oracle_step(W, F, oracle.authors_steps, 200).F
        near = 0.99 * found + 0.01 * some_memberships(n, R, seed + 1)
        for other in (F, authors, near, some_memberships(n, R, seed + 2)):
            above = oracle.outer_objective(W, F, other) - least
            assert above >= 0.5 * np.sum((other - found) ** 2) - 1e-9 * abs(least)
        # The authors' steps go there too.
        assert oracle.outer_objective(W, F, authors) <= least + 1e-3 * abs(least)

    @pytest.mark.parametrize("n_iterations", [1, 2, 5, 6])
    def test_short_calls_change_no_bit(self, monkeypatch, n_iterations):
        found = []
        for most in (1, 1e30):
            monkeypatch.setattr("coterie.total_variation.descent._CALL_DUALS", most)
            descent = some_descent(some_weights(40, 0.1, 0), some_memberships(40, 3, 0), np.float32)
            for _ in range(3):
                descent._linearize(descent.statistics)
                descent._iterate(n_iterations)
            found.append((descent._tau, descent.memberships, descent._extrapolated))
        assert found[0][0] == found[1][0]
        np.testing.assert_array_equal(found[0][1], found[1][1])
        np.testing.assert_array_equal(found[0][2], found[1][2])

    def test_rounding(self):
        W, F = some_weights(60, 0.1, 0, binary=False), some_memberships(60, 4, 0)
        order = np.random.default_rng(0).permutation(60)
        labels, cut = some_descent(W, F, np.float64, order=order).rounded()
        np.testing.assert_array_equal(labels, F[order].argmax(axis=1))
        np.testing.assert_allclose(cut, oracle.balanced_cut(W[order][:, order], labels, 4))

    def test_edges_to_oneself_and_isolated_vertices(self):
        W = some_weights(20, 0.2, 0)
        W[5] = W[:, 5] = 0
        graph = CutGraph(sp.csr_array(W + np.diag(np.arange(20.0))))
        np.testing.assert_array_equal(graph.degrees, W.sum(axis=1))
        descent = some_descent(W, some_memberships(20, 3, 0), np.float64)
        assert np.isfinite(descent.outer_step(1e-3).energy)


def kernel_arguments():
    W = some_weights(9, 0.3, 0)
    descent = some_descent(W, some_memberships(9, 3, 0), np.float64, block_rows=4)
    descent._linearize(descent.statistics)
    return dict(
        graph=descent._graph.kernel_graph, duals=descent._duals, memberships=descent._memberships,
        extrapolated=descent._extrapolated, spare=descent._spare, anchors=descent._anchors, fixed=descent._fixed,
        row_steps=descent._row_steps, outer=descent._outer, steps_by_weight=False, tau=0.1, convexity=0.1,
        n_iterations=1, squares=descent._squares, n_threads=1, row_weights=None,
    )  # fmt: skip


@pytest.mark.parametrize(
    "change",
    [
        dict(duals=np.zeros((3, 3))),
        dict(memberships=padded_rows(8, 3, np.dtype(float))),
        dict(extrapolated=padded_rows(9, 9, np.dtype(float))),
        dict(spare=padded_rows(8, 3, np.dtype(float))),
        dict(anchors=padded_rows(8, 3, np.dtype(float))),
        dict(fixed=np.zeros(8, dtype=np.uint8)),
        dict(row_steps=np.ones(8)),
        dict(outer=padded_rows(5, 3, np.dtype(float))),
        dict(tau=0.0),
        dict(squares=np.zeros(2)),
        dict(memberships=padded_rows(10, 3, np.dtype(float)).ravel()[1:73].reshape(9, 8)),
    ],
)
def test_the_iteration_checks_its_arguments(change):
    _kernels.iterate_primal_dual(*kernel_arguments().values())
    with pytest.raises(ValueError, match="kernel"):
        _kernels.iterate_primal_dual(*(kernel_arguments() | change).values())


@pytest.mark.parametrize(
    "change",
    [
        dict(memberships=padded_rows(9, 9, np.dtype(float))),
        dict(ranks=np.array([0, 9, 0])),
        dict(ranks=np.array([0, 0, -1])),
        dict(sums=np.zeros((2, 3))),
        dict(counts=np.zeros((1, 3), dtype=np.int64)),
    ],
)
def test_the_statistics_check_their_arguments(change):
    arguments = {name: kernel_arguments()[name] for name in ("graph", "memberships")}
    arguments |= dict(
        ranks=np.full(3, 2),
        medians=np.zeros(3),
        sums=np.zeros((3, 3)),
        counts=np.zeros((2, 3), dtype=np.int64),
        n_threads=1,
    )
    _kernels.column_statistics(*arguments.values())
    with pytest.raises(ValueError, match="kernel"):
        _kernels.column_statistics(*(arguments | change).values())


@pytest.mark.parametrize(
    ("starts", "crossings", "columns", "weights", "message"),
    [
        ([1, 1, 1], [1, 1], [], None, "begin with 0"),
        ([0, 1], [0, 0], [1], None, "wrong length"),
        ([0, 1, 1], [1, 1], [], None, "wrong shape"),
        ([0, 1, 1], [2, 1], [1], None, "ascend"),
        ([0, 1, 1], [1, 1], [2], None, "out of range"),
        ([0, 1, 1], [1, 1], [0], None, "wrong side"),
        ([0, 1, 1], [0, 1], [1], None, "wrong side"),
        ([0, 1, 1], [1, 1], [1], [1.0, 1.0], "wrong shape"),
        ([0, 1, 3, 4], [0, 1, 3], [1, 0, 2, 1], None, "later rows"),
    ],
)
def test_a_blocked_graph_is_checked(starts, crossings, columns, weights, message):
    with pytest.raises(ValueError, match=message):
        _kernels.blocked_graph_float64(
            np.array(starts), np.array(crossings), np.array(columns, dtype=np.int32),
            None if weights is None else np.array(weights), 1 if message == "later rows" else 2,
        )  # fmt: skip
