"""Every kernel against its plain NumPy version, on every instruction set of this machine."""

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie import _kernels
from coterie.blocks.dataset import Dataset
from coterie.blocks.kernel_rows import kernel_rows
from coterie.centers.assignment import PlainAssignment
from coterie.centers.bounded import BoundedAssignment, panels_of_neighbors
from coterie.centers.frame import CenterFrame
from coterie.rows import as_rows
from tests.reference import k_means as oracle

INSTRUCTION_SETS = _kernels.available_instruction_sets()
DTYPES = [np.float32, np.float64]


@pytest.fixture(params=INSTRUCTION_SETS)
def instruction_set(request):
    before = _kernels.instruction_set()
    _kernels.use_instruction_set(request.param)
    yield request.param
    _kernels.use_instruction_set(before)


# Not multiples of any panel, tile or chunk.
shapes = st.tuples(
    st.sampled_from([1, 2, 5, 23, 25, 97, 300]),
    st.sampled_from([1, 2, 3, 7, 16, 17, 33, 65]),
    st.sampled_from([1, 2, 7, 15, 16, 17, 33, 50]),
)


def some_data(shape, dtype, sparse, seed, offset=0.0):
    n_rows, n_columns, n_centers = shape
    random = np.random.default_rng(seed)
    X = (random.normal(size=(n_rows, n_columns)) + offset).astype(dtype)
    if sparse:
        X *= random.random(size=X.shape) < 0.3
    centers = (random.normal(size=(n_centers, n_columns)) + offset).astype(dtype)
    return X, (scipy.sparse.csr_matrix(X) if sparse else X), centers


def tolerance(dtype):
    return 2e-4 if dtype == np.float32 else 1e-10


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("sparse", [False, True])
class TestAgainstOracle:
    @settings(max_examples=15, deadline=None)
    @given(shape=shapes, seed=st.integers(0, 1000), data=st.data())
    def test_nearest(self, dtype, sparse, shape, seed, data):
        X, block, centers = some_data(shape, dtype, sparse, seed)
        m = data.draw(st.integers(1, min(shape[2], 9)))
        frame = CenterFrame(centers, np.zeros(shape[1]))
        expected = oracle.square_distances(X, centers)
        for name in INSTRUCTION_SETS:
            _kernels.use_instruction_set(name)
            ids = np.empty((shape[0], m), dtype=np.int32)
            scores = np.empty((shape[0], m), dtype=dtype)
            _kernels.nearest(kernel_rows(block), frame.relative, frame.offsets, ids, scores, 2)
            squares = scores + np.sum(X.astype(float) ** 2, axis=1)[:, None]
            np.testing.assert_allclose(squares, np.sort(expected, axis=1)[:, :m], atol=20 * tolerance(dtype))
            np.testing.assert_allclose(
                np.take_along_axis(expected, ids, axis=1), squares, atol=20 * tolerance(dtype)
            )
            assert all(len(set(row)) == m for row in ids)
        _kernels.use_instruction_set(INSTRUCTION_SETS[0])

    @settings(max_examples=15, deadline=None)
    @given(shape=shapes, seed=st.integers(0, 1000), weighted=st.booleans())
    def test_add_to_clusters(self, dtype, sparse, shape, seed, weighted):
        X, block, _ = some_data(shape, dtype, sparse, seed)
        n_rows, n_columns, k = shape
        random = np.random.default_rng(seed)
        weights = random.random(n_rows).astype(dtype) if weighted else None
        shift = np.zeros(n_columns) if sparse else random.normal(size=n_columns)
        before = random.integers(-1, k, size=n_rows).astype(np.int32)
        labels = random.integers(0, k, size=n_rows).astype(np.int32)
        plain_weights = np.ones(n_rows) if weights is None else weights.astype(float)
        expected_sums, expected_masses = oracle.cluster_sums(X, labels, plain_weights, shift, k)
        known = before >= 0
        sums, masses = oracle.cluster_sums(X[known], before[known], plain_weights[known], shift, k)
        fresh_sums, fresh_masses = np.zeros((k, n_columns)), np.zeros(k)
        x = kernel_rows(block)
        _kernels.add_to_clusters(x, labels, None, weights, shift, fresh_sums, fresh_masses, 2)
        _kernels.add_to_clusters(x, labels, before, weights, shift, sums, masses, 2)
        for got_sums, got_masses in [(fresh_sums, fresh_masses), (sums, masses)]:
            np.testing.assert_allclose(got_sums, expected_sums, atol=1e-9)
            np.testing.assert_allclose(got_masses, expected_masses, atol=1e-9)

    @settings(max_examples=15, deadline=None)
    @given(shape=shapes, seed=st.integers(0, 1000))
    def test_own_square_distances(self, dtype, sparse, shape, seed):
        X, block, centers = some_data(shape, dtype, sparse, seed)
        labels = np.random.default_rng(seed).integers(0, shape[2], size=shape[0]).astype(np.int32)
        centers = centers.astype(np.float64)
        out = np.empty(shape[0])
        squares = np.sum(centers**2, axis=1)
        _kernels.own_square_distances(kernel_rows(block), centers, squares, labels, out, 2)
        expected = oracle.square_distances(X, centers)[np.arange(shape[0]), labels]
        np.testing.assert_allclose(out, expected, rtol=1e-9, atol=1e-9)

    @settings(max_examples=15, deadline=None)
    @given(shape=shapes, seed=st.integers(0, 1000), weighted=st.booleans())
    def test_potential(self, dtype, sparse, shape, seed, weighted):
        X, block, tried = some_data(shape, dtype, sparse, seed)
        n_rows, n_columns, n_tried = shape
        random = np.random.default_rng(seed)
        weights = random.random(n_rows).astype(dtype) if weighted else None
        plain_weights = np.ones(n_rows) if weights is None else weights.astype(float)
        owners = X[random.integers(0, n_rows, size=3)].astype(dtype)
        to_owners, to_tried = oracle.square_distances(X, owners), oracle.square_distances(X, tried)
        owner = to_owners.argmin(axis=1).astype(np.int32)
        nearest = to_owners.min(axis=1).astype(dtype)
        before = nearest.astype(float)
        squares = np.sum(X.astype(float) ** 2, axis=1).astype(dtype)
        state = (squares, weights, nearest, owner, np.zeros(n_rows, dtype=np.uint32))
        x = kernel_rows(block)
        lanes = 64 // np.dtype(dtype).itemsize
        n_slots = -(-n_tried // lanes) * lanes
        reach = (oracle.square_distances(owners, tried).min(axis=1) / 4).astype(dtype)
        n_quanta = -(-n_rows // _kernels.ROW_QUANTUM)
        gains, potentials = np.empty((n_quanta, n_slots)), np.full(n_quanta, np.nan)
        slack = n_columns * 10 * tolerance(dtype)

        frame = CenterFrame(tried, np.zeros(n_columns))
        _kernels.candidate_gains(x, frame.relative, frame.offsets, reach, *state, gains, 2)
        expected = oracle.candidate_gains(X, plain_weights, before, tried)
        np.testing.assert_allclose(gains.sum(axis=0)[:n_tried], expected, atol=n_rows * slack)
        assert np.all(gains[:, n_tried:] == 0)

        slot = int(random.integers(0, n_tried))
        one = CenterFrame(tried[slot : slot + 1], np.zeros(n_columns))
        potentials[:] = [
            np.sum((plain_weights * before)[q * _kernels.ROW_QUANTUM : (q + 1) * _kernels.ROW_QUANTUM])
            for q in range(n_quanta)
        ]
        _kernels.adopt_candidate(x, one.relative, one.offsets, slot, 3, *state, potentials, 2)
        lower = np.minimum(before, to_tried[:, slot])
        np.testing.assert_allclose(nearest, lower, atol=slack)
        np.testing.assert_allclose(potentials.sum(), np.sum(plain_weights * lower), atol=n_rows * slack)

        reach = np.append(reach, np.zeros(1, dtype=dtype))  # the new owner is itself among those tried
        _kernels.adopt_centers(x, frame.relative, frame.offsets, 4, reach, *state, potentials, 2)
        lowest = np.minimum(before, to_tried.min(axis=1))
        np.testing.assert_allclose(nearest, lowest, atol=slack)
        np.testing.assert_allclose(potentials.sum(), np.sum(plain_weights * lowest), atol=n_rows * slack)
        everything = np.hstack([to_owners, to_tried[:, slot : slot + 1], to_tried])
        np.testing.assert_allclose(everything[np.arange(n_rows), owner], lowest, atol=slack)

    @settings(max_examples=15, deadline=None)
    @given(shape=shapes, seed=st.integers(0, 1000), n_groups=st.sampled_from([None, 1, 2, 5]))
    def test_bounded_assign_is_the_plain_search(self, dtype, sparse, shape, seed, n_groups):
        X, block, centers = some_data(shape, dtype, sparse, seed)
        random = np.random.default_rng(seed)
        data = Dataset(as_rows(block), None, n_clusters=shape[2], n_threads=2)
        frame = CenterFrame(centers, data.shift)
        plain, bounded = PlainAssignment(data), BoundedAssignment(data, frame, n_groups)
        for step in range(6):
            for assignment in (plain, bounded):
                assignment.start(frame)
                for part, x in data.blocks():
                    assignment.assign(part, x)
            np.testing.assert_array_equal(bounded.labels, plain.labels)
            check_bounds(bounded, X, frame)
            movement = random.normal(size=centers.shape) * 0.5**step
            frame = CenterFrame((frame.centers + movement).astype(dtype), data.shift)


def check_bounds(bounded, X, frame):
    """No lower bound may exceed a true distance, no upper bound fall below one."""
    positions = frame.relative.astype(float) + bounded._data.shift
    distances = np.sqrt(oracle.square_distances(X, positions))
    rows = np.arange(len(X))
    slack = 1e-12  # of the oracle's own rounding
    assert np.all(bounded._upper >= distances[rows, bounded.labels] - slack)
    by_slot = np.full((len(X), len(bounded._order)), np.inf)
    filled = bounded._order >= 0
    by_slot[:, filled] = distances[:, bounded._order[filled]]
    by_slot[rows, bounded._slots[bounded.labels]] = np.inf
    in_force = bounded._lower.astype(float) - bounded._cumulative
    if bounded._panels_per_group:
        lanes = 64 // bounded._data.dtype.itemsize
        starts = np.arange(0, by_slot.shape[1], lanes * bounded._panels_per_group)
        by_slot = np.minimum.reduceat(by_slot, starts, axis=1)
    assert np.all(in_force[np.isfinite(by_slot)] <= by_slot[np.isfinite(by_slot)] + slack)


@pytest.mark.parametrize("dtype", DTYPES)
def test_bits_do_not_depend_on_threads_or_position(instruction_set, dtype):
    X, _, centers = some_data((1000, 37, 53), dtype, False, 0)
    frame = CenterFrame(centers, np.zeros(37))
    results = []
    for n_threads, shuffle in [(1, False), (2, False), (3, True)]:
        order = np.random.default_rng(1).permutation(1000) if shuffle else np.arange(1000)
        ids, scores = np.empty((1000, 5), dtype=np.int32), np.empty((1000, 5), dtype=dtype)
        _kernels.nearest(kernel_rows(X[order].copy()), frame.relative, frame.offsets, ids, scores, n_threads)
        results.append((ids[np.argsort(order)], scores[np.argsort(order)]))
    for ids, scores in results[1:]:
        np.testing.assert_array_equal(ids, results[0][0])
        np.testing.assert_array_equal(scores, results[0][1])


def test_instruction_sets_with_fused_multiply_add_agree_to_the_bit():
    fused = [name for name in INSTRUCTION_SETS if name != "baseline"]
    X, _, centers = some_data((500, 41, 29), np.float32, False, 3)
    frame = CenterFrame(centers, np.zeros(41))
    results = []
    before = _kernels.instruction_set()
    for name in fused:
        _kernels.use_instruction_set(name)
        ids, scores = np.empty((500, 3), dtype=np.int32), np.empty((500, 3), dtype=np.float32)
        _kernels.nearest(kernel_rows(X), frame.relative, frame.offsets, ids, scores, 1)
        results.append(scores)
    _kernels.use_instruction_set(before)
    for scores in results[1:]:
        np.testing.assert_array_equal(scores, results[0])


@pytest.mark.parametrize("k", [1, 15, 16, 17, 100, 1000])
def test_panels_hold_every_centroid_once(k):
    centers = np.random.default_rng(0).normal(size=(k, 3)).astype(np.float32)
    order = panels_of_neighbors(centers, 16)
    assert len(order) == -(-k // 16) * 16
    assert sorted(order[order >= 0]) == list(range(k))
    for panel in order.reshape(-1, 16):
        members = panel[panel >= 0]
        assert np.all(np.diff(members) > 0)
        assert np.all(panel[len(members) :] == -1)


def test_equal_centroids_go_to_the_lowest_number():
    X = np.random.default_rng(0).normal(size=(50, 4))
    frame = CenterFrame(np.repeat(X[:1], 40, axis=0), np.zeros(4))
    ids, scores = np.empty((50, 3), dtype=np.int32), np.empty((50, 3))
    _kernels.nearest(kernel_rows(X), frame.relative, frame.offsets, ids, scores, 1)
    np.testing.assert_array_equal(ids, np.tile([0, 1, 2], (50, 1)))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (dict(centers=np.zeros((2, 4))), "width"),
        (dict(offsets=np.zeros(3)), "offset"),
        (dict(ids=np.zeros((5, 3), dtype=np.int32)), "neighbours"),
        (dict(ids=np.zeros((4, 1), dtype=np.int32)), "ids"),
    ],
)
def test_kernels_check_their_arguments(change, message):
    arguments = dict(
        rows=kernel_rows(np.zeros((5, 3))),
        centers=np.zeros((2, 3)),
        offsets=np.zeros(2),
        ids=np.zeros((5, 1), dtype=np.int32),
        scores=np.zeros((5, 1)),
        n_threads=1,
    )
    with pytest.raises(ValueError, match=message):
        _kernels.nearest(**(arguments | change))


def test_sparse_rows_check_their_indices():
    values, starts = np.ones(2), np.array([0, 2], dtype=np.int32)
    with pytest.raises(ValueError, match="column index"):
        _kernels.sparse_rows(values, np.array([0, 5], dtype=np.int32), starts, 3)
    with pytest.raises(ValueError, match="starts"):
        _kernels.sparse_rows(values, np.array([0, 1], dtype=np.int32), np.array([0, 9], dtype=np.int32), 3)
    with pytest.raises(ValueError, match="instruction set"):
        _kernels.use_instruction_set("abacus")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("sparse", [False, True])
def test_a_selection_gives_the_bits_of_the_rows_selected(instruction_set, dtype, sparse):
    _, block, centers = some_data((97, 33, 70), dtype, sparse, seed=3)
    chosen = np.random.default_rng(3).permutation(97)[:61]
    frame = CenterFrame(centers, np.zeros(33))
    results = []
    for x in (kernel_rows(block[chosen]), _kernels.select_rows(kernel_rows(block), chosen)):
        ids, scores = np.empty((61, 2), dtype=np.int32), np.empty((61, 2), dtype=dtype)
        _kernels.nearest(x, frame.relative, frame.offsets, ids, scores, 2)
        labels = np.ascontiguousarray(ids[:, 0])
        sums, masses, squares = np.zeros((70, 33)), np.zeros(70), np.empty(61)
        _kernels.add_to_clusters(x, labels, None, None, np.zeros(33), sums, masses, 2)
        doubles = centers.astype(np.float64)
        _kernels.own_square_distances(x, doubles, np.sum(doubles**2, axis=1), labels, squares, 2)
        results.append((ids, scores, sums, masses, squares))
    for copied, selected in zip(*results):
        np.testing.assert_array_equal(copied, selected)


def test_selections_check_their_rows():
    x = kernel_rows(np.zeros((5, 3)))
    with pytest.raises(ValueError, match="out of range"):
        _kernels.select_rows(x, np.array([0, 5]))
    with pytest.raises(ValueError, match="already"):
        _kernels.select_rows(_kernels.select_rows(x, np.array([0])), np.array([0]))
