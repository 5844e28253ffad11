"""Code on a worker: one Dask task per pass, which runs the task of a backend on each chunk of the worker.

A worker keeps rows and state of its chunks between passes. A chunk that it opens gets the state that it had elsewhere:
the recorded passes of the fit are repeated on it, into totals that are thrown away.
"""

from __future__ import annotations

import hashlib
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from coterie.arrays import Array
from coterie.backend import Chunk, Task
from coterie.dask.chunks import FileRange, Partition
from coterie.fitting.threads import single_threaded_blas
from coterie.limits.memory import available_memory
from coterie.rows import as_rows
from coterie.rows.checks import BadRowError
from coterie.rows.derived import NormalizedRows

# Sessions that have ended; a late task must not open them again.
_ENDED: deque[str] = deque(maxlen=1000)


class StoppedError(RuntimeError):
    """A task cannot run here: its fit has ended or has sent a later one, or its chunks are not here."""


class PeerLostError(RuntimeError):
    """Another worker does not answer, or has lost its chunks."""


@dataclass(frozen=True)
class RecordedPass:
    """A pass that has changed the state `name` of chunks; `totals` make empty totals."""

    name: str
    task: Task
    payload: Any
    given: Sequence[Any] | None
    totals: Mapping[str, Callable[[], Any]]


@dataclass(frozen=True)
class Opening:
    """How the chunks of a fit are opened: their columns, their type, and threads (None: those of the worker)."""

    n_columns: int
    names: list[str] | None
    dtype: str
    is_normalized: bool = False
    n_threads: int | None = None


@dataclass(frozen=True)
class Part:
    """One chunk in a request, and what the pass has `given` to it alone.

    It has a source and weights where the worker does not hold it, and where the recorded passes are repeated, `past`:
    what each of them had given to the chunk.
    """

    number: int
    given: Any = None
    source: FileRange | Partition | None = None
    weights: Array | None = None
    past: Sequence[Any] | None = None


@dataclass(frozen=True)
class Request:
    """One Dask task: the work of a worker on its chunks in a pass of a fit, the `session`.

    Requests of a fit are numbered; a worker that has seen a later one refuses earlier ones. It drops chunks that are
    not `held`. The `record` has the passes to repeat, without what each chunk was given, and `homes` the address of the
    worker that holds each chunk, where workers ask each other.
    """

    session: str
    number: int
    task: Task
    parts: tuple[Part, ...]
    held: frozenset[int]
    opening: Opening
    totals: Mapping[str, Callable[[], Any]] = field(default_factory=dict)
    record: tuple[RecordedPass, ...] = ()
    homes: Mapping[int, str] = field(default_factory=dict)


@dataclass
class Answer:
    """Result of a Dask task: the result of each chunk, the totals over them, and the bytes from other workers."""

    results: dict[int, Any]
    totals: dict[str, Any]
    n_exchanged: int = 0


@dataclass
class Exchange:
    """The chunks of a pass that this worker holds, for tasks that need those of all workers.

    `shared` is what tasks make for all chunks of the pass, `n_exchanged` counts the bytes from other workers.
    """

    request: Request
    chunks: dict[int, Chunk]
    shared: dict[str, Any] = field(default_factory=dict)
    n_exchanged: int = 0


class _Session:
    """State of one fit on a worker."""

    def __init__(self, n_threads: int) -> None:
        self.lock = threading.Lock()
        self.n_threads = n_threads
        self.newest = -1
        self.is_stopped = False
        self.chunks: dict[int, Chunk] = {}

    def check(self, request: Request) -> None:
        if self.is_stopped or request.number < self.newest:
            raise StoppedError("This fit has ended, or has asked for something else meanwhile.")


# States of the workers of this process, by their addresses and the names of fits.
SESSIONS: dict[tuple[str, str], _Session] = {}
_LOCK = threading.Lock()


def perform(request: Request, payload: Any, data: list[Any] | None = None) -> Answer:
    """Run the task of a pass on the chunks of this worker.

    The `payload` is for all chunks; `data` is what Dask has computed for those that are opened, in their order.
    """
    session = _session_of(request)
    session.newest = max(
        session.newest, request.number
    )  # which ends an earlier request that is still at work
    with session.lock, single_threaded_blas():
        session.check(request)
        for number in session.chunks.keys() - request.held:
            del session.chunks[number]
        totals = {name: empty() for name, empty in request.totals.items()}
        exchange, results, waiting = Exchange(request, session.chunks), {}, iter(data or [])
        for part in request.parts:
            session.check(request)
            computed = next(waiting) if part.source is not None and data is not None else None
            try:
                chunk = _chunk(session, exchange, part, computed)
                results[part.number] = request.task(chunk, payload, part.given, totals)
            except Exception as error:
                vars(error)["chunk_number"] = (
                    part.number
                )  # of several errors the client raises that of the first rows
                raise
        return Answer(results, totals, exchange.n_exchanged)


def no_task(chunk: Chunk, _: Any, __: Any, ___: Any) -> None:
    """Do nothing, in a pass that opens chunks and repeats recorded passes on them."""


def close_session(name: str, dask_worker: Any = None) -> None:
    """Stop the tasks of a fit on this worker, and release its chunks."""
    with _LOCK:
        if name not in _ENDED:
            _ENDED.append(name)
        session = SESSIONS.pop((dask_worker.address, name), None)
    if session is not None:
        session.is_stopped = True
        session.chunks = {}


def _session_of(request: Request) -> _Session:
    from distributed import get_worker

    worker = get_worker()
    with _LOCK:
        if request.session in _ENDED:
            raise StoppedError("This fit has ended.")
        key = worker.address, request.session
        if key not in SESSIONS:
            SESSIONS[key] = _Session(request.opening.n_threads or worker.state.nthreads)
        return SESSIONS[key]


def _chunk(session: _Session, exchange: Exchange, part: Part, data: Any) -> Chunk:
    """Return a chunk that is held, or opened now, with the state of the recorded passes."""
    request = exchange.request
    if part.source is not None:
        session.chunks[part.number] = _opened(part, request.opening, data, session.n_threads)
    elif part.number not in session.chunks:  # a worker that was started again under the same address
        raise StoppedError(f"This worker does not hold chunk {part.number} any more.")
    chunk = session.chunks[part.number]
    chunk.check, chunk.exchange = lambda: session.check(request), exchange
    if part.past is not None:
        chunk.state.clear()
        for recorded, given in zip(request.record, part.past):
            thrown_away = {name: empty() for name, empty in recorded.totals.items()}
            recorded.task(chunk, recorded.payload, given, thrown_away)
    return chunk


def _opened(part: Part, opening: Opening, data: Any, n_threads: int) -> Chunk:
    assert part.source is not None
    source, number = part.source, part.number
    opened = source.open(data)
    (n_rows, n_columns), block = opened.shape, opened.in_place()
    if n_columns != opening.n_columns:
        raise ValueError(
            f"Chunks must have the same columns: chunk {number} has {n_columns} instead of {opening.n_columns}."
        )
    if n_rows != source.n_rows:
        raise ValueError(f"Chunk {number} of X has {n_rows} rows instead of {source.n_rows}.")
    if opened.column_names != opening.names:
        raise ValueError(
            f"Chunks must have the same column names in order: those of chunk {number} differ from the others."
        )
    if block.nbytes > available_memory():
        raise MemoryError(
            f"A worker lacks memory for chunk {number} ({block.nbytes / 1e9:.1f} GB) in addition to what it "
            "holds: use more workers, or workers with more memory; the rows of a fit stay in their memory."
        )
    if opening.is_normalized:
        zeros = np.flatnonzero(~block.any(axis=1))
        if len(zeros):
            problem = "Input X contains rows of zeros, which have no direction."
            raise BadRowError.of(problem, source.first_row + int(zeros[0]), None).advised("Leave them out.")
        block = NormalizedRows(as_rows(block)).read()
    rows = as_rows(block.astype(opening.dtype, copy=False))
    return Chunk(rows, part.weights, n_threads, first=source.first_row)


def digest_of(chunk: Chunk, _: Any, __: Any, ___: Any) -> str:
    """Return a text that identifies rows and weights of a chunk."""
    found = hashlib.blake2b(digest_size=16)
    for _start, block, weights in chunk.blocks():
        found.update(np.ascontiguousarray(block).data)
        if weights is not None:
            found.update(np.ascontiguousarray(weights).data)
    return found.hexdigest()
