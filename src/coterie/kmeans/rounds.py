"""What the rounds of nested mini-batches have told by now, by which a sample is left or grows."""

from __future__ import annotations

import numpy as np

__all__ = ["Descent", "Growth", "Rounds"]

# Rounds on the same sample in which rows near a tie may go to and fro by rounding, before that counts as settled.
_ROUNDS_WITHOUT_PROGRESS = 5


class Rounds:
    """What rounds have told by now of the sample and its centroids."""

    def __init__(self) -> None:
        self.descent, self.growth = Descent(), Growth()


class Growth:
    """By how much the energy of a sample fell since rows joined it, as a part of it; infinite before any did.

    Attributes
    ----------
    size : int
        Of the sample.
    at_first, energy : float
        The energies of the first round of the sample, and of the latest.
    """

    def __init__(self) -> None:
        self.size = 0
        self.at_first = self.energy = np.inf

    def note(self, size: int, energy: float) -> None:
        """Take in the energy of a round: in the first of a sample by the centroids of the one before."""
        if 0 < self.size < size:
            self.at_first = energy
        self.size, self.energy = size, energy

    def gain(self) -> float:
        """Return by which part of itself the energy fell."""
        return 0.0 if self.energy <= 0 else (self.at_first - self.energy) / self.energy


class Descent:
    """The energy of one sample. It falls from round to round, until only rounding is left to gain.

    Attributes
    ----------
    lowest : float
        The lowest energy by now.
    n_without_progress : int
        Rounds since then.
    """

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        """Begin with another sample."""
        self.lowest = np.inf
        self.n_without_progress = 0

    def has_stalled(self, energy: float) -> bool:
        """Take in the energy of a round; return whether it has not fallen for some rounds."""
        self.n_without_progress = 0 if energy < self.lowest else self.n_without_progress + 1
        self.lowest = min(energy, self.lowest)
        return self.n_without_progress >= _ROUNDS_WITHOUT_PROGRESS
