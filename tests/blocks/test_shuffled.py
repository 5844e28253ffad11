"""Random parts of the rows: every row is as likely as any other, and is what it was in the data."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from coterie import _kernels
from coterie.blocks.shuffled import ShuffledRows, run_length, shuffled
from coterie.rows import as_rows, open_rows
from tests.rows.formats import numbers


class TestRunLength:
    def test_sparse_data_are_drawn_row_by_row(self, kept_bytes):
        kept_bytes(0)
        assert run_length(as_rows(sp.eye(5000, format="csr")), 1 << 20) == 1

    def test_runs_are_worth_a_read_and_many_to_a_batch(self, kept_bytes):
        kept_bytes(1 << 20)
        limit = (1 << 20) // 64
        X = np.zeros((limit + 1, 16), dtype=np.float32)
        assert run_length(as_rows(X[:limit]), 100_000) == 1
        lengths = [run_length(as_rows(X), batch_size) for batch_size in (1, 100, 5000, 100_000, 1 << 30)]
        assert lengths[0] == lengths[1] == 1
        assert lengths == sorted(lengths)
        assert lengths[-1] * 64 <= 1 << 20
        for batch_size, length in zip((5000, 100_000), lengths[2:]):
            assert batch_size / length >= 100

    def test_storage_does_not_matter(self, kept_bytes, tmp_path):
        kept_bytes(0)
        X = numbers(700)
        np.save(tmp_path / "x.npy", X)
        lengths = [run_length(rows, 10_000) for rows in (as_rows(X), open_rows(tmp_path / "x.npy"))]
        assert lengths[0] == lengths[1] > 1


class TestShuffled:
    @given(n_rows=st.integers(1, 300), run=st.integers(1, 50), seed=st.integers(0, 99))
    def test_every_row_once_in_runs_of_neighbors(self, n_rows, run, seed):
        order = shuffled(n_rows, run, np.random.RandomState(seed))
        assert order.dtype == np.intp
        np.testing.assert_array_equal(np.sort(order), np.arange(n_rows))
        np.testing.assert_array_equal(order, shuffled(n_rows, run, np.random.RandomState(seed)))
        begins = np.flatnonzero(np.diff(order, prepend=-2) != 1)
        assert np.all(order[begins] % run == 0)

    @pytest.mark.parametrize("run", [1, 3])
    def test_every_row_is_as_often_in_the_first_half(self, run):
        random = np.random.RandomState(0)
        times, n_rows = 2000, 30
        counts = np.zeros(n_rows)
        for _ in range(times):
            counts[shuffled(n_rows, run, random)[: n_rows // 2]] += 1
        assert np.all(np.abs(counts - times / 2) < 5 * np.sqrt(times / 4))


def unsorted(X):
    n_rows, n_columns = X.shape
    columns = np.tile(np.arange(n_columns)[::-1], n_rows)
    return sp.csr_array((X[:, ::-1].ravel(), columns, np.arange(n_rows + 1) * n_columns), shape=X.shape)


MEMORY_KINDS = {
    "array": np.asarray,
    "fortran": np.asfortranarray,
    "float16": lambda X: X.astype(np.float16),
    "int8": lambda X: (10 * X).astype(np.int8),
    "csr": sp.csr_array,
    "csr, unsorted": unsorted,
}
SIZES = (7, 14, 28, 56, 112, 200)


def seen_by_kernels(data, part, x):
    """The rows of a block: each is the sum of a cluster of its own."""
    n_rows = part.stop - part.start
    sums, masses = np.zeros((n_rows, data.n_columns)), np.zeros(n_rows)
    labels = np.arange(n_rows, dtype=np.int32)
    _kernels.add_to_clusters(x, labels, None, None, np.zeros(data.n_columns), sums, masses, 1)
    return sums


def check_prefixes(rows, weights=None):
    expected = rows.read()
    expected = np.asarray(expected.toarray() if rows.is_sparse else expected, dtype=np.float64)
    order = shuffled(rows.shape[0], 1, np.random.RandomState(3))
    sets = [set(order[:size]) for size in SIZES]
    data = ShuffledRows(rows, weights, order, n_clusters=4, n_threads=2)
    assert data.size == 0
    data.shift = shift = np.zeros(data.n_columns) if rows.is_sparse else expected.mean(axis=0)
    old, before = 0, order[:0].copy()
    for size, wanted in zip(SIZES, sets):
        data.measure(data.extend(size))
        assert data.size == size
        assert set(data.order[:size]) == wanted
        np.testing.assert_array_equal(data.order[:old], before)  # labels and bounds go by position
        assert np.all(np.diff(data.order[old:size]) > 0)
        for _ in range(2):
            at = 0
            for part, x in data.blocks():
                assert part.start == at
                assert rows.is_sparse or not part.start < old < part.stop
                at = part.stop
                np.testing.assert_array_equal(seen_by_kernels(data, part, x), expected[data.order[part]])
            assert at == size
        old, before = size, data.order[:size].copy()
        squares = np.sum((expected[before] - shift) ** 2, axis=1)
        np.testing.assert_allclose(
            data.squares[:size], squares, rtol=1e-5 if rows.dtype == np.float32 else 1e-12
        )
        if weights is not None:
            np.testing.assert_array_equal(data.weights[:size], weights[before])
            np.testing.assert_allclose(data.total_weight, np.sum(weights, dtype=float))
    np.testing.assert_array_equal(np.sort(data.order), np.arange(rows.shape[0]))


@pytest.mark.parametrize("kept", [0, 1 << 30])
class TestShuffledRows:
    @pytest.mark.parametrize("name", MEMORY_KINDS)
    def test_memory(self, name, kept, kept_bytes):
        kept_bytes(kept)
        check_prefixes(as_rows(MEMORY_KINDS[name](numbers(200))))

    @pytest.mark.parametrize("name", ["array", "csr"])
    def test_weights_go_by_position(self, name, kept, kept_bytes):
        kept_bytes(kept)
        weights = np.random.default_rng(0).random(200)
        check_prefixes(as_rows(MEMORY_KINDS[name](numbers(200))), weights)

    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_memory_maps_and_large_files(self, dtype, kept, tmp_path, monkeypatch, kept_bytes):
        kept_bytes(kept)
        np.save(tmp_path / "x.npy", numbers(200, dtype))
        check_prefixes(as_rows(np.load(tmp_path / "x.npy", mmap_mode="r")))
        monkeypatch.setattr("coterie.blocks.shuffled._HELD_BYTES", 0)  # rows of files are not held
        check_prefixes(open_rows(tmp_path / "x.npy"))

    def test_the_smallest_blocks(self, kept, tmp_path, kept_bytes, tiny_blocks):
        kept_bytes(kept)
        tiny_blocks()
        quantum = _kernels.ROW_QUANTUM
        X = numbers(3 * quantum + 5)
        np.save(tmp_path / "x.npy", X)
        for rows in (as_rows(X), open_rows(tmp_path / "x.npy")):
            data = ShuffledRows(rows, None, np.arange(len(X))[::-1].copy(), n_clusters=2, n_threads=1)
            data.extend(len(X))
            parts = []
            for part, x in data.blocks():
                np.testing.assert_array_equal(seen_by_kernels(data, part, x), X[data.order[part]])
                parts.append(part)
            assert len(parts) == 4

    @pytest.mark.parametrize(
        ("value", "message"),
        [
            (np.nan, r"contains NaN.*First bad row: 17\."),
            (np.inf, r"contains infinity.*First bad row: 17\."),
            (1e30, r"X is too large for float32.*First bad row: 17\."),
        ],
    )
    @pytest.mark.parametrize("sparse", [False, True])
    def test_non_finite_rows_are_named_in_each_batch(self, value, message, sparse, kept, kept_bytes):
        kept_bytes(kept)
        X = numbers(60, np.float32)
        X[17, 2] = value
        order = np.roll(np.arange(60), -30)  # row 17 is the 48th
        X = sp.csr_array(X) if sparse else X
        data = ShuffledRows(as_rows(X), None, order, n_clusters=2, n_threads=1)
        data.shift = np.zeros(data.n_columns)
        data.measure(data.extend(40))
        with pytest.raises(ValueError, match=message):
            data.measure(data.extend(60))
