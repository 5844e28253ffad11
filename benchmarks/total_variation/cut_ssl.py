"""CutSSL: classes of given sizes from a few labels, by a quadratic program whose solutions become integral.

A plain implementation after Holtz, Chen, Cloninger, Cheng and Mishne, Continuous partitioning for graph-based
semi-supervised learning, NeurIPS 2024.
"""

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

# Values of s, in turn, and steps for each, as in the authors' code. On some graphs s = 0.2 is much better or worse.
SCHEDULE = ((0.0, 100), (0.1, 400))
# Of the augmented Lagrangian, in degrees: steps are convex where it is more than s. They end at this residual.
PENALTY, TOLERANCE = 1.0, 1e-3
# Of the conjugate gradients: for the start, and within a step, which begins at the last solution.
START, STEP = (100, 1e-6), (50, 1e-4)


def cut_ssl(graph: sp.csr_array, known: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Label the vertices of a graph.

    Minimize ``tr X'(L - s D)X / 2 - tr X'B`` over the vertices without a label, rows of X on the simplex and its
    columns of given sums, for growing s, each from the solution of the one before, and the first from Laplace learning
    with shifted means. B holds the edges to labeled vertices.

    `known` is -1 where the class is not known; `shares` are those of the classes among all vertices.
    """
    free = np.flatnonzero(known < 0)
    graph = sp.csr_array(graph).astype(np.float64)
    classes = np.eye(len(shares))[known[known >= 0]]
    B = graph[free][:, known >= 0] @ classes
    W, degrees = graph[free][:, free], np.maximum(graph[free].sum(axis=1), 1e-12)[:, None]
    sizes = len(known) * shares - classes.sum(axis=0)
    sizes = np.maximum(sizes, 0) * len(free) / np.maximum(sizes, 0).sum()

    def centered(X: np.ndarray) -> np.ndarray:
        return X - X.mean(axis=0)

    def laplacian(X: np.ndarray) -> np.ndarray:
        return centered(degrees * centered(X) - W @ centered(X))

    X = _conjugate_gradients(laplacian, centered(B), np.zeros_like(B), *START) + sizes / len(free)
    for s, n_steps in SCHEDULE:
        weight = (1 - s + PENALTY) * degrees

        def shifted(X: np.ndarray, weight: np.ndarray = weight) -> np.ndarray:
            return weight * X - W @ X

        h = _conjugate_gradients(shifted, np.ones((len(free), 1)), 1 / weight, *STEP, weight)
        row_sums = weight - W.sum(axis=1)[:, None]  # the matrix times 1
        Z, U = np.maximum(X, 0), np.zeros_like(X)
        for _ in range(n_steps):
            R = B + PENALTY * degrees * (Z - U)
            mu = (R.sum(axis=1)[:, None] - row_sums) / len(shares)
            nu = (h.T @ (R - mu) - sizes) / h.sum()
            X = _conjugate_gradients(shifted, R - mu - nu, X, *STEP, weight)
            before, Z = Z, np.maximum(X + U, 0)
            U += X - Z
            if max(np.abs(X - Z).mean(), np.abs(Z - before).mean()) * len(shares) < TOLERANCE:
                break
    labels = known.copy()
    labels[free] = Z.argmax(axis=1)
    return labels


def _conjugate_gradients(
    matrix: Callable[[np.ndarray], np.ndarray], right: np.ndarray, start: np.ndarray, n_iterations: int,
    precision: float, diagonal: np.ndarray | float = 1.0
) -> np.ndarray:  # fmt: skip
    """Solve ``matrix(X) = right``, all columns at once, preconditioned by a diagonal."""
    X = start.copy()
    residual = right - matrix(X)
    scaled = residual / diagonal
    direction, power = scaled, np.sum(residual * scaled, axis=0)
    least = precision**2 * np.sum(right * right / diagonal, axis=0)
    for _ in range(n_iterations):
        if np.all(power <= least):
            break
        product = matrix(direction)
        step = power / np.maximum(np.sum(direction * product, axis=0), 1e-300)
        X = X + step * direction
        residual = residual - step * product
        scaled = residual / diagonal
        new = np.sum(residual * scaled, axis=0)
        direction, power = scaled + new / np.maximum(power, 1e-300) * direction, new
    return X
