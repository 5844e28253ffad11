"""Assignment that measures which bounds are faster on this machine and these rows; labels do not depend on it.

One lower bound for each centroid skips more distances than one for a panel of them, but takes sixteen times the memory,
which is allocated once and read in every pass. The cost of that differs between machines, so some rows try the other
kind: bounds of one kind follow from those of the other, without a distance.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from coterie import _kernels
from coterie.arrays import IndexArray, IntArray
from coterie.blocks.dataset import FitRows
from coterie.centers.bounded import BoundedAssignment, n_bounds_of
from coterie.centers.frame import CenterFrame
from coterie.fitting.deadline import now

# Processor time is independent of other processes; if its clock is coarse, as on Windows, wall-clock time is used.
_FINE = 1e-5
_clock = time.process_time if time.get_clock_info("process_time").resolution < _FINE else now

# One row in this number tries the other kind of bounds.
_ROWS_PER_TRIED = 10

# First pass of the first trial, and the factor between trials: the share of skipped distances changes less and less.
_FIRST_TRIAL, _LATER = 2, 3

# A trial is some passes with the current kind, one pass that tightens copied bounds, and as many passes with the other
# kind. Bounds per centroid start from those of groups and become tight more slowly; those of groups are tight then.
_COMPARED, _COMPARED_WITH_GROUPS = 2, 1

# Bounds per centroid are used from the first pass on if its time grows by at most this factor: their cost is the
# same in every pass, and they skip a fifth to a third more distances.
_CHEAP = 1.1

# The other kind must be faster by this factor; the expected number of further passes, relative to the passes so far.
_FASTER, _PASSES_TO_COME = 0.9, 3


@dataclass
class _Seconds:
    """Seconds of one pass for the rows of the trial and for all others: processor time, if its clock is fine enough."""

    tried: float = 0.0
    rest: float = 0.0


class AdaptiveAssignment:
    """Bounds per group of centroids or per centroid, whichever is faster; some rows try the other kind at times.

    Parameters
    ----------
    data : ChunkRows
        Dense rows.
    frame : CenterFrame
        The first centroids.
    max_iter : int
        Passes at most.
    unit_length : bool
        See `BoundedAssignment`.
    """

    def __init__(
        self, data: FitRows, frame: CenterFrame, *, max_iter: float = math.inf, unit_length: bool = False
    ) -> None:
        self._n_groups = n_bounds_of("yinyang", data.n_rows, len(frame))
        self._used = BoundedAssignment(data, frame, self._n_groups, unit_length=unit_length)
        self._other: BoundedAssignment | None = None
        self._most_passes = max_iter
        self._n_passes = 0
        self._next_trial = _FIRST_TRIAL
        self._seconds: list[_Seconds] = []
        self._converting = 0.0
        self._parts: list[slice] = []
        self.labels = self._used.labels

    @property
    def algorithm(self) -> str:
        """Kind of bounds of most rows."""
        return "elkan" if self._used.is_per_center else "yinyang"

    @property
    def _n_compared(self) -> int:
        """Number of passes with and without the other kind of bounds that are compared."""
        return _COMPARED_WITH_GROUPS if self._used.is_per_center else _COMPARED

    def start(self, frame: CenterFrame) -> None:
        """Take the centroids of the coming pass; begin a trial or end one."""
        self._n_passes += 1
        if len(self._seconds) == 2 * self._n_compared + 1:
            self._end_trial()
        if self._n_passes >= self._next_trial:
            if len(self._seconds) == self._n_compared:
                self._try_other()
            self._seconds.append(_Seconds())
        self._used.start(frame)
        if self._other is not None:
            self._other.start(frame)

    def assign(self, part: slice, x: Any) -> None:
        """Bring the labels of one block up to date."""
        if self._n_passes == 1:
            self._parts.append(part)
        tried, rest = _divided(part)
        if self._n_passes == 1 and part.start == 0 and tried.stop > 0:
            self._choose_first(part, x)
        elif self._seconds:
            self._seconds[-1].tried += _seconds_of(self._other or self._used, tried, part, x)
            self._seconds[-1].rest += _seconds_of(self._used, rest, part, x)
        else:
            self._used.assign(part, x)

    def relabel(self, rows: IndexArray, labels: IntArray) -> None:
        """Give some rows labels that a distance did not choose; their bounds are forgotten."""
        self._used.relabel(rows, labels)
        if self._other is not None:
            self._other.relabel(rows, labels)

    def _choose_first(self, part: slice, x: Any) -> None:
        """Assign the first block: some rows with bounds for groups, as many with others, the rest with the cheaper."""
        first, _ = _divided(part)
        second, rest = slice(first.stop, 2 * first.stop), slice(2 * first.stop, part.stop)
        groups, seconds = self._used, _seconds_of(self._used, first, part, x)
        lanes = groups.regrouped(None)
        if _seconds_of(lanes, second, part, x) <= _CHEAP * seconds:
            lanes.copy_bounds(first, groups)
            self._used = lanes
        else:
            groups.copy_bounds(second, lanes)
        self._used.assign(rest, _rows_of(rest, part, x))

    def _try_other(self) -> None:
        begin = _clock()
        self._other = self._used.regrouped(self._n_groups if self._used.is_per_center else None)
        for part in self._parts:
            self._other.copy_bounds(_divided(part)[0], self._used)
        self._converting = _clock() - begin

    def _end_trial(self) -> None:
        """End the trial: give all rows the faster kind of bounds."""
        assert self._other is not None
        # A coarse clock may have measured 0.
        tried, rest = np.maximum([(each.tried, each.rest) for each in self._seconds], 1e-9).T
        before, after = slice(self._n_compared), slice(self._n_compared + 1, None)
        # The change of the time of the other rows predicts that of these rows.
        ratio = tried[after].sum() / tried[before].sum() * rest[before].sum() / rest[after].sum()
        to_come = min(self._most_passes - self._n_passes, _PASSES_TO_COME * self._n_passes)
        saved = (1 - ratio) * rest[-1] * to_come
        pays = ratio < _FASTER and saved > _ROWS_PER_TRIED * self._converting
        old, new = (self._used, self._other) if pays else (self._other, self._used)
        for part in self._parts:
            few, others = _divided(part)
            new.copy_bounds(others if pays else few, old)
        self._used, self._other, self._seconds = new, None, []
        self._next_trial = _LATER * self._n_passes


def _seconds_of(assignment: BoundedAssignment, rows: slice, part: slice, x: Any) -> float:
    """Assign some rows of a block; return how long that took."""
    begin = _clock()
    if rows.stop > rows.start:
        assignment.assign(rows, _rows_of(rows, part, x))
    return _clock() - begin


def _rows_of(rows: slice, part: slice, x: Any) -> Any:
    return _kernels.select_rows(x, np.arange(rows.start - part.start, rows.stop - part.start))


def _divided(part: slice) -> tuple[slice, slice]:
    """Return which rows of a block are in a trial, and the others."""
    end = part.start + (part.stop - part.start) // _ROWS_PER_TRIED
    return slice(part.start, end), slice(end, part.stop)
