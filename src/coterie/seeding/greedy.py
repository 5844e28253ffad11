"""Where to begin: rows of the data chosen as the first centroids."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_random_state

from coterie import _kernels
from coterie.arrays import Array, BoolArray, FloatArray, IndexArray, lanes_of
from coterie.centers.assignment import CenterFrame, Dataset, dense, kernel_rows, nearest_centers
from coterie.fitting.monitor import (
    check_positive_integer,
    check_sample_weight,
    effective_n_threads,
    single_threaded_blas,
)
from coterie.rows import as_rows

__all__ = ["afk_mc2", "k_means_plus_plus", "random_rows"]

Seeds = tuple[Array, IndexArray]


def random_rows(
    X: Any,
    n_clusters: int,
    *,
    sample_weight: npt.ArrayLike | None = None,
    random_state: int | np.random.RandomState | None = None,
    n_threads: int | None = None,
) -> Seeds:
    """Choose distinct rows at random, with probability proportional to their weights.

    Parameters
    ----------
    X : array-like, sparse matrix or RowSource of shape (n, d)
        The data.
    n_clusters : int
        How many rows to choose, at most n.
    sample_weight : array-like of shape (n,), optional
        Non-negative weights; a row of weight 0 is not chosen.
    random_state : int, RandomState or None
        Source of randomness.
    n_threads : int, optional
        Not used: nothing is computed.

    Returns
    -------
    centers : ndarray of shape (n_clusters, d), float32 or float64
        The chosen rows.
    indices : ndarray of shape (n_clusters,)
        Which rows they are.

    Raises
    ------
    ValueError
        If fewer than `n_clusters` rows have a positive weight.

    Examples
    --------
    >>> import numpy as np
    >>> from coterie.seeding import random_rows
    >>> centers, indices = random_rows(np.eye(5), 2, random_state=0)
    >>> centers.shape
    (2, 5)
    """
    data = _dataset(X, n_clusters, sample_weight, n_threads)
    return seed_at_random(data, n_clusters, check_random_state(random_state))


def k_means_plus_plus(
    X: Any,
    n_clusters: int,
    *,
    sample_weight: npt.ArrayLike | None = None,
    random_state: int | np.random.RandomState | None = None,
    n_local_trials: int | None = None,
    n_threads: int | None = None,
) -> Seeds:
    """Choose rows by exact D^2 sampling, greedily: the best of several draws for each centre.

    A row is drawn with probability proportional to its weight times its squared distance to the nearest centre
    chosen so far. Distances that the triangle inequality shows to be of no effect are not computed.

    Parameters
    ----------
    X : array-like, sparse matrix or RowSource of shape (n, d)
        The data.
    n_clusters : int
        How many rows to choose, at most n.
    sample_weight : array-like of shape (n,), optional
        Non-negative weights.
    random_state : int, RandomState or None
        Source of randomness.
    n_local_trials : int, optional
        Draws for each centre, of which the one that lowers the potential most is kept. None: 2 + floor(log(k)),
        as scikit-learn's; 1: plain k-means++.
    n_threads : int, optional
        None: all processors.

    Returns
    -------
    centers : ndarray of shape (n_clusters, d), float32 or float64
        The chosen rows.
    indices : ndarray of shape (n_clusters,)
        Which rows they are.

    Raises
    ------
    ValueError
        If `n_clusters` is greater than n, or all weights are 0.

    Notes
    -----
    One pass over the data for each centre: at most O(n k d), in practice far less in memory; on a file each centre
    costs one reading of it, so take `afk_mc2` or `random_rows` there. Memory O(n + k * (d + trials)).

    References
    ----------
    Arthur and Vassilvitskii, k-means++: the advantages of careful seeding, SODA 2007.

    Examples
    --------
    >>> import numpy as np
    >>> from coterie.seeding import k_means_plus_plus
    >>> X = np.repeat([[0.0], [1.0], [5.0]], 10, axis=0)
    >>> centers, indices = k_means_plus_plus(X, 3, random_state=0)
    >>> sorted(centers.ravel().tolist())
    [0.0, 1.0, 5.0]
    """
    data = _dataset(X, n_clusters, sample_weight, n_threads)
    with single_threaded_blas():
        return seed_by_square_distance(data, n_clusters, check_random_state(random_state), n_local_trials)


def afk_mc2(
    X: Any,
    n_clusters: int,
    *,
    chain_length: int = 200,
    sample_weight: npt.ArrayLike | None = None,
    random_state: int | np.random.RandomState | None = None,
    n_threads: int | None = None,
) -> Seeds:
    """Choose rows by Markov chains that approximate D^2 sampling: two passes over the data in all.

    Parameters
    ----------
    X : array-like, sparse matrix or RowSource of shape (n, d)
        The data.
    n_clusters : int
        How many rows to choose, at most n.
    chain_length : int
        Proposals for each centre. 2 is little better than random; the approximation is good at 200.
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
        Which rows they are.

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
    data = _dataset(X, n_clusters, sample_weight, n_threads)
    with single_threaded_blas():
        return seed_by_markov_chain(data, n_clusters, check_random_state(random_state), chain_length)


def _dataset(X: Any, n_clusters: int, sample_weight: npt.ArrayLike | None, n_threads: int | None) -> Dataset:
    rows = as_rows(X)
    check_positive_integer("n_clusters", n_clusters)
    if n_clusters > rows.shape[0]:
        raise ValueError(f"n_samples={rows.shape[0]} should be >= n_clusters={n_clusters}.")
    weights = check_sample_weight(sample_weight, rows)
    return Dataset(rows, weights, n_clusters=n_clusters, n_threads=effective_n_threads(n_threads))


def seed_at_random(data: Dataset, n_clusters: int, random: np.random.RandomState) -> Seeds:
    """See `random_rows`."""
    probabilities = None
    if data.weights is not None:
        weights = data.weights.astype(np.float64)
        if np.count_nonzero(weights) < n_clusters:
            raise ValueError(f"Fewer than n_clusters={n_clusters} rows have a positive weight.")
        probabilities = weights / weights.sum()
    indices = random.choice(data.n_rows, size=n_clusters, replace=False, p=probabilities)
    return take_rows(data, indices), indices


def seed_by_square_distance(
    data: Dataset, n_clusters: int, random: np.random.RandomState, n_local_trials: int | None = None
) -> Seeds:
    """See `k_means_plus_plus`."""
    if n_local_trials is None:
        n_local_trials = 2 + int(np.log(n_clusters))
    if n_local_trials < 1:
        raise ValueError(f"n_local_trials must be at least 1, got {n_local_trials}.")
    growing = _GrowingCenters(data, n_clusters)
    for number in range(n_clusters):
        if number == 0 or n_local_trials == 1:
            rows, candidates = growing.draw(random, 1)
            growing.choose(int(rows[0]), candidates[0])
            if number == 0 or growing.n_waiting == _CENTERS_PER_PASS:
                growing.adopt_waiting()
        else:
            rows, candidates = growing.draw(random, n_local_trials)
            best = int(np.argmax(growing.gains(candidates)))
            growing.choose(int(rows[best]), candidates[best])
            growing.adopt_candidate(best)
    return growing.centers, growing.indices


# Centres that may wait for a pass over the data: one panel.
_CENTERS_PER_PASS = 16


class _GrowingCenters:
    """Chosen centres, and the squared distance of every row to the nearest of them.

    The distances may lag behind: centres wait until a pass over the data takes them in. Draws are exact all the
    same: a row drawn by the distances of the last pass is accepted with the probability by which the waiting
    centres have lowered its distance, else another one is drawn (rejection sampling). So plain sampling needs one
    pass for many centres. Greedy sampling needs one for each, to measure the candidates; it marks the rows that each
    candidate would be nearest to, and taking in the best one reads only those.
    """

    def __init__(self, data: Dataset, n_clusters: int) -> None:
        self._data = data
        self.n_chosen = 0
        self.n_waiting = 0
        self.centers = np.empty((n_clusters, data.n_columns), dtype=data.dtype)
        self.indices = np.empty(n_clusters, dtype=np.intp)
        self._relative = np.empty((n_clusters, data.n_columns))
        self._squares = np.empty(n_clusters)
        self._nearest = np.full(data.n_rows, np.inf, dtype=data.dtype)
        self._owner = np.zeros(data.n_rows, dtype=np.int32)
        self._reached = np.zeros(data.n_rows, dtype=np.uint32)
        # Before the first pass rows are drawn by their weights.
        self._potentials = self._masses(np.arange(-(-data.n_rows // _kernels.ROW_QUANTUM))).sum(axis=1)

    def _masses(self, quanta: IndexArray) -> FloatArray:
        """Return what the rows of some quanta are drawn in proportion to, one line for each; 0 beyond the last row."""
        rows = quanta[:, None] * _kernels.ROW_QUANTUM + np.arange(_kernels.ROW_QUANTUM)
        masses = (rows < self._data.n_rows).astype(np.float64)
        rows = np.minimum(rows, self._data.n_rows - 1)
        if self.n_chosen > self.n_waiting:
            masses *= self._nearest[rows]
        if self._data.weights is not None:
            masses *= self._data.weights[rows]
        return masses

    def draw(self, random: np.random.RandomState, n_draws: int) -> tuple[IndexArray, Array]:
        """Draw rows with probability proportional to weight times squared distance to the nearest centre."""
        accepted = np.empty(0, dtype=np.intp)
        candidates = np.empty((0, self._data.n_columns), dtype=self._data.dtype)
        while len(accepted) < n_draws:
            rows = self._draw_by_last_pass(random, n_draws - len(accepted))
            drawn = take_rows(self._data, rows)
            keep = self._accepted(rows, drawn, random)
            accepted = np.concatenate([accepted, rows[keep]])
            candidates = np.concatenate([candidates, drawn[keep]])
        return accepted, candidates

    def _draw_by_last_pass(self, random: np.random.RandomState, n_draws: int) -> IndexArray:
        cumulative = np.cumsum(self._potentials)
        points = random.uniform(size=n_draws)
        if not cumulative[-1] > 0:  # every row is at a centre already
            return (points * self._data.n_rows).astype(np.intp)
        points *= cumulative[-1]
        quanta = np.searchsorted(cumulative, points, side="right")
        quanta = np.minimum(quanta, np.flatnonzero(self._potentials)[-1])
        points -= np.where(quanta > 0, cumulative[quanta - 1], 0.0)
        masses = self._masses(quanta)
        within = np.count_nonzero(np.cumsum(masses, axis=1) <= points[:, None], axis=1)
        # Rounding may lead beyond the last row that can be drawn.
        last = masses.shape[1] - 1 - np.argmax(masses[:, ::-1] > 0, axis=1)
        return quanta * _kernels.ROW_QUANTUM + np.minimum(within, last)

    def _accepted(self, rows: IndexArray, drawn: Array, random: np.random.RandomState) -> BoolArray:
        if self.n_waiting == 0 or not np.any(self._potentials):
            return np.ones(len(rows), dtype=bool)
        waiting = self._relative[self.n_chosen - self.n_waiting : self.n_chosen]
        differences = (drawn - self._data.shift)[:, None, :] - waiting
        squares = np.einsum("ijk,ijk->ij", differences, differences).min(axis=1)
        if not np.any(squares):
            # Every row that can be drawn may be at a waiting centre: look again with up-to-date distances.
            self.adopt_waiting()
            return np.zeros(len(rows), dtype=bool)
        return random.uniform(size=len(rows)) * self._nearest[rows] < squares

    def choose(self, row: int, center: Array) -> None:
        """Add a row to the centres; the next pass takes it in."""
        number = self.n_chosen
        self.indices[number] = row
        self.centers[number] = center
        self._relative[number] = center - self._data.shift
        self._squares[number] = np.sum(self._relative[number] ** 2)
        self.n_chosen += 1
        self.n_waiting += 1

    def adopt_waiting(self) -> None:
        """Take in the waiting centres, in one pass."""
        first = self.n_chosen - self.n_waiting
        frame = CenterFrame(self.centers[first : self.n_chosen], self._data.shift)
        reach = self._reach(frame.centers, first)
        for part, x in self._data.blocks():
            _kernels.adopt_centers(
                x, frame.relative, frame.offsets, first, reach, potentials=self._potentials[_quanta(part)],
                n_threads=self._data.n_threads, **self._state(part),
            )  # fmt: skip
        self._clear_chosen_rows(first)

    def gains(self, candidates: Array) -> FloatArray:
        """Return by how much each candidate would lower the potential. No centre may be waiting."""
        frame = CenterFrame(candidates, self._data.shift)
        reach = self._reach(candidates, self.n_chosen)
        lanes = lanes_of(self._data.dtype)
        gains = np.empty((len(self._potentials), -(-len(candidates) // lanes) * lanes))
        for part, x in self._data.blocks():
            _kernels.candidate_gains(
                x, frame.relative, frame.offsets, reach, gains=gains[_quanta(part)],
                n_threads=self._data.n_threads, **self._state(part),
            )  # fmt: skip
        return gains.sum(axis=0)[: len(candidates)]

    def adopt_candidate(self, slot: int) -> None:
        """Take in the centre chosen last, which was that candidate of the last call of `gains`."""
        number = self.n_chosen - 1
        frame = CenterFrame(self.centers[number : number + 1], self._data.shift)
        for part, x in self._data.blocks():
            _kernels.adopt_candidate(
                x, frame.relative, frame.offsets, slot, number, potentials=self._potentials[_quanta(part)],
                n_threads=self._data.n_threads, **self._state(part),
            )  # fmt: skip
        self._clear_chosen_rows(number)

    def _state(self, part: slice) -> dict[str, Any]:
        return {
            "squares": self._data.squares[part],
            "weights": self._data.weights_of(part),
            "nearest": self._nearest[part],
            "owner": self._owner[part],
            "reached": self._reached[part],
        }

    def _clear_chosen_rows(self, first: int) -> None:
        """Rounding must not leave the chosen rows themselves a chance to be drawn again."""
        chosen = self.indices[first : self.n_chosen]
        self.n_waiting = 0
        self._nearest[chosen] = 0
        quanta = np.unique(chosen // _kernels.ROW_QUANTUM)
        self._potentials[quanta] = self._masses(quanta).sum(axis=1)

    def _reach(self, tried: Array, n_known: int) -> Array:
        """Return a quarter of the squared distance of each known centre to the nearest of those tried."""
        if n_known == 0:
            return np.zeros(1, dtype=self._data.dtype)
        relative = tried - self._data.shift
        squares = np.einsum("ij,ij->i", relative, relative) - 2 * (self._relative[:n_known] @ relative.T)
        nearest = squares.min(axis=1) + self._squares[:n_known]
        return (np.maximum(nearest, 0) * (0.25 * (1 - 1e-6))).astype(self._data.dtype)


def _quanta(part: slice) -> slice:
    return slice(part.start // _kernels.ROW_QUANTUM, -(-part.stop // _kernels.ROW_QUANTUM))


# Proposals that are measured together, against all earlier centres and each other: at most so many, and few beside the
# centres, so that the latter product stays small.
_MOST_PROPOSALS, _FEWEST_PROPOSALS, _FEWEST_CHAINS = 1024, 64, 8


def seed_by_markov_chain(
    data: Dataset, n_clusters: int, random: np.random.RandomState, chain_length: int = 200
) -> Seeds:
    """See `afk_mc2`."""
    if chain_length < 1:
        raise ValueError(f"chain_length must be at least 1, got {chain_length}.")
    weights = np.ones(data.n_rows) if data.weights is None else data.weights.astype(np.float64)
    if not weights.sum() > 0:
        raise ValueError("All sample weights are 0.")
    by_weight = np.cumsum(weights / weights.sum())
    indices = np.empty(n_clusters, dtype=np.intp)
    centers = np.empty((n_clusters, data.n_columns), dtype=data.dtype)
    indices[0] = _draw_rows(by_weight, random, 1)[0]
    centers[0] = take_rows(data, indices[:1])[0]
    squares = weights * data.own_square_distances(
        centers[:1].astype(np.float64), np.zeros(data.n_rows, dtype=np.int32)
    )
    proposal = weights / weights.sum()
    if squares.sum() > 0:
        proposal = 0.5 * proposal + 0.5 * squares / squares.sum()
    cumulative = np.cumsum(proposal)
    drawn = _draw_rows(cumulative, random, (n_clusters - 1) * chain_length).reshape(-1, chain_length)
    uniforms = random.uniform(size=drawn.shape)
    importance = weights[drawn] / proposal[drawn]
    n_proposals = min(max(n_clusters // 16, _FEWEST_PROPOSALS), _MOST_PROPOSALS)
    n_chains = max(_FEWEST_CHAINS, n_proposals // chain_length)
    for first in range(1, n_clusters, n_chains):
        chains = slice(first - 1, first - 1 + n_chains)
        chosen, centers_chosen = _walk_chains(
            data, drawn[chains], uniforms[chains], importance[chains], centers[:first]
        )
        indices[first : first + len(chosen)], centers[first : first + len(chosen)] = chosen, centers_chosen
    return centers, indices


def _walk_chains(
    data: Dataset,
    drawn: IndexArray,
    uniforms: FloatArray,
    importance: FloatArray,
    centers: Array,
) -> Seeds:
    """Run some chains, one centre each.

    Parameters
    ----------
    data : Dataset
        The rows.
    drawn : ndarray of shape (n_chains, chain_length)
        The proposals.
    uniforms : ndarray of the same shape
        Uniform in 0..1; they decide which proposals are taken.
    importance : ndarray of the same shape
        Weight / proposal probability of each proposal.
    centers : ndarray of shape (m, d)
        The centres chosen before.

    Returns
    -------
    chosen : ndarray of shape (n_chains,)
        Which rows the chains end at.
    centers : ndarray of shape (n_chains, d)
        These rows.
    """
    # A row that is proposed again is the same one, so that its distance is 0 to the bit once it is chosen.
    rows, places = np.unique(drawn, return_inverse=True)
    proposals = places.reshape(drawn.shape)
    candidates = take_rows(data, rows)
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
            # A proposal is taken if u < density / current density; written without the division by 0.
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


def take_rows(data: Dataset, indices: IndexArray) -> Array:
    """Return rows of the data in any order as a dense array of shape (len(indices), d)."""
    sorted_indices, places = np.unique(indices, return_inverse=True)
    block = data.rows.take(sorted_indices)
    return np.ascontiguousarray(dense(block)[places], dtype=data.dtype)
