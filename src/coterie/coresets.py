"""Lightweight coresets (Bachem, Lucic & Krause 2018): weighted samples for k-means and mixtures.

Two passes over the rows, block by block. The first leaves a `Moments` of each block; these merge, and say how many
rows are to be drawn from each block, so that in the second pass every block draws its own. Blocks may be worked on in
any order and on many machines: see `block_moments`, `merge_moments`, `split_draws`, `draw_from_block`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from coterie import _kernels
from coterie.arrays import Array, FloatArray, IndexArray
from coterie.blocks.dataset import squares_to_point
from coterie.blocks.kernel_rows import kernel_rows
from coterie.fitting.checks import check_positive_integer, check_sum_of_squares, random_stream
from coterie.passes import ChunkRows, Passes, check_differences, open_passes
from coterie.rows import Block, Rows, as_rows

__all__ = ["lightweight_coreset"]

_SAMPLED_BLOCK_BYTES = 16 << 20


@dataclass(frozen=True)
class Moments:
    """Moments of some rows: the result of the first pass."""

    mass: float  # sum of their weights
    mean: FloatArray  # (d,), float64: weighted mean
    scatter: float  # weighted sum of the squared distances to the mean

    def scatter_around(self, point: FloatArray) -> float:
        """Return the weighted sum of the squared distances to a point."""
        return self.scatter + self.mass * float(np.sum((self.mean - point) ** 2))


def lightweight_coreset(
    X: Any,
    size: int,
    *,
    sample_weight: npt.ArrayLike | None = None,
    random_state: int | np.random.RandomState | None = None,
    n_threads: int | None = None,
) -> tuple[Block, Array, IndexArray]:
    """Draw weighted rows whose k-means energy is close to that of all rows, for any centroids.

    Half of the chance of a row is its share of the weights, half its share of the squared distances to the mean:
    q = w / (2 sum w) + w ||x - mean||^2 / (2 V). Draws are independent; each gets the weight w / (size q), so that
    sums over the coreset are unbiased.

    Parameters
    ----------
    X : array-like, sparse matrix, table, Dask array or Rows of shape (n, d)
        The data; read twice, forwards. Of `coterie.dask.rows`, only drawn rows leave the workers.
    size : int
        Number of draws N'. A row may be drawn more than once.
    sample_weight : array-like of shape (n,), optional
        Non-negative weights; a row of weight 0 is not drawn.
    random_state : int, RandomState or None
        Seed. The result is bit-identical for any number of threads, and for the same rows in memory or in files.
    n_threads : int, optional
        None: all processors.

    Returns
    -------
    rows : ndarray or csr_array of shape (size, d), float32 or float64
        The rows drawn, in the order of the data.
    weights : ndarray of shape (size,), float32 or float64
        Their weights; their sum is about that of all rows.
    indices : ndarray of shape (size,), intp
        Which rows they are.

    Raises
    ------
    ValueError
        If `size` is not positive, weights are negative, not finite or all 0, or squared distances overflow or vanish.

    Notes
    -----
    O(n d) time; memory for a block of 16 MiB, for 8 d bytes per block, and for the coreset.

    References
    ----------
    Bachem, Lucic and Krause, Scalable k-means clustering via lightweight coresets, KDD 2018, Algorithm 1.

    Examples
    --------
    >>> import numpy as np
    >>> from coterie.coresets import lightweight_coreset
    >>> X = np.random.default_rng(0).normal(size=(10_000, 3))
    >>> rows, weights, indices = lightweight_coreset(X, 500, random_state=0)
    >>> rows.shape, bool((rows == X[indices]).all())
    ((500, 3), True)
    >>> bool(abs(weights.sum() / 10_000 - 1) < 0.1)
    True
    """
    size = check_positive_integer("size", size)
    with open_passes(as_rows(X), sample_weight, n_threads) as passes:
        return draw_coreset(passes, size, random_stream(random_state))


def draw_coreset(passes: Passes, size: int, random: np.random.RandomState) -> tuple[Block, Array, IndexArray]:
    """Draw a coreset of the rows of a fit, in two passes; see `lightweight_coreset`."""
    parts = passes.run(_moments_of_blocks)
    blocks = [block for part in parts for block in part]
    total = merge_moments(blocks)
    _check_scale(passes, total.scatter)
    draws = split_draws(blocks, total, size, random)
    seeds = random.randint(np.iinfo(np.int32).max, size=len(blocks))
    ends = np.cumsum([len(part) for part in parts])[:-1]
    given = list(zip(np.split(draws, ends), np.split(seeds, ends)))
    drawn = passes.run(_draw_from_blocks, (total, size), given=given)
    rows, weights, indices = zip(*drawn)
    numbers = np.concatenate([first + part for first, part in zip(passes.firsts, indices)])
    return _stacked(rows), np.concatenate(weights).astype(passes.dtype), numbers


def _blocks(rows: ChunkRows) -> Iterator[tuple[int, Block, Array | None]]:
    """Yield the first row, the rows and the weights of each block; its size depends on shape and dtype alone."""
    for start, block in rows.source.blocks(_rows_per_block(rows.source)):
        yield start, block, None if rows.weights is None else rows.weights[start : start + block.shape[0]]


def _moments_of_blocks(rows: ChunkRows) -> list[Moments]:
    """First pass: return the moments of each block of a chunk."""
    with np.errstate(over="ignore", invalid="ignore"):  # `_check_scale` raises the error
        return [
            block_moments(block, weights, n_threads=rows.most_threads) for _, block, weights in _blocks(rows)
        ]


def _draw_from_blocks(
    rows: ChunkRows, params: tuple[Moments, int], given: tuple[IndexArray, IndexArray]
) -> tuple[Block, FloatArray, IndexArray]:
    """Second pass: return the rows drawn from a chunk, their weights and their positions."""
    (total, size), (draws, seeds), source = params, given, rows.source
    n_drawn, ends = int(np.sum(draws)), np.cumsum(draws)
    coreset = None if source.is_sparse else np.empty((n_drawn, source.shape[1]), dtype=rows.dtype)
    found, weights_drawn, indices = [], np.empty(n_drawn), np.empty(n_drawn, dtype=np.intp)
    for (start, block, weights), n_draws, end, seed in zip(_blocks(rows), draws, ends, seeds):
        part = slice(end - n_draws, end)
        chosen, weights_drawn[part] = draw_from_block(
            block, weights, total, size, n_draws, seed, n_threads=rows.most_threads
        )
        indices[part] = start + chosen
        if coreset is None:
            found.append(block[chosen])
        else:
            np.take(block, chosen, axis=0, out=coreset[part], mode="clip")
    return (_stacked(found) if coreset is None else coreset), weights_drawn, indices


def _stacked(parts: Sequence[Block]) -> Block:
    if len(parts) == 1:
        return parts[0]
    return sp.csr_array(sp.vstack(parts, format="csr")) if sp.issparse(parts[0]) else np.concatenate(parts)


def block_moments(block: Block, weights: Array | None = None, *, n_threads: int = 1) -> Moments:
    """Return the moments of a block: the first pass."""
    x = kernel_rows(block)
    n_rows, n_columns = block.shape
    # A sum for each run of rows, for the threads to share.
    runs = (np.arange(n_rows) // _kernels.ROW_QUANTUM).astype(np.int32)
    n_runs = int(runs[-1]) + 1
    sums, masses = np.zeros((n_runs, n_columns)), np.zeros(n_runs)
    _kernels.add_to_clusters(x, runs, None, weights, np.zeros(n_columns), sums, masses, n_threads)
    mass = float(masses.sum())
    mean = sums.sum(axis=0) / mass if mass > 0 else np.zeros(n_columns)
    squares = squares_to_point(x, n_rows, mean, n_threads)
    return Moments(mass, mean, float(np.sum(squares if weights is None else squares * weights)))


def merge_moments(parts: Sequence[Moments]) -> Moments:
    """Return the moments of all rows from those of their parts (Chan, Golub and LeVeque 1983)."""
    mass = float(np.sum([part.mass for part in parts]))
    if not mass > 0:
        raise ValueError("All sample weights are 0.")
    mean = np.sum([part.mass * part.mean for part in parts], axis=0) / mass
    return Moments(mass, mean, float(np.sum([part.scatter_around(mean) for part in parts])))


def split_draws(
    parts: Sequence[Moments], total: Moments, size: int, random: np.random.RandomState
) -> IndexArray:
    """Return the number of draws from each part, with the sum `size`, so that all draws are independent."""
    shares = np.array([part.mass / total.mass for part in parts])
    if total.scatter > 0:
        shares = (
            0.5 * shares + 0.5 * np.array([part.scatter_around(total.mean) for part in parts]) / total.scatter
        )
    return random.multinomial(size, shares / shares.sum())


def draw_from_block(
    block: Block,
    weights: Array | None,
    total: Moments,
    size: int,
    n_draws: int,
    seed: int,
    *,
    n_threads: int = 1,
) -> tuple[IndexArray, FloatArray]:
    """Draw `n_draws` of all `size` rows from a block: ascending positions in it, and weights in the coreset."""
    masses = np.ones(block.shape[0]) if weights is None else weights.astype(np.float64)
    chances = masses / total.mass
    if total.scatter > 0:
        squares = squares_to_point(kernel_rows(block), block.shape[0], total.mean, n_threads)
        chances = 0.5 * chances + 0.5 * masses * squares / total.scatter
    cumulative = np.cumsum(chances)
    points = np.sort(np.random.RandomState(seed).uniform(size=n_draws)) * cumulative[-1]
    chosen = np.searchsorted(cumulative, points, side="right")
    chosen = np.minimum(chosen, np.flatnonzero(chances)[-1]) if n_draws else chosen
    return chosen, masses[chosen] / (size * chances[chosen])


def _check_scale(passes: Passes, scatter: float) -> None:
    """Raise a ValueError if squared distances overflow in float64, or vanish in the dtype of the rows."""
    check_sum_of_squares(scatter)
    check_differences(passes, scatter)


def _rows_per_block(rows: Rows) -> int:
    """Return the number of rows of a block; it depends on the shape and dtype alone."""
    n_columns = min(rows.shape[1], 1024) if rows.is_sparse else rows.shape[1]
    quantum = _kernels.ROW_QUANTUM
    return max(1, _SAMPLED_BLOCK_BYTES // (n_columns * rows.dtype.itemsize) // quantum) * quantum
