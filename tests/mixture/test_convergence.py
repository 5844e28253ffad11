"""Convergence of EM: by the last change, and by the gain that is left."""

import numpy as np
import pytest

from coterie.mixture.em import effective_size, has_converged


def n_iterations(bounds, tol, least_gain, window=3):
    """Return after how many iterations a run with these free energies ends, and None if it does not."""
    ends = (t for t in range(1, len(bounds)) if has_converged(bounds[: t + 1], tol, least_gain, window))
    return next(ends, None)


def test_a_small_change_ends_it():
    bounds = [-10.0, -5, -4, -3.999, -3]
    assert n_iterations(bounds, 1e-3, 0.0) == 3
    assert n_iterations(bounds, 1e-5, 0.0) is None
    assert n_iterations(bounds, 0.0, 0.0) is None


@pytest.mark.parametrize("power", [1.0, 1.5, 2.0])
@pytest.mark.parametrize("least_gain", [0.01, 0.1, 1.0])
def test_slow_gains_stop_at_the_allowed_rest(power, least_gain):
    """What a power of the iteration leaves: with the first one gains fall as 1 / t^2, the slowest that is foreseen."""
    t = np.arange(1, 3_000.0)
    left = 10 * t**-power
    end = n_iterations(-left, 0.0, least_gain)
    assert end is not None
    assert left[end] < 1.2 * least_gain


def test_gains_of_a_whole_cycle_count():
    """Only every fifth E-step searches, and those between gain nothing."""
    bounds = np.repeat(-10 / np.arange(1, 100.0), 5)
    assert n_iterations(bounds, 0.0, 0.5) < 10
    end = n_iterations(bounds, 0.0, 0.5, window=5)
    assert -bounds[end] < 0.6


def test_effective_size():
    assert effective_size(np.full(50, 0.3, dtype=np.float32)) == pytest.approx(50)
    assert effective_size(np.array([1.0, 1, 0, 0])) == pytest.approx(2)
    assert effective_size(np.array([1.0, 3])) == pytest.approx(16 / 10)
