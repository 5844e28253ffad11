"""The time limit of a fit.

A fit makes one `Deadline` when it is called. Solvers look at it between passes, initializers between steps. Without
`max_time` it is never over, and no number depends on the clock.
"""

from __future__ import annotations

import math
import time

__all__ = ["UNHURRIED", "UNLIMITED", "Deadline", "OutOfTime", "Phase", "now"]


def now() -> float:
    """Return the seconds on the clock that fits look at."""
    return time.perf_counter()


class OutOfTime(Exception):
    """The time limit of a step was reached before it had a result."""


class Deadline:
    """A time by which something is to end.

    Parameters
    ----------
    seconds : float, optional
        How long from now; None: without limit.

    Examples
    --------
    >>> from coterie.fitting.deadline import Deadline
    >>> Deadline().is_over, Deadline(0).is_over
    (False, True)
    """

    def __init__(self, seconds: float | None = None) -> None:
        self.begin = now()
        self.end = math.inf if seconds is None else self.begin + seconds

    @property
    def is_set(self) -> bool:
        """Whether there is a limit at all."""
        return self.end < math.inf

    @property
    def seconds(self) -> float:
        """How long ago it was set."""
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
        return self._within(part * self.left)

    def _within(self, seconds: float) -> Deadline:
        return Deadline(max(seconds, 0.0)) if self.is_set else Deadline()

    # Names from before phases were deadlines; they go once no fit uses them.

    @property
    def deadline(self) -> Deadline:
        """Return itself."""
        return self

    @property
    def is_late(self) -> bool:
        """Whether that time has come."""
        return self.is_over

    def tell(self, done: float, total: float) -> None:
        """Do nothing."""

    def sooner(self, seconds: float) -> Deadline:
        """Return the deadline of what must leave this many seconds, but has an eighth of the time left."""
        return self._within(max(self.left - seconds, self.left / 8))


UNLIMITED = Deadline()

# Former names.
Phase = Deadline
UNHURRIED = UNLIMITED
