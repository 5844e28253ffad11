"""The rows, and the scale of distances in their weights."""

from __future__ import annotations

import numpy as np

PHI = 2.0


def moons(n_rows: int) -> np.ndarray:
    """Return two half moons with noise of 0.05."""
    from sklearn.datasets import make_moons

    return make_moons(n_rows, noise=0.05, random_state=0)[0]
