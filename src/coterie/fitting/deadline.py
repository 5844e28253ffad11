"""When a fit is to end, and the phases on its way there.

A fit makes one `Deadline` when it is called. What it calls gets a `Phase`: it asks the phase whether it is late, and
tells it how far it has come. Without `max_time` no phase is ever late, and no number depends on the clock.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field

__all__ = ["UNHURRIED", "Deadline", "OutOfTime", "Phase", "now"]


def now() -> float:
    """Return the seconds on the clock that fits look at."""
    return time.perf_counter()


class OutOfTime(Exception):
    """Something had to be given up for want of time; whoever called it has another way."""


class Deadline:
    """A time by which something is to end.

    Parameters
    ----------
    seconds : float, optional
        How long from now; None: there is no hurry.

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
        """Whether there is a time at all."""
        return self.end < math.inf

    @property
    def seconds(self) -> float:
        """How long ago it was set."""
        return now() - self.begin

    @property
    def left(self) -> float:
        """Seconds until then: infinite without a time, negative afterwards."""
        return self.end - now() if self.is_set else math.inf

    @property
    def is_over(self) -> bool:
        """Whether that time has come."""
        return self.left <= 0

    def sooner(self, seconds: float) -> Deadline:
        """Return the deadline of what must leave so many seconds for the rest, but has an eighth of the time left."""
        return self._within(max(self.left - seconds, self.left / 8))

    def share(self, part: float) -> Deadline:
        """Return the deadline of what may take this part of the time left."""
        return self._within(part * self.left)

    def _within(self, seconds: float) -> Deadline:
        return Deadline(max(seconds, 0.0)) if self.is_set else Deadline()


@dataclass
class Phase:
    """A part of a fit, such as its seeding.

    Attributes
    ----------
    deadline : Deadline
        When it is to end.
    listener : callable, optional
        Called with the part of the phase that is done, from 0 to 1.
    """

    deadline: Deadline = field(default_factory=Deadline)
    listener: Callable[[float], None] | None = None

    @property
    def is_late(self) -> bool:
        """Whether its time is over."""
        return self.deadline.is_over

    def check(self) -> None:
        """Raise `OutOfTime` if its time is over."""
        if self.is_late:
            raise OutOfTime

    def tell(self, done: float, total: float) -> None:
        """Say how much of all there is to do has been done."""
        if self.listener is not None and total > 0:
            self.listener(min(done / total, 1.0))


# Of what nobody watches, and has all the time that it takes.
UNHURRIED = Phase()
