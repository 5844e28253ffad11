"""Coresets of rows on a cluster."""

import numpy as np
import pytest

import coterie

pytest.importorskip("distributed", reason="fits on a cluster need the extra dask")
da = pytest.importorskip("dask.array")

import coterie.dask  # noqa: E402
from coterie.coresets import lightweight_coreset  # noqa: E402


def test_one_chunk_gives_the_coreset_of_one_machine(client):
    X = np.random.default_rng(0).normal(size=(2000, 3)).astype(np.float32)
    here = coterie.coresets.lightweight_coreset(X, 200, random_state=4)
    there = lightweight_coreset(coterie.dask.rows(da.from_array(X, chunks=(2000, 3))), 200, random_state=4)
    for mine, expected in zip(there, here):
        np.testing.assert_array_equal(mine, expected)


def test_weights_stand_for_all_rows(client):
    X = np.random.default_rng(0).normal(size=(3000, 3))
    masses = np.random.default_rng(1).uniform(size=3000)
    on_workers = coterie.dask.rows(da.from_array(X, chunks=(700, 3)))
    found = lightweight_coreset(on_workers, 900, sample_weight=masses, random_state=0)
    again = lightweight_coreset(on_workers, 900, sample_weight=masses, random_state=0)
    rows, weights, indices = found
    np.testing.assert_array_equal(rows, X[indices])
    assert np.all(np.diff(indices) >= 0)
    assert weights.sum() == pytest.approx(masses.sum(), rel=0.1)
    for one, other in zip(found, again):
        np.testing.assert_array_equal(one, other)
