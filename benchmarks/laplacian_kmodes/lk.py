"""Laplacian K-modes as Wang and Carreira-Perpinan relax and solve it (2014): a quadratic program over simplices.

Plain NumPy. Between two searches for the modes, memberships Z minimize lambda tr(Z' L Z) - sum z_pl k(x_p, m_l) over
rows of the simplex, by accelerated projected gradients; the modes are mean shifts with weights z.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.metrics.pairwise import rbf_kernel

from coterie.total_variation.initialization import on_the_simplex

# Relative to the objective and to the bandwidth.
_TOL = 1e-5
_MOST_ROUNDS, _MOST_GRADIENTS, _MOST_SHIFTS = 50, 1000, 100


@dataclass(frozen=True)
class Relaxed:
    """Memberships of shape (n, L), and modes of shape (L, d)."""

    memberships: np.ndarray
    modes: np.ndarray

    @property
    def labels(self) -> np.ndarray:
        """The cluster with the largest membership of each row."""
        return self.memberships.argmax(axis=1)


def laplacian_k_modes(
    X: np.ndarray, graph: Any, centers: np.ndarray, bandwidth: float, lam: float
) -> Relaxed:
    """Alternate memberships and modes until no mode moves; a directed graph counts half in each direction."""
    rows, modes = np.asarray(X, dtype=np.float64), np.asarray(centers, dtype=np.float64)
    both = sp.csr_array((graph + graph.T) * 0.5, dtype=np.float64)
    memberships = on_the_simplex(gaussian(rows, modes, bandwidth))
    for _ in range(_MOST_ROUNDS):
        memberships = memberships_of(both, gaussian(rows, modes, bandwidth), lam, memberships, _TOL)
        before, modes = modes, mean_shifts(rows, memberships, modes, bandwidth)
        if np.linalg.norm(modes - before, axis=1).max() <= _TOL * bandwidth:
            break
    return Relaxed(memberships, modes)


def memberships_of(
    graph: Any, affinities: np.ndarray, lam: float, start: np.ndarray, tol: float
) -> np.ndarray:
    """Minimize lambda tr(Z' L Z) - sum z a over the simplices (FISTA, begun anew where the objective rises)."""
    degrees = np.asarray(graph.sum(axis=1)).reshape(-1, 1)
    # tr(Z' L Z) has the Hessian 2 L, whose norm is at most four times the largest degree.
    step = 1 / max(4 * lam * float(degrees.max()), 1e-12)

    def laplacian(Z: np.ndarray) -> np.ndarray:
        return degrees * Z - graph @ Z

    def objective(Z: np.ndarray) -> float:
        return float(lam * np.sum(Z * laplacian(Z)) - np.sum(Z * affinities))

    current = ahead = start
    value, momentum = objective(start), 1.0
    for _ in range(_MOST_GRADIENTS):
        found = on_the_simplex(ahead - step * (2 * lam * laplacian(ahead) - affinities))
        new = objective(found)
        if new > value and momentum > 1:
            ahead, momentum = current, 1.0
            continue
        larger = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        ahead = found + (momentum - 1) / larger * (found - current)
        settled = abs(value - new) <= 1e-3 * tol * abs(new)
        current, value, momentum = found, new, larger
        if settled:
            break
    return current


def mean_shifts(X: np.ndarray, weights: np.ndarray, modes: np.ndarray, bandwidth: float) -> np.ndarray:
    """Move each mode to the mean of the rows, weighted by the cluster's weights and the kernel, until it stays."""
    for _ in range(_MOST_SHIFTS):
        shares = weights * gaussian(X, modes, bandwidth)
        masses = shares.sum(axis=0)[:, None]
        moved = np.where(masses > 0, (shares.T @ X) / np.where(masses > 0, masses, 1), modes)
        longest = np.linalg.norm(moved - modes, axis=1).max()
        modes = moved
        if longest <= 1e-3 * bandwidth:
            break
    return modes


def gaussian(X: np.ndarray, modes: np.ndarray, bandwidth: float) -> np.ndarray:
    """Return exp(-||x - m||^2 / (2 s^2)), shape (n, L)."""
    return rbf_kernel(X, modes, gamma=1 / (2 * bandwidth**2))
