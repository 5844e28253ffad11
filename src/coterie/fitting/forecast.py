"""How many more steps something takes that comes nearer to its end with each of them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from coterie.arrays import FloatArray

__all__ = ["Forecast"]

# Steps before the first guess, and how many times those done there can be to come.
_FEWEST_STEPS, _MOST_TIMES = 4, 20


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
        numbers = np.arange(n_steps // 2 + 1, n_steps + 1)
        values = np.array(self._logarithms[n_steps // 2 :])
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
