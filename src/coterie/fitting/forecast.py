"""How many more steps something takes that comes nearer to its end with each of them."""

from __future__ import annotations

import math

import numpy as np

__all__ = ["Forecast"]

# Steps before the first guess, and how many times those done there can be to come.
_FEWEST_STEPS, _MOST_TIMES = 4, 20


class Forecast:
    """Guesses when a series that falls like a power of the steps gets to 1.

    Movements of centroids and gaps of objectives fall so, as a rule: fast at first, then ever more slowly. The power is
    that of the later half of the steps, so that what the first ones did is soon forgotten.

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
        slope, height = np.polyfit(np.log(numbers[known]), values[known], 1)
        if slope >= 0:
            return None
        # height + slope log(steps) = 0 at the end.
        total = math.exp(min(-height / slope, math.log(n_steps * _MOST_TIMES)))
        return max(total - n_steps, 1.0)
