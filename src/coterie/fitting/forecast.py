"""How much longer something takes that comes nearer to its end with each step."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from coterie.arrays import FloatArray, IntArray

__all__ = ["Forecast", "HalvingForecast", "StagedForecast"]

# Steps before the first guess, for the very first fall faster than all others; and how many times those done there can
# be in all: once a third is done that is so, and series that hardly fall for a while would foretell any number.
_FEWEST_STEPS, _MOST_TIMES = 8, 3

# Values that a guess goes by: a guess after each of many steps must not cost more than these.
_MOST_VALUES = 200


class Forecast:
    """Guesses when a series gets to 1 that falls like a power of the steps, or by a factor in each.

    Movements of centroids and gaps of objectives fall in one of these ways, as a rule. Which one, and how fast, the
    later half of the steps says, so that what the first ones did is soon forgotten.

    Examples
    --------
    >>> from coterie.fitting.forecast import Forecast
    >>> forecast = Forecast()
    >>> for step in range(1, 11):
    ...     forecast.note(400 / step**2)
    >>> round(forecast.steps_left())
    10
    """

    def __init__(self) -> None:
        self._logarithms: list[float] = []

    def note(self, closeness: float) -> None:
        """Take in how many times too large something is for the end."""
        is_known = math.isfinite(closeness) and closeness > 0
        self._logarithms.append(math.log(closeness) if is_known else math.nan)

    def steps_left(self) -> float | None:
        """Return how many steps are left; None while there is nothing to go by."""
        n_steps = len(self._logarithms)
        if n_steps < _FEWEST_STEPS:
            return None
        begin = n_steps // 2
        apart = -(-(n_steps - begin) // _MOST_VALUES)
        numbers = np.arange(begin + 1, n_steps + 1, apart)
        values = np.array(self._logarithms[begin::apart])
        known = np.isfinite(values)
        if np.count_nonzero(known) < 2:
            return None
        numbers, values = numbers[known], values[known]
        by_power, by_factor = (_line(scale, values) for scale in (np.log(numbers), numbers))
        if by_power.slope >= 0:
            return None
        most = float(n_steps * _MOST_TIMES)
        if by_factor.error < by_power.error:
            total = min(by_factor.root, most)
        else:
            total = math.exp(min(by_power.root, math.log(most)))
        return max(total - n_steps, 1.0)


@dataclass(frozen=True)
class _Line:
    slope: float
    height: float
    error: float

    @property
    def root(self) -> float:
        return -self.height / self.slope


def _line(places: FloatArray, values: FloatArray) -> _Line:
    """Return the line of least squares."""
    slope, height = np.polyfit(places, values, 1)
    return _Line(float(slope), float(height), float(np.sum((height + slope * places - values) ** 2)))


# Times that a stage takes of the one before for each doubling of the sample: as a rule, at least and at most.
_USUAL_GROWTH, _LEAST_GROWTH, _MOST_GROWTH = 2.0, 1.5, 3.0

# A stage that takes longer than the one before foretold is not over.
_MOST_BY_CLOCK = 0.98


class StagedForecast:
    """Guesses when a fit ends that goes over a sample until little changes, doubles it, and so on to all rows.

    Stages are alike: as much of them is over when so large a part of the sample changes, and each takes some times
    as long as the one before. Both are learnt from the stages that are over.

    Parameters
    ----------
    n_rows : int
        All rows: the sample of the last stage.
    seconds : float
        When the first stage begins.

    Attributes
    ----------
    seconds_after : float
        How long what comes after the last stage takes, such as labels of all rows.

    Examples
    --------
    >>> from coterie.fitting.forecast import StagedForecast
    >>> forecast = StagedForecast(400)
    >>> for second, changes in enumerate([100, 10, 0]):
    ...     forecast.note(100, changes, 1.0 + second)
    >>> forecast.note(200, 100, 4.0)
    >>> round(forecast.seconds_left())
    13
    """

    def __init__(self, n_rows: int, seconds: float = 0.0) -> None:
        self._n_rows = n_rows
        self._stages: list[_Stage] = []
        self._last = seconds
        self.seconds_after = 0.0

    def note(self, size: int, n_changed: int, seconds: float, *, would_end: bool = False) -> None:
        """Take in a round over a sample.

        Parameters
        ----------
        size : int
            Rows of the sample.
        n_changed : int
            How many of them changed.
        seconds : float
            When it was over.
        would_end : bool
            Whether the fit would end now, were this the last stage.
        """
        if not self._stages or size != self._stages[-1].size:
            self._stages.append(_Stage(size, self._last))
        self._stages[-1].note(n_changed, seconds, would_end)
        self._last = seconds

    def seconds_left(self) -> float | None:
        """Return the seconds left; None while no stage is over."""
        if len(self._stages) < 2:
            return None
        before, now = self._stages[-2:]
        # The last stage need not go on until nothing changes.
        of_last = before.share_needed
        part = of_last if now.size == self._n_rows else 1.0
        whole = part * before.seconds * self._growth(before.size, now.size)
        # How much of the stage is over: changes say it, and the clock, which goes on where they halt.
        by_changes = min(before.share_until(now.lowest[-1]) / part, 1.0)
        share = (by_changes + min(now.seconds / max(whole, 1e-9), _MOST_BY_CLOCK)) / 2
        # What the stage before says of the whole one, and, the more of it is over, what this one says itself.
        left = (1 - share) * ((1 - share) * whole + now.seconds)
        stage, size, left = now.seconds + left, now.size, left + self.seconds_after
        while size < self._n_rows:
            larger = min(2 * size, self._n_rows)
            stage *= self._growth(size, larger) * (of_last if larger == self._n_rows else 1.0)
            left, size = left + stage, larger
        return left

    def _growth(self, size: int, larger: int) -> float:
        """Return how many times as long a stage of so many more rows takes."""
        over = self._stages[:-1]
        seen = [after.growth_from(before) for before, after in pairwise(over[-3:])]
        each = float(np.exp(np.mean(np.log(seen)))) if seen else _USUAL_GROWTH
        return min(max(each, _LEAST_GROWTH), _MOST_GROWTH) ** math.log2(larger / size)


class _Stage:
    """The rounds over one sample: when they ended, and the logarithm of the fewest changes of a million rows."""

    def __init__(self, size: int, begin: float) -> None:
        self.size, self._begin = size, begin
        self.ends: list[float] = []
        self.lowest: list[float] = []
        self._needed: float | None = None

    @property
    def seconds(self) -> float:
        return self.ends[-1]

    @property
    def share_needed(self) -> float:
        """The share of the stage after which the fit would have ended, were it the last."""
        return 1.0 if self._needed is None else max(self._needed, 1e-9) / max(self.seconds, 1e-9)

    def note(self, n_changed: int, seconds: float, would_end: bool) -> None:
        self.ends.append(seconds - self._begin)
        self.lowest.append(min([math.log1p(1e6 * n_changed / self.size), *self.lowest[-1:]]))
        if would_end and self._needed is None:
            self._needed = self.seconds

    def share_until(self, lowest: float) -> float:
        """Return the share of the stage that was over when so little changed."""
        if lowest >= self.lowest[0]:
            return 0.0
        shares = np.array(self.ends) / max(self.seconds, 1e-9)
        return float(np.interp(-lowest, -np.array(self.lowest), shares))

    def growth_from(self, before: _Stage) -> float:
        """Return how many times as long as an earlier one it took, for each doubling."""
        return float((self.seconds / max(before.seconds, 1e-9)) ** (1 / math.log2(self.size / before.size)))


# Halvings of an interval: as exact as a count of groups needs.
_HALVINGS = 40

# What a row takes at each node on its way down the tree, of what it takes while the node is halved: measured once.
_OF_HALVING = 0.25


class HalvingForecast:
    """Guesses when a fit ends that halves the worst of its groups of rows until there are so many, and labels the rows.

    Halving a large group takes time for each row, a small one for itself, so the later halvings are a measure of both:
    the smaller their groups, the more the number of halvings to come counts beside the number of rows in these. Groups
    to come are taken to be halves, and the largest one to be the worst.

    Parameters
    ----------
    n_groups : int
        When the fit ends.

    Examples
    --------
    >>> import numpy as np
    >>> from coterie.fitting.forecast import HalvingForecast
    >>> forecast = HalvingForecast(4)
    >>> forecast.note(1000, 2.0)
    >>> round(forecast.seconds_left(np.array([500, 500])))
    3
    """

    def __init__(self, n_groups: int) -> None:
        self._n_groups = n_groups
        self._n_rows: list[float] = [0.0]
        self._seconds: list[float] = [0.0]

    def note(self, n_rows: int, seconds: float) -> None:
        """Take in that so many rows were halved in so many seconds."""
        self._n_rows.append(self._n_rows[-1] + n_rows)
        self._seconds.append(self._seconds[-1] + seconds)

    def seconds_left(self, sizes: IntArray) -> float:
        """Return the seconds left when there are groups of such sizes."""
        n_halvings = self._n_groups - len(sizes)
        of_row = self._seconds[-1] / self._n_rows[-1]
        labels = _OF_HALVING * of_row * float(np.sum(sizes)) * math.log2(self._n_groups)
        if n_halvings <= 0:
            return labels
        begin = 3 * (len(self._seconds) - 1) // 4
        n_late = len(self._seconds) - 1 - begin
        rows, seconds = (over[-1] - over[begin] for over in (self._n_rows, self._seconds))
        by_rows = seconds / rows * self._visits(sizes)
        by_number = seconds / n_late * n_halvings
        smallness = math.log(float(np.sum(sizes)) * n_late / rows) / math.log(self._n_groups)
        return float(by_rows ** (1 - smallness) * by_number**smallness) + labels

    def _visits(self, sizes: IntArray) -> float:
        """Return how many rows the halvings to come have in all."""
        least, most = 0.0, float(np.sum(sizes))
        for _ in range(_HALVINGS):
            middle = (least + most) / 2
            if np.sum(np.maximum(sizes / middle, 1.0)) > self._n_groups:
                least = middle
            else:
                most = middle
        return float(sizes @ np.log2(np.maximum(sizes / most, 1.0)))
