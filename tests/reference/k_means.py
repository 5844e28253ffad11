"""Slow, plain versions of the kernels and algorithms of the k-means family, in float64: the oracle."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


def square_distances(X: npt.ArrayLike, centers: npt.ArrayLike) -> Array:
    X, centers = np.asarray(X, dtype=np.float64), np.asarray(centers, dtype=np.float64)
    return np.array([np.sum((X - c) ** 2, axis=1) for c in centers]).reshape(len(centers), len(X)).T


def squares_in_order(X: npt.ArrayLike, centers: npt.ArrayLike) -> Array:
    """The same in the order of summation in which centers are compared: eight chains of columns."""
    X, centers = np.asarray(X, dtype=np.float64), np.asarray(centers, dtype=np.float64)
    out, whole = np.empty((len(X), len(centers))), X.shape[1] // 8 * 8
    for number, center in enumerate(centers):
        squares = (X - center) ** 2
        chains = np.zeros((8, len(X)))
        for first in range(0, whole, 8):
            chains += squares[:, first : first + 8].T
        for column in range(whole, X.shape[1]):
            chains[0] += squares[:, column]
        pairs = chains[0::2] + chains[1::2]
        out[:, number] = (pairs[0] + pairs[1]) + (pairs[2] + pairs[3])
    return out


def potential(X: npt.ArrayLike, centers: npt.ArrayLike) -> float:
    """The sum of the squared distances to the nearest centers."""
    return float(np.sum(square_distances(X, centers).min(axis=1)))


def cluster_sums(X, labels, weights, shift, n_clusters) -> tuple[Array, Array]:
    X = np.asarray(X, dtype=np.float64)
    sums, masses = np.zeros((n_clusters, X.shape[1])), np.zeros(n_clusters)
    for i, label in enumerate(labels):
        sums[label] += weights[i] * (X[i] - shift)
        masses[label] += weights[i]
    return sums, masses


def unit_rows(X) -> Array:
    X = np.asarray(X, dtype=np.float64)
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def lloyd(
    X, centers, *, weights=None, max_iter=300, unit_length=False
) -> tuple[Array, npt.NDArray[np.intp], list[float], int]:
    """Lloyd's algorithm with scikit-learn's rules: farthest rows go to empty clusters; labels fit the centroids.

    With `unit_length` spherical k-means (Dhillon and Modha 2001, section 3.1): a cluster whose rows cancel out keeps
    its centroid, and objectives are sums of w (1 - cos). They are those of each iteration, and of the result.
    """
    X, centers = np.asarray(X, dtype=np.float64), np.array(centers, dtype=np.float64)
    if unit_length:
        X, centers = unit_rows(X), unit_rows(centers)
    weights = np.ones(len(X)) if weights is None else np.asarray(weights, dtype=np.float64)
    labels, objectives, n_iter = np.full(len(X), -1), [], 0
    while n_iter < max_iter:
        n_iter += 1
        squares = square_distances(X, centers)
        assigned, own = squares.argmin(axis=1), squares.min(axis=1) * (weights > 0)
        objectives.append(float(weights @ own))
        if np.array_equal(assigned, labels):
            break
        empty = [j for j in range(len(centers)) if weights[assigned == j].sum() == 0]
        for j, row in zip(empty, np.argsort(-own, kind="stable"), strict=False):
            if own[row] > (1e-12 if unit_length else 0):
                assigned[row] = j
        labels = assigned
        for j in range(len(centers)):
            total, mass = weights[labels == j] @ X[labels == j], weights[labels == j].sum()
            length = np.linalg.norm(total) if unit_length else mass
            if length > (1e-9 if unit_length else 0):
                centers[j] = total / length
    squares = square_distances(X, centers)
    objectives.append(float(weights @ squares.min(axis=1)))
    if unit_length:
        objectives = [objective / 2 for objective in objectives]
    return centers, squares.argmin(axis=1), objectives, n_iter


def greedy_seeding(X, n_clusters, n_trials, weights, random) -> npt.NDArray[np.intp]:
    """Greedy k-means++ with all distances computed, drawing as coterie.seeding does: pools, then rejection."""
    X, weights = np.asarray(X, dtype=np.float64), np.asarray(weights, dtype=np.float64)

    def draw(masses, size):
        cumulative = np.cumsum(masses)
        return np.searchsorted(cumulative, random.uniform(size=size) * cumulative[-1], side="right")

    chosen = draw(weights, 1).tolist()
    nearest = square_distances(X, X[chosen])[:, 0]
    while len(chosen) < n_clusters:
        n_steps = min(n_clusters - len(chosen), max(1, len(chosen) // 4))
        pool = draw(weights * nearest, n_steps * n_trials)
        thresholds = random.uniform(size=len(pool)) * nearest[pool]
        accepted = []
        for row, threshold in zip(pool, thresholds, strict=True):
            if threshold < nearest[row]:
                accepted.append(row)
            if len(accepted) == n_trials:
                lowered = np.minimum(nearest[:, None], square_distances(X, X[accepted]))
                best = int(np.argmin(weights @ lowered))
                chosen.append(accepted[best])
                nearest, accepted = lowered[:, best], []
            if len(chosen) == n_clusters:
                break
    return np.array(chosen)


def markov_chain_seeding(X, n_clusters, chain_length, weights, random) -> npt.NDArray[np.intp]:
    """AFK-MC2 line by line (Bachem et al. 2016, Algorithm 1), drawing as coterie.seeding does: all proposals first."""
    X = np.asarray(X, dtype=np.float64)

    def draw(probabilities, size):
        cumulative = np.cumsum(probabilities)
        rows = np.searchsorted(cumulative, random.uniform(size=size) * cumulative[-1], side="right")
        return np.minimum(rows, len(X) - 1)

    def to_centers(row, chosen):
        return min(np.sum((X[row] - X[c]) ** 2) for c in chosen)

    chosen = [draw(weights / weights.sum(), 1)[0]]
    squares = weights * np.array([to_centers(i, chosen) for i in range(len(X))])
    proposal = 0.5 * squares / squares.sum() + 0.5 * weights / weights.sum()
    proposals = draw(proposal, (n_clusters - 1) * chain_length).reshape(-1, chain_length)
    uniforms = random.uniform(size=proposals.shape)
    for chain in range(n_clusters - 1):
        x = proposals[chain, 0]
        x_density = weights[x] * to_centers(x, chosen) / proposal[x]
        for step in range(1, chain_length):
            y = proposals[chain, step]
            y_density = weights[y] * to_centers(y, chosen) / proposal[y]
            if x_density == 0 < y_density or (
                x_density > 0 and uniforms[chain, step] < y_density / x_density
            ):
                x, x_density = y, y_density
        chosen.append(x)
    return np.array(chosen)


def split_and_merge(X, centers, weights, random, *, unit_length=False) -> Array:
    """Swaps of clusters as `coterie.seeding.split_merge` describes them, with inertias computed from the rows."""
    n, k = len(X), len(centers)

    def mean(rows):
        total = weights[rows] @ X[rows]
        return total / np.linalg.norm(total) if unit_length else total / weights[rows].sum()

    def inertia(rows):
        return weights[rows] @ np.sum((X[rows] - mean(rows)) ** 2, axis=1) if len(rows) else 0.0

    while True:
        for _ in range(1 if k >= 50 else 2):
            labels = square_distances(X, centers).argmin(axis=1)
            clusters = [np.flatnonzero(labels == j) for j in range(k)]
            centers = np.array([mean(rows) for rows in clusters])
        own = np.sum((X - centers[labels]) ** 2, axis=1)
        uniforms = np.random.Generator(np.random.PCG64(random.randint(2**31 - 1))).random(n)
        with np.errstate(divide="ignore"):
            keys = -np.log(uniforms) / (weights * own)
        halves, gains = [], np.zeros(k)
        for j, rows in enumerate(clusters):
            drawn = X[rows[keys[rows].argmin()]]
            points = np.array([2 * centers[j] - drawn, drawn])
            for _ in range(2):
                sides = square_distances(X[rows], points).argmin(axis=1)
                parts = [rows[sides == side] for side in (0, 1)]
                points = np.array([mean(part) if len(part) else points[i] for i, part in enumerate(parts)])
            halves.append(parts)
            gains[j] = inertia(rows) - sum(map(inertia, parts))
        costs = np.array(
            [[inertia(np.r_[a, b]) - inertia(a) - inertia(b) for b in clusters] for a in clusters]
        )
        np.fill_diagonal(costs, np.inf)
        gain, used = 0.0, set()
        partners, least = costs.argmin(axis=1), costs.min(axis=1)
        before = sum(map(inertia, clusters))
        for j in np.argsort(least, kind="stable"):
            pair = {j, partners[j]}
            splits = [i for i in np.argsort(-gains, kind="stable") if i not in used | pair]
            if pair & used:
                continue
            if not splits or gains[splits[0]] <= least[j]:
                break
            used |= {splits[0], *pair}
            gain += gains[splits[0]] - least[j]
            centers[partners[j]] = mean(np.r_[clusters[j], clusters[partners[j]]])
            centers[splits[0]], centers[j] = (mean(part) for part in halves[splits[0]])
        if gain <= 1e-3 * before:
            return centers
