"""Approximate nearest rows of rows on a cluster: cells of all rows, each searched where its rows have been sent.

The client learns the cells from a bounded sample, and how many of them each row has to visit from probes, as one
machine does (`coterie.graphs.approximate`). It cuts the cells into parcels by the numbers of their rows.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from coterie.arrays import Array, FloatArray, IndexArray
from coterie.centers.frame import CenterFrame
from coterie.centers.lloyd import cell_centers
from coterie.dask.exact_sums import Steps, exact
from coterie.dask.parcels import (
    Nearest,
    NearestOfSome,
    Space,
    nearest_cells,
    rank,
    search_parcel,
    try_directions,
    visit_cells,
)
from coterie.dask.worker_rows import WorkerRows
from coterie.graphs.cell_search import FEWEST_VISITS, MOST_VISITS, enough_visits, sample_of_cells
from coterie.graphs.directions import WIDTHS, candidates_of, principal_directions
from coterie.graphs.probes import Probes

__all__ = ["nearest_by_cells", "parcels_of"]

# Bytes of rows that cells are learnt from.
_SAMPLE_BYTES = 256 << 20

# Steps of a power iteration, for a direction that need not be exact.
_STEPS = 5

# Equal distances differ by so much where they are summed otherwise.
_TIE = 1e-6


def nearest_by_cells(
    data: WorkerRows, probes: Probes, n_neighbors: int, recall: float, seed: int
) -> tuple[Nearest, float]:
    """Return near rows of each row, and which share of the nearest was found.

    Parameters
    ----------
    data : WorkerRows
        The rows.
    probes : Probes
        Some of them, whose nearest rows are known.
    n_neighbors : int
        How many to find.
    recall : float
        The share of the nearest that is to be found.
    seed : int
        Of the cells.
    """
    planners, judges = probes.halves() if len(probes.rows) > 1 else (probes, probes)
    wanted = 1 - (1 - recall) / 2  # for probes tell it of other rows within a little
    sample, n_cells = _sampled(data, seed)
    space = _few_directions(data, sample, planners, 1 - (1 - recall) / 4, seed)
    near = space.of(sample, data.n_threads)[0]
    centers = cell_centers(near, n_cells, seed=seed, n_threads=data.n_threads)
    n_visits = _visits_without_groups(data, planners, wanted, space, centers)
    counts = _send_cells(data, {"centers": centers, "space": space, "n_visits": n_visits})
    payload = {
        "parcels": parcels_of(centers, counts, len(data.crew.chunks)),
        "space": space,
        "firsts": data.firsts,
        "n_neighbors": n_neighbors,
    }
    given = _parcel_of_chunk(data)
    payload["n_visits"] = _planned_visits(data, payload, given, planners, wanted, n_visits)
    empty = partial(NearestOfSome, n_neighbors, data.dtype)
    sums = data.crew.run(
        "search", search_parcel, payload, given=given, sums={"nearest": empty}, meets=True
    ).sums
    nearest: Nearest = sums["nearest"].nearest
    are_near = nearest.squares[judges.rows] <= judges.furthest[:, None] * (1 + _TIE)
    return nearest, float(np.mean(are_near))


def _planned_visits(
    data: WorkerRows, payload: dict[str, object], given: list[int], probes: Probes, recall: float, most: int
) -> int:
    """Return how many cells each row has to visit, where all rows of a group visit what any of them does."""

    def ranks(n_visits: int) -> IndexArray:
        asked = payload | {"probes": probes.rows, "near": probes.ids, "n_visits": n_visits}
        found = data.crew.run("plan", rank, asked, given=given, meets=True).results
        ranks = np.full(probes.ids.size, n_visits)  # of those that no row of their group visits
        ranks[: sum(map(len, found.values()))] = np.concatenate(
            [found[number] for number in range(len(given))]
        )
        return ranks

    n_visits = max(enough_visits(ranks(most), recall), FEWEST_VISITS)
    # Groups of rows with fewer visits are others.
    while n_visits < most and np.mean(ranks(n_visits) < n_visits) < recall:
        n_visits += max(1, n_visits // 4)
    return min(n_visits, most)


def _sampled(data: WorkerRows, seed: int) -> tuple[Array, int]:
    """Return a bounded sample that cells are learnt from, and how many of these there are."""
    n_cells, size = sample_of_cells(data.n_rows)
    size = min(size, max(n_cells, _SAMPLE_BYTES // (data.n_columns * data.dtype.itemsize)))
    return data.take(np.sort(np.random.RandomState(seed).choice(data.n_rows, size, replace=False))), n_cells


def _few_directions(data: WorkerRows, sample: Array, probes: Probes, recall: float, seed: int) -> Space:
    """Return few directions that tell near rows from far ones, as one machine does; all columns where none suffice."""
    shift = sample.mean(axis=0, dtype=np.float64)
    everything = Space(shift, None)
    widths = [width for width in WIDTHS if width <= data.n_columns // 2]
    relative = everything.of(sample, data.n_threads)[0]
    if not widths or not relative.any():
        return everything
    directions = principal_directions(relative, widths[-1], seed)
    n_candidates = min(candidates_of(probes.ids.shape[1], True) + 1, data.n_rows)
    for width in widths:
        space = Space(shift, np.ascontiguousarray(directions[:, :width]))
        payload = {"space": space, "probes": space.of(probes.vectors, data.n_threads)[0]}
        empty = partial(Nearest, len(probes.rows), n_candidates, data.dtype)
        answer = data.crew.run(
            "directions", try_directions, payload, given=data.firsts[:-1].tolist(), sums={"nearest": empty}
        )
        found = answer.sums["nearest"].ids
        if np.mean([np.isin(true, near).mean() for true, near in zip(probes.ids, found)]) >= recall:
            return space
    return everything


def _visits_without_groups(
    data: WorkerRows, probes: Probes, recall: float, space: Space, centers: Array
) -> int:
    """Return how many cells each row has to visit if only its own visits count: at least as many as it takes."""
    cells = CenterFrame(centers, np.zeros(centers.shape[1]), data.n_threads)
    near = np.unique(probes.ids).astype(np.intp)
    rows = space.of(data.take(near), data.n_threads)[0]
    own = nearest_cells(rows, cells, 1)[:, 0][np.searchsorted(near, probes.ids)]
    vectors = space.of(probes.vectors, data.n_threads)[0]
    enough = n_visits = 0
    for most in MOST_VISITS:
        visits = nearest_cells(vectors, cells, min(most, len(cells)))
        n_visits = visits.shape[1]
        is_own = visits[:, None, :] == own[:, :, None]
        enough = enough_visits(np.where(is_own.any(axis=2), is_own.argmax(axis=2), n_visits), recall)
        if enough <= most:
            break
    return min(max(enough, FEWEST_VISITS), n_visits)


def _send_cells(data: WorkerRows, payload: dict[str, object]) -> FloatArray:
    """Let all rows know which cells they visit; return how many rows lie in each."""
    crew, n_cells = data.crew, len(payload["centers"])  # type: ignore[arg-type]
    empty = exact((n_cells,), Steps.below(2 * data.n_rows))
    counts = crew.run("cells", visit_cells, payload, sums={"counts": empty}).sums["counts"].total()
    crew.past.append((visit_cells, payload))
    return counts


def _parcel_of_chunk(data: WorkerRows) -> list[int]:
    """Return the parcel that is searched where each chunk is: those that are near to each other by one worker."""
    homes = data.crew.homes
    order = sorted(range(len(homes)), key=lambda number: (homes[number], number))
    return np.argsort(order).tolist()


def parcels_of(centers: Array, counts: FloatArray, n_parcels: int) -> IndexArray:
    """Cut cells into parcels of about as many rows each, again and again across the direction of the largest variance.

    Parameters
    ----------
    centers : ndarray of shape (n_cells, d)
        The centres of cells.
    counts : ndarray of shape (n_cells,)
        How many rows lie in each.
    n_parcels : int
        How many parcels; some are empty where there are too few cells.

    Returns
    -------
    ndarray of shape (n_cells,)
        The parcel of each cell; those of near numbers are near to each other.
    """
    parcels = np.zeros(len(centers), dtype=np.intp)
    pieces = [(np.arange(len(centers)), 0, n_parcels)]
    while pieces:
        cells, first, n_parts = pieces.pop()
        parcels[cells] = first
        if n_parts == 1 or len(cells) == 0:
            continue
        order = cells[np.argsort(_positions(centers[cells], counts[cells]), kind="stable")]
        n_left = n_parts // 2
        middles = np.cumsum(counts[order]) - counts[order] / 2
        cut = int(np.searchsorted(middles, counts[order].sum() * n_left / n_parts))
        pieces += [(order[:cut], first, n_left), (order[cut:], first + n_left, n_parts - n_left)]
    return parcels


def _positions(centers: Array, counts: FloatArray) -> FloatArray:
    """Return where the centres lie along the direction in which the rows differ most, about."""
    total = counts.sum()
    if not total > 0:
        return np.zeros(len(centers))
    relative = centers - counts @ centers / total
    direction = relative[np.argmax(np.einsum("ij,ij->i", relative, relative) * counts)]
    for _ in range(_STEPS):
        length = np.linalg.norm(direction)
        if not length > 0:
            break
        direction = (counts * (relative @ (direction / length))) @ relative
    return relative @ direction
