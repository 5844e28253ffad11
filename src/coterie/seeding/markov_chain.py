"""AFK-MC2: Markov chains that approximate D^2 sampling."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from coterie.arrays import Array, FloatArray, IndexArray
from coterie.blocks.dataset import ChunkRows
from coterie.blocks.kernel_rows import kernel_rows
from coterie.centers.frame import CenterFrame, nearest_centers
from coterie.fitting.checks import check_positive_integer, check_sum_of_squares, random_stream
from coterie.fitting.deadline import UNLIMITED, Deadline
from coterie.fitting.threads import single_threaded_blas
from coterie.seeding.seeds import Seeds, draw_together, rows_to_seed, take_rows, warn_of_time_limit

__all__ = ["afk_mc2", "seed_by_markov_chain"]


def afk_mc2(
    X: Any,
    n_clusters: int,
    *,
    chain_length: int = 200,
    sample_weight: npt.ArrayLike | None = None,
    random_state: int | np.random.RandomState | None = None,
    n_threads: int | None = None,
) -> Seeds:
    """Choose rows by Markov chains that approximate D^2 sampling: with two passes over the data.

    Parameters
    ----------
    X : array-like, sparse matrix or Rows of shape (n, d)
        The data.
    n_clusters : int
        Number of rows to choose, at most n.
    chain_length : int
        Proposals for each center. 2 is little better than random; the approximation is good at 200.
    sample_weight : array-like of shape (n,), optional
        Non-negative weights.
    random_state : int, RandomState or None
        Source of randomness.
    n_threads : int, optional
        None: all processors.

    Returns
    -------
    centers : ndarray of shape (n_clusters, d), float32 or float64
        The chosen rows.
    indices : ndarray of shape (n_clusters,)
        Their row numbers.

    Raises
    ------
    ValueError
        If `n_clusters` is greater than n, `chain_length` is less than 1, or all weights are 0.

    Notes
    -----
    O(n d + chain_length * k^2 * d) time, as blocked products. Memory: O(n + chain_length * k) for the proposals, which
    are drawn up front, and O((1024 + chain_length + k) * d) for rows.

    References
    ----------
    Bachem, Lucic, Hassani and Krause, Fast and provably good seedings for k-means, NeurIPS 2016, Algorithm 1.

    Examples
    --------
    >>> import numpy as np
    >>> from coterie.seeding import afk_mc2
    >>> X = np.random.default_rng(0).normal(size=(500, 4))
    >>> centers, indices = afk_mc2(X, 10, random_state=0)
    >>> bool((centers == X[indices]).all())
    True
    """
    n_clusters = check_positive_integer("n_clusters", n_clusters)
    chain_length = check_positive_integer("chain_length", chain_length)
    data = rows_to_seed(X, n_clusters, sample_weight, n_threads)
    with single_threaded_blas():
        return seed_by_markov_chain(data, n_clusters, random_stream(random_state), chain_length)


# Proposals whose distances to all earlier centers and to each other are computed together: at most this number, and few
# relative to the centers, so that the second product is small.
_MOST_PROPOSALS, _FEWEST_PROPOSALS, _FEWEST_CHAINS = 1024, 64, 8

# Size of the proposals that are read at once from a file or from workers.
_READ_BYTES = 64 << 20


def seed_by_markov_chain(
    data: ChunkRows,
    n_clusters: int,
    random: np.random.RandomState,
    chain_length: int = 200,
    deadline: Deadline = UNLIMITED,
) -> Seeds:
    """See `afk_mc2`; near the deadline the last centers are proposals, drawn together."""
    weights = np.ones(data.n_rows) if data.weights is None else data.weights.astype(np.float64)
    by_weight = np.cumsum(weights / weights.sum())
    indices = np.empty(n_clusters, dtype=np.intp)
    centers = np.empty((n_clusters, data.n_columns), dtype=data.dtype)
    indices[0] = _draw_rows(by_weight, random, 1)[0]
    centers[0] = take_rows(data, indices[:1])[0]
    squares = weights * data.own_square_distances(
        centers[:1].astype(np.float64), np.zeros(data.n_rows, dtype=np.int32)
    )
    check_sum_of_squares(float(squares.sum()))
    proposal = weights / weights.sum()
    if squares.sum() > 0:
        proposal = 0.5 * proposal + 0.5 * squares / squares.sum()
    cumulative = np.cumsum(proposal)
    drawn = _draw_rows(cumulative, random, (n_clusters - 1) * chain_length).reshape(-1, chain_length)
    uniforms = random.uniform(size=drawn.shape)
    importance = weights[drawn] / proposal[drawn]
    n_proposals = min(max(n_clusters // 16, _FEWEST_PROPOSALS), _MOST_PROPOSALS)
    n_chains = n_read = max(_FEWEST_CHAINS, n_proposals // chain_length)
    if not data.rows.in_memory:
        n_read *= max(1, int(_READ_BYTES / (n_chains * chain_length * data.rows.row_bytes())))
    for first in range(1, n_clusters, n_chains):
        if deadline.is_over:
            others = proposal.copy()
            others[indices[:first]] = 0
            indices[first:] = draw_together(others, n_clusters - first, random)
            centers[first:] = take_rows(data, indices[first:])
            warn_of_time_limit(first, n_clusters)
            break
        if (first - 1) % n_read == 0:
            read = np.unique(drawn[first - 1 : first - 1 + n_read])
            candidates = take_rows(data, read)
        chains = slice(first - 1, first - 1 + n_chains)
        chosen, centers_chosen = _walk_chains(
            data, read, candidates, drawn[chains], uniforms[chains], importance[chains], centers[:first]
        )
        indices[first : first + len(chosen)], centers[first : first + len(chosen)] = chosen, centers_chosen
    return centers, indices


def _walk_chains(
    data: ChunkRows,
    read: IndexArray,
    candidates: Array,
    drawn: IndexArray,
    uniforms: FloatArray,
    importance: FloatArray,
    centers: Array,
) -> Seeds:
    """Return the rows that chains end at, one center each, and these rows as an array. `drawn`, `uniforms` and
    `importance` (weight / probability) have shape (chains, proposals); `candidates` are the rows of the numbers `read`.
    """
    # A row that is proposed twice is stored once, so that its distance is exactly 0 after it is chosen.
    rows, places = np.unique(drawn, return_inverse=True)
    proposals = places.reshape(drawn.shape)
    if len(rows) < len(read):
        candidates = candidates[np.searchsorted(read, rows)]
    relative = candidates - data.shift
    own = np.einsum("ij,ij->i", relative, relative)
    frame = CenterFrame(centers, data.shift)
    ids = np.empty((len(rows), 1), dtype=np.int32)
    scores = np.empty((len(rows), 1), dtype=data.dtype)
    nearest_centers(kernel_rows(candidates), frame, ids, scores, data.n_threads)
    squares = np.maximum(scores[:, 0] + own, 0.0)
    chosen = np.empty(len(drawn), dtype=np.intp)
    for chain, proposed in enumerate(proposals):
        densities = (importance[chain] * squares[proposed]).tolist()
        at = 0
        for step, uniform in enumerate(uniforms[chain].tolist()):
            # A proposal is accepted if u < density / current density; written without the division by 0.
            if step > 0 and uniform * densities[at] < densities[step]:
                at = step
        here = chosen[chain] = proposed[at]
        to_here = relative @ (-2 * relative[here]) + (own + own[here])
        np.minimum(squares, np.maximum(to_here, 0.0), out=squares)
        squares[here] = 0.0
    return rows[chosen], candidates[chosen]


def _draw_rows(cumulative: FloatArray, random: np.random.RandomState, n_draws: int) -> IndexArray:
    rows = np.searchsorted(cumulative, random.uniform(size=n_draws) * cumulative[-1], side="right")
    return np.minimum(rows, len(cumulative) - 1)
