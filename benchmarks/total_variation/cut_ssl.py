"""CutSSL: classes of given sizes from a few labels, by a quadratic program whose solutions become integral.

A plain implementation after Holtz, Chen, Cloninger, Cheng and Mishne, Continuous partitioning for graph-based
semi-supervised learning, NeurIPS 2024.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

# Values of s, in turn: at 0 the program is convex, and the more it is the nearer is its solution to integers.
CONCAVITIES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)
# Of the augmented Lagrangian, in degrees: the steps are convex where it is more than s.
PENALTY = 2.0
# Steps of the alternating direction method for each of them, and the residual at which they end.
MOST_STEPS, TOLERANCE = 100, 1e-3
# Of the conjugate gradients within a step, which begins at the last solution.
MOST_ITERATIONS, PRECISION = 50, 1e-4


def cut_ssl(graph: sp.csr_array, known: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Label the vertices of a graph.

    Minimize ``tr X'(L - s D)X / 2 - tr X'B`` over the vertices without a label, rows of X on the simplex and its
    columns of given sums, for growing s, each from the solution of the one before. B holds the edges to labeled
    vertices.

    `known` is -1 where the class is not known; `shares` are those of the classes among all vertices.
    """
    free = np.flatnonzero(known < 0)
    graph = sp.csr_array(graph).astype(np.float64)
    classes = np.eye(len(shares))[known[known >= 0]]
    B = graph[free][:, known >= 0] @ classes
    W, degrees = graph[free][:, free], np.maximum(graph[free].sum(axis=1), 1e-12)[:, None]
    sizes = len(known) * shares - classes.sum(axis=0)
    sizes = np.maximum(sizes, 0) * len(free) / np.maximum(sizes, 0).sum()
    X = Z = np.tile(sizes / len(free), (len(free), 1))
    U = np.zeros_like(Z)
    for s in CONCAVITIES:
        weight = (1 - s + PENALTY) * degrees

        def solve(right: np.ndarray, start: np.ndarray, weight: np.ndarray = weight) -> np.ndarray:
            return _conjugate_gradients(W, weight, right, start)

        h = solve(np.ones((len(free), 1)), 1 / weight)
        row_sums = weight - W.sum(axis=1)[:, None]  # the matrix times 1
        for _ in range(MOST_STEPS):
            R = B + PENALTY * degrees * (Z - U)
            mu = (R.sum(axis=1)[:, None] - row_sums) / len(shares)
            nu = (h.T @ (R - mu) - sizes) / h.sum()
            X = solve(R - mu - nu, X)
            before, Z = Z, np.maximum(X + U, 0)
            U += X - Z
            if max(np.abs(X - Z).mean(), np.abs(Z - before).mean()) * len(shares) < TOLERANCE:
                break
    labels = known.copy()
    labels[free] = Z.argmax(axis=1)
    return labels


def _conjugate_gradients(
    W: sp.csr_array, weight: np.ndarray, right: np.ndarray, start: np.ndarray
) -> np.ndarray:
    """Solve ``(diag(weight) - W) X = right``, all columns at once."""
    X = start.copy()
    residual = right - (weight * X - W @ X)
    scaled = residual / weight
    direction, power = scaled, np.sum(residual * scaled, axis=0)
    least = PRECISION**2 * np.sum(right * right / weight, axis=0)
    for _ in range(MOST_ITERATIONS):
        if np.all(power <= least):
            break
        product = weight * direction - W @ direction
        step = power / np.maximum(np.sum(direction * product, axis=0), 1e-300)
        X = X + step * direction
        residual = residual - step * product
        scaled = residual / weight
        new = np.sum(residual * scaled, axis=0)
        direction, power = scaled + new / np.maximum(power, 1e-300) * direction, new
    return X
