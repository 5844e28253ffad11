"""A small solver of left-stochastic matrix factorization (LSD; Arora et al. 2011), the peer of the paper's Figure 2."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp


def left_stochastic_memberships(
    graph: sp.csr_array, start: np.ndarray, n_iterations: int = 500
) -> np.ndarray:
    """Minimize ||W - c F F'||_F^2 over F with rows in the simplex and c, by projected gradients with backtracking.

    Arora et al. fix the scale c beforehand, for dense kernels; for a sparse graph it has to be the best one for F.

    It ends where the objective falls by less than 1e-9 of itself.
    """
    from coterie.total_variation.initialization import on_the_simplex

    W, F = sp.csr_array(graph.astype(np.float64)), start
    total = float((W.data**2).sum())

    def objective(F: np.ndarray, c: float) -> float:
        """Return the objective divided by c^2."""
        return total / c**2 - 2 / c * float(np.sum(F * (W @ F))) + float(np.sum((F.T @ F) ** 2))

    # The first step: a quarter of the inverse of the gradient's Lipschitz constant at equal clusters.
    step = F.shape[1] / (4 * F.shape[0])
    for _ in range(n_iterations):
        c = float(np.sum(F * (W @ F))) / float(np.sum((F.T @ F) ** 2))
        before = objective(F, c)
        gradient = 4 * (F @ (F.T @ F) - W @ F / c)
        while True:
            moved = on_the_simplex(F - step * gradient)
            change = moved - F
            after = objective(moved, c)
            expected = before + float(np.sum(gradient * change)) + float(np.sum(change**2)) / (2 * step)
            if after <= expected or step < 1e-12:
                break
            step /= 2
        F, step = moved, 1.5 * step
        if before - after <= 1e-9 * before:
            break
    return F
