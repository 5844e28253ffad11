"""Centroids as kernels want them, and the nearest of them: against plain distances."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie import _kernels
from coterie.blocks.kernel_rows import kernel_rows
from coterie.centers.frame import CenterFrame
from tests.reference import k_means as oracle
from tests.support.bits import same_bits
from tests.support.centers import DTYPES, SHAPES, rows_and_centers, tolerance
from tests.support.instruction_sets import FUSED, INSTRUCTION_SETS, using


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("sparse", [False, True])
@settings(max_examples=15)
@given(shape=SHAPES, seed=st.integers(0, 1000), data=st.data())
def test_nearest_center_and_score_against_the_oracle(dtype, sparse, shape, seed, data):
    X, block, centers = rows_and_centers(shape, dtype, sparse, seed)
    m = data.draw(st.integers(1, min(shape[2], 9)))
    frame = CenterFrame(centers, np.zeros(shape[1]))
    expected = oracle.square_distances(X, centers)
    for name in INSTRUCTION_SETS:
        ids = np.empty((shape[0], m), dtype=np.int32)
        scores = np.empty((shape[0], m), dtype=dtype)
        with using(name):
            _kernels.nearest(kernel_rows(block), frame.relative, frame.offsets, ids, scores, 2, 0)
        squares = scores + np.sum(X.astype(float) ** 2, axis=1)[:, None]
        np.testing.assert_allclose(squares, np.sort(expected, axis=1)[:, :m], atol=20 * tolerance(dtype))
        np.testing.assert_allclose(
            np.take_along_axis(expected, ids, axis=1), squares, atol=20 * tolerance(dtype)
        )
        assert all(len(set(row)) == m for row in ids)


@pytest.mark.parametrize("dtype", DTYPES)
def test_bits_do_not_depend_on_threads_or_position(instruction_set, dtype):
    X, _, centers = rows_and_centers((1000, 37, 53), dtype, False, 0)
    frame = CenterFrame(centers, np.zeros(37))
    results = []
    for n_threads, shuffle in [(1, False), (2, False), (3, True)]:
        order = np.random.default_rng(1).permutation(1000) if shuffle else np.arange(1000)
        ids, scores = np.empty((1000, 5), dtype=np.int32), np.empty((1000, 5), dtype=dtype)
        _kernels.nearest(
            kernel_rows(X[order].copy()), frame.relative, frame.offsets, ids, scores, n_threads, 0
        )
        results.append((ids[np.argsort(order)], scores[np.argsort(order)]))
    for result in results[1:]:
        same_bits(result, results[0])


@pytest.mark.parametrize("dtype", DTYPES)
def test_instruction_sets_with_fused_multiply_add_agree_to_the_bit(dtype):
    X, _, centers = rows_and_centers((500, 41, 29), dtype, False, 3)
    frame = CenterFrame(centers, np.zeros(41))
    results = []
    for name in FUSED:
        ids, scores = np.empty((500, 3), dtype=np.int32), np.empty((500, 3), dtype=dtype)
        with using(name):
            _kernels.nearest(kernel_rows(X), frame.relative, frame.offsets, ids, scores, 1, 0)
        results.append((ids, scores))
    for result in results[1:]:
        same_bits(result, results[0])


@pytest.mark.parametrize("dtype", DTYPES)
def test_frames_are_relative_to_their_shift(dtype):
    """Movements, and the constant part of the scores, are those of the centers where the data lie."""
    random = np.random.default_rng(0)
    shift, before, after = random.normal(size=9) + 5, *(random.normal(size=(2, 13, 9)) + 5).astype(dtype)
    frame, other = CenterFrame(before, shift), CenterFrame(after, shift)
    np.testing.assert_allclose(frame.relative, before - shift, atol=tolerance(dtype))
    np.testing.assert_allclose(frame.squares, np.sum((before - shift) ** 2, axis=1), rtol=tolerance(dtype))
    squares = np.sum((before.astype(float) - after) ** 2, axis=1)
    np.testing.assert_allclose(frame.square_distances(other), squares, rtol=tolerance(dtype))
    assert len(frame) == 13


def test_equal_centroids_go_to_the_lowest_number():
    X = np.random.default_rng(0).normal(size=(50, 4))
    frame = CenterFrame(np.repeat(X[:1], 40, axis=0), np.zeros(4))
    ids, scores = np.empty((50, 3), dtype=np.int32), np.empty((50, 3))
    _kernels.nearest(kernel_rows(X), frame.relative, frame.offsets, ids, scores, 1, 0)
    np.testing.assert_array_equal(ids, np.tile([0, 1, 2], (50, 1)))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (dict(centers=np.zeros((2, 4))), "width"),
        (dict(offsets=np.zeros(3)), "offset"),
        (dict(ids=np.zeros((5, 3), dtype=np.int32)), "neighbors"),
        (dict(ids=np.zeros((4, 1), dtype=np.int32)), "shape"),
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
        first_id=0,
    )
    with pytest.raises(ValueError, match=message):
        _kernels.nearest(*(arguments | change).values())
