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
from coterie.dask.chunks import FileRange, OpenedRows, Partition
from coterie.fitting.threads import single_threaded_blas
from coterie.limits.memory import available_memory
from coterie.rows import as_rows
from coterie.rows.checks import BadRowError
from coterie.rows.derived import NormalizedRows

__all__ = [
    "SESSIONS", "Answer", "Opening", "Part", "PeerLostError", "RecordedPass", "Request", "StoppedError",
    "close_session", "no_task", "perform",
]  # fmt: skip

# Sessions that have ended; a late task must not open them again.
_ENDED: deque[str] = deque(maxlen=1000)


class StoppedError(RuntimeError):
    """A task cannot run here: its fit has ended or has sent a later one, or its chunks are not here."""


class PeerLostError(RuntimeError):
    """Another worker does not answer, or has lost its chunks."""


@dataclass(frozen=True)
class RecordedPass:
    """A pass that has changed the state of chunks.

    Attributes
    ----------
    name : str
        Name of the state.
    task : callable
        What ran.
    payload : Any
        For all chunks.
    given : sequence or None
        For each chunk.
    totals : mapping of str to callable
        Make empty totals.
    """

    name: str
    task: Task
    payload: Any
    given: Sequence[Any] | None
    totals: Mapping[str, Callable[[], Any]]


@dataclass(frozen=True)
class Opening:
    """Options to open the chunks of a fit.

    Attributes
    ----------
    n_columns : int
        Number of columns.
    names : list of str or None
        Their names.
    dtype : str
        Type to compute in.
    is_normalized : bool
        Whether rows are scaled to length 1.
    n_threads : int or None
        Threads of the kernels; None for those of the worker.
    """

    n_columns: int
    names: list[str] | None
    dtype: str
    is_normalized: bool = False
    n_threads: int | None = None


@dataclass(frozen=True)
class Part:
    """One chunk in a request.

    Attributes
    ----------
    number : int
        Which chunk.
    given : Any
        What the pass has for this chunk alone.
    source : FileRange or Partition, or None
        Its rows; None where the worker holds them.
    weights : ndarray or None
        Weights of its rows, where it is opened.
    past : sequence or None
        What each recorded pass had for this chunk, where they are repeated.
    """

    number: int
    given: Any = None
    source: FileRange | Partition | None = None
    weights: Array | None = None
    past: Sequence[Any] | None = None


@dataclass(frozen=True)
class Request:
    """One Dask task: the work of a worker on its chunks in a pass.

    Attributes
    ----------
    session : str
        Name of the fit.
    number : int
        Requests of a fit are numbered; a worker that has seen a later one refuses earlier ones.
    task : callable
        The task of a backend.
    parts : tuple of Part
        The chunks, in their order.
    held : frozenset of int
        The chunks that the worker is to hold; it drops others.
    opening : Opening
        How chunks are opened.
    totals : mapping of str to callable
        Make empty totals of the pass.
    record : tuple of RecordedPass
        Passes to repeat, without what each chunk was given.
    homes : mapping of int to str
        The address of the worker that holds each chunk, where workers ask each other.
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
    """Other chunks of the pass of a task, on this and other workers.

    Attributes
    ----------
    request : Request
        The pass.
    chunks : dict of int to Chunk
        The chunks that this worker holds.
    shared : dict
        What tasks make for all chunks of the pass.
    n_exchanged : int
        Bytes that came from other workers.
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

    Parameters
    ----------
    request : Request
        What to do.
    payload : Any
        What the pass has for all chunks, such as centers.
    data : list, optional
        What Dask has computed for the chunks that are opened, in their order.
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
    n_rows, n_columns = opened.block.shape
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
    if opened.block.nbytes > available_memory():
        raise MemoryError(
            f"A worker lacks memory for chunk {number} ({opened.block.nbytes / 1e9:.1f} GB) in addition to what it "
            "holds: use more workers, or workers with more memory; the rows of a fit stay in their memory."
        )
    block = _of_length_one(opened, source.first_row) if opening.is_normalized else opened.block
    rows = as_rows(block.astype(opening.dtype, copy=False))
    return Chunk(rows, part.weights, n_threads, first=source.first_row)


def _of_length_one(opened: OpenedRows, first: int) -> Array:
    zeros = np.flatnonzero(~opened.block.any(axis=1))
    if len(zeros):
        problem = "Input X contains rows of zeros, which have no direction."
        raise BadRowError.of(problem, first + int(zeros[0]), None).advised("Leave them out.")
    scaled: Array = NormalizedRows(as_rows(opened.block)).read()
    return scaled


def digest_of(chunk: Chunk, _: Any, __: Any, ___: Any) -> str:
    """Return a text that identifies rows and weights of a chunk."""
    found = hashlib.blake2b(digest_size=16)
    for _start, block, weights in chunk.blocks():
        found.update(np.ascontiguousarray(block).data)
        if weights is not None:
            found.update(np.ascontiguousarray(weights).data)
    return found.hexdigest()
