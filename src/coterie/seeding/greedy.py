"""k-means++: exact D^2 sampling, greedy or plain."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from coterie import _kernels
from coterie.arrays import Array, FloatArray, IndexArray, IntArray
from coterie.blocks.dataset import ChunkRows
from coterie.centers.frame import CenterFrame
from coterie.fitting.checks import check_positive_integer, check_sum_of_squares, random_stream
from coterie.fitting.deadline import UNLIMITED, Deadline, now
from coterie.fitting.threads import single_threaded_blas
from coterie.seeding.seeds import Seeds, draw_together, rows_to_seed, take_rows, warn_of_time_limit

__all__ = ["k_means_plus_plus", "seed_by_square_distance"]

# Number of existing centers per choice from one pool: larger pools have more rejections.
_CENTERS_PER_STEP = 4

# Rows and maximum number of proposals on which the two tests that exclude pairs are evaluated.
_JUDGED_ROWS, _JUDGED_PROPOSALS = 256, 128

# starts, rows, squared distances: those of proposal p are at starts[p] : starts[p + 1].
_Pairs = tuple[IndexArray, IntArray, Array]


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
    Candidates are drawn in pools, with one pass over the data for each: about 4 log(k) passes. At most O(n k d log(k))
    time; distances of rows and candidates are skipped by the triangle inequality (Raff 2021) or by bounds from their
    coordinates along 32 to 128 directions, with identical choices. Memory O(n + k * (d + trials)), and these
    coordinates, at most a third of the rows in memory.

    References
    ----------
    Arthur and Vassilvitskii, k-means++: the advantages of careful seeding, SODA 2007.
    Raff, Exact acceleration of k-means++ and k-means||, IJCAI 2021.

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
    """Chosen centers, and the squared distance of every row to the nearest of them.

    Rows are drawn in pools, by their distances at that time, and compared with all rows in one pass. Choices from a
    pool are still exact, by rejection sampling: a proposal is accepted with the ratio of its squared distance now to
    that when the pool was drawn, else the next one is tested. A choice needs only the distances of a proposal to those
    rows that are nearer to it than to their nearest center when the pool was drawn.
    """

    def __init__(self, data: ChunkRows, n_clusters: int, random: np.random.RandomState) -> None:
        self._data, self._random = data, random
        self.n_left = n_clusters
        self.centers = np.empty((n_clusters, data.n_columns), dtype=data.dtype)
        self.indices = np.empty(n_clusters, dtype=np.intp)
        n_quanta = -(-data.n_rows // _kernels.ROW_QUANTUM)
        self._masses_of_quanta = np.zeros((n_quanta, _kernels.ROW_QUANTUM))
        self._masses = self._masses_of_quanta.reshape(-1)[: data.n_rows]
        self._ids = np.zeros(data.n_rows, dtype=np.int32)
        self._nearest = np.ones(data.n_rows, dtype=data.dtype)
        self.measure()
        first = self._drawn(1)
        center = take_rows(data, first)
        self._nearest[:] = data.own_square_distances(
            center.astype(np.float64), np.zeros(data.n_rows, dtype=np.int32)
        )
        self._choose(first, center)
        self._groups = _Groups(data, self._nearest, self.centers[:1])
        self._heads = _Heads(data)

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
            best = trials[0]
            if n_trials > 1:
                gains = np.empty(n_trials)
                _kernels.gains(*pairs, np.array(trials), self._nearest, self._data.weights, gains)
                best = trials[int(gains.argmax())]
            _kernels.lower_to(*pairs, best, best + 1, self._n_chosen, self._nearest, self._ids)
            self._choose(rows[best : best + 1], proposals[best : best + 1])
            trials = []
            if self.n_left == 0 or deadline.is_over:
                break
        self._groups.add(proposals, pairs)

    def _pairs(self, frame: CenterFrame) -> _Pairs:
        """Return the pairs of a proposal and a row that is nearer to it than to its nearest center."""
        data, found = self._data, []
        n_ahead = self.n_left * len(frame) / max(1, self._n_chosen // _CENTERS_PER_STEP)
        heads = self._heads.of(frame, self._nearest, n_ahead)
        head_rows = None if heads is None else self._heads.rows
        of_proposals, offsets, slack = heads or (None, None, 0.0)
        distances = None if heads is not None else self._groups.distances(frame, self._nearest)
        error = frame.score_error().astype(data.dtype)
        for part, x in data.blocks():
            starts = np.empty(len(frame) + 1, dtype=np.intp)
            rows, squares = _kernels.pairs_in_reach(
                x, frame.relative, frame.offsets, data.squares[part], self._nearest[part], error, frame.shift_norm,
                self._groups.anchors[part], self._groups.squares[part], distances,
                None if head_rows is None else head_rows[part], of_proposals, offsets, slack, starts, data.n_threads,
            )  # fmt: skip
            found.append((starts, rows + np.int32(part.start) if part.start else rows, squares))
        if len(found) == 1:
            return found[0]
        lengths = [np.diff(starts) for starts, _, _ in found]
        of_blocks = [np.repeat(np.arange(len(frame), dtype=np.int32), length) for length in lengths]
        order = np.argsort(np.concatenate(of_blocks), kind="stable")
        starts = np.concatenate([[0], np.sum(lengths, axis=0).cumsum()])
        rows, squares = (np.concatenate([block[i] for block in found])[order] for i in (1, 2))
        return starts, rows, squares


class _Groups:
    """Groups of rows by a near anchor: a proposal of an earlier pool. `squares` are those to the first center."""

    # Least mean number of rows of a group, and the largest fraction of remaining pairs, for which groups save time.
    _ROWS_PER_ANCHOR, _PAYS = 128, 0.7

    def __init__(self, data: ChunkRows, squares: Array, center: Array) -> None:
        self._data = data
        self.squares = squares.copy()
        self.anchors = np.zeros(data.n_rows, dtype=np.int32)
        self._positions = center - data.shift
        self._next_judged, self._pay = 16, False

    def add(self, proposals: Array, pairs: _Pairs) -> None:
        """Assign rows near proposals to the nearest of these as their anchor."""
        n_anchors = len(self._positions)
        if (n_anchors + len(proposals)) * self._ROWS_PER_ANCHOR > self._data.n_rows:
            return
        _kernels.lower_to(*pairs, 0, len(proposals), n_anchors, self.squares, self.anchors)
        self._positions = np.concatenate([self._positions, proposals - self._data.shift])

    def distances(self, frame: CenterFrame, nearest: Array) -> Array | None:
        """Return lower bounds of the distances between anchors and proposals, None if groups would not save time."""
        n_rows = self._data.n_rows
        if not self._pay:
            if n_rows < 16 * self._ROWS_PER_ANCHOR or len(frame) < self._next_judged:
                return None
            some = np.linspace(0, n_rows - 1, _JUDGED_ROWS).astype(np.intp)
            limits = np.sqrt(self.squares[some]) + np.sqrt(nearest[some])
            anchors, proposals = self._positions[self.anchors[some]], frame.relative[:_JUDGED_PROPOSALS]
            self._pay = (self._between(anchors, proposals) < limits[:, None]).mean() < self._PAYS
            self._next_judged += self._next_judged // 2
            return self.distances(frame, nearest) if self._pay else None
        distances = np.empty((len(self._positions), len(frame)), dtype=self._data.dtype)
        for first in range(0, len(distances), 64):
            distances[first : first + 64] = self._between(self._positions[first : first + 64], frame.relative)
        return distances

    def _between(self, anchors: FloatArray, proposals: Array) -> FloatArray:
        proposals = proposals.astype(np.float64)
        lengths = np.add.outer(*(np.einsum("ij,ij->i", points, points) for points in (anchors, proposals)))
        rounding = (len(proposals[0]) + 16) * np.finfo(np.float64).eps
        squares = lengths * (1 - rounding) - 2 * anchors @ proposals.T
        return np.sqrt(np.maximum(squares, 0)) * (1 - 1e-6)


class _Heads:
    """Coordinates of rows along a few directions of large variance, and the length of the remainder of each.

    Only dense rows in memory have heads, if these save time.
    """

    # Rows from which directions are computed; numbers of directions that are tried; cost of one remaining distance,
    # relative to one of a block; and the largest fraction of the work without heads for which they are used.
    _ROWS_OF_BASIS, _SIZES, _COST, _PAYS = 2000, (32, 64, 128), 1.5, 0.6

    def __init__(self, data: ChunkRows) -> None:
        self._data = data
        # Rounding error of heads: a product over d columns for each direction (Higham 2002, section 3.1).
        self._gamma = float((data.n_columns + 16) * np.sqrt(self._SIZES[-1]) * np.finfo(data.dtype).eps)
        self._basis = np.empty((data.n_columns, 0))
        self._next_judged = 16
        self.rows = np.empty((0, 0))

    def of(self, frame: CenterFrame, nearest: Array, n_ahead: float) -> tuple[Array, Array, float] | None:
        """Return the heads of proposals, their offsets and the slack of rows, None if heads would not save time.

        `n_ahead` is the number of proposals after these.
        """
        data = self._data
        if self.rows.size == 0:
            sizes = [m for m in self._SIZES if 3 * m <= data.n_columns and 8 * m <= n_ahead]
            if data.rows.is_sparse or not data.rows.in_memory or len(frame) < self._next_judged or not sizes:
                return None
            if data.n_rows < 2 * self._ROWS_OF_BASIS:
                return None
            self._next_judged = 2 * len(frame)
            n_columns = self._chosen_size(frame, nearest, sizes)
            if n_columns is None:
                return None
            self._basis = self._basis[:, :n_columns]
            self.rows = np.empty((data.n_rows, n_columns + 1), dtype=data.dtype)
            for start, block in data.rows.blocks(2 * _JUDGED_ROWS):
                part = slice(start, start + len(block))
                self.rows[part] = self._heads(block - data.shift, data.squares[part])
        heads = self._heads(frame.relative, frame.squares)
        offsets = frame.squares * (1 - 2 * self._gamma)
        return heads, offsets.astype(data.dtype), 2 * self._gamma

    def _heads(self, relative: Array, squares: Array) -> Array:
        heads = relative.astype(self._data.dtype, copy=False) @ self._basis
        tails = squares * (1 + self._gamma) - np.einsum("ij,ij->i", heads, heads)
        return np.column_stack([heads, np.sqrt(np.maximum(tails, 0)) * (1 + self._gamma)]).astype(
            self._data.dtype, copy=False
        )

    def _chosen_size(self, frame: CenterFrame, nearest: Array, sizes: list[int]) -> int | None:
        """Return the number of directions with the least work, None if it is too much."""
        data = self._data
        if self._basis.size == 0:
            self._some = np.linspace(0, data.n_rows - 1, self._ROWS_OF_BASIS).astype(np.intp)
            self._sample = (take_rows(data, self._some) - data.shift).astype(data.dtype)
            self._basis = _directions(self._sample, sizes[-1])
        step = -(-len(self._some) // _JUDGED_ROWS)
        some = self._some[::step]
        squares = data.squares[some]
        heads = self._heads(self._sample[::step], squares)[:, :-1]
        others = self._heads(frame.relative[:_JUDGED_PROPOSALS], frame.squares[:_JUDGED_PROPOSALS])[:, :-1]
        lengths = frame.squares[: len(others)]
        costs = []
        for size in sizes:
            x, p = heads[:, :size], others[:, :size]
            tails = np.sqrt(np.maximum(squares - np.einsum("ij,ij->i", x, x), 0))[:, None] * np.sqrt(
                np.maximum(lengths - np.einsum("ij,ij->i", p, p), 0)
            )
            left = squares[:, None] + lengths - 2 * (x @ p.T + tails) < nearest[some][:, None]
            costs.append((size + 1) / data.n_columns + self._COST * left.mean())
        best = int(np.argmin(costs))
        return sizes[best] if costs[best] < self._PAYS else None


def _directions(sample: Array, n_directions: int) -> Array:
    """Return an orthonormal basis, shape (d, n_directions), close to the directions of largest variance."""
    basis = np.random.default_rng(0).normal(size=(sample.shape[1], n_directions)).astype(sample.dtype)
    for _ in range(2):
        basis = np.linalg.qr(sample.T @ (sample @ basis))[0]
    # The principal axes of the subspace, by descending variance.
    _, axes = np.linalg.eigh(basis.T @ (sample.T @ (sample @ basis)))
    return np.linalg.qr((basis @ axes[:, ::-1]).astype(np.float64))[0].astype(sample.dtype)
