"""Rows on Dask workers as a `RowSource`, and the backend that runs tasks on their chunks."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NoReturn, Self

from coterie.arrays import Array, IndexArray
from coterie.backend import Chunk, Task
from coterie.dask.chunks import chunks_of
from coterie.dask.crew import Crew
from coterie.dask.exact_sums import ExactSum, Steps
from coterie.dask.extra import client_of
from coterie.dask.worker import Plan, Visit
from coterie.dask.worker_rows import WorkerRows
from coterie.fitting.threads import effective_n_threads
from coterie.rows import RowSource, open_rows

__all__ = ["WorkerBackend", "rows"]


def rows(source: Any, client: Any = None, **open_options: Any) -> RowSource:
    """Return rows that stay on Dask workers, for functions and estimators that run on backends.

    Parameters
    ----------
    source : Dask array, Dask DataFrame, str or path
        The rows. Files of a path are opened by the workers.
    client : distributed.Client, optional
        None: the current one.
    **open_options
        Options of `coterie.open_rows` for a path, such as `columns`; `columns` and `exclude` for a Dask DataFrame.

    Returns
    -------
    RowSource
        Its blocks cannot be read in this process; single rows can be taken.

    Raises
    ------
    ImportError
        If the extra `dask` is not installed.
    TypeError
        If `source` is of another kind, or its rows are sparse.

    Notes
    -----
    Results are bit-identical for any number of workers, and if workers die, for the same chunks.

    Examples
    --------
    >>> import coterie.dask
    >>> from coterie.coresets import lightweight_coreset
    >>> rows = coterie.dask.rows("s3://bucket/*.parquet")  # doctest: +SKIP
    >>> sample, weights, indices = lightweight_coreset(rows, 65_536)  # doctest: +SKIP
    """
    return _WorkerSource(source, client_of(client), open_options)


class _WorkerSource(RowSource):
    """Rows that stay on workers."""

    def __init__(self, source: Any, client: Any, options: Mapping[str, Any]) -> None:
        self._chunks, self._client = chunks_of(source, options), client
        if isinstance(source, str | os.PathLike):
            known = open_rows(source, **options)
        else:  # the workers know the type of what Dask computes
            with Crew(client, self._chunks, Plan(1)) as crew:
                known = WorkerRows(crew, None, 1).rows
        super().__init__(
            known.shape, known.dtype, column_names=known.column_names, is_table=known.is_table,
            description="rows on Dask workers", chosen=known.chosen,
        )  # fmt: skip
        self.preparation = known.preparation

    def pieces(self, *_: Any) -> NoReturn:
        """Refuse to read all rows in this process."""
        raise TypeError(
            "X are rows on Dask workers, which this method would read in one process: fit it to a sample of "
            "coterie.coresets.lightweight_coreset(X, size), or open the rows by coterie.open_rows."
        )

    def take_rows(self, indices: IndexArray) -> Array:
        """Return a few rows."""
        with self.backend(None, None) as backend:
            return backend.take(indices)

    def backend(self, sample_weight: Any, n_threads: int | None) -> WorkerBackend:
        """Return the backend that runs passes on the workers."""
        crew = Crew(self._client, self._chunks, Plan(1, n_threads=n_threads))
        try:
            return WorkerBackend(WorkerRows(crew, sample_weight, effective_n_threads(None)))
        except BaseException:
            crew.__exit__()
            raise


class WorkerBackend:
    """Passes over chunks on Dask workers; see `coterie.backend.Backend`.

    Passes with `writes` are recorded. A worker that opens a chunk which another one held repeats them on that chunk, in
    their order, into totals that are thrown away.

    Parameters
    ----------
    data : WorkerRows
        The rows, opened.
    """

    def __init__(self, data: WorkerRows) -> None:
        self._data = data
        self.n_rows, self.n_columns, self.dtype = data.n_rows, data.n_columns, data.dtype
        self.weights, self.firsts = data.weights, data.firsts
        self._record: list[tuple[str, dict[str, Any]]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._data.crew.__exit__(*error)

    def run(
        self,
        task: Task,
        payload: Any = None,
        *,
        given: Sequence[Any] | None = None,
        into: Mapping[str, Any] | None = None,
        writes: str | None = None,
        renews: bool = False,
    ) -> list[Any]:
        """Run a task on each chunk, one Dask task a worker."""
        crew, totals = self._data.crew, into or {}
        call = {"task": task, "payload": payload}
        sums = {name: partial(ExactSum, total.high.shape, total.steps) for name, total in totals.items()}
        answer = crew.run(task.__name__.strip("_"), _run_task, call, given=given, sums=sums)
        for name, part in answer.sums.items():
            totals[name].take_in(part)
        if writes is not None:
            kept = [entry for entry in self._record if not (renews and entry[0] == writes)]
            self._record = [*kept, (writes, call | {"given": given})]
            crew.past = [(_run_task, recorded) for _, recorded in self._record]
        return [answer.results[number] for number in range(len(crew.chunks))]

    def take(self, indices: IndexArray) -> Array:
        """Return a few rows by their numbers, ascending."""
        return self._data.take(indices)

    def total(self, shape: tuple[int, ...], largest: float) -> ExactSum:
        """Return an empty sum that does not depend on the order of its parts."""
        return ExactSum(shape, Steps.below(largest))


def _run_task(visit: Visit, given: Any) -> Any:
    """Run a task of a backend on the chunk of a visit; a recorded one finds what it was given in the record."""
    call, held = visit.payload, visit.chunk
    if call.get("given") is not None:
        given = call["given"][held.number]
    visit.check()
    return call["task"](
        Chunk(held.rows, held.weights, held.n_threads, held.state), call["payload"], given, visit.sums
    )
