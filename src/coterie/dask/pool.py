"""The workers of a fit, on the client: their chunks, one Dask task per worker and pass, and recovery."""

from __future__ import annotations

import math
import threading
import time
import uuid
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from dataclasses import replace
from typing import Any

import numpy as np

from coterie.arrays import Array
from coterie.backend import Task
from coterie.dask.chunks import Chunks
from coterie.dask.tasks import (
    Answer,
    Opening,
    Part,
    PeerLostError,
    RecordedPass,
    Request,
    StoppedError,
    close_session,
    no_task,
    perform,
)

# Seconds between two checks of the workers while none has answered.
_INTERVAL = 0.5

# Seconds that a fit waits for a first worker, and for a scheduler that does not answer.
_PATIENCE = 300.0
_SCHEDULER_PATIENCE = 10.0

# After this number of deaths in one pass, the chunks are assumed to be the cause.
_MOST_DEATHS = 4

# Larger payloads are scattered, and fetched by the workers from each other; to a single worker, these are.
_SCATTERED_BYTES = 1 << 18
_MESSAGE_BYTES = 8 << 20

# Fields of a pass: see `coterie.dask.WorkerRows`.
_TRAFFIC = [
    ("name", "U32"),
    ("n_tasks", np.int64),
    ("n_sent", np.int64),
    ("n_received", np.int64),
    ("n_exchanged", np.int64),
    ("n_opened", np.int64),
    ("seconds", np.float64),
]


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


class ClusterLostError(ConnectionError):
    """The scheduler is lost, or its workers are."""


class WorkerPool:
    """The workers of one fit.

    `record` has the passes that a worker repeats on chunks that it opens, `passes` the costs of all for `traffic_of`.
    """

    def __init__(
        self, client: Any, chunks: Chunks, opening: Opening, weights: Sequence[Array] | None = None
    ) -> None:
        self.client, self.chunks = client, chunks
        self.record: list[RecordedPass] = []
        self.passes: list[tuple[Any, ...]] = []
        self._opening, self._weights = opening, weights
        self._session = uuid.uuid4().hex
        self._n_requests = 0
        self._home: dict[int, str] = {}
        self._held: set[int] = set()
        self._current: set[int] = set()
        self._computed: dict[int, Any] = {}
        self._sent: list[Any] = []
        self._alive: list[str] = []
        self._looked = -math.inf

    def close(self) -> None:
        """Release the chunks of the workers."""
        if self.client.status != "running":
            return
        for future in self._sent:
            future.cancel()
        self._computed = {}
        self.client.run(close_session, self._session, on_error="ignore")

    @property
    def homes(self) -> dict[int, str]:
        """The address of the worker that held each chunk in the last pass."""
        return dict(self._home)

    @property
    def n_workers(self) -> int:
        """Number of workers with chunks."""
        return max(1, len(set(self._home.values())))

    def repeat_record(self) -> None:
        """Repeat the recorded passes on all chunks in the next pass, because their state is not that of the fit."""
        self._current = set()

    def run(
        self,
        task: Task,
        payload: Any = None,
        *,
        given: Sequence[Any] | None = None,
        totals: Mapping[str, Callable[[], Any]] | None = None,
        is_exchange: bool = False,
    ) -> Answer:
        """Make one pass over all chunks; see `coterie.backend.Backend.run`.

        `totals` make the empty totals of the pass. With `is_exchange` workers ask each other for rows, so all chunks
        are opened before. A `ClusterLostError` is raised if the scheduler is lost, or there are no workers for five
        minutes.
        """
        name, empty = task.__name__.strip("_"), totals or {}
        whole = Answer({}, {key: make() for key, make in empty.items()})
        waiting, n_deaths = set(range(len(self.chunks))), 0
        n_tasks = n_sent = n_received = n_opened = 0
        begin, payload_bytes = time.monotonic(), bytes_of(payload)
        while waiting:
            self._assign_homes()
            if is_exchange and len(self._current) < len(self.chunks):
                self.run(no_task)
            requests = self._requests(sorted(waiting), task, given, empty, is_exchange=is_exchange)
            n_opened += sum(part.source is not None for each in requests.values() for part in each.parts)
            n_tasks += len(requests)
            n_sent += sum(payload_bytes + _bytes_of_parts(each) for each in requests.values())
            n_dead = n_apart = 0
            for request, answer in self._answers(name, requests, payload, payload_bytes):
                if answer is None:
                    self._forget(part.number for part in request.parts)
                    n_dead += 1
                if answer is None or not answer.results:
                    self._alive, n_apart = [], 1
                    continue
                numbers = answer.results.keys()
                waiting -= numbers
                self._held |= numbers
                self._current |= numbers
                for number in numbers:
                    self._computed.pop(number, None)
                whole.results |= answer.results
                for key, total in answer.totals.items():
                    whole.totals[key].merge(total)
                n_received += bytes_of(answer.results) + bytes_of(answer.totals)
                whole.n_exchanged += answer.n_exchanged
            n_deaths += max(n_dead, n_apart)
            if waiting and n_deaths > _MOST_DEATHS + len(requests):
                raise ClusterLostError(
                    f"Workers died or did not reach each other {n_deaths} times in one pass ({name}): most likely they "
                    "have too little memory for their chunks; see their logs."
                )
        seconds = time.monotonic() - begin
        self.passes.append((name, n_tasks, n_sent, n_received, whole.n_exchanged, n_opened, seconds))
        return whole

    # --- who holds what ----------------------------------------------------------------------------------------------

    def _assign_homes(self) -> None:
        """Give each chunk a worker that was alive at the last check; new workers get their share."""
        workers = self._alive or self._look()
        self._forget([number for number, home in self._home.items() if home not in workers])
        if not self._home and self.chunks.lazy is not None:
            self._assign_first_homes(workers)
        share = -(-len(self.chunks) // len(workers))
        by_worker: dict[str, list[int]] = {worker: [] for worker in workers}
        homeless = []
        for number in range(len(self.chunks)):
            home = self._home.get(number)
            if home is None or len(by_worker[home]) >= share:
                homeless.append(number)
            else:
                by_worker[home].append(number)
        for number in homeless:
            home = min(by_worker, key=lambda worker: len(by_worker[worker]))
            by_worker[home].append(number)
            self._forget([number])
            self._home[number] = home

    def _assign_first_homes(self, workers: Sequence[str]) -> None:
        """Make Dask compute the chunks, and assign each to a worker that has it."""
        self._computed = self._compute(range(len(self.chunks)))
        who_has = self.client.who_has(list(self._computed.values()))
        for number, future in self._computed.items():
            homes = [worker for worker in who_has.get(future.key, ()) if worker in workers]
            if homes:
                self._home[number] = homes[0]

    def _compute(self, numbers: Sequence[int]) -> dict[int, Any]:
        """Make Dask compute some chunks; return their finished futures.

        What depends on them is sent afterwards, for a scheduler may take a small graph before a large one.
        """
        assert self.chunks.lazy is not None
        futures = self.client.compute([self.chunks.lazy[number] for number in numbers])
        self._sent = [*self._sent, *futures]
        while any(future.status == "pending" for future in futures):
            try:
                distributed().wait(futures, timeout=_INTERVAL)
            except (TimeoutError, CancelledError):
                self._look()
        for number, future in zip(numbers, futures):
            if future.status != "finished":
                raise _unreadable(number, future)
        return dict(zip(numbers, futures))

    def _forget(self, numbers: Iterable[int]) -> None:
        for number in numbers:
            self._home.pop(number, None)
            self._held.discard(number)
            self._current.discard(number)

    def _look(self) -> list[str]:
        """Return the workers that are alive now; wait for one."""
        end = time.monotonic() + _PATIENCE
        while True:
            self._check_scheduler()
            try:
                workers = sorted(self.client.nthreads())
            except (OSError, TimeoutError, CancelledError, RuntimeError):
                if time.monotonic() > end:
                    raise ClusterLostError(f"The Dask scheduler {self._address} does not answer.") from None
                time.sleep(_INTERVAL)
                continue
            if workers:
                self._alive, self._looked = workers, time.monotonic()
                return workers
            if time.monotonic() > end:
                raise ClusterLostError(
                    f"The scheduler {self._address} has had no workers for {_PATIENCE:.0f} s: start some "
                    "(dask worker ADDRESS)."
                )
            time.sleep(_INTERVAL)

    @property
    def _address(self) -> str:
        return str(getattr(self.client.scheduler, "address", "")) if self.client.scheduler else ""

    def _check_scheduler(self) -> None:
        end = time.monotonic() + _SCHEDULER_PATIENCE
        while self.client.status != "running":
            if self.client.status == "closed" or time.monotonic() > end:
                raise ClusterLostError(
                    f"The Dask scheduler {self._address} is lost, and the fit with it: fit again with a new client; "
                    "a fit of coterie.dask.rows(..., checkpoint=PATH) resumes where it was."
                )
            time.sleep(_INTERVAL / 5)

    # --- requests ----------------------------------------------------------------------------------------------------

    def _requests(
        self,
        numbers: Sequence[int],
        task: Task,
        given: Sequence[Any] | None,
        totals: Mapping[str, Callable[[], Any]],
        *,
        is_exchange: bool,
    ) -> dict[str, Request]:
        by_worker = defaultdict(list)
        for number in numbers:
            by_worker[self._home[number]].append(number)
        self._n_requests += 1
        record = tuple(replace(recorded, given=None) for recorded in self.record)
        requests = {}
        for worker, mine in by_worker.items():
            parts = tuple(self._part(number, given) for number in mine)
            repeats = any(part.past is not None for part in parts)
            held = frozenset(number for number, home in self._home.items() if home == worker)
            requests[worker] = Request(
                self._session, self._n_requests, task, parts, held, self._opening, totals,
                record if repeats else (), dict(self._home) if is_exchange else {},
            )  # fmt: skip
        return requests

    def _part(self, number: int, given: Sequence[Any] | None) -> Part:
        part = Part(number, None if given is None else given[number])
        if number not in self._current:
            past = [None if each.given is None else each.given[number] for each in self.record]
            part = replace(part, past=past)
        if number not in self._held:
            weights = None if self._weights is None else self._weights[number]
            part = replace(part, source=self.chunks.chunks[number], weights=weights)
        return part

    def _answers(
        self, name: str, requests: Mapping[str, Request], payload: Any, payload_bytes: int
    ) -> Iterator[tuple[Request, Answer | None]]:
        """Send the requests; yield the answers as they come, None for that of a worker that has died.

        Where some fail, the others are waited for, and the error of the first chunk is raised, whichever came first.
        """
        event = threading.Event()
        sent = self._send(name, requests, payload, payload_bytes)
        for future in sent.values():
            future.add_done_callback(lambda _: event.set())
        errors: list[Exception] = []
        while sent:
            gone = []
            if time.monotonic() - self._looked > _INTERVAL:  # while the workers compute: no pass waits for it
                alive = self._look()
                gone = [worker for worker in sent if worker not in alive]
            if not gone:
                event.wait(_INTERVAL)
                event.clear()
            for worker in [worker for worker, future in sent.items() if future.status != "pending"] + gone:
                if worker not in sent:
                    continue
                future = sent.pop(worker)
                answer = None if future.status == "pending" else self._answer(worker, future)
                if isinstance(answer, Exception):
                    errors.append(answer)
                    continue
                if answer is None:
                    future.cancel()
                yield requests[worker], answer
        if errors:
            raise min(errors, key=lambda error: int(vars(error).get("chunk_number", -1))) from None

    def _send(
        self, name: str, requests: Mapping[str, Request], payload: Any, payload_bytes: int
    ) -> dict[str, Any]:
        """Send the requests, all in one message; return the futures of their answers, by worker.

        Clients of Dask keep a message back for 10 ms if they have just sent another one. So there is one for all
        workers, and the answers of the pass before are let go of after it.
        """
        import dask

        if payload_bytes > (_SCATTERED_BYTES if len(requests) > 1 else _MESSAGE_BYTES):
            payload = self._scattered(payload)
        data = self._data(requests.values())
        homes = {
            f"coterie-{name}-{self._session}-{request.number}-{i}": worker
            for i, (worker, request) in enumerate(requests.items())
        }
        with dask.annotate(workers=homes.get):
            self._sent = self.client.map(
                perform, list(requests.values()), [payload] * len(requests), data, key=list(homes), pure=False
            )
        return dict(zip(requests, self._sent))

    def _scattered(self, payload: Any) -> Any:
        """Scatter a payload; again if the worker that was to hold it dies meanwhile."""
        # In a list, so that tasks get the payload as it is: a dictionary is scattered by its keys.
        for _ in range(_MOST_DEATHS):
            try:
                return self.client.scatter([payload], hash=False)[0]
            except (OSError, TimeoutError, CancelledError):  # a closed connection is an OSError
                self._look()
        return self.client.scatter([payload], hash=False)[0]

    def _answer(self, worker: str, future: Any) -> Answer | Exception | None:
        """Return the answer of a task that is done, or its error; None if it is lost with its worker."""
        library = distributed()
        lost = (CancelledError, library.KilledWorker, library.comm.CommClosedError, StoppedError)
        for seconds in (10, 60, 600):
            try:
                answer: Answer = future.result(timeout=seconds)
                return answer
            except lost:
                return None
            except PeerLostError:  # the worker itself is well, but has no answer
                return Answer({}, {})
            except TimeoutError:
                if worker not in self._look():
                    return None
            except Exception as error:
                return error.with_traceback(None)  # that of the worker shows nothing of the caller's code
        return None

    def _data(self, requests: Iterable[Request]) -> list[list[Any] | None]:
        """Return what Dask has computed for the chunks that each request opens."""
        opened = [[part.number for part in each.parts if part.source is not None] for each in requests]
        if self.chunks.lazy is None:
            return [None] * len(opened)
        missing = [number for numbers in opened for number in numbers if number not in self._computed]
        if missing:
            self._computed |= self._compute(missing)
        return [[self._computed[number] for number in numbers] for numbers in opened]


def _unreadable(number: int, future: Any) -> Exception:
    if future.status == "error":
        error = future.exception()
        return ValueError(f"Chunk {number} of X cannot be read: {type(error).__name__}: {error}")
    return ValueError(
        f"Chunk {number} of X is lost: the worker that held it has died, and Dask cannot compute it again."
    )


def traffic_of(passes: Sequence[tuple[Any, ...]]) -> Array:
    """Return the cost of passes as a record array."""
    return np.array(list(passes), dtype=_TRAFFIC).view(np.recarray)


def pickled(value: Any) -> list[Any]:
    """Return a value as bytes, arrays without copies."""
    import cloudpickle

    buffers: list[Any] = []
    head = cloudpickle.dumps(value, protocol=5, buffer_callback=lambda part: buffers.append(part.raw()))
    return [memoryview(head), *buffers]


def bytes_of(value: Any) -> int:
    """Return the bytes of a value that are sent; 0 for None."""
    return 0 if value is None else sum(part.nbytes for part in pickled(value))


def _bytes_of_parts(request: Request) -> int:
    parts = [[part.given, part.weights, part.past] for part in request.parts]
    return bytes_of([parts, [recorded.payload for recorded in request.record]])
