"""Total variation denoising on a tree by projected ascent of the dual, in float64: the oracle."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def incidence(parents: Array) -> Array:
    """Return (n - 1, n): the value of each node but the root less that of its parent."""
    n = len(parents)
    differences = np.zeros((n - 1, n))
    differences[np.arange(n - 1), np.arange(1, n)] = 1
    differences[np.arange(n - 1), parents[1:]] -= 1
    return differences


def objective(x: Array, u: Array, parents: Array, weights: Array, sizes: Array, gamma: float) -> float:
    """Return the objective of one column."""
    return float(0.5 * np.sum(sizes * (x - u) ** 2) + gamma * weights[1:] @ np.abs(u[1:] - u[parents[1:]]))


def denoise(
    x: Array, parents: Array, weights: Array, sizes: Array, gamma: float, tol: float, most: int = 200_000
) -> tuple[Array, float, float]:
    """Return the values of one column, their objective, and a lower bound of the minimum.

    The flow f over the edges maximizes 1/2 sum_i size_i (x_i^2 - (x_i - d_i / size_i)^2) with d = D'f and
    |f_i| <= gamma w_i; accelerated steps, restarted where the bound falls.
    """
    D, bounds = incidence(parents), gamma * weights[1:]
    step = 1 / np.linalg.norm(D / np.sqrt(sizes), 2) ** 2
    flow = ahead = np.zeros(len(D))
    alpha, best = 1.0, -np.inf
    for iteration in range(most):
        u = x - D.T @ ahead / sizes
        new = np.clip(ahead + step * (D @ u), -bounds, bounds)
        u = x - D.T @ new / sizes
        lower = float(0.5 * np.sum(sizes * (x**2 - u**2)))
        if lower < best:
            ahead, alpha, best = flow, 1.0, -np.inf
            continue
        after = 0.5 * (1 + np.sqrt(1 + 4 * alpha**2))
        ahead, flow, alpha, best = new + (alpha - 1) / after * (new - flow), new, after, lower
        if iteration % 50 == 0:
            value = objective(x, u, parents, weights, sizes, gamma)
            if value - lower <= tol * max(value, 1e-300):
                break
    return u, objective(x, u, parents, weights, sizes, gamma), lower
