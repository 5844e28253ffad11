"""What runs on a worker: one task a pass, which goes through the chunks that the worker holds.

A worker keeps the chunks of a fit between passes, with their labels and bounds. What it keeps can be made again by any
other worker from the chunk, the shift and the centres of the pass before: `Order` has them where they are needed.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from coterie.arrays import Array, FloatArray, IntArray
from coterie.blocks.dataset import FitRows, squares_to_point
from coterie.blocks.kernel_rows import kernel_blocks
from coterie.centers.frame import CenterFrame
from coterie.dask.chunks import Chunk, OpenedRows
from coterie.fitting.threads import single_threaded_blas
from coterie.limits.memory import available_memory
from coterie.mixture.posteriors import TruncatedPosteriors
from coterie.rows import as_rows
from coterie.rows.checks import BadRowError
from coterie.rows.derived import NormalizedRows

__all__ = [
    "Answer",
    "HeldChunk",
    "Order",
    "Part",
    "PeerLostError",
    "Plan",
    "StoppedError",
    "Sum",
    "Visit",
    "carry_out",
    "close_session",
    "measure_chunk",
    "stay",
]

# Sessions that have ended: a task that comes late does not begin them again.
_ENDED: deque[str] = deque(maxlen=1000)


class StoppedError(RuntimeError):
    """A task cannot be carried out here: its fit has ended or has sent a later one, or its chunks are not here."""


class PeerLostError(RuntimeError):
    """Another worker, of which something was wanted, does not answer, or has lost its chunks."""


@dataclass(frozen=True)
class Plan:
    """How a fit wants its rows.

    Attributes
    ----------
    n_clusters : int
        Number of clusters k.
    by_angle : bool
        Whether rows are scaled to length 1.
    dtype : str or None
        Type to compute in, once it is known.
    n_threads : int or None
        Threads of a worker's kernels; None for as many as the worker has.
    """

    n_clusters: int
    by_angle: bool = False
    dtype: str | None = None
    n_threads: int | None = None


@dataclass(frozen=True)
class Part:
    """What one chunk is asked in a pass.

    Attributes
    ----------
    number : int
        Which chunk.
    chunk : Chunk or None
        How it is opened; None where the worker holds it.
    weights : ndarray or None
        Weights of its rows, where it is opened.
    given : Any
        What the pass has for this chunk alone.
    kept : mapping of str to ndarray, or None
        What the rows of a mixture had before the operations that are repeated, where it is opened.
    """

    number: int
    chunk: Chunk | None = None
    weights: Array | None = None
    given: Any = None
    kept: Mapping[str, Array] | None = None


@dataclass(frozen=True)
class Order:
    """One task: what a worker does with its chunks.

    Attributes
    ----------
    session : str
        Name of the fit.
    number : int
        Orders of a fit are numbered; a worker that has seen a later one refuses earlier ones.
    operation : callable
        Gets a `Visit` and the part's `given`; returns what goes back for that chunk.
    parts : tuple of Part
        The chunks, in their order.
    held : frozenset of int
        The chunks that the worker is to hold; it forgets others.
    plan : Plan
        See there.
    shift : ndarray or None
        The shift of the rows, once it is known.
    sums : mapping of str to callable
        Returns each of the sums over all chunks that the pass makes, empty.
    past : sequence of (callable, Any)
        Operations that have changed what belongs to the rows, with their payloads, in order, for chunks that are
        opened: there they are repeated.
    homes : mapping of int to str
        The address of the worker that holds each chunk, where workers ask each other.
    """

    session: str
    number: int
    operation: Callable[[Visit, Any], Any]
    parts: tuple[Part, ...]
    held: frozenset[int]
    plan: Plan
    shift: FloatArray | None = None
    sums: Mapping[str, Callable[[], Sum]] = field(default_factory=dict)
    past: Sequence[tuple[Callable[[Visit, Any], Any], Any]] = ()
    homes: Mapping[int, str] = field(default_factory=dict)


@dataclass
class Answer:
    """What a task returns: what each chunk answered, the sums over them all, and the bytes that came from others."""

    results: dict[int, Any]
    sums: dict[str, Any]
    n_exchanged: int = 0


class Sum(Protocol):
    """Something over all chunks that does not depend on their order; see `ExactSum`."""

    @property
    def nbytes(self) -> int:
        """What travels of it."""

    def take_in(self, other: Any) -> None:
        """Add what another one of the same kind holds."""


class _Unheard(dict[str, Any]):
    """Sums of what is repeated: all has been added already."""

    def __missing__(self, key: str) -> _Unheard:
        return self

    def add(self, *_: Any) -> None:
        """Add nothing."""


class HeldChunk(FitRows):
    """A chunk on a worker, with what belongs to its rows between passes."""

    def __init__(self, opened: OpenedRows, first: Part, plan: Plan, n_threads: int) -> None:
        self.opened = opened
        self.number = first.number
        super().__init__(
            as_rows(opened.block), first.weights, n_clusters=plan.n_clusters, n_threads=n_threads
        )
        self.squares = np.empty(self.n_rows, dtype=self.dtype)
        self.nearest: Array = np.empty(0)  # squared distances to candidates of a seeding, and to how many
        self.n_candidates = 0
        self.posteriors: TruncatedPosteriors | None = None
        self.kept = first.kept
        self.visits: IntArray | None = None  # the cells nearest to each row, where a graph is made
        self.parcel: Any = None  # rows of some cells that have come here
        self.n_clusters = plan.n_clusters
        self.convert(plan.dtype)

    def convert(self, dtype: str | None) -> None:
        """Hold the rows in another float type."""
        if dtype is not None and self.dtype != dtype:
            self.rows = as_rows(self.opened.block.astype(dtype))
            self.dtype = self.rows.dtype
            self.squares = self.squares.astype(dtype)

    def blocks(self) -> Iterator[tuple[slice, Any]]:
        """Yield (slice of the rows, kernel rows) for each block."""
        return kernel_blocks(self.rows, self.block_rows)


class Visit:
    """A pass at one chunk: the chunk, and what all chunks of the pass share."""

    def __init__(self, session: _Session, order: Order, payload: Any, sums: dict[str, Any]) -> None:
        self._session = session
        self._order = order
        self._frames: dict[int, CenterFrame] = {}
        self.made: dict[str, Any] = {}  # by operations, for all chunks of the pass
        self.payload = payload
        self.sums = sums
        self.plan = order.plan
        self.shift = order.shift
        self.n_exchanged = 0
        self.chunk: HeldChunk

    def frame(self, centers: Array) -> CenterFrame:
        """Return centres as kernels want them, made once a pass."""
        if id(centers) not in self._frames:
            assert self.shift is not None
            self._frames[id(centers)] = CenterFrame(centers, self.shift, self._session.n_threads)
        return self._frames[id(centers)]

    def checked(self, rows: FitRows) -> Iterator[tuple[slice, Any]]:
        """Yield the blocks of rows, unless the fit has ended meanwhile."""
        for block in rows.blocks():
            self.check()
            yield block

    def check(self) -> None:
        """Raise a StoppedError if the fit has ended meanwhile."""
        self._session.check(self._order)

    @property
    def order(self) -> Order:
        """What the task was asked for."""
        return self._order

    def held(self, number: int) -> HeldChunk:
        """Return another chunk that this worker holds."""
        if number not in self._session.chunks:
            raise PeerLostError(f"This worker does not hold chunk {number} any more.")
        return self._session.chunks[number]

    def recall(self) -> None:
        """Give the rows of a chunk that was opened anew what they had elsewhere."""
        now = self.payload, self.sums
        for operation, payload in self._order.past:
            self.payload, self.sums = payload, _Unheard()
            operation(self, None)
        self.payload, self.sums = now

    def at(self, chunk: HeldChunk) -> None:
        """Come to the next chunk."""
        self.chunk = chunk


class _Session:
    """What a worker holds of one fit."""

    def __init__(self, n_threads: int) -> None:
        self.lock = threading.Lock()
        self.n_threads = n_threads
        self.newest = -1
        self.is_stopped = False
        self.chunks: dict[int, HeldChunk] = {}

    def check(self, order: Order) -> None:
        if self.is_stopped or order.number < self.newest:
            raise StoppedError("This fit has ended, or has asked for something else meanwhile.")

    def chunk(self, part: Part, visit: Visit, data: Any) -> HeldChunk:
        """Return a chunk that is held, or opened now."""
        if part.chunk is not None:
            self.chunks[part.number] = _opened(part, visit, data, self.n_threads)
        elif part.number not in self.chunks:  # a worker that was started again under the same address
            raise StoppedError(f"This worker does not hold chunk {part.number} any more.")
        return self.chunks[part.number]


# What the workers of this process hold, by their addresses and the names of fits.
SESSIONS: dict[tuple[str, str], _Session] = {}
_LOCK = threading.Lock()


def carry_out(order: Order, payload: Any, data: list[Any] | None = None) -> Answer:
    """Carry out an order on this worker; the task of a pass.

    Parameters
    ----------
    order : Order
        What to do.
    payload : Any
        What the pass has for all chunks, such as centres.
    data : list, optional
        What Dask has computed for the chunks that are opened, in their order.
    """
    session = _session_of(order)
    session.newest = max(session.newest, order.number)  # which ends an earlier order that is still at work
    with session.lock, single_threaded_blas():
        session.check(order)
        for number in session.chunks.keys() - order.held:
            del session.chunks[number]
        sums = {name: empty() for name, empty in order.sums.items()}
        visit, results = Visit(session, order, payload, sums), {}
        waiting = iter(data or [])
        for part in order.parts:
            session.check(order)
            here = next(waiting) if part.chunk is not None and data is not None else None
            try:
                visit.at(session.chunk(part, visit, here))
                if part.chunk is not None:
                    visit.recall()
                results[part.number] = order.operation(visit, part.given)
            except Exception as error:
                vars(error)["chunk_number"] = (
                    part.number
                )  # of several errors the client tells the first in the rows
                raise
        return Answer(results, sums, visit.n_exchanged)


def stay(visit: Visit, _: None) -> None:
    """Do nothing: the operation of a pass in which chunks are opened, and have what they had elsewhere."""


def close_session(name: str, dask_worker: Any = None) -> None:
    """Stop what this worker does for a fit, and forget all that it holds of it."""
    with _LOCK:
        if name not in _ENDED:
            _ENDED.append(name)
        session = SESSIONS.pop((dask_worker.address, name), None)
    if session is not None:
        session.is_stopped = True
        session.chunks = {}


def _session_of(order: Order) -> _Session:
    from distributed import get_worker

    worker = get_worker()
    with _LOCK:
        if order.session in _ENDED:
            raise StoppedError("This fit has ended.")
        key = worker.address, order.session
        if key not in SESSIONS:
            SESSIONS[key] = _Session(order.plan.n_threads or worker.state.nthreads)
        return SESSIONS[key]


def _opened(part: Part, visit: Visit, data: Any, n_threads: int) -> HeldChunk:
    assert part.chunk is not None
    opened = part.chunk.open(data)
    if opened.block.nbytes > available_memory():
        raise MemoryError(
            f"A worker has no room for chunk {part.number} ({opened.block.nbytes / 1e9:.1f} GB) beside what it holds: "
            "take more workers, or workers with more memory; the rows of a fit stay in their memory."
        )
    if visit.plan.by_angle:
        opened = _of_length_one(opened, part.chunk)
    chunk = HeldChunk(opened, part, visit.plan, n_threads)
    if visit.shift is not None:
        visit.at(chunk)
        measure_chunk(visit, visit.shift)
    return chunk


def measure_chunk(visit: Visit, point: FloatArray) -> FloatArray:
    """Make a point the shift of a chunk; return the squared distances of its rows to it, in float64."""
    chunk = visit.chunk
    chunk.shift = point
    exact = np.empty(chunk.n_rows)
    for part, x in visit.checked(chunk):
        exact[part] = squares_to_point(x, part.stop - part.start, point, chunk.n_threads)
    with np.errstate(over="ignore"):
        chunk.squares[:] = exact
    return exact


def _of_length_one(opened: OpenedRows, chunk: Chunk) -> OpenedRows:
    zeros = np.flatnonzero(~opened.block.any(axis=1))
    if len(zeros):
        first = getattr(chunk, "start", None) or getattr(chunk, "first_row", None) or 0
        problem = "Input X contains rows of zeros, which have no direction."
        raise BadRowError.of(problem, first + int(zeros[0]), None).advised("Leave them out.")
    rows = NormalizedRows(as_rows(opened.block))
    preparation = (*opened.preparation, ("normalize",))
    return OpenedRows(rows.read(), opened.column_names, opened.chosen, opened.is_table, preparation)
