"""The workers of a fit, as its client sees them: who holds which chunk, one task a worker and pass, who has died."""

from __future__ import annotations

import math
import threading
import time
import uuid
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import CancelledError
from dataclasses import dataclass, replace
from typing import Any

from coterie.arrays import Array, FloatArray
from coterie.dask.chunks import Chunks
from coterie.dask.extra import distributed
from coterie.dask.pool import ClusterLostError
from coterie.dask.worker import (
    Answer,
    Order,
    Part,
    PeerLostError,
    Plan,
    StoppedError,
    Sum,
    carry_out,
    close_session,
    stay,
)
from coterie.mixture.parameters import MixtureParameters

__all__ = ["ClusterLostError", "Crew", "Pass"]

# Seconds between two looks at the workers while none has answered.
_LOOK = 0.5

# Seconds that a fit waits for a worker where there is none, and for a scheduler that does not answer.
_PATIENCE = 300.0
_SCHEDULER_PATIENCE = 10.0

# So often in a pass, workers may die that were sent the same chunks, before the chunks are what they die of.
_MOST_DEATHS = 4

# Payloads beyond this are scattered, and fetched by the workers from each other.
_SCATTERED_BYTES = 1 << 18

# So are those to a single worker that are too much for a message to the scheduler.
_MESSAGE_BYTES = 8 << 20


@dataclass(frozen=True, slots=True)
class Pass:
    """What a pass has cost.

    Attributes
    ----------
    name : str
        What it did.
    n_tasks : int
        Tasks, one a worker, and those sent again after a worker had died.
    n_sent, n_received : int
        Bytes of arrays to the workers and from them.
    n_exchanged : int
        Bytes of arrays from worker to worker.
    n_opened : int
        Chunks that were opened, or opened again.
    seconds : float
        How long it took.
    """

    name: str
    n_tasks: int
    n_sent: int
    n_received: int
    n_exchanged: int
    n_opened: int
    seconds: float


class Crew:
    """The workers of one fit; a context, at whose end they forget it, however that comes.

    Parameters
    ----------
    client : distributed.Client
        Whose workers.
    chunks : Chunks
        The rows.
    plan : Plan
        How the fit wants them.
    """

    def __init__(self, client: Any, chunks: Chunks, plan: Plan) -> None:
        self.client = client
        self.chunks = chunks
        self.plan = plan
        self.shift: FloatArray | None = None
        self.weights: list[Array] | None = None
        self.past: list[tuple[Callable[..., Any], Any]] = []
        self.kept: list[dict[str, Array]] | None = None
        self.passes: list[Pass] = []
        self._session = uuid.uuid4().hex
        self._n_orders = 0
        self._home: dict[int, str] = {}
        self._held: set[int] = set()
        self._first: dict[int, Any] = {}
        self._sent: list[Any] = []
        self._alive: list[str] = []
        self._looked = -math.inf

    def __enter__(self) -> Crew:
        return self

    def __exit__(self, *_: object) -> None:
        if self.client.status != "running":
            return
        for future in self._sent:
            future.cancel()
        self._first = {}
        self.client.run(close_session, self._session, on_error="ignore")

    @property
    def homes(self) -> dict[int, str]:
        """The address of the worker that held each chunk in the last pass."""
        return dict(self._home)

    @property
    def n_workers(self) -> int:
        """How many workers hold chunks."""
        return max(1, len(set(self._home.values())))

    def run(
        self,
        name: str,
        operation: Callable[..., Any],
        payload: Any = None,
        *,
        given: Sequence[Any] | None = None,
        sums: Mapping[str, Callable[[], Sum]] | None = None,
        meets: bool = False,
    ) -> Answer:
        """Make one pass: ask all chunks.

        Parameters
        ----------
        name : str
            What the dashboard shows, after "coterie-".
        operation : callable
            See `coterie.dask.operations`.
        payload : Any
            For all chunks.
        given : sequence, optional
            For each chunk.
        sums : mapping of str to callable, optional
            Returns each of the sums over all chunks that the pass makes, empty.
        meets : bool
            Whether workers ask each other for what belongs to their chunks: all of these are opened before.

        Returns
        -------
        Answer
            What each chunk answered, in their order, and the sums.

        Raises
        ------
        ClusterLostError
            If the scheduler is lost, or there are no workers for five minutes.
        """
        total = Answer({}, {key: empty() for key, empty in (sums or {}).items()})
        waiting, deaths = set(range(len(self.chunks))), 0
        n_tasks = n_sent = n_received = n_opened = 0
        begin = time.monotonic()
        while waiting:
            self._settle_homes()
            if meets and len(self._held) < len(self.chunks):
                self.run("again", stay)
            orders = self._orders(sorted(waiting), operation, given, sums or {}, meets=meets)
            n_opened += sum(part.chunk is not None for order in orders.values() for part in order.parts)
            n_tasks += len(orders)
            n_sent += sum(bytes_of(order) + bytes_of(payload) for order in orders.values())
            n_dead = n_apart = 0
            for order, answer in self._answers(name, orders, payload):
                if answer is None:
                    self._forget(part.number for part in order.parts)
                    n_dead += 1
                if answer is None or not answer.results:
                    self._alive, n_apart = [], 1
                    continue
                waiting -= answer.results.keys()
                self._held |= answer.results.keys()
                for number in answer.results:
                    self._first.pop(number, None)
                total.results |= answer.results
                for key, part_sum in answer.sums.items():
                    total.sums[key].take_in(part_sum)
                n_received += bytes_of(answer.results) + bytes_of(answer.sums)
                total.n_exchanged += answer.n_exchanged
            deaths += max(n_dead, n_apart)
            if waiting and deaths > _MOST_DEATHS + len(orders):
                raise ClusterLostError(
                    f"Workers died or did not reach each other {deaths} times in one pass ({name}): most likely they "
                    "have too little memory for their chunks; their logs say more."
                )
        seconds = time.monotonic() - begin
        self.passes.append(Pass(name, n_tasks, n_sent, n_received, total.n_exchanged, n_opened, seconds))
        return total

    # --- who holds what ----------------------------------------------------------------------------------------------

    def _settle_homes(self) -> None:
        """Give each chunk a worker that was alive at the last look; new workers get their share."""
        workers = self._alive or self._look()
        lost = [number for number, home in self._home.items() if home not in workers]
        self._forget(lost)
        if not self._home and self.chunks.lazy is not None:
            self._first_homes(workers)
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
            self._home[number] = home
            self._held.discard(number)

    def _first_homes(self, workers: Sequence[str]) -> None:
        """Let Dask compute the chunks, and leave each with a worker that has it."""
        self._first = self._computed(range(len(self.chunks)))
        who_has = self.client.who_has(list(self._first.values()))
        for number, future in self._first.items():
            homes = [worker for worker in who_has.get(future.key, ()) if worker in workers]
            if homes:
                self._home[number] = homes[0]

    def _computed(self, numbers: Sequence[int]) -> dict[int, Any]:
        """Let Dask compute some chunks; return their futures, which are done.

        What depends on them is sent afterwards, for a scheduler may take a small graph before a large one.
        """
        assert self.chunks.lazy is not None
        futures = self.client.compute([self.chunks.lazy[number] for number in numbers])
        self._sent = [*self._sent, *futures]
        while any(future.status == "pending" for future in futures):
            try:
                distributed().wait(futures, timeout=_LOOK)
            except (TimeoutError, CancelledError):
                self._look()
        for number, future in zip(numbers, futures):
            if future.status != "finished":
                raise _unreadable(self.chunks.chunks[number], future)
        return dict(zip(numbers, futures))

    def _forget(self, numbers: Iterable[int]) -> None:
        for number in numbers:
            self._home.pop(number, None)
            self._held.discard(number)

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
                time.sleep(_LOOK)
                continue
            if workers:
                self._alive, self._looked = workers, time.monotonic()
                return workers
            if time.monotonic() > end:
                raise ClusterLostError(
                    f"The scheduler {self._address} has had no workers for {_PATIENCE:.0f} s: start some "
                    "(dask worker ADDRESS)."
                )
            time.sleep(_LOOK)

    @property
    def _address(self) -> str:
        return str(getattr(self.client.scheduler, "address", "")) if self.client.scheduler else ""

    def _check_scheduler(self) -> None:
        end = time.monotonic() + _SCHEDULER_PATIENCE
        while self.client.status != "running":
            if self.client.status == "closed" or time.monotonic() > end:
                raise ClusterLostError(
                    f"The Dask scheduler {self._address} is lost, and the fit with it: begin again with a new client; "
                    "checkpoint=PATH keeps the model after each iteration, and init=coterie.load(PATH) goes on."
                )
            time.sleep(_LOOK / 5)

    # --- tasks -------------------------------------------------------------------------------------------------------

    def _orders(
        self,
        numbers: Sequence[int],
        operation: Callable[..., Any],
        given: Sequence[Any] | None,
        sums: Mapping[str, Callable[[], Sum]],
        *,
        meets: bool,
    ) -> dict[str, Order]:
        by_worker = defaultdict(list)
        for number in numbers:
            by_worker[self._home[number]].append(number)
        self._n_orders += 1
        orders = {}
        for worker, mine in by_worker.items():
            parts = tuple(self._part(number, given) for number in mine)
            opens = any(part.chunk is not None for part in parts)
            held = frozenset(number for number, home in self._home.items() if home == worker)
            orders[worker] = Order(
                self._session, self._n_orders, operation, parts, held, self.plan, self.shift,
                sums, tuple(self.past) if opens else (),
                dict(self._home) if meets else {},
            )  # fmt: skip
        return orders

    def _part(self, number: int, given: Sequence[Any] | None) -> Part:
        part = Part(number, given=None if given is None else given[number])
        if number in self._held:
            return part
        weights = None if self.weights is None else self.weights[number]
        return replace(
            part, chunk=self.chunks.chunks[number], weights=weights,
            kept=None if self.kept is None else self.kept[number],
        )  # fmt: skip

    def _answers(
        self, name: str, orders: Mapping[str, Order], payload: Any
    ) -> Iterable[tuple[Order, Answer | None]]:
        """Send the orders; yield the answers as they come, None for that of a worker that has died.

        Where some fail, the others are waited for, and the error of the first chunk is raised, whichever came first.
        """
        event = threading.Event()
        sent = self._send(name, orders, payload)
        for future in sent.values():
            future.add_done_callback(lambda _: event.set())
        errors: list[Exception] = []
        while sent:
            gone = []
            if time.monotonic() - self._looked > _LOOK:  # while the workers compute: no pass waits for it
                alive = self._look()
                gone = [worker for worker in sent if worker not in alive]
            if not gone:
                event.wait(_LOOK)
                event.clear()
            for worker in [worker for worker, future in sent.items() if future.status != "pending"] + gone:
                if worker not in sent:
                    continue
                future = sent[worker]
                answer = None if future.status == "pending" else self._answer(worker, future)
                del sent[worker]
                if isinstance(answer, Exception):
                    errors.append(answer)
                    continue
                if answer is None:
                    future.cancel()
                yield orders[worker], answer
        if errors:
            raise min(errors, key=_chunk_of) from None

    def _send(self, name: str, orders: Mapping[str, Order], payload: Any) -> dict[str, Any]:
        """Send the orders, all in one message; return the futures of their answers, by worker.

        Clients of Dask keep a message back for 10 ms if they have just sent another one. So there is one for all
        workers, and the answers of the pass before are let go of after it.
        """
        import dask

        most = _SCATTERED_BYTES if len(orders) > 1 else _MESSAGE_BYTES
        if bytes_of(payload) > most:
            payload = self._scattered(payload)
        data = self._data(orders.values())
        homes = {
            f"coterie-{name}-{self._session}-{order.number}-{i}": worker
            for i, (worker, order) in enumerate(orders.items())
        }
        with dask.annotate(workers=homes.get):
            self._sent = self.client.map(
                carry_out, list(orders.values()), [payload] * len(orders), data, key=list(homes), pure=False
            )
        return dict(zip(orders, self._sent))

    def _scattered(self, payload: Any) -> Any:
        """Scatter a payload; again if the worker that was to hold it dies meanwhile."""
        for _ in range(_MOST_DEATHS):
            try:
                return self.client.scatter(payload, hash=False)
            except (OSError, TimeoutError, CancelledError):  # a closed connection is an OSError
                self._look()
        return self.client.scatter(payload, hash=False)

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
            except PeerLostError:  # the worker itself is well, but has nothing to answer
                return Answer({}, {})
            except TimeoutError:
                if worker not in self._look():
                    return None
            except Exception as error:
                # Its traceback tells nothing of the caller's.
                return error.with_traceback(None)
        return None

    def _data(self, orders: Iterable[Order]) -> list[list[Any] | None]:
        """Return what Dask has computed for the chunks that each order opens."""
        opened = [[part.number for part in order.parts if part.chunk is not None] for order in orders]
        if self.chunks.lazy is None:
            return [None] * len(opened)
        missing = [number for numbers in opened for number in numbers if number not in self._first]
        if missing:
            self._first |= self._computed(missing)
        return [[self._first[number] for number in numbers] for numbers in opened]


def _unreadable(chunk: Any, future: Any) -> Exception:
    if future.status == "error":
        error = future.exception()
        return ValueError(f"Chunk {chunk.number} of X cannot be read: {type(error).__name__}: {error}")
    return ValueError(
        f"Chunk {chunk.number} of X is lost: the worker that held it has died, and nothing says how to make it again."
    )


def _chunk_of(error: Exception) -> int:
    """Return the chunk at which a worker failed; -1 where it says none."""
    return int(vars(error).get("chunk_number", -1))


def bytes_of(value: Any) -> int:
    """Return the bytes of the arrays in an object."""
    if hasattr(value, "nbytes"):
        return int(value.nbytes)
    if isinstance(value, Mapping):
        return sum(map(bytes_of, value.values()))
    if isinstance(value, list | tuple):
        return sum(map(bytes_of, value))
    if isinstance(value, Order):
        return bytes_of([value.shift, value.past, *(part.given for part in value.parts)]) + bytes_of(
            [[part.weights, part.kept] for part in value.parts]
        )
    if isinstance(value, MixtureParameters):
        return bytes_of([value.means, value.variances, value.weights])
    return 8 if isinstance(value, float | int) else 0
