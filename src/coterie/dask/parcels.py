"""Parcels: what a worker searches of a graph, which are the rows of some cells and all rows that visit these.

The rows of a parcel come from the workers that hold their chunks, from each to each, and not by way of the client. What
a parcel is depends on the rows alone; on which worker it lies changes no bit of what is found.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from concurrent.futures import wait
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from coterie.arrays import Array, BoolArray, FloatArray, IndexArray, IntArray
from coterie.blocks.kernel_rows import kernel_rows
from coterie.centers.frame import CenterFrame, nearest_centers
from coterie.dask.worker import SESSIONS, HeldChunk, PeerLostError, StoppedError, Visit
from coterie.graphs.cell_search import VisitedCells, visiting_order
from coterie.graphs.directions import candidates_of, in_directions
from coterie.graphs.exact import lowest_scores, nearest_of_candidates, relative_rows

__all__ = [
    "NOBODY", "Nearest", "NearestOfSome", "Parcel", "Space", "nearest_cells", "rank", "search_parcel", "try_directions",
    "visit_cells",
]  # fmt: skip

# Number of a row that is none.
NOBODY = np.iinfo(np.int32).max

# Chunks of which rows travel to a worker at a time.
_AT_ONCE = 4

# Seconds between two looks whether the fit has ended, while rows travel; and until a worker that does not let itself be
# connected is one that has died.
_LOOK, _PATIENCE = 0.5, 10


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
        self.ids = np.full((n_queries, n_neighbors), NOBODY, dtype=np.int32)
        self.squares = np.full(self.ids.shape, np.inf, dtype=dtype)

    @property
    def nbytes(self) -> int:
        """What travels of it."""
        return self.ids.nbytes + self.squares.nbytes

    def add(self, part: slice | IndexArray, ids: IntArray, squares: Array) -> None:
        """Take in rows that no one has looked at yet, for some of the queries."""
        ids = np.hstack([self.ids[part], ids])
        squares = np.hstack([self.squares[part], squares])
        nearest = np.lexsort((ids, squares), axis=1)[:, : self.ids.shape[1]]
        self.ids[part] = np.take_along_axis(ids, nearest, axis=1)
        self.squares[part] = np.take_along_axis(squares, nearest, axis=1)

    def take_in(self, other: Nearest) -> None:
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
    def nbytes(self) -> int:
        """What travels of it."""
        return self.numbers.nbytes + self.nearest.nbytes

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
        is_new, width = self.nearest.ids[at, 0] == NOBODY, ids.shape[1]
        self.nearest.ids[at[is_new], :width] = ids[is_new]
        self.nearest.squares[at[is_new], :width] = squares[is_new]
        is_nearer = ~is_new & (squares[:, 0] <= self.nearest.squares[at, -1])
        self.nearest.add(at[is_nearer], ids[is_nearer], squares[is_nearer])

    def take_in(self, other: NearestOfSome) -> None:
        """Take in what is the nearest among other rows."""
        self.add(other.numbers, other.nearest.ids, other.nearest.squares)


# --- what is asked of the chunks -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Space:
    """Where rows are compared: relative to a point, in all columns or in few directions.

    Attributes
    ----------
    shift : ndarray of shape (d,), float64
        The point.
    directions : ndarray of shape (d, m), or None
        The directions; None for all columns.
    """

    shift: FloatArray
    directions: Array | None

    @property
    def nbytes(self) -> int:
        """What travels of it."""
        return self.shift.nbytes + (0 if self.directions is None else self.directions.nbytes)

    def of(self, rows: Array, n_threads: int) -> tuple[Array, FloatArray]:
        """Return rows there, and their squared lengths in all columns."""
        relative, squares = relative_rows(np.ascontiguousarray(rows), self.shift, n_threads)
        if self.directions is None:
            return relative, squares
        return in_directions(relative, self.directions, n_threads), squares


def try_directions(visit: Visit, first: int) -> None:
    """Look for the rows of a chunk, whose first row has this number, that seem the nearest to probes in a space."""
    chunk, payload, nearest = visit.chunk, visit.payload, visit.sums["nearest"]
    near, squares = payload["space"].of(np.asarray(chunk.rows.read()), chunk.n_threads)
    n_found = min(nearest.ids.shape[1], len(near))
    offsets = squares.astype(near.dtype)
    ids, scores = lowest_scores(payload["probes"], near, offsets, n_found, chunk.n_threads)
    nearest.add(slice(None), ids + np.int32(first), scores)


def visit_cells(visit: Visit, _: None) -> None:
    """Find the cells whose centres are the nearest to each row of a chunk; count the rows of each cell."""
    chunk, payload = visit.chunk, visit.payload
    if "cells" not in visit.made:
        centers = payload["centers"]
        visit.made["cells"] = CenterFrame(centers, np.zeros(centers.shape[1]), chunk.n_threads)
        _serve()
    frame: CenterFrame = visit.made["cells"]
    visits = np.empty((chunk.n_rows, payload["n_visits"]), dtype=np.min_scalar_type(len(frame)))
    for part, _x in visit.checked(chunk):
        near, _squares = payload["space"].of(np.asarray(chunk.rows.read())[part], chunk.n_threads)
        visits[part] = nearest_cells(near, frame, payload["n_visits"])
    chunk.visits = visits
    visit.sums["counts"].add(np.bincount(visits[:, 0], minlength=len(frame)).astype(np.float64))


def nearest_cells(rows: Array, cells: CenterFrame, n_visits: int) -> IntArray:
    """Return the cells whose centres are the nearest to each row, the nearest first."""
    ids = np.empty((len(rows), n_visits), dtype=np.int32)
    nearest_centers(kernel_rows(rows), cells, ids, np.empty(ids.shape, dtype=rows.dtype), cells.n_threads)
    return ids


def rank(visit: Visit, number: int) -> IndexArray:
    """Return after how many visits the probes of the payload come to those of their neighbours that lie in a parcel."""
    parcel = _parcel(visit, number)
    if parcel.n_points == 0:
        return np.empty(0, dtype=np.intp)
    return parcel.ranks(visit.payload["probes"], visit.payload["near"], visit.payload["n_visits"])


def search_parcel(visit: Visit, number: int) -> None:
    """Look for the nearest rows of those that visit the cells of a parcel."""
    parcel, payload = _parcel(visit, number), visit.payload
    if parcel.n_points > 0:
        visit.check()
        found = parcel.search(payload["n_neighbors"], payload["n_visits"])
        visit.sums["nearest"].add(*found)
    visit.chunk.parcel = None


# --- rows on their way -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Sent:
    """Rows of a chunk that some cells are visited by: their numbers in the chunk, the rows, all cells they visit."""

    numbers: IntArray
    rows: Array
    visits: IntArray

    @property
    def nbytes(self) -> int:
        return self.numbers.nbytes + self.rows.nbytes + self.visits.nbytes

    def some(self, wanted: BoolArray) -> _Sent:
        """Return those that visit some of the cells wanted."""
        some = wanted[self.visits].any(axis=1)
        return self if some.all() else _Sent(self.numbers[some], self.rows[some], self.visits[some])


def _visitors(chunk: HeldChunk, wanted: BoolArray) -> _Sent:
    """Return the rows of a chunk that visit some of the cells wanted."""
    assert chunk.visits is not None
    numbers = np.flatnonzero(wanted[chunk.visits].any(axis=1))
    return _Sent(numbers.astype(np.int32), np.asarray(chunk.rows.take(numbers)), chunk.visits[numbers])


async def _send_visitors(address: str, session: str, number: int, wanted: Any) -> dict[str, Any]:
    """Answer another worker that asks for the rows of a chunk; with nothing if the chunk is not here."""
    from distributed.protocol import to_serialize

    held = SESSIONS.get((address, session))
    chunk = None if held is None else held.chunks.get(number)
    if chunk is None or chunk.visits is None:
        return {}
    found = await asyncio.get_running_loop().run_in_executor(None, _visitors, chunk, wanted)
    return {name: to_serialize(value) for name, value in vars(found).items()}


def _parcel(visit: Visit, number: int) -> Parcel:
    """Return a parcel, whose rows are fetched from all chunks if they are not here; with them those of its fellows."""
    if visit.chunk.parcel is None:
        if "sent" not in visit.made:
            visit.made["sent"] = _gathered(visit)
        cells = visit.payload["parcels"] == number
        space, n_threads = visit.payload["space"], visit.chunk.n_threads
        visit.chunk.parcel = Parcel(visit.made["sent"], visit.payload["firsts"], cells, space, n_threads)
    return visit.chunk.parcel


def _gathered(visit: Visit) -> list[_Sent]:
    """Return the rows of each chunk that visit the parcels that this worker lacks."""
    from distributed import get_worker

    worker: Any = get_worker()  # the loop of a worker is that of asyncio, which its type does not tell
    homes = visit.order.homes
    lacking = [part.given for part in visit.order.parts if visit.held(part.number).parcel is None]
    wanted = np.isin(visit.payload["parcels"], lacking)
    here = [number for number in sorted(homes) if homes[number] == worker.address]
    elsewhere = [number for number in sorted(homes) if homes[number] != worker.address]
    coming = asyncio.run_coroutine_threadsafe(
        _fetched(worker, visit.order.session, homes, elsewhere, wanted), worker.loop.asyncio_loop
    )
    while not coming.done():
        try:
            visit.check()
        except StoppedError:
            coming.cancel()
            raise
        wait([coming], timeout=_LOOK)
    fetched = coming.result()
    visit.n_exchanged += sum(sent.nbytes for sent in fetched)
    found = dict(zip(elsewhere, fetched))
    found |= {number: _visitors(visit.held(number), wanted) for number in here}
    return [found[number] for number in sorted(found)]


async def _fetched(
    worker: Any, session: str, homes: Mapping[int, str], numbers: Sequence[int], wanted: BoolArray
) -> list[_Sent]:
    """Fetch rows of some chunks from the workers that hold them."""
    from distributed.comm import CommClosedError
    from distributed.protocol import to_serialize

    turns = asyncio.Semaphore(_AT_ONCE)

    async def fetch(number: int) -> _Sent:
        async with turns:
            try:
                # What has died refuses connections, which Dask tries again for as long as workers may take to start.
                worker.rpc.reuse(homes[number], await worker.rpc.connect(homes[number], timeout=_PATIENCE))
                found = await worker.rpc(homes[number]).coterie_visitors(
                    session=session, number=number, wanted=to_serialize(wanted)
                )
            except (OSError, CommClosedError) as error:
                raise PeerLostError(f"The worker {homes[number]} does not answer: {error}") from None
        if not found:
            raise PeerLostError(f"The worker {homes[number]} does not hold chunk {number} any more.")
        return _Sent(**found)

    return await asyncio.gather(*(fetch(number) for number in numbers))


def _serve() -> None:
    """Let this worker answer others that ask for rows."""
    from distributed import get_worker

    worker = get_worker()
    address = worker.address

    async def coterie_visitors(session: str, number: int, wanted: Any) -> dict[str, Any]:
        return await _send_visitors(address, session, number, wanted)

    worker.handlers.setdefault("coterie_visitors", coterie_visitors)


# --- the search ------------------------------------------------------------------------------------------------------


class Parcel:
    """The rows of some cells, and those that visit these.

    Parameters
    ----------
    sent : list of _Sent
        Rows of each chunk, in the order of chunks.
    firsts : ndarray
        The number of the first row of each chunk.
    cells : ndarray of bool
        Which cells are those of the parcel.
    space : Space
        Where candidates are looked for; they are measured in all columns.
    n_threads : int
        Threads of the kernels.
    """

    def __init__(
        self, sent: Sequence[_Sent], firsts: IndexArray, cells: BoolArray, space: Space, n_threads: int
    ) -> None:
        parts = [part.some(cells) for part in sent]
        numbers = np.concatenate([part.numbers + np.int32(first) for part, first in zip(parts, firsts)])
        visits = np.concatenate([part.visits for part in parts])
        is_point = cells[visits[:, 0]]
        order = np.argsort(~is_point, kind="stable")  # first the rows that lie in its cells
        self.n_points, self._n_threads = int(np.count_nonzero(is_point)), n_threads
        self.numbers = numbers[order]
        self._rows = np.concatenate([part.rows for part in parts])[order]
        # The other cells are one that is empty.
        self._n_cells = int(np.count_nonzero(cells)) + 1
        local = np.full(len(cells), self._n_cells - 1, dtype=np.int32)
        local[cells] = np.arange(self._n_cells - 1)
        self._visits = local[visits[order]]
        self._in_few = space.directions is not None
        self._near, squares = space.of(self._rows, n_threads)
        self._offsets = squares[: self.n_points].astype(self._near.dtype)

    def ranks(self, probes: IndexArray, near: IntArray, n_visits: int) -> IndexArray:
        """Return after how many visits of their groups probes come to those of the rows near to them that are points.

        Parameters
        ----------
        probes : ndarray of shape (p,), ascending
            Numbers of rows. Those that do not visit the parcel are left out.
        near : ndarray of shape (p, m)
            Numbers of the rows near to each.
        n_visits : int
            How many cells each row visits: groups depend on it.
        """
        asking, visited = self._visited(n_visits)
        numbers, points = self.numbers[asking], self.numbers[: self.n_points]
        by_number = np.argsort(numbers)
        at = np.searchsorted(numbers, probes, sorter=by_number)
        rows = by_number[np.minimum(at, len(by_number) - 1)]
        are_here = numbers[rows] == probes
        places = np.minimum(np.searchsorted(points, near), len(points) - 1)
        are_points = points[places] == near
        lists = [places[i][are_points[i]] for i in np.flatnonzero(are_here)]
        return visited.ranks(rows[are_here], lists)

    def search(self, n_neighbors: int, n_visits: int) -> tuple[IntArray, IntArray, Array]:
        """Return the rows that visit the parcel, the points nearest to each, and their squared distances.

        Lists of fewer than `n_neighbors` points end with none, at infinite distance.
        """
        asking, visited = self._visited(n_visits)
        points, asked = self._rows[: self.n_points], self._rows[asking]
        n_candidates = candidates_of(n_neighbors, self._in_few) + 1
        n_candidates = min(n_candidates, self.n_points)
        candidates = visited.candidates(self._offsets, n_candidates)
        ids, squares = nearest_of_candidates(
            points, asked, candidates, visited.row_order, n_candidates, self._n_threads
        )
        numbers = self.numbers[asking]
        ids = np.where(ids >= 0, self.numbers[ids], NOBODY)
        is_self = ids == numbers[:, None]
        ids[is_self], squares[is_self] = NOBODY, np.inf
        nearest = np.argsort(squares, axis=1, kind="stable")[:, :n_neighbors]
        return numbers, np.take_along_axis(ids, nearest, axis=1), np.take_along_axis(squares, nearest, axis=1)

    def _visited(self, n_visits: int) -> tuple[IndexArray, VisitedCells]:
        """Return which rows ask if each visits so many cells, and the cells with these."""
        visits = self._visits[:, :n_visits]
        asking = np.flatnonzero((visits < self._n_cells - 1).any(axis=1))
        visits = np.ascontiguousarray(visits[asking])
        is_empty = visits == self._n_cells - 1
        in_order = np.take_along_axis(visits, np.argsort(is_empty, axis=1, kind="stable")[:, :3], axis=1)
        return asking, VisitedCells(
            self._near[: self.n_points], self._visits[: self.n_points, 0], self._near[asking], visits,
            visiting_order(in_order), n_cells=self._n_cells, n_threads=self._n_threads,
        )  # fmt: skip
