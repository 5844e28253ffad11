"""Passes over chunks of rows on Dask workers.

Each chunk is a future of the client, and a pass is one task for each worker, on its chunks. A chunk keeps the states of
the fit beside its rows, each with the number of passes that have changed it. Where this number is not that of the fit,
because a worker was lost and Dask has opened the chunk again, the state begins afresh, by the passes that the solver
gives for that (`coterie.passes.Passes.keep_begin`). So a step is never applied twice.
"""

from __future__ import annotations

import math
import time
import uuid
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import CancelledError
from typing import Any, NamedTuple

import numpy as np

from coterie.arrays import Array, FloatArray, IndexArray
from coterie.dask.chunks import FileRange, Partition
from coterie.dask.exact_sums import ExactSum, Steps
from coterie.fitting.checks import check_sample_weight
from coterie.fitting.threads import effective_n_threads, single_threaded_blas
from coterie.limits.memory import available_memory
from coterie.passes import Begin, ChunkRows, Passes, State, Total
from coterie.rows import Rows, as_rows
from coterie.rows.checks import BadRowError
from coterie.rows.derived import normalized

# Larger parameters of a pass are sent once, and the workers fetch them from each other.
_LARGE_BYTES = 1 << 20

# Seconds between two looks at the cluster while a pass waits, that a fit waits for a first worker, and for a scheduler
# that does not answer.
_INTERVAL, _PATIENCE, _SCHEDULER_PATIENCE = 1.0, 300.0, 10.0

# Times that chunks may be lost in one pass, and that Dask may give up a task after several deaths of its workers (some
# of which were earlier in the fit); then the pass is assumed to be the cause.
_MOST_LOST, _MOST_KILLED = 20, 2


class ClusterLostError(ConnectionError):
    """The scheduler is lost, or its workers are."""


def distributed() -> Any:
    """Return the module `distributed`; an ImportError names the extra."""
    try:
        import distributed
    except ImportError as error:
        raise ImportError(
            "Fits on a Dask cluster need the extra 'dask' (pip install 'coterie[dask]'): " + str(error)
        ) from None
    return distributed


def client_of(client: Any = None) -> Any:
    """Return the client that was given, or the current one; one for coroutines is a ValueError."""
    library = distributed()
    if client is None:
        try:
            client = library.default_client()
        except ValueError:
            raise ValueError(
                "There is no Dask client: make one by distributed.Client('tcp://HOST:8786') (or Client() for workers "
                "on this machine), or pass client=."
            ) from None
    if client.asynchronous:
        raise ValueError("client is one for coroutines: pass one made without asynchronous=True.")
    return client


class _StateOf(NamedTuple):
    """A state as it is sent to the workers; see `coterie.passes.State`."""

    name: str
    number: int
    n_passes: int
    new: Callable[[ChunkRows], Any]


class _Call(NamedTuple):
    """A pass, as it is sent to the workers; of several states the last one is changed by a step that `writes`."""

    step: Callable[..., Any]
    params: Any
    states: tuple[_StateOf, ...]
    sums: Any  # empty
    n_clusters: int | None
    shift: FloatArray | None
    writes: bool


class HeldChunk:
    """The rows of a chunk in the memory of a worker, and the states of the fit by number, each with the number of
    passes that have changed it.
    """

    def __init__(self, block: Array, weights: Array | None, first: int) -> None:
        self._block = block, weights, first
        self.rows = ChunkRows(as_rows(block), weights, first=first)
        self.states: dict[str, tuple[tuple[int, int], Any]] = {}

    def __reduce__(self) -> Any:
        return HeldChunk, self._block

    def __sizeof__(self) -> int:
        return int(self._block[0].nbytes)

    def has(self, state: _StateOf) -> bool:
        """Return whether the values of a state are those after its last pass, or are new in this one."""
        known = self.states.get(state.name, (None, None))[0]
        return state.n_passes == 0 or known == (state.number, state.n_passes)

    def run(self, call: _Call, sums: Any, given: Any, has_given: bool) -> Any:
        """Run the step of a pass."""
        rows = self.rows
        if call.n_clusters is not None:
            rows.prepare(call.n_clusters)
        if call.shift is not None and not _is_shift_of(rows, call.shift):
            rows.measure_from(call.shift)
        arguments = [] if call.params is None else [call.params]
        arguments += [self._values(state) for state in call.states]
        if sums is not None:
            arguments.append(sums)
        if has_given:
            arguments.append(given)
        if not call.writes:
            return call.step(rows, *arguments)
        written = call.states[-1]
        values = self.states.pop(written.name)[1]  # after an error there are none
        result = call.step(rows, *arguments)
        self.states[written.name] = (written.number, written.n_passes + 1), values
        return result

    def _values(self, state: _StateOf) -> Any:
        if state.n_passes == 0 and self.states.get(state.name, (None,))[0] != (state.number, 0):
            self.states[state.name] = (state.number, 0), state.new(self.rows)
        return self.states[state.name][1]

    def restore(self, state: _StateOf, begin: list[tuple[_Call, Any, bool]]) -> None:
        """Make the values of a state by the passes that it begins with."""
        self.states[state.name] = (state.number, -1), state.new(self.rows)
        for call, given, has_given in begin:
            self.run(call, call.sums, given, has_given)
        self.states[state.name] = (state.number, state.n_passes), self.states[state.name][1]


def _is_shift_of(rows: ChunkRows, shift: FloatArray) -> bool:
    return hasattr(rows, "shift") and bool(np.array_equal(rows.shift, shift))


class _Answer(NamedTuple):
    """The results of a task by the number of the chunk, their sums, and the worker; `stale` chunks were left out."""

    results: dict[int, Any]
    sums: Any
    stale: list[int]
    worker: str


# What chunks are given in a pass, and the pass as it was pickled.
_Given = list[Any] | None
_Begin = tuple[bytes, _Given]


def _run_on_chunks(
    chunks: list[HeldChunk],
    numbers: list[int],
    call: bytes,
    given: _Given,
    begin: list[list[_Begin]] | None,
    n_threads: int | None,
) -> _Answer:
    """Run a pass on the chunks of this worker; states that are lost are made by what each `begin`s with, if known."""
    import cloudpickle

    worker = distributed().get_worker()
    one = cloudpickle.loads(call)
    found = _Answer({}, one.sums, [], worker.address)
    with single_threaded_blas():
        for at, (number, chunk) in enumerate(zip(numbers, chunks)):
            chunk.rows.use_threads(n_threads or worker.state.nthreads)
            try:
                lost = [place for place, state in enumerate(one.states) if not chunk.has(state)]
                if lost and begin is None:
                    found.stale.append(number)
                    continue
                for place in lost:
                    passes = [
                        (cloudpickle.loads(earlier), past and past[at], past is not None)
                        for earlier, past in begin[place]  # type: ignore[index]
                    ]
                    chunk.restore(one.states[place], passes)
                own = None if given is None else given[at]
                found.results[number] = chunk.run(one, found.sums, own, given is not None)
            except Exception as error:
                # Of several errors the client raises that of the first rows.
                vars(error)["chunk_number"] = number
                raise
    return found


class WorkerPasses(Passes):
    """Passes over chunks of a `coterie.dask.WorkerRows`, by default with all threads of each worker."""

    is_here = False

    def __init__(self, source: Any, sample_weight: Any, n_threads: int | None) -> None:
        self._source, self._client, self._parts = source, source.client, source.chunks
        (self.n_rows, self.n_columns), self.dtype = source.shape, source.dtype
        parts = self._parts.chunks
        self.firsts = np.array([*(part.first_row for part in parts), self.n_rows], dtype=np.intp)
        self.firsts -= self.firsts[0]
        self.n_threads, self._threads_of_worker = effective_n_threads(None), n_threads
        if hasattr(sample_weight, "compute"):
            sample_weight = self._client.compute(sample_weight).result()
        self.weights = check_sample_weight(sample_weight, source)
        self.rows: Rows = source.opened_by(self)
        self._n_clusters: int | None = None
        self._shift: FloatArray | None = None
        self._n_states = 0
        self._chunks: list[Any] = [None] * len(parts)
        self._homes: list[str] = []
        self._workers: list[str] = []
        self._looked = -math.inf

    def __enter__(self) -> WorkerPasses:
        try:
            self._workers = self._alive()
            self._open(range(len(self._chunks)))
            who_has = self._client.who_has(self._chunks)
            self._homes = [next(iter(who_has.get(chunk.key, ())), "") for chunk in self._chunks]
            self._spread(self._workers)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        """Let the workers release the chunks."""
        self._chunks = []

    @property
    def rows_per_worker(self) -> int:  # type: ignore[override]
        """About how many rows each worker holds."""
        return -(-self.n_rows // max(1, len(set(self._homes))))

    # --- passes ------------------------------------------------------------------------------------------------------

    def state(self, new: Callable[[ChunkRows], Any], name: str = "") -> State[Any]:
        self._n_states += 1
        return State(new, name or new.__name__, self._n_states)

    def total(self, shape: tuple[int, ...], largest: float, base: FloatArray | None = None) -> Total:
        """Return an empty sum that does not depend on the order of its parts."""
        return ExactSum(shape, Steps.below(largest), base)

    def prepare(self, n_clusters: int) -> None:
        self._n_clusters = self._n_clusters or n_clusters

    def keep_shift(self, shift: FloatArray) -> None:
        self._shift = shift

    def keep_begin(self, state: State[Any], begin: Callable[[], list[Begin]]) -> None:
        state.begin = begin

    def take(self, numbers: IndexArray) -> Array:
        """Return a few rows by their numbers, ascending."""
        return np.concatenate(self.run(_take, given=self.split(np.asarray(numbers, dtype=np.intp))))

    def run(
        self,
        step: Callable[..., Any],
        params: Any = None,
        state: State[Any] | tuple[State[Any], ...] = (),
        sums: Any = None,
        given: Sequence[Any] | None = None,
        *,
        writes: bool = False,
    ) -> list[Any]:
        """Run a step on each chunk, one task for each worker; see `Passes.run`."""
        states = _states_of(state)
        results = self._run_all(Begin(step, params, states, sums, given), writes=writes)
        if writes:
            states[-1].n_passes += 1
        return results

    def _pickled(self, one: Begin, *, writes: bool = False) -> bytes:
        import cloudpickle

        sent = tuple(
            _StateOf(each.name, each.number, each.n_passes, each.new) for each in _states_of(one.state)
        )
        sums = _emptied(one.sums)
        call = _Call(one.step, one.params, sent, sums, self._n_clusters, self._shift, writes)
        return bytes(cloudpickle.dumps(call))

    def _run_all(self, one: Begin, *, writes: bool) -> list[Any]:
        """Run a pass on all chunks, again on those that were lost or have lost a state."""
        results: dict[int, Any] = {}
        name, sums, given = f"coterie-{one.step.__name__.strip('_')}", one.sums, one.given
        sent, n_killed = self._sent(self._pickled(one, writes=writes)), 0
        fresh, stale = list(range(len(self._chunks))), list[int]()
        for _ in range(_MOST_LOST):
            self._look()
            futures = [
                *self._submit(name, sent, fresh, given),
                *self._submit(name, sent, stale, given, _states_of(one.state)),
            ]
            lost, stale, errors, killed = [], [], [], []
            for numbers, future in futures:
                try:
                    answer = self._answer(future)
                except distributed().KilledWorker as error:
                    killed.append(error)
                    answer = None
                except Exception as error:
                    errors.append(error)
                    continue
                if answer is None:
                    lost += numbers
                    continue
                stale += answer.stale
                results |= answer.results
                if sums is not None:
                    _merge(sums, answer.sums)
                for number in numbers:
                    self._homes[number] = answer.worker
            if errors:
                raise min(errors, key=lambda error: int(vars(error).get("chunk_number", -1))) from None
            if not lost and not stale:
                return [results[number] for number in range(len(self._chunks))]
            fresh = lost
            if lost:
                self._looked = -math.inf
            if killed:
                n_killed += 1
                if n_killed > _MOST_KILLED:
                    raise _killed(killed[0])
                self._open([number for number, chunk in enumerate(self._chunks) if chunk.status == "error"])
        raise ClusterLostError(
            f"Workers were lost {_MOST_LOST} times in one pass: most likely they have too little memory for their "
            "chunks; see their logs."
        )

    def _submit(
        self,
        name: str,
        call: Any,
        numbers: list[int],
        given: Sequence[Any] | None,
        lost: tuple[State[Any], ...] | None = None,
    ) -> list[tuple[list[int], Any]]:
        """Send one task for each worker that holds some of the chunks, with what the `lost` states begin with."""
        if not numbers:
            return []
        begin = lost and [[(self._pickled(one), one.given) for one in state.begin()] for state in lost]
        by_worker: dict[str, list[int]] = {}
        for number in numbers:
            by_worker.setdefault(self._homes[number], []).append(number)
        futures = []
        for worker, mine in by_worker.items():

            def own(values: Sequence[Any] | None, mine: list[int] = mine) -> list[Any] | None:
                return None if values is None else [values[number] for number in mine]

            past = begin and [[(call, own(values)) for call, values in passes] for passes in begin]
            future = self._client.submit(
                _run_on_chunks, [self._chunks[number] for number in mine], mine, call, own(given), past,
                self._threads_of_worker,
                workers=[worker], allow_other_workers=True, pure=False, key=f"{name}-{uuid.uuid4().hex}",
            )  # fmt: skip
            futures.append((mine, future))
        return futures

    def _sent(self, call: bytes) -> Any:
        """Return parameters as an argument of tasks; large ones as a task, which runs again if its worker is lost."""
        if len(call) <= _LARGE_BYTES:
            return call
        import dask

        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "4GiB"}):
            return self._client.submit(
                _unchanged, call, pure=False, key=f"coterie-parameters-{uuid.uuid4().hex}"
            )

    def _answer(self, future: Any) -> Any:
        """Return what a task returns; None if it is lost with what it depends on."""
        library = distributed()
        self._wait([future])
        try:
            return future.result()
        except (CancelledError, library.comm.CommClosedError, TimeoutError):
            return None
        except Exception as error:
            # The worker's traceback shows nothing of the caller's code.
            raise error.with_traceback(None) from None

    def _wait(self, futures: Iterable[Any]) -> None:
        """Wait for futures; a `ClusterLostError` if the scheduler is lost, or there are no workers for five minutes."""
        for future in futures:
            while future.status == "pending":
                try:
                    future.exception(timeout=_INTERVAL)  # of its client, which need not be the current one
                except (TimeoutError, CancelledError):
                    self._alive()

    # --- who holds what ----------------------------------------------------------------------------------------------

    def _open(self, numbers: Sequence[int]) -> None:
        """Open some chunks on the workers."""
        source, parts, weights, lazy = self._source, self._parts.chunks, self.weights, self._parts.lazy
        data: dict[int, Any] = {}
        if lazy is not None:
            data = dict(zip(numbers, self._client.compute([lazy[number] for number in numbers])))
            self._wait(data.values())
            for number, future in data.items():
                _check_read(number, future)
        opening = self.n_columns, source.column_names, self.dtype.str, source.is_normalized
        for number in numbers:
            own = None if weights is None else weights[self.firsts[number] : self.firsts[number + 1]]
            # Bound to no worker: where none is left, Dask lets a bound task wait for one of the same address.
            self._chunks[number] = self._client.submit(
                _opened, number, parts[number], data.get(number), own, opening,
                pure=False, key=f"coterie-chunk-{uuid.uuid4().hex}",
            )  # fmt: skip
        opened = [self._chunks[number] for number in numbers]
        self._wait(opened)
        for chunk in opened:
            if chunk.status == "error":
                try:
                    self._answer(chunk)
                except distributed().KilledWorker as error:
                    raise _killed(error) from None

    def _look(self) -> None:
        """Spread the chunks over the workers, if these are others than at the last look."""
        if time.monotonic() - self._looked > _INTERVAL:
            workers = self._alive()
            self._looked = time.monotonic()
            if workers != self._workers:
                self._workers = workers
                self._spread(workers)

    def _spread(self, workers: list[str]) -> None:
        """Give each chunk a worker: the one that holds it, unless it holds more than its share."""
        share, held = -(-len(self._homes) // len(workers)), dict.fromkeys(workers, 0)
        moving = []
        for number, home in enumerate(self._homes):
            if held.get(home, share) < share:
                held[home] += 1
            else:
                moving.append(number)
        for number in moving:
            home = self._homes[number] = min(held, key=lambda worker: held[worker])
            held[home] += 1

    def _alive(self) -> list[str]:
        """Return the workers that are there now; wait for one."""
        begin = time.monotonic()
        while True:
            waited = time.monotonic() - begin
            address = str(getattr(self._client.scheduler, "address", "")) if self._client.scheduler else ""
            if self._client.status != "running":
                if self._client.status == "closed" or waited > _SCHEDULER_PATIENCE:
                    raise ClusterLostError(
                        f"The Dask scheduler {address} is lost, and the fit with it: fit again with a new client."
                    )
            else:
                try:
                    workers = sorted(self._client.nthreads())
                except (OSError, TimeoutError, CancelledError, RuntimeError):
                    workers = []
                if workers:
                    return workers
            if waited > _PATIENCE:
                raise ClusterLostError(
                    f"The scheduler {address} has had no workers for {_PATIENCE:.0f} s: start some "
                    "(dask worker ADDRESS)."
                )
            time.sleep(_INTERVAL / 5)


def _killed(error: Any) -> ClusterLostError:
    return ClusterLostError(f"Workers died while they worked on the same chunks: {error}")


def _states_of(state: State[Any] | tuple[State[Any], ...]) -> tuple[State[Any], ...]:
    return state if isinstance(state, tuple) else (state,)


def _unchanged(value: bytes) -> bytes:
    return value


def _emptied(sums: Any) -> Any:
    """Return empty sums of the same kind: of one total, a NamedTuple of them, or None."""
    return type(sums)(*map(_emptied, sums)) if isinstance(sums, tuple) else sums and sums.emptied()


def _merge(sums: Any, found: Any) -> None:
    pairs = zip(sums, found) if isinstance(sums, tuple) else [(sums, found)]
    for total, part in pairs:
        if total is not None:
            total.merge(part)


def _take(rows: ChunkRows, numbers: IndexArray) -> Array:
    taken: Array = rows.take(numbers)
    return taken


def _check_read(number: int, future: Any) -> None:
    if future.status == "error":
        error = future.exception()
        raise ValueError(f"Chunk {number} of X cannot be read: {type(error).__name__}: {error}")
    if future.status != "finished":
        raise ValueError(
            f"Chunk {number} of X is lost: the worker that held it has died, and Dask cannot compute it again."
        )


def _opened(
    number: int,
    part: FileRange | Partition,
    data: Any,
    weights: Array | None,
    opening: tuple[int, Any, str, bool],
) -> HeldChunk:
    """Open a chunk on a worker, and check its rows."""
    n_columns, names, dtype, is_normalized = opening
    opened = part.open(data)
    block = opened.in_place()
    what = f"chunk {number}"
    if opened.shape[1] != n_columns:
        raise ValueError(
            f"Chunks must have the same columns: {what} has {opened.shape[1]} instead of {n_columns}."
        )
    if opened.shape[0] != part.n_rows:
        raise ValueError(f"{what.capitalize()} of X has {opened.shape[0]} rows instead of {part.n_rows}.")
    if opened.column_names != names:
        raise ValueError(
            f"Chunks must have the same column names in order: those of {what} differ from the others."
        )
    if block.nbytes > available_memory():
        raise MemoryError(
            f"A worker lacks memory for {what} ({block.nbytes / 1e9:.1f} GB) in addition to what it "
            "holds: use more workers, or workers with more memory; the rows of a fit stay in their memory."
        )
    if is_normalized:
        zeros = np.flatnonzero(~block.any(axis=1))
        if len(zeros):
            problem = "Input X contains rows of zeros, which have no direction."
            raise BadRowError.of(problem, part.first_row + int(zeros[0]), None).advised("Leave them out.")
        block = normalized(as_rows(block)).read()
    return HeldChunk(block.astype(dtype, copy=False), weights, part.first_row)
