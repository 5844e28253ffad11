"""The nearest rows of rows on Dask workers.

Exactly: blocks of rows are sent as queries, every chunk is searched, and the nearest of all chunks are kept.
Approximately: the client learns cells from a bounded sample, and from probes how far rows reach across their borders,
as one machine does (`coterie.graphs.approximate`). Each group of cells is searched by one worker, to which rows are
sent from the workers that hold them. Neither depends on which worker holds which chunk, and nothing is lost with a
worker.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import wait
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from coterie.arrays import Array, BoolArray, FloatArray, IndexArray, IntArray
from coterie.backend import Chunk, open_backend
from coterie.centers.lloyd import cell_centers
from coterie.dask.backend import WorkerBackend
from coterie.dask.tasks import SESSIONS, PeerLostError, StoppedError
from coterie.graphs.approximate import (
    N_PROBES,
    WIDTHS,
    CellPoints,
    Cells,
    RecallSample,
    Visits,
    candidates_of,
    plan_reach,
    principal_directions,
    rows_in_directions,
    sample_of_cells,
)
from coterie.graphs.exact import ExactSearch, lowest_scores, nearest_of_candidates, relative_rows
from coterie.limits.memory import Need, check_memory
from coterie.rows import RowSource

# Number of a row that is none.
_NO_ROW = np.iinfo(np.int32).max

# Queries that are sent at a time.
_QUERY_BYTES = 4 << 20

# Multiply-adds after which a worker checks whether the fit has ended: half a second of one thread.
_CALL_MULTIPLY_ADDS = 2e10

# Bytes of rows that cells are learned from.
_SAMPLE_BYTES = 256 << 20

# Steps of a power iteration, for a direction that need not be exact.
_STEPS = 5

# Equal distances differ by this where they are summed otherwise.
_TIE = 1e-6

# Chunks of which rows are sent to a worker at a time.
_AT_ONCE = 4

# Seconds between two checks whether the fit has ended, while rows are sent; and until a worker that refuses connections
# is taken to have died.
_INTERVAL, _PATIENCE = 0.5, 10


def _neighbors(chunk: Chunk, payload: dict[str, Any], _: Any, into: Any) -> None:
    """Search the rows of a chunk for the nearest ones of the queries."""
    points, queries, first, nearest = chunk.rows.in_place(), payload["queries"], chunk.first, into["nearest"]
    size = max(64, int(_CALL_MULTIPLY_ADDS / points.size))
    search_here = ExactSearch(points, chunk.n_threads)
    for start in range(0, len(queries), size):
        chunk.check()
        part = slice(start, min(start + size, len(queries)))
        own = payload["numbers"][part] - first
        are_here = bool(np.any((own >= 0) & (own < len(points))))
        n_found = min(nearest.ids.shape[1] + are_here, len(points))
        ids, squares = search_here.neighbors(queries[part], n_found, chunk.n_threads)
        is_self = ids == own[:, None]
        ids += np.int32(first)
        ids[is_self], squares[is_self] = _NO_ROW, np.inf
        nearest.add(part, ids, squares)


def find_neighbors(
    rows: RowSource,
    n_neighbors: int,
    *,
    approximate: bool,
    recall: float,
    seed: int,
    n_threads: int | None = None,
) -> tuple[IntArray, Array, float]:
    """Return ids and squared distances of the nearest rows of each row, and the recall.

    See `coterie.graphs.nearest_neighbors`.
    """
    with open_backend(rows, n_threads=n_threads) as backend:
        assert isinstance(backend, WorkerBackend)
        return _find(backend, n_neighbors, approximate=approximate, recall=recall, seed=seed)


def _find(
    backend: WorkerBackend, n_neighbors: int, *, approximate: bool, recall: float, seed: int
) -> tuple[IntArray, Array, float]:
    n_bytes = backend.n_rows * n_neighbors * (4 + backend.dtype.itemsize)
    need = Need(n_bytes, "ids and distances of the neighbors", "ask for fewer neighbors")
    check_memory([need], f"{n_neighbors} neighbors of {backend.n_rows:,} rows")
    if not approximate:
        nearest = _search_all(backend, np.arange(backend.n_rows), n_neighbors)
        return nearest.ids, nearest.squares, 1.0
    drawn = np.random.RandomState(seed).choice(backend.n_rows, min(N_PROBES, backend.n_rows), replace=False)
    drawn = np.sort(drawn)
    known = _search_all(backend, drawn, n_neighbors)
    probes = RecallSample(
        drawn.astype(np.int32), backend.take(drawn), known.ids, known.squares[:, -1].astype(np.float64)
    )
    by_cells = _nearest_by_cells(backend, probes, n_neighbors, recall, seed)
    if by_cells is None:
        return _find(backend, n_neighbors, approximate=False, recall=recall, seed=seed)
    nearest, judges = by_cells
    few = np.flatnonzero(nearest.ids[:, -1] == _NO_ROW)  # whose cells hold too few rows
    if len(few):
        all_of_few = _search_all(backend, few, n_neighbors)
        nearest.ids[few], nearest.squares[few] = all_of_few.ids, all_of_few.squares
    are_near = nearest.squares[judges.own] <= judges.furthest[:, None] * (1 + _TIE)
    return nearest.ids, nearest.squares, float(np.mean(are_near))


def _search_all(backend: WorkerBackend, numbers: IndexArray, n_neighbors: int) -> Nearest:
    """Return the nearest of all rows to some of them, of ascending numbers."""
    nearest = Nearest(len(numbers), n_neighbors, backend.dtype)
    size = max(1, _QUERY_BYTES // (backend.n_columns * backend.dtype.itemsize))
    for first in range(0, len(numbers), size):
        part = slice(first, min(first + size, len(numbers)))
        payload = {"queries": backend.take(numbers[part]), "numbers": numbers[part]}
        found = Nearest(part.stop - part.start, n_neighbors, backend.dtype)
        backend.run(_neighbors, payload, into={"nearest": found})
        nearest.ids[part], nearest.squares[part] = found.ids, found.squares
    return nearest


# --- approximate: cells of all rows, each searched where its rows have been sent ---


def _nearest_by_cells(
    backend: WorkerBackend, probes: RecallSample, n_neighbors: int, recall: float, seed: int
) -> tuple[Nearest, RecallSample] | None:
    """Return near rows of each row, and probes to measure the recall; None where all rows must be compared.

    Parameters
    ----------
    backend : WorkerBackend
        The rows.
    probes : RecallSample
        Some of them, whose nearest rows are known.
    n_neighbors : int
        How many to find.
    recall : float
        The share of the nearest that is to be found.
    seed : int
        Of the cells.
    """
    planners, judges = probes.halves() if len(probes.own) > 1 else (probes, probes)
    missed = 1 - recall
    sample, n_cells = _sampled(backend, seed)
    space = _few_directions(backend, sample, planners, 1 - missed / 4, seed)
    near = space.of(sample, backend.n_threads)[0]
    centers = cell_centers(near, n_cells, seed=seed, n_threads=backend.n_threads)
    known = np.unique(planners.ids).astype(np.intp)
    rows = space.of(backend.take(known), backend.n_threads)[0]
    vectors = space.of(planners.vectors, backend.n_threads)[0]
    near_rows = [rows[np.searchsorted(known, ids)] for ids in planners.ids]
    reach, n_visits = plan_reach(centers, vectors, near_rows, 1 - 3 * missed / 4)
    if 2 * (1 + 2 * n_visits) >= n_cells:
        return None
    counts = backend.total((n_cells,), 2 * backend.n_rows)
    payload = {"centers": centers, "reach": reach, "space": space}
    backend.run(_assign_cells, payload, into={"counts": counts}, writes="cells")
    payload = {
        "groups": group_cells(centers, counts.total(), len(backend.firsts) - 1),
        "space": space,
        "firsts": backend.firsts,
        "n_neighbors": n_neighbors,
    }
    given = _group_of_chunk(backend)
    found = NearestOfSome(n_neighbors, backend.dtype)
    backend.run(_search_group, payload, given=given, into={"nearest": found}, is_exchange=True)
    return found.nearest, judges


def _sampled(backend: WorkerBackend, seed: int) -> tuple[Array, int]:
    """Return a bounded sample that cells are learned from, and how many of these there are."""
    n_cells, size = sample_of_cells(backend.n_rows)
    size = min(size, max(n_cells, _SAMPLE_BYTES // (backend.n_columns * backend.dtype.itemsize)))
    return backend.take(
        np.sort(np.random.RandomState(seed).choice(backend.n_rows, size, replace=False))
    ), n_cells


def _few_directions(
    backend: WorkerBackend, sample: Array, probes: RecallSample, recall: float, seed: int
) -> Space:
    """Return few directions that tell near rows from far ones, as one machine does; all columns where none suffice."""
    shift = sample.mean(axis=0, dtype=np.float64)
    everything = Space(shift, None)
    widths = [width for width in WIDTHS if width <= backend.n_columns // 2]
    relative = everything.of(sample, backend.n_threads)[0]
    if not widths or not relative.any():
        return everything
    directions = principal_directions(relative, widths[-1], seed)
    n_candidates = min(candidates_of(probes.ids.shape[1], True) + 1, backend.n_rows)
    for width in widths:
        space = Space(shift, np.ascontiguousarray(directions[:, :width]))
        payload = {"space": space, "probes": space.of(probes.vectors, backend.n_threads)[0]}
        found = Nearest(len(probes.own), n_candidates, backend.dtype)
        backend.run(_try_directions, payload, into={"nearest": found})
        if np.mean([np.isin(true, near).mean() for true, near in zip(probes.ids, found.ids)]) >= recall:
            return space
    return everything


def _group_of_chunk(backend: WorkerBackend) -> list[int]:
    """Return the group that is searched where each chunk is: groups that are near to each other by one worker."""
    homes = backend.pool.homes
    order = sorted(range(len(homes)), key=lambda number: (homes[number], number))
    return np.argsort(order).tolist()


def group_cells(centers: Array, counts: FloatArray, n_groups: int) -> IndexArray:
    """Cut cells into groups of about as many rows each, repeatedly across the direction of the largest variance.

    Parameters
    ----------
    centers : ndarray of shape (n_cells, d)
        The centers of cells.
    counts : ndarray of shape (n_cells,)
        How many rows lie in each.
    n_groups : int
        How many groups; some are empty where there are too few cells.

    Returns
    -------
    ndarray of shape (n_cells,)
        The group of each cell; those of near numbers are near to each other.
    """
    groups = np.zeros(len(centers), dtype=np.intp)
    pieces = [(np.arange(len(centers)), 0, n_groups)]
    while pieces:
        cells, first, n_parts = pieces.pop()
        groups[cells] = first
        if n_parts == 1 or len(cells) == 0:
            continue
        order = cells[np.argsort(_positions(centers[cells], counts[cells]), kind="stable")]
        n_left = n_parts // 2
        middles = np.cumsum(counts[order]) - counts[order] / 2
        cut = int(np.searchsorted(middles, counts[order].sum() * n_left / n_parts))
        pieces += [(order[:cut], first, n_left), (order[cut:], first + n_left, n_parts - n_left)]
    return groups


def _positions(centers: Array, counts: FloatArray) -> FloatArray:
    """Return the approximate coordinates of the centers along the direction of largest variance."""
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


# --- totals ---


class Nearest:
    """The nearest rows of some queries among all that have been looked at; equally near ones by their numbers.

    Parameters
    ----------
    n_queries, n_neighbors : int
        How many queries, and how many rows for each.
    dtype : dtype
        Of the squared distances.

    Attributes
    ----------
    ids : ndarray of shape (n_queries, n_neighbors), int32
        Numbers of the rows; the largest that there is where there are too few.
    squares : ndarray of shape (n_queries, n_neighbors)
        Their squared distances, infinite there.
    """

    def __init__(self, n_queries: int, n_neighbors: int, dtype: npt.DTypeLike) -> None:
        self.ids = np.full((n_queries, n_neighbors), _NO_ROW, dtype=np.int32)
        self.squares = np.full(self.ids.shape, np.inf, dtype=dtype)

    @property
    def empty(self) -> Callable[[], Nearest]:
        """Function that makes empty lists for the same queries."""
        return partial(Nearest, *self.ids.shape, self.squares.dtype)

    def add(self, part: slice | IndexArray, ids: IntArray, squares: Array) -> None:
        """Take in rows that no one has looked at yet, for some of the queries."""
        ids = np.hstack([self.ids[part], ids])
        squares = np.hstack([self.squares[part], squares])
        nearest = np.lexsort((ids, squares), axis=1)[:, : self.ids.shape[1]]
        self.ids[part] = np.take_along_axis(ids, nearest, axis=1)
        self.squares[part] = np.take_along_axis(squares, nearest, axis=1)

    def merge(self, other: Nearest) -> None:
        """Take in what is the nearest among other rows."""
        self.add(slice(None), other.ids, other.squares)


class NearestOfSome:
    """The nearest rows of those queries that have been asked for; see `Nearest`.

    Parameters
    ----------
    n_neighbors : int
        How many for each.
    dtype : dtype
        Of the squared distances.

    Attributes
    ----------
    numbers : ndarray of int32
        The queries, ascending.
    nearest : Nearest
        Of each.
    """

    def __init__(self, n_neighbors: int, dtype: npt.DTypeLike) -> None:
        self.numbers: IntArray = np.empty(0, dtype=np.int32)
        self.nearest = Nearest(0, n_neighbors, dtype)

    @property
    def empty(self) -> Callable[[], NearestOfSome]:
        """Function that makes empty lists."""
        return partial(NearestOfSome, self.nearest.ids.shape[1], self.nearest.squares.dtype)

    def add(self, numbers: IntArray, ids: IntArray, squares: Array) -> None:
        """Take in rows that no one has looked at yet for these queries, ascending by distance and number."""
        before, old = self.numbers, self.nearest
        n_neighbors = old.ids.shape[1]
        self.numbers = np.union1d(before, numbers)
        self.nearest = Nearest(len(self.numbers), n_neighbors, old.squares.dtype)
        at = np.searchsorted(self.numbers, before)
        self.nearest.ids[at], self.nearest.squares[at] = old.ids, old.squares
        at = np.searchsorted(self.numbers, numbers)
        # Most queries are new, or find nothing nearer in other cells: neither needs a sort.
        is_new, width = self.nearest.ids[at, 0] == _NO_ROW, ids.shape[1]
        self.nearest.ids[at[is_new], :width] = ids[is_new]
        self.nearest.squares[at[is_new], :width] = squares[is_new]
        is_nearer = ~is_new & (squares[:, 0] <= self.nearest.squares[at, -1])
        self.nearest.add(at[is_nearer], ids[is_nearer], squares[is_nearer])

    def merge(self, other: NearestOfSome) -> None:
        """Take in what is the nearest among other rows."""
        self.add(other.numbers, other.nearest.ids, other.nearest.squares)


# --- tasks ---


@dataclass(frozen=True)
class Space:
    """Coordinates in which rows are compared: relative to a point, in all columns or in few directions.

    Attributes
    ----------
    shift : ndarray of shape (d,), float64
        The point.
    directions : ndarray of shape (d, m), or None
        The directions; None for all columns.
    """

    shift: FloatArray
    directions: Array | None

    def of(self, rows: Array, n_threads: int) -> tuple[Array, FloatArray]:
        """Return rows there, and their squared lengths in all columns."""
        relative, squares = relative_rows(np.ascontiguousarray(rows), self.shift, n_threads)
        if self.directions is None:
            return relative, squares
        return rows_in_directions(relative, self.directions, n_threads), squares


def _try_directions(chunk: Chunk, payload: dict[str, Any], _: Any, into: Any) -> None:
    """Search the rows of a chunk for those that seem the nearest to probes in a space."""
    nearest = into["nearest"]
    near, squares = payload["space"].of(chunk.rows.in_place(), chunk.n_threads)
    n_found = min(nearest.ids.shape[1], len(near))
    offsets = squares.astype(near.dtype)
    ids, scores = lowest_scores(payload["probes"], near, offsets, n_found, chunk.n_threads)
    nearest.add(slice(None), ids + np.int32(chunk.first), scores)


def _assign_cells(chunk: Chunk, payload: dict[str, Any], _: Any, into: Any) -> None:
    """Find the cell of each row of a chunk and those that it visits; count the rows of each cell."""
    shared = chunk.exchange.shared
    if "cells" not in shared:
        shared["cells"] = Cells(payload["centers"], payload["reach"], chunk.n_threads)
        _serve()
    cells: Cells = shared["cells"]
    found = [
        cells.visits(payload["space"].of(block, chunk.n_threads)[0], chunk.n_threads)
        for _, block, _ in chunk.blocks()
    ]
    chunk.state["visits"] = _joined(found)
    with into["counts"].part() as counts:
        counts += np.bincount(chunk.state["visits"].own, minlength=len(cells))


def _joined(visits: Sequence[Visits]) -> Visits:
    """Return the visits of rows that follow each other."""
    counts = np.concatenate([np.diff(some.starts) for some in visits])
    return Visits(
        np.concatenate([some.own for some in visits]),
        np.concatenate([[0], np.cumsum(counts)]),
        np.concatenate([some.cells for some in visits]),
    )


def _search_group(chunk: Chunk, payload: dict[str, Any], number: int, into: Any) -> None:
    """Search the cells of a group for the nearest rows of those that visit these cells."""
    shared = chunk.exchange.shared
    if "sent" not in shared:  # together for all groups of the worker
        shared["sent"] = _gathered(chunk, payload)
    is_here = payload["groups"] == number
    found = search_group(
        shared["sent"], payload["firsts"], is_here, payload["space"], payload["n_neighbors"], chunk
    )
    if found is not None:
        into["nearest"].add(*found)


# --- rows from other workers ---


@dataclass(frozen=True)
class _SearchingRows:
    """Rows of a chunk that visit some cells: their numbers in the chunk, the rows, all their cells."""

    numbers: IntArray
    rows: Array
    own: IntArray
    starts: IndexArray
    cells: IntArray

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in vars(self).values())

    @property
    def visits(self) -> Visits:
        return Visits(self.own, self.starts, self.cells)

    def some(self, wanted: BoolArray) -> _SearchingRows:
        """Return the rows that visit some of the cells."""
        some = np.flatnonzero(self.visits.reach(wanted))
        return _SearchingRows(self.numbers[some], self.rows[some], **vars(self.visits.take(some)))


def _rows_searching(chunk: Chunk, wanted: BoolArray) -> _SearchingRows:
    """Return the rows of a chunk that visit some of the cells."""
    visits: Visits = chunk.state["visits"]
    numbers = np.flatnonzero(visits.reach(wanted))
    return _SearchingRows(
        numbers.astype(np.int32), np.asarray(chunk.rows.take(numbers)), **vars(visits.take(numbers))
    )


async def _send_rows(address: str, session: str, number: int, wanted: Any) -> dict[str, Any]:
    """Send the rows of a chunk to another worker; nothing if the chunk is not here."""
    from distributed.protocol import to_serialize

    held = SESSIONS.get((address, session))
    chunk = None if held is None else held.chunks.get(number)
    if chunk is None or "visits" not in chunk.state:
        return {}
    found = await asyncio.get_running_loop().run_in_executor(None, _rows_searching, chunk, wanted)
    return {name: to_serialize(value) for name, value in vars(found).items()}


def _gathered(chunk: Chunk, payload: dict[str, Any]) -> list[_SearchingRows]:
    """Return the rows of each chunk that visit the groups of this worker."""
    from distributed import get_worker

    worker: Any = get_worker()  # its loop is that of asyncio, which its type does not show
    exchange, request = chunk.exchange, chunk.exchange.request

    def held(number: int) -> Chunk:
        if number not in exchange.chunks or "visits" not in exchange.chunks[number].state:
            raise PeerLostError(f"This worker does not hold chunk {number} any more.")
        found: Chunk = exchange.chunks[number]
        return found

    homes = request.homes
    for part in request.parts:
        held(part.number)
    wanted = np.isin(payload["groups"], [part.given for part in request.parts])
    here = [number for number in sorted(homes) if homes[number] == worker.address]
    others = [number for number in sorted(homes) if homes[number] != worker.address]
    coming = asyncio.run_coroutine_threadsafe(
        _fetched(worker, request.session, homes, others, wanted), worker.loop.asyncio_loop
    )
    while not coming.done():
        try:
            chunk.check()
        except StoppedError:
            coming.cancel()
            raise
        wait([coming], timeout=_INTERVAL)
    fetched = coming.result()
    exchange.n_exchanged += sum(sent.nbytes for sent in fetched)
    found = dict(zip(others, fetched))
    found |= {number: _rows_searching(held(number), wanted) for number in here}
    return [found[number] for number in sorted(found)]


async def _fetched(
    worker: Any, session: str, homes: Mapping[int, str], numbers: Sequence[int], wanted: BoolArray
) -> list[_SearchingRows]:
    """Fetch rows of some chunks from the workers that hold them."""
    from distributed.comm import CommClosedError
    from distributed.protocol import to_serialize

    at_once = asyncio.Semaphore(_AT_ONCE)

    async def fetch(number: int) -> _SearchingRows:
        async with at_once:
            try:
                # What has died refuses connections, which Dask tries again for as long as workers may take to start.
                worker.rpc.reuse(homes[number], await worker.rpc.connect(homes[number], timeout=_PATIENCE))
                found = await worker.rpc(homes[number]).coterie_rows(
                    session=session, number=number, wanted=to_serialize(wanted)
                )
            except (OSError, CommClosedError) as error:
                raise PeerLostError(f"The worker {homes[number]} does not answer: {error}") from None
        if not found:
            raise PeerLostError(f"The worker {homes[number]} does not hold chunk {number} any more.")
        return _SearchingRows(**found)

    return await asyncio.gather(*(fetch(number) for number in numbers))


def _serve() -> None:
    """Make this worker send rows to others on request."""
    from distributed import get_worker

    worker = get_worker()
    address = worker.address

    async def coterie_rows(session: str, number: int, wanted: Any) -> dict[str, Any]:
        return await _send_rows(address, session, number, wanted)

    worker.handlers.setdefault("coterie_rows", coterie_rows)


# --- the search ---


def search_group(
    sent: Sequence[_SearchingRows],
    firsts: IndexArray,
    is_here: BoolArray,
    space: Space,
    n_neighbors: int,
    chunk: Chunk,
) -> tuple[IntArray, IntArray, Array] | None:
    """Compare the rows that visit the cells of a group, in the pairs that no other group compares.

    If x visits the cell of y, the group of this cell compares them, but for the case that y also visits the cell of x:
    then each is compared with the other by the group of its own cell.

    Parameters
    ----------
    sent : list of _SearchingRows
        Rows of each chunk, in the order of chunks.
    firsts : ndarray
        The number of the first row of each chunk.
    is_here : ndarray of bool
        Which cells are those of the group.
    space : Space
        Where candidates are searched; they are measured in all columns.
    n_neighbors : int
        How many to find.
    chunk : Chunk
        For its threads, and to stop where the fit has ended.

    Returns
    -------
    numbers, ids, squares : ndarray of shape (q,), (q, n_neighbors) and (q, n_neighbors)
        The rows, the rows found near to each, and their squared distances. Lists of fewer rows end with none, at
        infinite distance. None if no row lies in the group.
    """
    parts = [part.some(is_here) for part in sent]
    numbers = np.concatenate([part.numbers + np.int32(first) for part, first in zip(parts, firsts)])
    visits = _joined([part.visits for part in parts])
    is_own = is_here[visits.own]
    if not is_own.any():
        return None
    chunk.check()
    rows = np.concatenate([part.rows for part in parts])
    near, squares = space.of(rows, chunk.n_threads)
    own = np.where(is_own, visits.own, ~visits.own)
    points = CellPoints(
        near, squares.astype(near.dtype), Visits(own, visits.starts, visits.cells), len(is_here)
    )
    inside = is_here[visits.cells]
    starts = np.concatenate([[0], np.cumsum(inside)])[visits.starts]
    visiting = Visits(own, starts, visits.cells[inside])
    n_candidates = candidates_of(n_neighbors, space.directions is not None) + 1
    n_candidates = min(n_candidates, int(np.count_nonzero(is_own)))
    candidates = points.candidates(near, visiting, n_candidates, chunk.n_threads)
    ids, distances = nearest_of_candidates(
        rows, None, candidates, visiting.row_order, n_neighbors, chunk.n_threads
    )
    return numbers, np.where(ids >= 0, numbers[ids], _NO_ROW), distances
