"""k-means++: exact D^2 sampling, greedy or plain."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from coterie import _kernels
from coterie.arrays import Array, FloatArray, IndexArray
from coterie.blocks.dataset import ChunkRows
from coterie.centers.frame import CenterFrame
from coterie.fitting.checks import check_positive_integer, check_sum_of_squares, random_stream
from coterie.fitting.deadline import UNLIMITED, Deadline, now
from coterie.fitting.threads import single_threaded_blas
from coterie.seeding.seeds import Seeds, draw_together, rows_to_seed, take_rows, warn_of_time_limit

__all__ = ["k_means_plus_plus", "seed_by_square_distance"]

# Number of existing centers per choice from one pool: larger pools have more rejections.
_CENTERS_PER_STEP = 4


def k_means_plus_plus(
    X: Any,
    n_clusters: int,
    *,
    sample_weight: npt.ArrayLike | None = None,
    random_state: int | np.random.RandomState | None = None,
    n_local_trials: int | None = None,
    n_threads: int | None = None,
) -> Seeds:
    """Choose rows by exact greedy D^2 sampling: the best of several draws for each center.

    A row is drawn with probability proportional to its weight times its squared distance to the nearest center
    chosen so far.

    Parameters
    ----------
    X : array-like, sparse matrix or Rows of shape (n, d)
        The data.
    n_clusters : int
        Number of rows to choose, at most n.
    sample_weight : array-like of shape (n,), optional
        Non-negative weights.
    random_state : int, RandomState or None
        Source of randomness.
    n_local_trials : int, optional
        Draws for each center, of which the one that lowers the potential most is kept. None: 2 + floor(log(k)), as in
        scikit-learn; 1: plain k-means++.
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
        If `n_clusters` is greater than n, or all weights are 0.

    Notes
    -----
    Candidates are drawn in pools, with one pass over the data for each: about 4 log(k) passes, O(n k d log(k)) time.
    Memory O(n + k * (d + trials)).

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
    n_clusters = check_positive_integer("n_clusters", n_clusters)
    if n_local_trials is not None:
        n_local_trials = check_positive_integer("n_local_trials", n_local_trials)
    data = rows_to_seed(X, n_clusters, sample_weight, n_threads)
    with single_threaded_blas():
        return seed_by_square_distance(data, n_clusters, random_stream(random_state), n_local_trials)


def seed_by_square_distance(
    data: ChunkRows,
    n_clusters: int,
    random: np.random.RandomState,
    n_local_trials: int | None = None,
    deadline: Deadline = UNLIMITED,
) -> Seeds:
    """See `k_means_plus_plus`; near the deadline plain instead of greedy, then all remaining rows in one draw."""
    if n_local_trials is None:
        n_local_trials = 2 + int(np.log(n_clusters))
    growing, n_trials = _GrowingCenters(data, n_clusters, random), n_local_trials
    while growing.n_left > 0 and growing.measure() and not deadline.is_over:
        begin, n_before = now(), growing.n_left
        growing.choose_from_pool(n_trials, deadline)
        if deadline.is_set and deadline.seconds >= deadline.left:
            per_center = (now() - begin) / (n_before - growing.n_left)
            n_trials = 1 if per_center * growing.n_left > deadline.left else n_trials
    n_careful = n_clusters - growing.n_left
    if growing.n_left > 0:
        growing.choose_rest()
    if growing.has_mass and (n_trials != n_local_trials or n_careful < n_clusters):
        warn_of_time_limit(n_careful, n_clusters)
    return growing.centers, growing.indices


class _GrowingCenters:
    """Chosen centers, and the squared distance of every row to the nearest of them. Rows are drawn in pools and
    compared in one pass; rejection sampling keeps choices exact: a proposal is accepted with the ratio of its squared
    distance now to that when the pool was drawn.
    """

    def __init__(self, data: ChunkRows, n_clusters: int, random: np.random.RandomState) -> None:
        self._data, self._random = data, random
        self.n_left = n_clusters
        self.centers = np.empty((n_clusters, data.n_columns), dtype=data.dtype)
        self.indices = np.empty(n_clusters, dtype=np.intp)
        n_quanta = -(-data.n_rows // _kernels.ROW_QUANTUM)
        self._masses_of_quanta = np.zeros((n_quanta, _kernels.ROW_QUANTUM))
        self._masses = self._masses_of_quanta.reshape(-1)[: data.n_rows]
        self._nearest = np.ones(data.n_rows, dtype=data.dtype)
        self.measure()
        first = self._drawn(1)
        center = take_rows(data, first)
        self._nearest[:] = data.own_square_distances(
            center.astype(np.float64), np.zeros(data.n_rows, dtype=np.int32)
        )
        self._choose(first, center)

    @property
    def _n_chosen(self) -> int:
        return len(self.indices) - self.n_left

    def measure(self) -> bool:
        """Update the probabilities of the rows; return whether any is positive."""
        np.multiply(
            self._nearest,
            1 if self._data.weights is None else self._data.weights,
            out=self._masses,
            dtype=float,
        )
        self._potentials = self._masses_of_quanta.sum(axis=1)
        check_sum_of_squares(float(self._potentials.sum()))
        self.has_mass = bool(self._potentials.any())
        return self.has_mass

    def _drawn(self, n_draws: int) -> IndexArray:
        """Return rows drawn with probability proportional to weight times squared distance to the nearest center."""
        cumulative = self._potentials.cumsum()
        points = self._random.uniform(size=n_draws) * cumulative[-1]
        quanta = cumulative.searchsorted(points, side="right")
        quanta = np.minimum(quanta, self._potentials.nonzero()[0][-1])
        points -= np.where(quanta > 0, cumulative[quanta - 1], 0.0)
        masses = self._masses_of_quanta[quanta]
        within = (masses.cumsum(axis=1) <= points[:, None]).sum(axis=1)
        # Because of rounding the search may end beyond the last row of positive probability.
        last = masses.shape[1] - 1 - (masses[:, ::-1] > 0).argmax(axis=1)
        return quanta * _kernels.ROW_QUANTUM + np.minimum(within, last)

    def _choose(self, rows: IndexArray, centers: Array) -> None:
        chosen = slice(self._n_chosen, self._n_chosen + len(rows))
        self.indices[chosen], self.centers[chosen] = rows, centers
        self.n_left -= len(rows)
        # Chosen rows must not be drawn again, even if rounding makes their distance positive.
        self._nearest[rows] = 0

    def choose_rest(self) -> None:
        """Choose all further centers in one draw, ignoring the distances between them."""
        self.measure()
        self._masses[self.indices[: self._n_chosen]] = 0
        rows = draw_together(self._masses, self.n_left, self._random)
        self._choose(rows, take_rows(self._data, rows))

    def choose_from_pool(self, n_trials: int, deadline: Deadline) -> None:
        """Draw a pool of proposals, and choose centers until it is used up; call `measure` first."""
        n_steps = min(self.n_left, max(1, self._n_chosen // _CENTERS_PER_STEP))
        rows = self._drawn(n_steps * n_trials)
        proposals = take_rows(self._data, rows)
        thresholds = (self._random.uniform(size=len(rows)) * self._nearest[rows]).tolist()
        pairs = self._pairs(CenterFrame(proposals, self._data.shift, self._data.n_threads))
        trials: list[int] = []
        for number, row in enumerate(rows.tolist()):
            if not thresholds[number] < self._nearest[row]:
                continue
            trials.append(number)
            if len(trials) < n_trials:
                continue
            best = trials[0 if n_trials == 1 else int(self._gains(pairs, trials).argmax())]
            own = slice(*pairs.indptr[best : best + 2])
            near = pairs.indices[own]
            self._nearest[near] = np.minimum(self._nearest[near], pairs.data[own])
            self._choose(rows[best : best + 1], proposals[best : best + 1])
            trials = []
            if self.n_left == 0 or deadline.is_over:
                break

    def _gains(self, pairs: sp.csc_array, trials: list[int]) -> FloatArray:
        """Return by how much proposals, ascending, lower the potential."""
        starts = pairs.indptr[trials[0] : trials[-1] + 2]
        part = slice(starts[0], starts[-1])
        rows = pairs.indices[part]
        gains = np.maximum(self._nearest[rows].astype(np.float64) - pairs.data[part], 0)
        if self._data.weights is not None:
            gains *= self._data.weights[rows]
        # Added up in order, to the same bits everywhere.
        numbers = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        lowered = np.bincount(numbers, gains, len(starts) - 1).astype(np.float64, copy=False)
        return lowered[np.subtract(trials, trials[0])]

    def _pairs(self, frame: CenterFrame) -> sp.csc_array:
        """Return the squared distances of the rows that are nearer to a proposal than to their nearest center."""
        data, found = self._data, []
        for part, x in data.blocks():
            proposals, rows, squares = _kernels.pairs_in_reach(
                x, frame.relative, frame.offsets, data.squares[part], self._nearest[part], data.n_threads
            )
            found.append((proposals, rows + np.int32(part.start), squares))
        proposals, rows, squares = (np.concatenate(parts) for parts in zip(*found))
        return sp.coo_array((squares, (rows, proposals)), shape=(data.n_rows, len(frame))).tocsc()
