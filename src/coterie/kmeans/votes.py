"""Votes of rows for the clusters of nested mini-batch k-means: each row of the sample has one, that it can recast."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from coterie.arrays import Array, FloatArray, IndexArray, IntArray
from coterie.blocks.shuffled import ShuffledRows
from coterie.centers.assignment import Assignment
from coterie.centers.means import Means
from coterie.centers.rounding import SettledAssignment, rounding_decides
from coterie.rows import RowSource

__all__ = ["EarlierVotes", "LocalVotes", "Sample", "Votes"]


class Sample(Protocol):
    """What is known of a sample that grows, wherever its rows are; see `coterie.blocks.shuffled.ShuffledRows`."""

    rows: RowSource
    order: IndexArray
    size: int
    weights: Array | None
    n_rows: int
    n_threads: int
    total_weight: float
    shift: FloatArray

    def grow(self, size: int) -> None:
        """Take in the rows up to a position."""


@dataclass
class EarlierVotes:
    """What is left of the votes of earlier calls; see `Votes`."""

    sums: FloatArray
    masses: FloatArray
    squares: FloatArray
    shift: FloatArray


class Votes:
    """One vote of each row of the sample, for the cluster that it was last assigned to.

    A subclass knows where the rows are: it has `update`, `rounding_decides`, `settle`, `counts` and `measured`.

    Attributes
    ----------
    means : Means
        The centroids.
    squares : ndarray of shape (k,), float64
        Weighted sum of the squared distances of each cluster's votes to the shift.
    is_settled : bool
        Whether rows in doubt are given their nearest centroids; see `coterie.centers.rounding`.
    """

    is_settled = False

    def __init__(self, data: Sample, means: Means, earlier: EarlierVotes | None) -> None:
        self._sample = data
        self.means = means
        self.squares = np.zeros(len(means.masses))
        self._goes_on = earlier is not None
        if earlier is not None:
            means.restore(earlier.sums, earlier.masses)
            self.squares = earlier.squares
        self._earlier_masses = means.masses.copy()

    def update(self) -> int:
        """Assign all rows of the sample and take in their votes; return how many have changed."""
        raise NotImplementedError

    def rounding_decides(self) -> bool:
        """Tell by some rows of the first sample whether rounding may choose labels."""
        raise NotImplementedError

    def settle(self) -> None:
        """From now on give rows that are in doubt their nearest centroids."""
        raise NotImplementedError

    def counts(self) -> IndexArray:
        """Return how many votes that count each cluster has among these rows."""
        raise NotImplementedError

    def measured(self) -> FloatArray:
        """Return what `Means.move` returns as within, without sums that rounding would spoil; of these rows alone."""
        raise NotImplementedError

    def move(self) -> tuple[FloatArray, FloatArray]:
        """Bring each centroid to its votes; see `Means.move`."""
        shifts, within = self.means.move(self.squares, self.empty_clusters())
        return shifts, self.measured() if self.is_settled and not self._goes_on else within

    def empty_clusters(self) -> IndexArray:
        """Return the clusters without a vote that counts, now or earlier."""
        return np.flatnonzero((self.counts() == 0) & (self._earlier_masses == 0))

    def standard_errors(self, within: FloatArray) -> FloatArray:
        """Return sigma_C of each cluster: sqrt(sse / (v (v - 1))), infinite for fewer than two votes."""
        unit = self._sample.total_weight / self._sample.n_rows
        votes = self.means.masses / unit
        with np.errstate(divide="ignore", invalid="ignore"):
            if self.means.unit_length:
                within = _across(within, self.means.masses)
            return np.where(votes > 1, np.sqrt(within / unit / (votes * (votes - 1))), np.inf)

    def scaled_up(self, within: FloatArray) -> float:
        """Return the inertia of the votes, scaled up to all rows."""
        mass = float(self.means.masses.sum())
        return float(within.sum()) * self._sample.total_weight / mass if mass > 0 else 0.0

    @cached_property
    def mean_variance(self) -> float:
        """Mean variance of the columns; to be asked for when all rows have voted, and constant from then on."""
        return self.variance_of_sample()

    def variance_of_sample(self) -> float:
        """Return the mean variance of the columns, of the rows that have voted by now."""
        mass = self.means.masses.sum()
        mean = self.means.sums.sum(axis=0) / mass
        return float(self.squares.sum() / mass - mean @ mean) / len(mean)


class LocalVotes(Votes):
    """Votes of rows of this process.

    Parameters
    ----------
    data : ShuffledRows
        The rows.
    means : Means
        The centroids.
    assignment : Assignment
        Gives rows their clusters.
    earlier : EarlierVotes or None
        What earlier calls have left.
    """

    def __init__(
        self, data: ShuffledRows, means: Means, assignment: Assignment, earlier: EarlierVotes | None = None
    ) -> None:
        super().__init__(data, means, earlier)
        self._data = data
        self._assignment = assignment
        self.is_settled = isinstance(assignment, SettledAssignment)

    def update(self) -> int:
        """See `Votes`."""
        data, assignment = self._data, self._assignment
        labels = assignment.labels[: data.size]
        before = labels.copy()
        assignment.start(self.means.frame)
        for part, x in data.blocks():
            assignment.assign(part, x)
            self.means.vote(x, labels[part], before[part], data.weights_of(part))
        changed = np.flatnonzero(labels != before)
        self._move_squares(changed, labels[changed], before[changed])
        return len(changed)

    def _move_squares(self, rows: IndexArray, labels: IntArray, before: IntArray) -> None:
        squares = self._data.squares[rows].astype(np.float64)
        if self._data.weights is not None:
            squares *= self._data.weights[rows]
        k = len(self.squares)
        self.squares += np.bincount(labels, squares, minlength=k)
        self.squares -= np.bincount(before + 1, squares, minlength=k + 1)[1:]

    def rounding_decides(self) -> bool:
        """See `Votes`."""
        data = self._data
        return rounding_decides(data, self.means.frame, self._assignment.labels[: data.size])

    def settle(self) -> None:
        """See `Votes`."""
        self._assignment, self.is_settled = SettledAssignment(self._data, self._assignment), True

    def measured(self) -> FloatArray:
        """See `Votes`."""
        assert isinstance(self._assignment, SettledAssignment)
        squares = self._assignment.squares[: self._data.size]
        if self._data.weights is not None:
            squares = squares * self._data.weights[: self._data.size]
        labels = self._assignment.labels[: self._data.size]
        return np.bincount(labels, squares, minlength=len(self.squares)).astype(np.float64)

    def counts(self) -> IndexArray:
        """See `Votes`."""
        weights = None if self._data.weights is None else self._data.weights[: self._data.size] > 0
        labels = self._assignment.labels[: self._data.size]
        return np.bincount(labels, weights, minlength=len(self.squares))


def _across(within: FloatArray, masses: FloatArray) -> FloatArray:
    """Return what stands for sse in the standard error of a direction: of rows of length 1, those across it.

    A direction c = S / |S| moves only by what its votes add at right angles to it, over |S| = r v, with r the mean of
    cos. So sigma_C^2 is sum (1 - cos^2) / (r^2 v (v - 1)) (Fisher, Lewis and Embleton 1987, section 5.3). From
    within = 2 v (1 - r) we know r; and sum cos^2 >= r^2 v, so sum (1 - cos^2) is at most v (1 - r^2): taken as that, an
    error is too large if at all, by the votes' spread along c, one direction of d. Without a direction it is infinite.
    """
    mean_cosine = 1 - within / (2 * masses)
    return np.where(mean_cosine > 0, masses * (1 - mean_cosine**2) / mean_cosine**2, np.inf)
