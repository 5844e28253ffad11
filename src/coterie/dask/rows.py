"""Rows on Dask workers as a `Rows`."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, NoReturn, Self

import numpy as np

from coterie.arrays import Array, IndexArray
from coterie.dask.chunks import chunks_of
from coterie.dask.passes import ClusterLostError, WorkerPasses, client_of
from coterie.dask.predictions import by_chunk, score_of
from coterie.rows import Rows

__all__ = ["ClusterLostError", "WorkerRows", "rows"]


def rows(source: Any, client: Any = None, **open_options: Any) -> WorkerRows:
    """Return rows that stay on Dask workers, for estimators and functions that run by `coterie.passes`.

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
    WorkerRows
        A `Rows` whose blocks cannot be read in this process; single rows can be taken.

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
    """
    return WorkerRows(source, client_of(client), open_options)


class WorkerRows(Rows):
    """Rows that stay on workers."""

    _passes: WorkerPasses | None = None

    def __init__(self, source: Any, client: Any, options: Mapping[str, Any]) -> None:
        self.chunks, self.client = chunks_of(source, options, client), client
        known = self.chunks.rows
        super().__init__(
            (self.chunks.n_rows, known.shape[1]), known.dtype, description="rows on Dask workers"
        )
        self.column_names, self.is_table = known.column_names, known.is_table
        self.chosen, self.preparation = known.chosen, known.preparation
        self.is_normalized = False

    def block(self, *_: Any) -> NoReturn:
        """Refuse to read all rows in this process."""
        raise TypeError(
            "X are rows on Dask workers, which this method would read in one process: fit it to a sample of "
            "coterie.coresets.lightweight_coreset(X, size), or open the rows by coterie.open_rows."
        )

    def take_rows(self, indices: IndexArray) -> Array:
        """Return a few rows."""
        if self._passes is not None:
            return self._passes.take(indices)
        with self.passes() as passes:
            return passes.take(indices)

    def opened_by(self, passes: WorkerPasses) -> Self:
        """Return the same rows, of which some are taken by passes over the chunks of a fit."""
        other = copy.copy(self)
        other._passes = passes
        return other

    def results_of(self, model: Any, method: str, *args: Any, **options: Any) -> Any:
        """Return what a method of a fitted model returns for the rows: a lazy Dask array, or a score.

        Other arguments, such as `return_distance` or weights, are a ValueError.
        """
        if any(value is not None and value is not False for value in (*args, *options.values())):
            raise ValueError(
                f"{method} of coterie.dask.rows takes no other arguments: those are for rows of this process "
                f"({', '.join(options) or 'sample_weight'})."
            )
        if method == "score":
            return score_of(model, self.chunks, self.client)
        return by_chunk(model, method, self.chunks)

    def with_dtype(self, dtype: Any) -> Self:
        """Return the same rows in another type."""
        other = copy.copy(self)
        other.dtype = np.dtype(dtype)
        return other

    def normalized(self, *, refuse_zeros: bool) -> Self:
        """Return the rows scaled to length 1; a ValueError if rows of zeros are not to be refused."""
        if not refuse_zeros:
            raise ValueError("zero_rows='ignore' needs rows of this process: leave rows of zeros out.")
        other = copy.copy(self)
        other.is_normalized = True
        other.preparation = (*self.preparation, ("normalize",))
        return other

    def passes(self, sample_weight: Any = None, n_threads: int | None = None) -> WorkerPasses:
        """Return the passes over the rows on the workers; see `coterie.passes.open_passes`."""
        return WorkerPasses(self, sample_weight, n_threads)
