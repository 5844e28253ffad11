"""How sizes change with prices, row by row, and the system of a step of Newton's method, by elimination."""

import numpy as np

__all__ = ["counted", "solved"]


def counted(heads, tails, margins, weights, n_near, n_nodes, damping):
    """Return the matrix of rows next to changing: see `coterie.size_constrained.dual_ascent.Curvature.of_rows`."""
    width = np.sort(margins)[min(n_near, len(margins) - 1)]
    matrix = np.zeros((n_nodes, n_nodes))
    for i in np.flatnonzero(margins <= width):
        share = (1.0 if weights is None else weights[i]) / (2 * width)
        for a, b in ((heads[i], tails[i]), (tails[i], heads[i])):
            if a != b:
                matrix[a, b] -= share
                matrix[a, a] += share
    return matrix + damping * np.mean(np.diag(matrix)) * np.eye(n_nodes)


def solved(matrix, right, is_free):
    """Solve for those that are free; the others are 0."""
    solution = np.zeros(len(right))
    free = np.flatnonzero(is_free)
    solution[free] = np.linalg.solve(matrix[np.ix_(free, free)], right[free])
    return solution
