"""Dense arrays, memory maps and sparse matrices."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from coterie.rows import as_rows
from coterie.rows import source as memory


@pytest.fixture
def X():
    return np.random.default_rng(0).normal(size=(50, 7))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_blocks_of_contiguous_arrays_are_views(X, dtype):
    X = X.astype(dtype)
    source = as_rows(X)
    assert source.in_memory
    assert source.read().base is X or source.read() is X
    for _, block in source.blocks(8):
        assert np.shares_memory(block, X)
        assert type(block) is np.ndarray


@pytest.mark.parametrize(
    "change",
    [
        np.asfortranarray,
        lambda X: X[::-1],
        lambda X: X[:, ::2],
        lambda X: X[::3],
        lambda X: X.astype(">f8"),
        lambda X: X.astype(np.longdouble),
        lambda X: np.frombuffer(b"0" + X.tobytes(), np.uint8)[1:].view(np.float64).reshape(X.shape),
    ],
    ids=["fortran", "reversed", "columns", "strided", "big endian", "long double", "misaligned"],
)
def test_other_arrays_are_converted_by_block(X, change):
    changed = change(X)
    source = as_rows(changed)
    assert not source.in_memory
    for start, block in source.blocks(8):
        np.testing.assert_array_equal(block, changed[start : start + 8])
        assert block.flags.c_contiguous
        assert block.flags.aligned
        assert block.dtype == np.float64
        assert block.dtype.isnative
    np.testing.assert_array_equal(source.take([1, 1, 9]), changed[[1, 1, 9]])


@pytest.mark.parametrize(
    ("dtype", "computed"),
    [
        *[(t, "f4") for t in ("f4", "f2", "i1", "u1", "i2", "u2")],
        *[(t, "f8") for t in ("f8", "i4", "u4", "i8", "u8", "?")],
    ],
)
def test_compute_dtype(X, dtype, computed):
    X = (10 * abs(X)).astype(dtype)
    source = as_rows(X)
    assert source.dtype == computed
    np.testing.assert_array_equal(source.read(), X.astype(source.dtype))
    for make in (sp.csr_array, sp.csr_matrix) if dtype != "f2" else ():
        sparse = as_rows(make(X))
        assert sparse.dtype == source.dtype
        np.testing.assert_array_equal(sparse.read().toarray(), X.astype(source.dtype))


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float64, np.float16])
def test_large_memory_maps(tmp_path, monkeypatch, order, dtype):
    monkeypatch.setattr(memory, "RESIDENT_BYTES", 0)
    X = np.asarray(np.random.default_rng(0).normal(size=(3000, 9)).astype(dtype), order=order)
    np.save(tmp_path / "x.npy", X)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    for view, expected in ((mapped, X), (mapped[7::2, 1:], X[7::2, 1:])):
        source = as_rows(view)
        assert not source.in_memory
        for start, block in source.blocks(700):
            np.testing.assert_array_equal(block, expected[start : start + 700])
        np.testing.assert_array_equal(source.take([0, 996, 1400]), expected[[0, 996, 1400]])


SPARSE_KINDS = [
    getattr(sp, f"{name}_{container}")
    for name in ("csr", "csc", "coo", "lil", "dok", "bsr", "dia")
    for container in ("array", "matrix")
]


@pytest.mark.parametrize(
    "make", [*SPARSE_KINDS, lambda X: pd.DataFrame.sparse.from_spmatrix(sp.csr_matrix(X))]
)
def test_sparse_formats(X, make):
    X[X < 0.5] = 0
    source = as_rows(make(X))
    assert source.is_sparse
    for start, block in source.blocks(8):
        assert isinstance(block, sp.csr_array)
        np.testing.assert_array_equal(block.toarray(), X[start : start + 8])
    np.testing.assert_array_equal(source.take([0, 3, 3, 49]).toarray(), X[[0, 3, 3, 49]])


def test_sparse_blocks_share_memory(X):
    matrix = sp.csr_array(X)
    source = as_rows(matrix)
    assert source.in_memory
    assert np.shares_memory(source.read().data, matrix.data)
    assert np.shares_memory(source.read().indices, matrix.indices)
    assert all(np.shares_memory(block.data, matrix.data) for _, block in source.blocks(7))


@given(st.integers(1, 12), st.integers(1, 6), st.integers(0, 30), st.integers(1, 13), st.integers(0, 2**32))
def test_unsorted_and_repeated_entries(n_rows, n_columns, n_values, rows_per_block, seed):
    rng = np.random.default_rng(seed)
    indptr = np.concatenate([[0], np.sort(rng.integers(0, n_values + 1, n_rows - 1)), [n_values]])
    indices = rng.integers(0, n_columns, n_values)
    data = rng.integers(-5, 5, n_values).astype(np.float64)
    matrix = sp.csr_array((data, indices, indptr), shape=(n_rows, n_columns))
    before = [a.copy() for a in (matrix.data, matrix.indices, matrix.indptr)]
    source = as_rows(matrix)
    blocks = [block for _, block in source.blocks(rows_per_block)]
    np.testing.assert_array_equal(np.concatenate([b.toarray() for b in blocks]), matrix.toarray())
    assert all(block.has_canonical_format for block in blocks)
    rows = np.sort(rng.integers(0, n_rows, 5))
    np.testing.assert_array_equal(source.take(rows).toarray(), matrix.toarray()[rows])
    for now, then in zip((matrix.data, matrix.indices, matrix.indptr), before):
        np.testing.assert_array_equal(now, then)


def test_int64_indices_become_int32(X):
    matrix = sp.csr_array(X)
    matrix.indices, matrix.indptr = matrix.indices.astype(np.int64), matrix.indptr.astype(np.int64)
    source = as_rows(matrix)
    for block in (source.read(), source.take([2, 30]), *(block for _, block in source.blocks(9))):
        assert block.indices.dtype == block.indptr.dtype == np.int32
    np.testing.assert_array_equal(source.read().toarray(), X)
    assert matrix.indices.dtype == np.int64


def damaged(**arrays):
    matrix = sp.csr_array(np.eye(3))
    for name, values in arrays.items():
        setattr(matrix, name, np.array(values, dtype=np.int32))
    return matrix


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        *[(damaged(indices=wrong), "Sparse X is damaged") for wrong in ([0, 1, 3], [0, -1, 2])],
        *[
            (damaged(indptr=wrong), "Sparse X is damaged")
            for wrong in ([0, 2, 1, 3], [1, 1, 2, 3], [0, 1, 2], [0, 1, 2, 9])
        ],
        (sp.csr_array((2, 2**31), dtype=float), "column indices must fit int32"),
        (sp.csr_array(np.eye(3) * 1j), "Complex data not supported"),
        (sp.csr_array((0, 3)), r"0 sample\(s\) \(shape=\(0, 3\)\)"),
        (sp.csr_array((3, 0)), r"0 feature\(s\) \(shape=\(3, 0\)\)"),
        (sp.coo_array(np.ones(3)), "Reshape your data"),
    ],
)
def test_unfit_sparse_matrices(matrix, message):
    with pytest.raises(ValueError, match=message):
        as_rows(matrix)
