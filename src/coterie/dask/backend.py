"""Rows on Dask workers as a `RowSource`, and the backend that runs tasks on their chunks."""

from __future__ import annotations

import copy
import os
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn, Self

import numpy as np

from coterie.arrays import Array, FloatArray, IndexArray
from coterie.backend import Chunk, Task, Total
from coterie.backend.measure import split_by_chunk
from coterie.dask.checkpoint import Checkpoint, key_of_fit, key_of_pass
from coterie.dask.chunks import chunks_of
from coterie.dask.exact_sums import ExactSum, Steps
from coterie.dask.pool import WorkerPool, client_of, traffic_of
from coterie.dask.predictions import by_chunk, score_of
from coterie.dask.tasks import Opening, RecordedPass, digest_of
from coterie.fitting.checks import check_sample_weight
from coterie.fitting.threads import effective_n_threads
from coterie.limits.memory import Need, check_memory
from coterie.rows import RowSource

# Rows that are sent to the client at a time.
_READ_BYTES = 64 << 20


def rows(
    source: Any,
    client: Any = None,
    *,
    checkpoint: str | os.PathLike[str] | None = None,
    **open_options: Any,
) -> WorkerRows:
    """Return rows that stay on Dask workers, for estimators and functions that run on backends.

    Parameters
    ----------
    source : Dask array, Dask DataFrame, str or path
        The rows. Files of a path are opened by the workers.
    client : distributed.Client, optional
        None: the current one.
    checkpoint : path, optional
        File that keeps the results of the passes of a fit as they come. The same fit of the same rows resumes there,
        with the bits of a fit that was never stopped; others are refused.
    **open_options
        Options of `coterie.open_rows` for a path, such as `columns`; `columns` and `exclude` for a Dask DataFrame.

    Returns
    -------
    WorkerRows
        A `RowSource` whose blocks cannot be read in this process; single rows can be taken.

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
    >>> import coterie, coterie.dask
    >>> rows = coterie.dask.rows("s3://bucket/*.parquet")  # doctest: +SKIP
    >>> model = coterie.KMeans(1000, random_state=0).fit(rows)  # doctest: +SKIP
    >>> rows.traffic  # doctest: +SKIP
    """
    return WorkerRows(source, client_of(client), open_options, checkpoint)


class WorkerRows(RowSource):
    """Rows that stay on workers.

    Attributes
    ----------
    traffic : record array
        One row for each pass of the last fit: `name`, `n_tasks` (one a worker), `n_sent` and `n_received` (bytes to the
        workers and from them), `n_exchanged` (bytes from worker to worker), `n_opened` (chunks that were opened, or
        opened again after a worker had died), `seconds`.
    """

    def __init__(
        self,
        source: Any,
        client: Any,
        options: Mapping[str, Any],
        checkpoint: str | os.PathLike[str] | None = None,
    ) -> None:
        self._chunks, self._client, self._checkpoint = chunks_of(source, options), client, checkpoint
        known = self._chunks.rows
        super().__init__(
            (self._chunks.n_rows, known.shape[1]), known.dtype,
            column_names=known.column_names, is_table=known.is_table, description="rows on Dask workers",
            chosen=known.chosen,
        )  # fmt: skip
        self.preparation = known.preparation
        self._is_normalized = False
        self._noted_by = self
        self.traffic = traffic_of([])

    def pieces(self, *_: Any) -> NoReturn:
        """Refuse to read all rows in this process."""
        raise TypeError(
            "X are rows on Dask workers, which this method would read in one process: fit it to a sample of "
            "coterie.coresets.lightweight_coreset(X, size), or open the rows by coterie.open_rows."
        )

    def take_rows(self, indices: IndexArray) -> Array:
        """Return a few rows."""
        with self.backend() as backend:
            return backend.take(indices)

    def read(self) -> Array:
        """Return all rows, a few at a time, if they fit the memory of this process."""
        n_rows, n_columns = self.shape
        n_bytes = n_rows * n_columns * self.dtype.itemsize
        check_memory([Need(n_bytes, "the rows", "fit a sample of them")], f"{n_rows:,} x {n_columns} rows")
        rows = np.empty(self.shape, dtype=self.dtype)
        size = max(1, _READ_BYTES // (n_columns * self.dtype.itemsize))
        with self.backend() as backend:
            for start in range(0, n_rows, size):
                part = np.arange(start, min(start + size, n_rows))
                rows[part] = backend.take(part)
        return rows

    def results_of(self, model: Any, method: str, *args: Any, **options: Any) -> Any:
        """Return what a method of a fitted model returns for the rows: a lazy Dask array, or a score.

        Other arguments, such as `return_distance` or weights, are a ValueError.
        """
        if any(value is not None and value is not False for value in (*args, *options.values())):
            raise ValueError(
                f"{method} of coterie.dask.rows takes no other arguments: those are for rows of this process "
                f"({', '.join(options) or 'sample_weight'})."
            )
        return score_of(model, self._chunks) if method == "score" else by_chunk(model, method, self._chunks)

    def with_dtype(self, dtype: Any) -> Self:
        """Return the same rows in another type."""
        other = copy.copy(self)
        other.dtype = np.dtype(dtype)
        return other

    def normalized(self, *, refuse_zeros: bool) -> WorkerRows:
        """Return the rows scaled to length 1; a ValueError if rows of zeros are not to be refused."""
        if not refuse_zeros:
            raise ValueError("zero_rows='ignore' needs rows of this process: leave rows of zeros out.")
        other = copy.copy(self)
        other._is_normalized, other._noted_by = True, self
        other.preparation = (*self.preparation, ("normalize",))
        return other

    def backend(
        self, sample_weight: Any = None, n_threads: int | None = None, fit: Any = None
    ) -> WorkerBackend:
        """Return the backend that runs passes on the workers; see `coterie.backend.open_backend`."""
        return WorkerBackend(self, sample_weight, n_threads, fit)


class WorkerBackend:
    """Passes over chunks on Dask workers; see `coterie.backend.Backend`.

    Passes with `writes` are recorded. A worker that opens a chunk which another one held repeats them on that chunk, in
    their order, into totals that are thrown away. `n_threads` are those of the kernels of each worker, by default as
    many as the worker has; a checkpoint is bound to the estimator `fit`.
    """

    is_here = False

    def __init__(self, source: WorkerRows, sample_weight: Any, n_threads: int | None, fit: Any) -> None:
        self._source = source
        chunks = source._chunks
        (self.n_rows, self.n_columns), self.dtype = source.shape, source.dtype
        self.firsts = np.array([*(chunk.first_row for chunk in chunks.chunks), self.n_rows], dtype=np.intp)
        self.firsts -= self.firsts[0]
        self.n_threads = effective_n_threads(None)
        if hasattr(sample_weight, "compute"):
            sample_weight = sample_weight.compute()
        self.weights = check_sample_weight(sample_weight, source)
        by_chunk = None if self.weights is None else np.split(self.weights, self.firsts[1:-1])
        opening = Opening(
            self.n_columns, source.column_names, self.dtype.str, source._is_normalized, n_threads
        )
        self.pool = WorkerPool(source._client, chunks, opening, by_chunk)
        self.rows: RowSource = _OpenRows(self)
        self._checkpoint: Checkpoint | None = None
        self._fit = fit

    def __enter__(self) -> Self:
        try:
            opened = self.pool.run(_open)
            assert len(opened.results) == len(self.pool.chunks)
            if self._source._checkpoint is not None and self._fit is not None:
                digests = self.pool.run(digest_of).results
                rows = [self.firsts.tolist(), self.n_columns, self.dtype.str, sorted(digests.items())]
                self._checkpoint = Checkpoint(self._source._checkpoint, key_of_fit(self._fit, rows))
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        if self._checkpoint is not None:
            self._checkpoint.close()
        self._source._noted_by.traffic = traffic_of(self.pool.passes)
        self.pool.close()

    @property
    def rows_per_worker(self) -> int:
        """Approximate number of rows of each worker."""
        return -(-self.n_rows // self.pool.n_workers)

    def run(
        self,
        task: Task,
        payload: Any = None,
        *,
        given: Sequence[Any] | None = None,
        into: Mapping[str, Any] | None = None,
        writes: str | None = None,
        renews: bool = False,
        is_exchange: bool = False,
    ) -> list[Any]:
        """Run a task on each chunk, one Dask task a worker."""
        totals = into or {}
        empty = {name: total.empty for name, total in totals.items()}
        key = b"" if self._checkpoint is None else key_of_pass(task.__name__, payload, given)
        known = None if self._checkpoint is None else self._checkpoint.next(key)
        if known is not None:
            results, arrays = known
            for name, parts in arrays.items():
                totals[name].merge_arrays(*parts)
            self.pool.repeat_record()
        else:
            answer = self.pool.run(task, payload, given=given, totals=empty, is_exchange=is_exchange)
            results = [answer.results[number] for number in range(len(self.pool.chunks))]
            if self._checkpoint is not None and not self._checkpoint.is_known:
                arrays = {name: part.arrays() for name, part in answer.totals.items()}
                self._checkpoint.append(key, results, arrays)
            for name, part in answer.totals.items():
                totals[name].merge(part)
        if writes is not None:
            record = self.pool.record
            kept = [recorded for recorded in record if not (renews and recorded.name == writes)]
            self.pool.record = [*kept, RecordedPass(writes, task, payload, given, empty)]
        return list(results)

    def take(self, indices: IndexArray) -> Array:
        """Return a few rows by their numbers, ascending."""
        given = split_by_chunk(self, np.asarray(indices, dtype=np.intp))
        found = self.pool.run(_take, given=given).results
        return np.concatenate([found[number] for number in range(len(found))])

    def total(self, shape: tuple[int, ...], largest: float, base: FloatArray | None = None) -> Total:
        """Return an empty sum that does not depend on the order of its parts."""
        return ExactSum(shape, Steps.below(largest), base)


class _OpenRows(RowSource):
    """The rows of a backend that is open, of which some can be taken."""

    def __init__(self, backend: WorkerBackend) -> None:
        source = backend._source
        super().__init__(source.shape, source.dtype, description=source.description)
        self._backend = backend

    def pieces(self, *_: Any) -> NoReturn:
        """Refuse to read all rows in this process."""
        self._backend._source.pieces()

    def take_rows(self, indices: IndexArray) -> Array:
        """Return a few rows."""
        return self._backend.take(indices)


def _open(chunk: Chunk, _: Any, __: Any, ___: Any) -> None:
    """Open the chunks."""


def _take(chunk: Chunk, _: Any, numbers: IndexArray, __: Any) -> Array:
    taken: Array = chunk.rows.take(numbers)
    return taken
