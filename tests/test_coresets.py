"""Lightweight coresets: the distribution that they are drawn from, and that they merge."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp

import coterie
from coterie.coresets import block_moments, draw_from_block, lightweight_coreset, merge_moments, split_draws
from tests.support.bits import same_bits


@pytest.fixture(scope="module")
def X():
    return np.random.default_rng(0).normal(size=(3000, 5)) ** 3


def chances(X, weights=None):
    """q of the paper, plainly."""
    weights = np.ones(len(X)) if weights is None else weights
    mean = weights @ X / weights.sum()
    squares = weights * np.sum((X - mean) ** 2, axis=1)
    return 0.5 * weights / weights.sum() + 0.5 * squares / squares.sum()


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_rows_carry_the_inverse_of_their_chance(X, kind, weighted):
    weights = np.random.default_rng(1).uniform(0.1, 3, size=len(X)) if weighted else None
    rows, found, indices = lightweight_coreset(kind(X), 400, sample_weight=weights, random_state=0)
    assert rows.shape == (400, 5)
    rows = rows.toarray() if sp.issparse(rows) else rows
    np.testing.assert_array_equal(rows, X[indices])
    assert np.all(np.diff(indices) >= 0)
    masses = np.ones(len(X)) if weights is None else weights
    np.testing.assert_allclose(found, masses[indices] / (400 * chances(X, weights)[indices]), rtol=1e-9)


def test_sampling_probabilities_of_rows(X):
    X = X[:40]
    q = chances(X)
    n_draws = 0
    counts = np.zeros(len(X))
    for seed in range(100):
        _, _, indices = lightweight_coreset(X, 400, random_state=seed)
        counts += np.bincount(indices, minlength=len(X))
        n_draws += 400
    deviations = (counts - n_draws * q) / np.sqrt(n_draws * q * (1 - q))
    assert np.abs(deviations).max() < 4.5
    assert np.sqrt(np.mean(deviations**2)) == pytest.approx(1, abs=0.3)


@pytest.mark.parametrize("weighted", [False, True])
def test_sums_are_unbiased(X, weighted):
    weights = np.random.default_rng(1).uniform(0.1, 3, size=len(X)) if weighted else None
    masses = np.ones(len(X)) if weights is None else weights
    centers = X[:7]
    energy = masses @ np.min(np.sum((X[:, None] - centers) ** 2, axis=2), axis=1)
    found = []
    for seed in range(200):
        rows, w, _ = lightweight_coreset(X, 100, sample_weight=weights, random_state=seed)
        found.append(
            [w.sum(), *(w @ rows), w @ np.min(np.sum((rows[:, None] - centers) ** 2, axis=2), axis=1)]
        )
    expected = np.array([masses.sum(), *(masses @ X), energy])
    error = np.std(found, axis=0) / np.sqrt(len(found))
    assert np.all(np.abs(np.mean(found, axis=0) - expected) < 4.5 * error)


def test_rows_without_weight_are_never_drawn(X):
    weights = (np.arange(len(X)) % 3 == 0).astype(float)
    _, found, indices = lightweight_coreset(X, 500, sample_weight=weights, random_state=0)
    assert np.all(indices % 3 == 0)
    assert np.all(np.isfinite(found))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_same_bits_for_threads_and_storage(X, tmp_path, monkeypatch, dtype):
    monkeypatch.setattr("coterie.coresets._SAMPLED_BLOCK_BYTES", 1)  # blocks of 256 rows
    X = X.astype(dtype)
    np.save(tmp_path / "rows.npy", X)
    memory_map = np.load(tmp_path / "rows.npy", mmap_mode="r")
    expected = lightweight_coreset(X, 300, random_state=5, n_threads=1)
    assert expected[0].dtype == expected[1].dtype == dtype
    for data, n_threads in ((X, 3), (memory_map, 2), (coterie.open_rows(tmp_path / "rows.npy"), 2)):
        same_bits(lightweight_coreset(data, 300, random_state=5, n_threads=n_threads), expected)


def test_moments_merge_to_those_of_all_rows(X):
    weights = np.random.default_rng(1).uniform(0.1, 3, size=len(X))
    whole = block_moments(X, weights)
    cuts = [0, 1, 700, 701, 3000]
    parts = [block_moments(X[a:b], weights[a:b]) for a, b in itertools.pairwise(cuts)]
    for merged in (merge_moments(parts), merge_moments([merge_moments(parts[:2]), merge_moments(parts[2:])])):
        assert merged.mass == pytest.approx(whole.mass)
        np.testing.assert_allclose(merged.mean, whole.mean, atol=1e-12)
        assert merged.scatter == pytest.approx(whole.scatter)
    mean = weights @ X / weights.sum()
    assert whole.scatter == pytest.approx(weights @ np.sum((X - mean) ** 2, axis=1))


def test_moments_far_from_the_origin_do_not_cancel(X):
    near, far = block_moments(X), block_moments(X + 1e8)
    assert far.scatter == pytest.approx(near.scatter, rel=1e-6)


def test_blocks_drawn_apart_make_one_coreset(X):
    """As on several machines: only moments, numbers of draws and seeds travel."""
    cuts = [0, 1000, 1800, 3000]
    blocks = [X[a:b] for a, b in itertools.pairwise(cuts)]
    parts = [block_moments(block) for block in blocks]
    total = merge_moments(parts)
    random = np.random.RandomState(0)
    counts = np.zeros(3)
    for _ in range(300):
        draws = split_draws(parts, total, 50, random)
        assert draws.sum() == 50
        counts += draws
    q = chances(X)
    shares = np.array([q[a:b].sum() for a, b in itertools.pairwise(cuts)])
    assert np.all(np.abs(counts - 15_000 * shares) < 4.5 * np.sqrt(15_000 * shares))
    chosen, weights = draw_from_block(blocks[1], None, total, 50, 20, seed=3)
    assert len(chosen) == 20
    np.testing.assert_allclose(weights, 1 / (50 * q[1000:1800][chosen]))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (dict(size=0), "size must be a positive integer"),
        (dict(size=2.5), "size must be a positive integer"),
        (dict(sample_weight=np.zeros(3)), "(?i)sample.weight"),
        (dict(sample_weight=[1, -1, 1]), "[Nn]egative"),
        (dict(X=[[1.0], [np.nan], [2.0]]), "NaN. First bad row: 1"),
    ],
)
def test_bad_arguments(change, message):
    arguments = dict(X=[[0.0], [1.0], [2.0]], size=2) | change
    with pytest.raises(ValueError, match=message):
        lightweight_coreset(arguments.pop("X"), arguments.pop("size"), **arguments)
