"""k-means++: exact D^2 sampling, greedy or plain."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from coterie import _kernels
from coterie.arrays import Array, BoolArray, FloatArray, IndexArray, lanes_of
from coterie.blocks.dataset import Dataset
from coterie.centers.frame import CenterFrame
from coterie.fitting.deadline import UNLIMITED, Deadline, now
from coterie.fitting.randomness import random_stream
from coterie.fitting.threads import single_threaded_blas
from coterie.seeding.seeds import Seeds, dataset_of, drawn_at_once, take_rows, warn_of_haste

__all__ = ["k_means_plus_plus", "seed_by_square_distance"]


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
    data = dataset_of(X, n_clusters, sample_weight, n_threads)
    with single_threaded_blas():
        return seed_by_square_distance(data, n_clusters, random_stream(random_state), n_local_trials)


def seed_by_square_distance(
    data: Dataset,
    n_clusters: int,
    random: np.random.RandomState,
    n_local_trials: int | None = None,
    deadline: Deadline = UNLIMITED,
) -> Seeds:
    """See `k_means_plus_plus`; where time is short, in this order: greedy, plain, and the rest at once."""
    if n_local_trials is None:
        n_local_trials = 2 + int(np.log(n_clusters))
    if n_local_trials < 1:
        raise ValueError(f"n_local_trials must be at least 1, got {n_local_trials}.")
    n_wanted_trials = n_local_trials
    growing, pace = _GrowingCenters(data, n_clusters), _Pace(deadline, n_clusters)
    n_by_distance = n_clusters
    for number in range(n_clusters):
        if number > 0 and deadline.is_over:
            n_by_distance = number
            growing.choose_rest(random)
            break
        if pace.is_too_slow(number):
            n_local_trials = 1
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
    if n_local_trials != n_wanted_trials or n_by_distance < n_clusters:
        warn_of_haste(n_by_distance, n_clusters)
    return growing.centers, growing.indices


# Centres by which the pace is judged: later ones are chosen faster.
_CENTERS_OF_PACE = 8


class _Pace:
    """Whether all centres can be chosen in time the way that the last few were."""

    def __init__(self, deadline: Deadline, n_clusters: int) -> None:
        self._deadline, self._n_clusters = deadline, n_clusters
        self._marks: list[float] = []

    def is_too_slow(self, number: int) -> bool:
        """Whether half of the time is over and the rest will not do; called before each centre."""
        if not self._deadline.is_set:
            return False
        self._marks = [*self._marks[-_CENTERS_OF_PACE:], now()]
        if self._deadline.seconds < self._deadline.left or len(self._marks) < 2:
            return False
        per_center = (self._marks[-1] - self._marks[0]) / (len(self._marks) - 1)
        return per_center * (self._n_clusters - number) > self._deadline.left


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
        n_quanta = -(-data.n_rows // _kernels.ROW_QUANTUM)
        self._nearest_of_quanta = np.zeros((n_quanta, _kernels.ROW_QUANTUM), dtype=data.dtype)
        self._nearest = self._nearest_of_quanta.reshape(-1)[: data.n_rows]
        self._nearest[:] = np.inf
        self._owner = np.zeros(data.n_rows, dtype=np.int32)
        self._reached = np.zeros(data.n_rows, dtype=np.uint32)
        self._potentials = self._masses(np.arange(n_quanta)).sum(axis=1)

    def _masses(self, quanta: IndexArray) -> FloatArray:
        """Return what the rows of some quanta are drawn in proportion to, one line for each; 0 beyond the last row."""
        nearest = self._nearest_of_quanta[quanta]
        # Before the first pass rows are drawn by their weights.
        masses = (nearest if self.n_chosen > self.n_waiting else nearest > 0).astype(np.float64)
        if self._data.weights is not None:
            rows = quanta[:, None] * _kernels.ROW_QUANTUM + np.arange(_kernels.ROW_QUANTUM)
            masses *= self._data.weights[np.minimum(rows, self._data.n_rows - 1)]
        return masses

    def draw(self, random: np.random.RandomState, n_draws: int) -> tuple[IndexArray, Array]:
        """Draw rows with probability proportional to weight times squared distance to the nearest centre."""
        accepted: list[IndexArray] = []
        candidates: list[Array] = []
        while n_draws > 0:
            rows = self._draw_by_last_pass(random, n_draws)
            drawn = take_rows(self._data, rows)
            if self.n_waiting > 0 and self._potentials.any():
                keep = self._accepted(rows, drawn, random)
                rows, drawn = rows[keep], drawn[keep]
            accepted.append(rows)
            candidates.append(drawn)
            n_draws -= len(rows)
        return np.concatenate(accepted), np.concatenate(candidates)

    def _draw_by_last_pass(self, random: np.random.RandomState, n_draws: int) -> IndexArray:
        cumulative = self._potentials.cumsum()
        points = random.uniform(size=n_draws)
        if not cumulative[-1] > 0:  # every row is at a centre already
            return (points * self._data.n_rows).astype(np.intp)
        points *= cumulative[-1]
        quanta = cumulative.searchsorted(points, side="right")
        quanta = np.minimum(quanta, self._potentials.nonzero()[0][-1])
        points -= np.where(quanta > 0, cumulative[quanta - 1], 0.0)
        masses = self._masses(quanta)
        within = (masses.cumsum(axis=1) <= points[:, None]).sum(axis=1)
        # Rounding may lead beyond the last row that can be drawn.
        last = masses.shape[1] - 1 - (masses[:, ::-1] > 0).argmax(axis=1)
        return quanta * _kernels.ROW_QUANTUM + np.minimum(within, last)

    def _accepted(self, rows: IndexArray, drawn: Array, random: np.random.RandomState) -> BoolArray:
        """Return which rows the waiting centres leave; there must be some, and a distance above 0."""
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
        self._squares[number] = (self._relative[number] ** 2).sum()
        self.n_chosen += 1
        self.n_waiting += 1

    def choose_rest(self, random: np.random.RandomState) -> None:
        """Choose all further centres without a look at the distances between them."""
        masses = self._masses(np.arange(len(self._potentials))).ravel()[: self._data.n_rows]
        masses[self.indices[: self.n_chosen]] = 0
        rows = drawn_at_once(masses, len(self.indices) - self.n_chosen, random)
        self.indices[self.n_chosen :] = rows
        self.centers[self.n_chosen :] = take_rows(self._data, rows)

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
        quanta = chosen // _kernels.ROW_QUANTUM  # the same one twice makes no difference
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
