"""Slow, plain versions of multiclass total variation clustering (Bresson et al. 2013), in float64: the oracle."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


def gradient(W) -> Array:
    """K: a row for each undirected edge, +w at one end and -w at the other."""
    n = len(W)
    rows = []
    for i in range(n):
        for j in range(i + 1, n):
            if W[i, j] != 0:
                row = np.zeros(n)
                row[i], row[j] = W[i, j], -W[i, j]
                rows.append(row)
    return np.array(rows).reshape(len(rows), n)


def median(f, lam, weights=None) -> float:
    """The (k + 1)-st largest value, k = floor(N / (lambda + 1)), by sorting.

    With weights the largest value such that those of no smaller one weigh more than their sum over lambda + 1.
    """
    if weights is None:
        return float(np.sort(f)[::-1][int(len(f) // (lam + 1))])
    values = np.unique(f[weights > 0])[::-1]
    return float(next((v for v in values if weights[f >= v].sum() > weights.sum() / (lam + 1)), values[-1]))


def asymmetric_norm(t, lam, weights=None) -> float:
    return float(np.sum(np.where(t >= 0, lam * t, -t) * (1 if weights is None else weights)))


def balance(f, lam, weights=None) -> float:
    """B."""
    return asymmetric_norm(f - median(f, lam, weights), lam, weights)


def variation(W, f) -> float:
    """TV, each undirected edge once."""
    return float(np.sum(np.triu(W, 1) * np.abs(f[:, None] - f[None, :])))


def energy(W, f, lam, weights=None) -> float:
    return variation(W, f) / balance(f, lam, weights)


def subgradient(f, lam, weights=None) -> Array:
    """An element of the subdifferential of B at f."""
    weights = np.ones(len(f)) if weights is None else weights
    m = median(f, lam, weights)
    above, below = weights[f > m].sum(), weights[f < m].sum()
    at = (below - lam * above) / weights[f == m].sum()
    return np.where(f > m, float(lam), np.where(f < m, -1.0, at)) * weights


def on_the_simplex(rows) -> Array:
    """Michelot's projection: take the mean excess off what is left, drop what becomes negative, and again."""
    left = np.ones(rows.shape, dtype=bool)
    while True:
        excess = np.where(left, rows, 0.0).sum(axis=1, keepdims=True) - 1
        thresholds = excess / left.sum(axis=1, keepdims=True)
        kept = left & (rows > thresholds)
        if np.array_equal(kept, left):
            return np.where(left, rows - thresholds, 0.0)
        left = kept


def balanced_cut(W, labels, n_clusters, lam=None, weights=None) -> float:
    """(P), by its definition; lambda is R - 1 unless it is given, for all clusters or for each."""
    lams = np.broadcast_to(n_clusters - 1 if lam is None else lam, n_clusters)
    weights = np.ones(len(W)) if weights is None else weights
    total = 0.0
    for r in range(n_clusters):
        inside = labels == r
        cut = W[np.ix_(inside, ~inside)].sum()
        total += cut / min(lams[r] * weights[inside].sum(), weights[~inside].sum())
    return float(total)


@dataclass
class State:
    """What carries over between outer steps."""

    F: Array
    P: Array
    tau: float
    n_inner: int = 0


def authors_steps(W) -> Steps:
    """Those of the paper: as short everywhere as the norm of the whole gradient asks."""
    norm = float(np.linalg.norm(gradient(W), 2))
    return Steps(np.ones(len(W)), norm**2, 1 / norm, 1.0, uniform=True)


def preconditioned_steps(W) -> Steps:
    """Ours: in inverse proportion to the sum of the weights at each vertex, and to the scale of each column."""
    degrees = W.sum(axis=1)
    mean = degrees.mean()
    rows = mean / np.where(degrees > 0, degrees, mean)
    return Steps(rows, 2 * mean, 4 / np.sqrt(2 * mean), min(0.05, mean / degrees.max()), uniform=False)


@dataclass
class Steps:
    rows: Array
    square_norm: float
    first: float
    convexity: float
    uniform: bool


def started(W, F, steps) -> State:
    return State(F.copy(), np.zeros((len(gradient(W)), F.shape[1])), steps.first)


def outer_objective(W, anchor, F, lam=None) -> float:
    """What the inner iterations of an outer step from `anchor` minimize over rows in the simplex."""
    lam = anchor.shape[1] - 1 if lam is None else lam
    B = np.array([balance(f, lam) for f in anchor.T])
    E = np.array([energy(W, f, lam) for f in anchor.T])
    V = np.column_stack([subgradient(f, lam) for f in anchor.T])
    G = anchor + B.max() * V * (E / B)
    variations = np.array([variation(W, f) for f in F.T])
    return float(np.sum(B.max() / B * variations) + np.sum((F - G) ** 2) / 2)


def estimate_holds(W, before, after, lam, eps) -> bool:
    """(16): the energies have fallen by as much as Theorem 3 says, up to eps."""
    B, B_after = (np.array([balance(f, lam) for f in F.T]) for F in (before, after))
    E, E_after = (np.array([energy(W, f, lam) for f in F.T]) for F in (before, after))
    fall = np.sum(B_after / B * (E - E_after))
    return bool(fall >= (1 - eps) * np.sum((after - before) ** 2) / B.max())


def algorithm_1(W, F, lam=None, fixed=None, eps=1e-3, tol=1e-4, most=2000) -> tuple[Array, list[State]]:
    """Algorithm 1 from F, line by line; returns F and the states after the outer steps.

    At most 100 inner iterations an outer step, and `most` in all. An outer step that leaves F as it was is no end.
    """
    lam = F.shape[1] - 1 if lam is None else lam
    steps = authors_steps(W)
    states = [started(W, F, steps)]
    energies = [sum(energy(W, f, lam) for f in F.T)]
    while (left := most - sum(state.n_inner for state in states)) > 0:
        states.append(outer_step(W, states[-1], steps, min(left, 100), fixed, lam, eps))
        energies.append(sum(energy(W, f, lam) for f in states[-1].F.T))
        has_moved = np.any(states[-1].F != states[-2].F)
        if has_moved and abs(energies[-2] - energies[-1]) <= tol * energies[-2]:
            break
    return states[-1].F, states[1:]


def outer_step(
    W, state: State, steps: Steps, n_inner: int, fixed=None, lam=None, eps=None, weights=None
) -> State:
    """One outer step of Algorithm 1, line by line: so many inner iterations, fewer where (16) holds for `eps`.

    Lambda may be one for each column, and rows may have weights.
    """
    K = gradient(W)
    F, P, tau = state.F.copy(), state.P.copy(), state.tau
    n, R = F.shape
    lam = R - 1 if lam is None else lam
    fixed = np.zeros(n, dtype=bool) if fixed is None else fixed
    lams = np.broadcast_to(lam, R)
    B = np.array([balance(f, one, weights) for f, one in zip(F.T, lams)])
    E = np.array([energy(W, f, one, weights) for f, one in zip(F.T, lams)])
    largest, smallest = B.max(), B.min()
    V = np.column_stack([subgradient(f, one, weights) for f, one in zip(F.T, lams)])
    G = F + largest * V * (E / B)
    gamma = largest / B
    F_bar = F.copy()
    for done in range(1, n_inner + 1):  # noqa: B007
        if steps.uniform:
            sigma = np.full(K.shape[:1] + (R,), smallest**2 / (tau * largest**2 * steps.square_norm))
        else:
            sigma = 1 / (tau * steps.square_norm * np.abs(K).max(axis=1)[:, None] * gamma**2)
        P = P + sigma * (K @ F_bar) * gamma
        P = P / np.maximum(1, np.abs(P))
        F_old = F
        t = tau * steps.rows[:, None]
        F = (F - t * (K.T @ P) * gamma + t * G) / (1 + t)
        F = on_the_simplex(F)
        F[fixed] = F_old[fixed]
        theta = 1 / np.sqrt(1 + 2 * steps.convexity * tau)
        tau = theta * tau
        F_bar = (1 + theta) * F - theta * F_old
        if eps is not None and estimate_holds(W, state.F, F, lam, eps):
            break
    return State(F, P, tau, done)


def moved_vertices(
    W, labels, n_clusters, lam=None, weights=None, fixed=None, least=0, most=np.inf
) -> npt.NDArray[np.integer]:
    """Clusters after moves of single vertices, as long as (P) falls: each to the one next to it that lowers it most.

    At least and at most so many vertices stay in each. Vertices move in their order; one is looked at again after a
    neighbor has moved, and all are when nothing moves.
    """
    n, labels = len(W), labels.copy()
    fixed = np.zeros(n, dtype=bool) if fixed is None else fixed
    waiting, of_all = ~fixed, True
    while True:
        has_moved = False
        for i in range(n):
            if not waiting[i]:
                continue
            waiting[i] = False
            if np.sum(labels == labels[i]) - 1 < least:
                continue
            best = _best_move(W, labels, i, n_clusters, lam, weights, most)
            if best != labels[i]:
                labels[i], has_moved = best, True
                waiting |= (W[i] > 0) & ~fixed
        if of_all and not has_moved:
            return labels
        of_all = not has_moved
        if of_all:
            waiting = ~fixed


def _best_move(W, labels, i, n_clusters, lam, weights, most) -> int:
    lams = np.broadcast_to(n_clusters - 1 if lam is None else lam, n_clusters)
    sizes = np.ones(len(W)) if weights is None else weights

    def cost(labels, r):
        inside = labels == r
        limit = min(lams[r] * sizes[inside].sum(), sizes[~inside].sum())
        return W[np.ix_(inside, ~inside)].sum() / limit if limit > 0 else np.inf

    best, lowest = labels[i], 0.0
    # In the order in which the neighbors have them.
    for r in dict.fromkeys(labels[np.flatnonzero(W[i])]):
        if r == labels[i] or np.sum(labels == r) + 1 > most:
            continue
        moved = labels.copy()
        moved[i] = r
        before = cost(labels, labels[i]) + cost(labels, r)
        change = cost(moved, labels[i]) + cost(moved, r) - before
        if change < -1e-9 * before and change < lowest:
            best, lowest = r, change
    return int(best)


def quadratic_steps(W, known, sizes, X, n_steps, s=0.1) -> Array:
    """Steps of the alternating direction method for ``tr X'(L - s D) X / 2``; returns X where it is not negative.

    Each one minimizes the linearized objective plus half the squared distances in D to the last X and to Z - U, under
    the sums of the rows and columns, by the linear system of its multipliers.
    """
    R = X.shape[1]
    free, degrees = np.flatnonzero(known < 0), W.sum(axis=1)
    m = len(free)
    # Sums of the rows, then of the columns, of the free rows, read row by row.
    sums = np.vstack([np.kron(np.eye(m), np.ones(R)), np.kron(np.ones(m), np.eye(R))])
    right = np.concatenate([np.ones(m), sizes - np.bincount(known[known >= 0], minlength=R)])
    X = X.copy()
    X[known >= 0] = np.eye(R)[known[known >= 0]]
    Z, U = np.maximum(X, 0), np.zeros_like(X)
    for _ in range(n_steps):
        gradient = (np.diag((1 - s) * degrees) - W) @ X
        target = ((X - gradient / degrees[:, None] + Z - U) / 2)[free]
        inverse = np.repeat(1 / degrees[free], R)
        multipliers = np.linalg.lstsq((sums * inverse) @ sums.T, sums @ target.ravel() - right, rcond=None)[0]
        X[free] = target - (inverse * (sums.T @ multipliers)).reshape(m, R)
        Z, U = np.maximum(X + U, 0), U + X - np.maximum(X + U, 0)
    return Z
