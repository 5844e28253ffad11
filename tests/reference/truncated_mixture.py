"""Slow, plain versions of truncated variational EM (Hirschberger, Forster & Lücke 2022), in float64: the oracle."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tests.reference.k_means import square_distances

Array = npt.NDArray[np.float64]
Ids = npt.NDArray[np.int32]

# A component to which all rows have less than this of their shares does not move: -log(eps / 8), as in the fit.
_NEGLIGIBLE = float(-np.log(np.finfo(np.float64).eps / 8))


def energies(X, means, variances, weights) -> Array:
    """Minus log(weight * density) of every row with every component; variances of shape (), (C,) or (C, d)."""
    X, means = np.asarray(X, dtype=np.float64), np.asarray(means, dtype=np.float64)
    variances = np.asarray(variances, dtype=np.float64)
    full = np.broadcast_to(variances if variances.ndim == 2 else variances[..., None], means.shape)
    out = np.empty((len(X), len(means)))
    for c, (mean, variance) in enumerate(zip(means, full)):
        log_density = -0.5 * np.sum((X - mean) ** 2 / variance + np.log(2 * np.pi * variance), axis=1)
        with np.errstate(divide="ignore"):
            out[:, c] = -log_density - np.log(weights[c])
    return out


def closest_energies(table) -> float:
    """The smallest difference between the energies of a row with two components that it may choose."""
    ordered = np.sort(table, axis=1)
    ordered = np.where(np.isfinite(ordered), ordered, np.nan)
    return float(np.nanmin(np.diff(ordered, axis=1), initial=np.inf))


# --- the E-step


def tiles(candidates, n_components, group_size) -> list[tuple[int, npt.NDArray[np.intp]]]:
    """The rows with the same best component, in their order, in pieces of about 512 rows and these in tiles."""
    most = -(-512 // group_size) * group_size
    return [
        (c, piece[first : first + group_size])
        for c in range(n_components)
        for group in [np.flatnonzero(candidates[:, 0] == c)]
        for start in range(0, len(group), most)
        for piece in [group[start : start + most]]
        for first in range(0, len(piece), group_size)
    ]


def search_set(rows, candidates, neighbors, extra) -> npt.NDArray[np.intp]:
    """The neighborhoods of all that the rows of a tile know, and what else they are told to try."""
    found = set(neighbors[candidates[rows].ravel()].ravel().tolist())
    return np.array(sorted(found | (set() if extra is None else set(extra[rows].tolist()))))


def keep_best(values, ids, n_kept) -> tuple[Ids, Array]:
    """The components of least energy; where too few can be chosen, the best one stands in, without a share."""
    finite = np.isfinite(values)
    values, ids = values[finite], ids[finite]
    order = np.argsort(values, kind="stable")[:n_kept]
    missing = n_kept - len(order)
    kept = np.append(ids[order], np.repeat(ids[order[:1]], missing)).astype(np.int32)
    return kept, np.append(values[order], np.full(missing, np.inf))


def mean_energies(table, candidates, neighbors, extra=None, group_size=16, best=None) -> Array:
    """(C, C): mean energy of component j over the rows of component c for which it was evaluated, else infinite.

    The rows of a component have it as their first candidate, or as `best` says.
    """
    n_components = table.shape[1]
    best = candidates[:, 0] if best is None else best
    sums, counts = np.zeros((n_components, n_components)), np.zeros((n_components, n_components))
    for _, rows in tiles(candidates, n_components, group_size):
        ids = search_set(rows, candidates, neighbors, extra)
        for row in rows:
            sums[best[row], ids] += table[row, ids]
            counts[best[row], ids] += 1
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.inf)


def renewed_neighbors(averages, best, neighbors) -> Ids:
    """Each component and those of least mean energy; one without rows keeps its neighbors, and they fill up."""
    out = neighbors.copy()
    for c in np.unique(best):
        others = [j for j in np.argsort(averages[c], kind="stable") if j != c and np.isfinite(averages[c, j])]
        others += [j for j in neighbors[c, 1:] if j not in others]
        chosen = [c, *others][: neighbors.shape[1]]
        out[c] = chosen + [c] * (neighbors.shape[1] - len(chosen))
    return out


def partial_e_step(
    table, candidates, neighbors, extra=None, *, group_size=16, update_neighbors=True, regroup=False
) -> tuple[Ids, Array, Ids, int]:
    """One search. Takes the energies of all rows with all components, and looks only at those that it may.

    Neighbors are learned from rows that had the same best component or, with `regroup`, that have it now.

    Returns candidates, their energies, neighbors, and how many energies it looked at.
    """
    found, kept = candidates.copy(), np.empty(candidates.shape)
    n_distances = 0
    for _, rows in tiles(candidates, table.shape[1], group_size):
        ids = search_set(rows, candidates, neighbors, extra)
        n_distances += len(rows) * len(ids)
        for row in rows:
            found[row], kept[row] = keep_best(table[row, ids], ids, candidates.shape[1])
    if update_neighbors:
        best = (found if regroup else candidates)[:, 0]
        averages = mean_energies(table, candidates, neighbors, extra, group_size, best)
        neighbors = renewed_neighbors(averages, best, neighbors)
    return found, kept, neighbors, n_distances


def algorithm_2(table, candidates, neighbors, extra=None) -> tuple[Ids, Array, Ids, int]:
    """One E-step as the papers write it, point by point; see `partial_e_step` for what it returns."""
    n_components = table.shape[1]
    found, kept = candidates.copy(), np.empty(candidates.shape)
    partition: list[list[int]] = [[] for _ in range(n_components)]
    search_spaces = []
    for n in range(len(table)):
        space = np.unique(np.concatenate([neighbors[c] for c in candidates[n]]))
        search_spaces.append(space if extra is None else np.union1d(space, extra[n]))
        found[n], kept[n] = keep_best(table[n, search_spaces[n]], search_spaces[n], candidates.shape[1])
        partition[found[n, 0]].append(n)
    averages = np.full((n_components, n_components), np.inf)
    for c in range(n_components):
        for other in range(n_components):
            seen = [table[n, other] for n in partition[c] if other in search_spaces[n]]
            if seen:
                averages[c, other] = np.mean(seen)
    neighbors = renewed_neighbors(averages, found[:, 0], neighbors)
    return found, kept, neighbors, sum(map(len, search_spaces))


def refreshed(table, candidates) -> tuple[Ids, Array]:
    """An E-step without a search: what rows have, by energy."""
    energies = np.take_along_axis(table, candidates, axis=1)
    order = np.argsort(energies, axis=1, kind="stable")
    return np.take_along_axis(candidates, order, axis=1), np.take_along_axis(energies, order, axis=1)


def posteriors(kept, negligible=np.inf) -> tuple[Array, Array]:
    """Shares of the candidates, which sum to 1, and log sum exp(-energy), without what lies too far above the best."""
    kept = np.asarray(kept, dtype=np.float64)
    lowest = kept.min(axis=1, keepdims=True)
    joint = np.where(kept - lowest < negligible, np.exp(lowest - kept), 0)
    total = joint.sum(axis=1)
    return joint / total[:, None], np.log(total) - lowest[:, 0]


# --- the M-step


def moments(X, candidates, shares, kept, weights, means) -> tuple[Array, Array, Array, Array]:
    """Masses, weighted energies, rows minus means and their squares, summed for each component."""
    n_components, n_columns = means.shape
    masses, sums = np.zeros(n_components), np.zeros(n_components)
    first, second = np.zeros((n_components, n_columns)), np.zeros((n_components, n_columns))
    for k in range(candidates.shape[1]):
        own, mass = candidates[:, k], weights * shares[:, k].astype(np.float64)
        relative = X.astype(np.float64) - means[own]
        np.add.at(masses, own, mass)
        np.add.at(sums, own, np.where(mass > 0, mass * np.where(mass > 0, kept[:, k], 0), 0))
        np.add.at(first, own, mass[:, None] * relative)
        np.add.at(second, own, mass[:, None] * relative**2)
    return masses, sums, first, second


def m_step(
    X, weights, candidates, shares, means, mixing, *, covariance_type, reg_covar=0.0, smallest_variance=0.0
) -> tuple[Array, Array, Array]:
    """Means, variances around the new means, and shares; those of a component that is dropped are 0."""
    n_rows, n_columns = X.shape
    table = np.zeros((n_rows, len(means)))
    np.add.at(table, (np.arange(n_rows)[:, None], candidates), shares)
    table *= weights[:, None]
    masses = table.sum(axis=0)
    has_mass = masses > 0
    means = means.copy()
    means[has_mass] = (table.T @ X)[has_mass] / masses[has_mass, None]
    per_column = np.array([mass @ (X - mean) ** 2 for mass, mean in zip(table.T, means)])
    if covariance_type == "tied_spherical":
        variance = per_column.sum() / (n_columns * weights.sum())
        return means, np.array(max(variance, smallest_variance) + reg_covar), mixing
    per_column /= np.where(has_mass, masses, 1)[:, None]
    own = per_column.mean(axis=1)
    variances = per_column if covariance_type == "diag" else own
    alive = has_mass & (own + reg_covar > smallest_variance)
    variances = np.maximum(variances, smallest_variance) + reg_covar
    variances[~alive] = 1
    mixing = np.where(alive, masses, 0)
    return means, variances, mixing / mixing.sum()


# --- all of it


def truncated_em(
    X, means, candidates, neighbors, *, covariance_type, n_iter, weights=None, reg_covar=0.0,
    smallest_variance=0.0, n_shared=2, search_group_size=16, search_every=3, initial_e_steps=1,
):  # fmt: skip
    """EM from given means, candidates and neighbors: means, variances, shares, neighbors, and all free energies.

    Last comes how close two components ever were for a row: where means coincide, rounding says which is better.

    The flexible models begin with `n_shared` M-steps with one variance and equal weights. After the third E-step the
    rows are put in the order of their best components. With one row a tile, E-steps are those of `algorithm_2`.
    """
    X, means = np.asarray(X, dtype=np.float64), np.asarray(means, dtype=np.float64)
    weights = np.ones(len(X)) if weights is None else np.asarray(weights, dtype=np.float64)
    n_components, n_columns = means.shape
    mixing = np.full(n_components, 1 / n_components)
    unit = energies(X, means, 1.0, mixing)

    def search(table, learn=True):
        if search_group_size == 1:
            return algorithm_2(table, candidates, neighbors)
        return partial_e_step(
            table, candidates, neighbors, group_size=search_group_size, update_neighbors=learn
        )

    for number in range(initial_e_steps):
        candidates, _, neighbors, _ = search(unit, learn=number > 0)
    nearest = square_distances(X, means)[np.arange(len(X)), candidates[:, 0]]
    variances = np.array(max(weights @ nearest / (n_columns * weights.sum()), smallest_variance))
    kept = np.take_along_axis(energies(X, means, variances, mixing), candidates, axis=1)
    bounds, closest = [], closest_energies(unit)
    for iteration in range(n_iter):
        shares, _ = posteriors(kept, _NEGLIGIBLE)
        means, variances, mixing = m_step(
            X, weights, candidates, shares, means, mixing, reg_covar=reg_covar,
            smallest_variance=smallest_variance,
            covariance_type="tied_spherical" if iteration < n_shared else covariance_type,
        )  # fmt: skip
        table = energies(X, means, variances, mixing)
        closest = min(closest, closest_energies(table))
        # The first four E-steps look for better components, of the others one in so many.
        if iteration < 2 or (iteration - 2) % search_every == 0:
            candidates, kept, neighbors, _ = search(table)
        else:
            candidates, kept = refreshed(table, candidates)
        if iteration == 1:
            order = np.argsort(candidates[:, 0], kind="stable")
            X, weights, candidates, kept = X[order], weights[order], candidates[order], kept[order]
        bounds.append(weights @ posteriors(kept)[1] / weights.sum())
    return means, variances, mixing, neighbors, np.array(bounds), closest
