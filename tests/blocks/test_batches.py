"""Batches: rows drawn in whole runs, in ascending order."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie.blocks.batches import Batch, RowReader, draw_batch
from coterie.rows import as_rows
from tests.rows.formats import numbers


@given(
    n_rows=st.integers(1, 300), batch_size=st.integers(1, 400), run=st.integers(1, 20), seed=st.integers(0, 99)
)  # fmt: skip
def test_ascending_rows_in_whole_runs(n_rows, batch_size, run, seed):
    numbers = draw_batch(n_rows, batch_size, run, np.random.RandomState(seed))
    assert np.all(np.diff(numbers) >= 0)
    assert len(numbers) > 0
    assert numbers.min() >= 0
    assert numbers.max() < n_rows
    assert len(numbers) <= -(-batch_size // run) * run
    if n_rows % run == 0:
        assert len(numbers) == -(-batch_size // run) * run
    drawn = np.bincount(numbers, minlength=n_rows)
    np.testing.assert_array_equal(drawn, drawn[np.arange(n_rows) // run * run])
    np.testing.assert_array_equal(numbers, draw_batch(n_rows, batch_size, run, np.random.RandomState(seed)))


@pytest.mark.parametrize("run", [1, 4])
def test_batches_are_ascending_row_numbers(run):
    """`Rows.take` wants ascending numbers, also where a run is drawn twice."""
    X = numbers(40)
    batch = draw_batch(40, 200, run, np.random.RandomState(0))
    np.testing.assert_array_equal(as_rows(X).take(batch), X[batch])


@pytest.mark.parametrize("run", [1, 3, 7])
def test_every_row_is_drawn_equally_often(run):
    random = np.random.RandomState(1)
    n_rows, times, batch_size = 50, 2000, 21
    counts = np.zeros(n_rows)
    for _ in range(times):
        counts += np.bincount(draw_batch(n_rows, batch_size, run, random), minlength=n_rows)
    expected = times * (batch_size // run) / -(-n_rows // run)
    assert np.all(np.abs(counts - expected) < 5 * np.sqrt(expected))


@pytest.mark.parametrize("n_rows", [1, 40, 500])
def test_blocks_of_a_batch_hold_all_of_its_rows(n_rows, tiny_blocks):
    tiny_blocks()
    X = np.random.default_rng(0).normal(size=(600, 3))
    chosen = np.sort(np.random.default_rng(1).choice(600, n_rows, replace=False))
    batch = Batch(as_rows(X), None, chosen, RowReader(as_rows(X)), n_clusters=1)
    parts = [part for part, _ in batch.blocks()]
    np.testing.assert_array_equal(np.concatenate([np.arange(n_rows)[part] for part in parts]), range(n_rows))
    assert (len(parts) > 1) == (n_rows == 500)
    np.testing.assert_allclose(batch.squares(np.ones(3), 1), np.sum((X[chosen] - 1) ** 2, axis=1))


@pytest.mark.parametrize(
    ("bad", "message"), [(1e30, "too large for float32: .* First bad row: 103"), (np.nan, "contains NaN")]
)
def test_rows_whose_squared_distances_are_not_finite(bad, message):
    X = np.ones((5, 2), dtype=np.float32)
    X[3] = bad
    reader, chosen = RowReader(as_rows(X), first=100), np.array([1, 3, 4])
    with pytest.raises(ValueError, match=message):
        reader.measure(reader.read(chosen)[0], chosen, np.zeros(2), 1)
