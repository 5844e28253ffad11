"""The time limit of a fit.

A fit makes one `Deadline` when it is called. Solvers check it between passes, initializers between steps. Without
`max_time` it is never over, and no result depends on the clock.
"""

from __future__ import annotations

import math
import time


def now() -> float:
    """Return the seconds on the clock that fits look at."""
    return time.perf_counter()


class OutOfTime(Exception):
    """The time limit of a step was reached before it had a result."""


class Deadline:
    """The time at which a fit or a step of it should end, in seconds from now."""

    def __init__(self, seconds: float | None = None) -> None:
        self.begin = now()
        self.end = math.inf if seconds is None else self.begin + seconds

    @property
    def is_set(self) -> bool:
        """Whether there is a limit at all."""
        return self.end < math.inf

    @property
    def seconds(self) -> float:
        """Seconds since it was set."""
        return now() - self.begin

    @property
    def left(self) -> float:
        """Seconds until then: infinite without a limit, negative afterwards."""
        return self.end - now() if self.is_set else math.inf

    @property
    def is_over(self) -> bool:
        """Whether that time has come."""
        return self.left <= 0

    def check(self) -> None:
        """Raise `OutOfTime` if that time has come."""
        if self.is_over:
            raise OutOfTime

    def share(self, part: float) -> Deadline:
        """Return the deadline of what may take this part of the time left."""
        return Deadline(max(part * self.left, 0.0)) if self.is_set else Deadline()


UNLIMITED = Deadline()
