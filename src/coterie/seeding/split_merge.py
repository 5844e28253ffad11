"""An annealed epoch from random rows, then swaps: a cluster is split and two others merged where that pays."""

from __future__ import annotations

from typing import Any

import numpy as np

from coterie import _kernels
from coterie.arrays import Array, FloatArray, IndexArray
from coterie.blocks.dataset import own_squares
from coterie.blocks.kernel_rows import dense
from coterie.centers.annealed import BatchPlan, anneal_centers
from coterie.centers.assignment import RowLabels
from coterie.centers.frame import moved_centers
from coterie.centers.lloyd import ClusteredRows, ClusterSums, lloyd
from coterie.fitting.deadline import UNLIMITED, Deadline
from coterie.fitting.report import Stop
from coterie.passes import ChunkRows, MeasuredRows
from coterie.seeding.greedy import seed_by_square_distance
from coterie.seeding.rounds import sample_of
from coterie.seeding.seeds import draw_together, take_rows

__all__ = ["choose_swaps", "merge_costs", "nearest_partners", "seed_by_split_and_merge"]

# Iterations of 2-means in each cluster; of few rows, one finds clusters as good.
_HALVING_ITERATIONS = 2

# From this number of clusters on one iteration between swaps is enough; of fewer ones a second one costs little.
_MANY = 50

# Swaps end when those of a round lower the inertia by less than this share.
_LEAST_GAIN = 1e-3

# Pairs of clusters that are compared at a time.
_PAIRS = 1 << 20

# Least mass that is divided by.
_TINY = 1e-300

# Largest part of the mass of a cluster that rounding of differences may leave.
_ROUNDING = 1e-9

_MOST_SEED = np.iinfo(np.int32).max

# Sums and masses of clusters.
_Sums = tuple[FloatArray, FloatArray]


def seed_by_split_and_merge(
    data: MeasuredRows,
    n_clusters: int,
    random: np.random.RandomState,
    *,
    centers: Array | None = None,
    unit_length: bool = False,
    deadline: Deadline = UNLIMITED,
) -> Array:
    """Anneal random rows for an epoch (unless `centers` are given), then alternate iterations of Lloyd and swaps until
    these gain little. A swap splits a cluster and merges two others if that lowers the inertia (Kaukoranta, Fränti and
    Nevalainen 1998); the swaps of a round share no cluster, so that gains add up. Fewer than three clusters are chosen
    by k-means++. A round takes O(n k d + k^2 d) time.
    """
    n_halvings = _HALVING_ITERATIONS
    if centers is None:
        some = data if data.passes.is_here else sample_of(data, n_clusters, random)
        rows = some.in_this_process()
        if n_clusters < 3:
            return seed_by_square_distance(rows, n_clusters, random, deadline=deadline)[0]
        masses = np.ones(some.n_rows) if some.weights is None else some.weights.astype(np.float64)
        centers = take_rows(rows, draw_together(masses, n_clusters, random))
        if BatchPlan.of(some.passes, n_clusters).n_batches == 1:
            n_halvings = 1
        else:
            centers = anneal_centers(some, centers, 1, random, unit_length=unit_length, deadline=deadline)
    if n_clusters < 3:
        return centers
    clusters = ClusteredRows.of(data, n_clusters, "lloyd", unit_length=unit_length)
    before = np.inf
    while not deadline.is_over:
        frame = lloyd(clusters, centers, stop=Stop(1 if n_clusters >= _MANY else 2))
        inertia = clusters.inertia_by_sums(frame)
        if inertia > (1 - _LEAST_GAIN) * before:  # rounding hides what the last swaps gained
            return frame.centers
        sums, masses = (total.total().copy() for total in clusters.sums)
        halves = _halve(clusters, (sums, masses), frame.centers, random, n_halvings, unit_length)
        origin = data.shift if unit_length else None
        gains = merge_costs(*halves, origin)
        partners = nearest_partners(sums, masses, origin)
        costs = merge_costs((sums, masses), (sums[partners], masses[partners]), origin)
        split, freed = choose_swaps(gains, costs, partners)
        before, gain = inertia, np.sum(gains[split] - costs[freed])
        for values, first, second in zip((sums, masses), *halves):
            values[partners[freed]] += values[freed]
            values[split], values[freed] = first[split], second[split]
        centers = moved_centers(
            sums, masses, data.shift, frame.centers, data.n_threads, unit_length=unit_length
        )
        if not gain > _LEAST_GAIN * inertia:
            break
    return centers


def merge_costs(some: _Sums, others: _Sums, origin: FloatArray | None = None) -> FloatArray:
    """Return by how much the sum of squared distances rises if clusters merge, (m,), from sums (m, d) and masses (m,).
    For centers of length 1 the sums are relative to `origin`.
    """
    (sums, masses), (other_sums, other_masses) = some, others
    if origin is not None:
        # Rows of length 1 and mass m whose sum is S have the squared distances 2 (m - ||S||) to its direction.
        whole, other = (part + np.outer(mass, origin) for part, mass in (some, others))
        one, two, both = (np.linalg.norm(part, axis=1) for part in (whole, other, whole + other))
        return 2 * np.maximum(one + two - both, 0.0)
    mass, other_mass = np.maximum(masses, _TINY), np.maximum(other_masses, _TINY)
    differences = sums / mass[:, None] - other_sums / other_mass[:, None]
    return masses * other_masses / (mass + other_mass) * np.einsum("ij,ij->i", differences, differences)


def nearest_partners(sums: FloatArray, masses: FloatArray, origin: FloatArray | None = None) -> IndexArray:
    """Return for each cluster the one that it can be merged with at the lowest cost; see `merge_costs`."""
    if origin is not None:
        sums = sums + np.outer(masses, origin)
    n_clusters, mass = len(sums), np.maximum(masses, _TINY)
    points = sums / mass[:, None] if origin is None else sums
    squares, inverses = np.einsum("ij,ij->i", points, points), 1 / mass
    partners = np.empty(n_clusters, dtype=np.intp)
    for first in range(0, n_clusters, max(1, _PAIRS // n_clusters)):
        part = slice(first, first + max(1, _PAIRS // n_clusters))
        costs = points[part] @ points.T
        costs *= -2 if origin is None else 2
        costs += squares
        costs += squares[part, None]
        np.maximum(costs, 0, out=costs)
        if origin is None:
            costs /= inverses[part, None] + inverses
        else:
            lengths = np.sqrt(squares)
            np.subtract(lengths[part, None] + lengths, np.sqrt(costs, out=costs), out=costs)
        costs.ravel()[first :: n_clusters + 1] = np.inf  # of a cluster with itself
        partners[part] = costs.argmin(axis=1)
    return partners


def choose_swaps(gains: FloatArray, costs: FloatArray, partners: IndexArray) -> tuple[IndexArray, IndexArray]:
    """Pair the cheapest merges with the splits of the largest gains while the gain exceeds the cost; all (k,). Returns
    the split clusters, and those merged with their `partners`; none is in two swaps.
    """
    splits, partner_of = np.argsort(-gains, kind="stable").tolist(), partners.tolist()
    split, merged, free = [], [], set(splits)
    for cluster in np.argsort(costs, kind="stable").tolist():
        pair = {cluster, partner_of[cluster]}
        if not pair <= free:
            continue
        best = next((other for other in splits if other in free and other not in pair), None)
        if best is None or not gains[best] > costs[cluster]:
            break
        free -= {best, *pair}
        split.append(best)
        merged.append(cluster)
    return np.array(split, dtype=np.intp), np.array(merged, dtype=np.intp)


def _halve(
    clusters: ClusteredRows,
    whole: _Sums,
    centers: Array,
    random: np.random.RandomState,
    n_halvings: int,
    unit_length: bool,
) -> tuple[_Sums, _Sums]:
    """Return the sums and masses of the halves of each cluster by 2-means, from a row drawn by weight times squared
    distance to the center and its reflection through the center.
    """
    data, passes, n_clusters = clusters.data, clusters.passes, len(centers)
    seed = random.randint(_MOST_SEED)
    points = np.array([centers, centers], dtype=np.float64)
    least = np.full(n_clusters, np.inf)
    for drawn, keys, rows in passes.run(_draw_row_of_each, (centers, seed), clusters.labels):
        is_less = keys < least[drawn]
        drawn, rows = drawn[is_less], rows[is_less]
        least[drawn] = keys[is_less]
        points[0, drawn], points[1, drawn] = 2.0 * centers[drawn] - rows, rows
    mass = 2 * data.total_weight
    for n_left in reversed(range(n_halvings)):
        halves = ClusterSums(
            passes.total(centers.shape, mass * float(np.sqrt(data.largest_square))),
            passes.total((n_clusters,), mass),
        )
        passes.run(_add_second_halves, points, clusters.labels, halves)
        second = halves.sums.total(), halves.masses.total()
        first = whole[0] - second[0], whole[1] - second[1]
        is_empty = first[1] <= _ROUNDING * whole[1]
        for values in first:  # rounding leaves something of empty halves
            values[is_empty] = 0
        if n_left > 0:
            points = np.stack(
                [
                    moved_centers(*half, data.shift, before, data.n_threads, unit_length=unit_length)
                    for half, before in zip((first, second), points)
                ]
            )
    return first, second


# --- steps -----------------------------------------------------------------------------------------------------------


def _draw_row_of_each(rows: ChunkRows, params: tuple[Array, int], state: RowLabels) -> Any:
    """Draw a row of each cluster: the one with the least key; a row of rate r has one of -log(uniform) / r."""
    (centers, seed), labels = params, state.labels
    rates = rows.own_square_distances(centers, labels)
    if rows.weights is not None:
        rates *= rows.weights
    # The draw of a row depends on its number, not on the chunks.
    uniforms = np.random.Generator(np.random.PCG64(seed).advance(rows.first)).random(rows.n_rows)
    with np.errstate(divide="ignore"):
        keys = -np.log(uniforms) / rates
    least = np.full(len(centers), np.inf)
    np.minimum.at(least, labels, keys)
    drawn = np.flatnonzero((keys == least[labels]) & (keys < np.inf))
    return labels[drawn], keys[drawn], dense(rows.take(drawn))


def _add_second_halves(rows: ChunkRows, points: FloatArray, state: RowLabels, halves: ClusterSums) -> None:
    """Add the rows that are nearer to the second point of their cluster than to the first."""
    labels = state.labels
    with halves.sums.part() as sums, halves.masses.part() as masses:
        for part, x in rows.blocks():
            to_first, to_second = (own_squares(x, labels[part], half, rows.n_threads) for half in points)
            before = np.where(to_second < to_first, np.int32(-1), labels[part])  # the same as now: not added
            _kernels.add_to_clusters(
                x, labels[part], before, rows.weights_of(part), rows.shift, sums, masses, rows.n_threads
            )
