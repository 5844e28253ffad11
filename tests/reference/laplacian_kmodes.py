"""Slow, plain versions of Laplacian K-modes (Ziko, Granger & Ben Ayed 2018), in float64: the oracle."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.special import softmax

from tests.reference.k_means import square_distances

Array = npt.NDArray[np.float64]


def kernel(X, points, bandwidth) -> Array:
    """(n, L): exp(-||x - m||^2 / (2 s^2))."""
    X, points = np.asarray(X, dtype=np.float64), np.asarray(points, dtype=np.float64)
    return np.exp(-square_distances(X, points) / (2 * bandwidth**2))


def shifted(K) -> Array:
    """The mean of K and its transpose, with its row sums on the diagonal: positive semi-definite."""
    even = (K + K.T) / 2
    return even + np.diag(even.sum(axis=1))


def relaxed_objective(Z, affinities, K, lam) -> float:
    """R of the specification, line by line; 0 log 0 = 0."""
    logs = np.log(np.where(Z > 0, Z, 1.0))
    return float(np.sum(Z * logs) - np.sum(Z * affinities) - 0.5 * lam * np.sum(K * (Z @ Z.T)))


def discrete_objective(labels, affinities, K, lam) -> float:
    """E of the specification over one-hot rows, by loops."""
    total = -sum(float(affinities[p, label]) for p, label in enumerate(labels))
    Z = np.eye(affinities.shape[1])[labels]
    for p, q in np.argwhere(K):
        total += 0.25 * lam * K[p, q] * float(np.sum((Z[p] - Z[q]) ** 2))
    return total


def updated(Z, affinities, K, lam) -> Array:
    """All memberships at once (Eq. 8)."""
    return softmax(affinities + lam * K @ Z, axis=1)


def minimized(affinities, K, lam, n_updates) -> list[Array]:
    """The memberships before the first update and after each."""
    states = [softmax(affinities, axis=1)]
    for _ in range(n_updates):
        states.append(updated(states[-1], affinities, K, lam))
    return states


def mean_shift(X, memberships, point, bandwidth, n_steps) -> Array:
    """Weighted means, one after the other."""
    for _ in range(n_steps):
        weights = memberships * kernel(X, point[None], bandwidth)[:, 0]
        point = weights @ X / weights.sum()
    return point


def published_objective(labels, affinities, K, lam) -> float:
    """E as Eq. 1 prints it: minus the affinities to the own modes, and lambda tr(Z' L Z) with the Laplacian L."""
    Z = np.eye(affinities.shape[1])[labels]
    K = (K + K.T) / 2
    laplacian = np.diag(K.sum(axis=1)) - K
    return float(lam * np.trace(Z.T @ laplacian @ Z) - np.sum(Z * affinities))
