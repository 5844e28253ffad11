"""Slow, plain versions of convex clustering (Chi & Lange 2015), in float64: the oracle. Edges are pairs of rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def l1_ball(v: Array, radius: float) -> Array:
    """Projection on the l1 ball by sorting (Duchi et al. 2008)."""
    if np.abs(v).sum() <= radius:
        return v.copy()
    if radius == 0:
        return np.zeros_like(v)
    magnitudes = np.sort(np.abs(v))[::-1]
    excess = np.cumsum(magnitudes) - radius
    last = np.flatnonzero(magnitudes * np.arange(1, len(v) + 1) > excess)[-1]
    return np.sign(v) * np.maximum(np.abs(v) - excess[last] / (last + 1), 0)


class PlainNorm:
    """l1, l2, linf or groups of columns, row by row; also serves as a user's norm."""

    def __init__(self, norm: Any, n_columns: int) -> None:
        self.is_maximum = isinstance(norm, str) and norm == "linf"
        if isinstance(norm, str):
            self.groups = [[j] for j in range(n_columns)] if norm == "l1" else [list(range(n_columns))]
        else:
            self.groups = [list(group) for group in norm]

    def value(self, V: Array) -> Array:
        if self.is_maximum:
            return np.abs(V).max(axis=1)
        return sum(np.sqrt((V[:, group] ** 2).sum(axis=1)) for group in self.groups)

    def dual_value(self, V: Array) -> Array:
        if self.is_maximum:
            return np.abs(V).sum(axis=1)
        return np.max([np.sqrt((V[:, group] ** 2).sum(axis=1)) for group in self.groups], axis=0)

    def dual_projection(self, V: Array, radii: Array) -> Array:
        out = np.array(V, dtype=np.float64)
        for row, radius in zip(out, radii):
            if self.is_maximum:
                row[:] = l1_ball(row, radius)
                continue
            for group in self.groups:
                length = np.linalg.norm(row[group])
                row[group] *= 1.0 if length <= radius else radius / length
        return out

    def prox(self, V: Array, sigmas: Array) -> Array:
        """Moreau: v - P(v)."""
        return V - self.dual_projection(V, sigmas)


def delta(duals: Array, edges: Array, n: int) -> Array:
    out = np.zeros((n, duals.shape[1]))
    for (head, tail), dual in zip(edges, duals):
        out[head] += dual
        out[tail] -= dual
    return out


def primal(X, U, edges, w, gamma, norm) -> float:
    """F of the specification."""
    return 0.5 * np.sum((X - U) ** 2) + gamma * np.sum(w * norm.value(U[edges[:, 0]] - U[edges[:, 1]]))


def dual(X, duals, edges) -> float:
    """D of the specification."""
    D = delta(duals, edges, len(X))
    return -0.5 * np.sum(D**2) - np.sum(duals * (X[edges[:, 0]] - X[edges[:, 1]]))


def dual_step(X, duals, former, momentum, edges, w, gamma, steps, norm) -> Array:
    """One projected gradient step from the extrapolated duals, line by line."""
    ahead = duals + momentum * (duals - former)
    D = delta(ahead, edges, len(X))
    gradient = X[edges[:, 0]] - X[edges[:, 1]] + D[edges[:, 0]] - D[edges[:, 1]]
    return norm.dual_projection(ahead - steps[:, None] * gradient, gamma * w)


def dual_ascent(X, duals, former, momentum, edges, w, gamma, norm) -> tuple[Array, Array]:
    """Maximize the dual over one edge after the other, from the extrapolated duals; the duals and U."""
    found = duals + momentum * (duals - former)
    U = X + delta(found, edges, len(X))
    for e, (head, tail) in enumerate(edges):
        before = found[e].copy()
        found[e] = norm.dual_projection((before - (U[head] - U[tail]) / 2)[None], gamma * w[e : e + 1])[0]
        U[head] += found[e] - before
        U[tail] -= found[e] - before
    return found, U


def ama(X, edges, w, gamma, norm, n_iter) -> tuple[Array, Array]:
    """Plain AMA with nu = 1 / max(d(i) + d(j)); U and the duals."""
    degrees = np.bincount(edges.ravel(), minlength=len(X))
    steps = np.full(len(edges), 1 / (degrees[edges[:, 0]] + degrees[edges[:, 1]]).max())
    duals = np.zeros((len(edges), X.shape[1]))
    for _ in range(n_iter):
        duals = dual_step(X, duals, duals, 0.0, edges, w, gamma, steps, norm)
    return X + delta(duals, edges, len(X)), duals


def admm(X, edges, w, gamma, norm, nu, n_iter, tol=0.0) -> tuple[Array, Array, int, Array]:
    """ADMM as the specification has it, with the differences V: U, duals, iterations, residuals over their limits.

    It ends where Boyd's residuals (2011, section 3.3.1) allow to; the absolute tolerance is the relative one times the
    root mean square of the rows, which are to be centered.
    """
    n = len(X)
    K = np.zeros((len(edges), n))
    K[np.arange(len(edges)), edges[:, 0]], K[np.arange(len(edges)), edges[:, 1]] = 1, -1
    duals, V = np.zeros((len(edges), X.shape[1])), K @ X
    M = np.eye(n) + nu * K.T @ K
    absolute = tol * np.sqrt(np.mean(X**2))
    for number in range(1, n_iter + 1):  # noqa: B007
        U = np.linalg.solve(M, X + K.T @ (duals + nu * V))
        V_before, V = V, norm.prox(K @ U - duals / nu, gamma * w / nu)
        duals = duals + nu * (V - K @ U)
        found = np.linalg.norm(K @ U - V), np.linalg.norm(nu * K.T @ (V - V_before))
        most_primal = np.sqrt(V.size) * absolute + tol * max(np.linalg.norm(K @ U), np.linalg.norm(V))
        most_dual = np.sqrt(X.size) * absolute + tol * np.linalg.norm(K.T @ duals)
        if found[0] <= most_primal and found[1] <= most_dual:
            break
    with np.errstate(divide="ignore", invalid="ignore"):
        return U, duals, number, np.divide(found, [most_primal, most_dual])
