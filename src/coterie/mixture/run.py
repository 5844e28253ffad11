"""What one run of EM ended with."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from coterie.arrays import Array, IntArray
from coterie.mixture.parameters import MixtureParameters

__all__ = ["Run"]


@dataclass(frozen=True)
class Run:
    """What one run of EM ended with."""

    parameters: MixtureParameters
    neighbors: IntArray
    history: Array
    converged: bool
    lower_bound: float

    def without_dropped(self) -> Run:
        """Return the same with the components that are left, numbered anew."""
        means, variances, weights = self.parameters.means, self.parameters.variances, self.parameters.weights
        alive = weights > 0
        left = MixtureParameters(
            means[alive], variances[alive] if variances.ndim else variances, weights[alive]
        )
        numbers = np.cumsum(alive, dtype=np.int32) - 1
        neighbors = self.neighbors[alive]
        neighbors = np.where(alive[neighbors], neighbors, neighbors[:, :1])
        return replace(self, parameters=left, neighbors=numbers[neighbors])
