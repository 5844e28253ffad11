"""Rows as kernels take them: sparse ones are checked, and selections are the rows selected."""

import numpy as np
import pytest

from coterie import _kernels
from coterie.blocks.kernel_rows import kernel_rows
from coterie.centers.frame import CenterFrame
from tests.support.bits import same_bits
from tests.support.centers import DTYPES, rows_and_centers


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("sparse", [False, True])
def test_a_selection_gives_the_bits_of_the_rows_selected(instruction_set, dtype, sparse):
    _, block, centers = rows_and_centers((97, 33, 70), dtype, sparse, seed=3)
    chosen = np.random.default_rng(3).permutation(97)[:61]
    frame = CenterFrame(centers, np.zeros(33))
    results = []
    for x in (kernel_rows(block[chosen]), _kernels.select_rows(kernel_rows(block), chosen)):
        ids, scores = np.empty((61, 2), dtype=np.int32), np.empty((61, 2), dtype=dtype)
        _kernels.nearest(x, frame.relative, frame.offsets, ids, scores, 2, 0)
        labels = np.ascontiguousarray(ids[:, 0])
        sums, masses, squares = np.zeros((70, 33)), np.zeros(70), np.empty(61)
        _kernels.add_to_clusters(x, labels, None, None, np.zeros(33), sums, masses, 2)
        doubles = centers.astype(np.float64)
        _kernels.own_square_distances(x, doubles, np.sum(doubles**2, axis=1), labels, squares, 2)
        results.append((ids, scores, sums, masses, squares))
    same_bits(*results)


def test_selections_check_their_rows():
    x = kernel_rows(np.zeros((5, 3)))
    with pytest.raises(ValueError, match="out of range"):
        _kernels.select_rows(x, np.array([0, 5]))
    with pytest.raises(ValueError, match="already"):
        _kernels.select_rows(_kernels.select_rows(x, np.array([0])), np.array([0]))


def test_sparse_rows_check_their_indices():
    values, starts = np.ones(2), np.array([0, 2], dtype=np.int32)
    with pytest.raises(ValueError, match="column index"):
        _kernels.sparse_rows(values, np.array([0, 5], dtype=np.int32), starts, 3)
    with pytest.raises(ValueError, match="starts"):
        _kernels.sparse_rows(values, np.array([0, 1], dtype=np.int32), np.array([0, 9], dtype=np.int32), 3)
    with pytest.raises(ValueError, match="instruction set"):
        _kernels.use_instruction_set("abacus")
