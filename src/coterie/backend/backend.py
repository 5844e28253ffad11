"""Run a task on all rows: `Backend`, with `LocalBackend`, whose single chunk holds all rows of this process.

A task is a module-level function `task(chunk, payload, given, into)`. It returns something small; what can be merged it
adds to the totals in `into`. It may keep values that belong to its rows in `chunk.state` between passes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any, Protocol, Self, TypeAlias

import numpy as np

from coterie.arrays import Array, FloatArray, IndexArray
from coterie.fitting.checks import check_sample_weight
from coterie.fitting.threads import effective_n_threads
from coterie.rows import Block, RowSource

Task: TypeAlias = Callable[["Chunk", Any, Any, Mapping[str, Any]], Any]
"""`task(chunk, payload, given, into)`: `payload` is the same for all chunks, `given` is for this chunk alone."""


@dataclass
class Chunk:
    """Consecutive rows, as a task sees them.

    Attributes
    ----------
    rows : RowSource
        The rows.
    weights : ndarray of shape (n,), or None
        Their weights; None for 1.
    n_threads : int
        Threads of the kernels.
    state : dict
        Values that tasks keep for these rows between passes. A task that changes it is run with `writes`.
    first : int
        The number of the first row.
    check : callable
        Raises an error if the fit has ended meanwhile; a task calls it before each block.
    exchange : Any
        On workers, what tasks need that ask other workers for rows.
    """

    rows: RowSource
    weights: Array | None
    n_threads: int
    state: dict[str, Any] = field(default_factory=dict)
    first: int = 0
    check: Callable[[], None] = lambda: None
    exchange: Any = None

    def blocks(self, rows_per_block: int | None = None) -> Iterator[tuple[int, Block, Array | None]]:
        """Yield first row within the chunk, rows and weights of each block."""
        for start, block in self.rows.blocks(rows_per_block):
            self.check()
            yield (
                start,
                block,
                None if self.weights is None else self.weights[start : start + block.shape[0]],
            )


class Total(Protocol):
    """A sum over all chunks, float64.

    Attributes
    ----------
    resolution : float
        Differences of less than this may be lost; 0 if rounding is relative.
    """

    @property
    def resolution(self) -> float: ...

    def add(self, part: FloatArray, rows: IndexArray | slice = slice(None), /) -> None:
        """Add a part to some rows of the sum, each at most once."""

    def part(self) -> AbstractContextManager[FloatArray]:
        """Return an array to which the rows of a chunk are added: the sum itself in this process, zeros on workers."""

    def clear(self, rows: IndexArray | slice = slice(None), /) -> None:
        """Set some rows of the sum to 0."""

    def total(self) -> FloatArray:
        """Return the sum."""


class Backend(Protocol):
    """The rows of a fit, and the passes over them; a context manager, made by `open_backend`.

    Attributes
    ----------
    n_rows, n_columns : int
        Shape of the rows.
    dtype : numpy.dtype
        float32 or float64.
    weights : ndarray of shape (n_rows,), or None
        Weights of the rows; None for 1.
    firsts : ndarray of int
        The first row of each chunk, then the number of rows.
    rows : RowSource
        The rows; single ones can be taken.
    is_here : bool
        Whether the rows are read in this process, as one chunk.
    n_threads : int
        Threads of the kernels of this process.
    rows_per_worker : int
        About how many rows each process holds.
    """

    n_rows: int
    n_columns: int
    dtype: np.dtype[Any]
    weights: Array | None
    firsts: IndexArray
    rows: RowSource
    is_here: bool
    n_threads: int

    @property
    def rows_per_worker(self) -> int: ...

    def __enter__(self) -> Self:
        """Return the backend."""

    def __exit__(self, *_: object) -> None:
        """Let go of what belongs to the chunks."""

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
        """Run a task on each chunk; return the results in the order of the chunks.

        Parameters
        ----------
        task : callable
            Module-level function `task(chunk, payload, given, into)`.
        payload : Any
            For all chunks.
        given : sequence, optional
            One value for each chunk.
        into : mapping of str to Total, optional
            Totals of `total`, to which the tasks add.
        writes : str, optional
            Name of the state that the task changes. The pass is recorded when it has succeeded, and repeated on a chunk
            that another worker opens.
        renews : bool
            Whether earlier records of that name are no longer needed.
        """

    def take(self, indices: IndexArray) -> Block:
        """Return a few rows by their numbers, ascending."""

    def total(self, shape: tuple[int, ...], largest: float, base: FloatArray | None = None) -> Total:
        """Return an empty sum for `into`.

        Parameters
        ----------
        shape : tuple of int
            Its shape.
        largest : float
            Upper bound of the absolute values of parts and totals.
        base : ndarray, optional
            What the sum begins with; the array may be changed.
        """


def have_own_backend(rows: RowSource) -> bool:
    """Return whether rows have their own backend, such as those of `coterie.dask.rows`."""
    return hasattr(rows, "backend")


def open_backend(
    rows: RowSource, sample_weight: Any = None, n_threads: int | None = None, *, fit: Any = None
) -> Backend:
    """Return the backend of rows: their own if they have one, otherwise that of this process.

    Parameters
    ----------
    rows : RowSource
        The rows; those of `coterie.dask.rows` have a backend on Dask workers.
    sample_weight : array-like of shape (n,), optional
        Non-negative weights.
    n_threads : int, optional
        Threads of the kernels. None: all processors, of this process or of each worker.
    fit : estimator, optional
        The estimator that is fitted, to which a checkpoint of the rows is bound.

    Raises
    ------
    ValueError
        If weights are negative, not finite or all 0, or there is not one for each row.
    """
    own: Callable[..., Backend] | None = getattr(rows, "backend", None)
    if own is not None:
        return own(sample_weight, n_threads, fit)
    return LocalBackend(rows, sample_weight, n_threads)


class _Sum:
    """A sum in one array."""

    resolution = 0.0

    def __init__(self, values: FloatArray) -> None:
        self._values = values

    def add(self, part: FloatArray, rows: IndexArray | slice = slice(None), /) -> None:
        self._values[rows] += part

    def part(self) -> AbstractContextManager[FloatArray]:
        return nullcontext(self._values)

    def clear(self, rows: IndexArray | slice = slice(None), /) -> None:
        self._values[rows] = 0

    def total(self) -> FloatArray:
        return self._values


class LocalBackend:
    """Passes over rows in this process, in a single chunk. See `Backend` and `open_backend`."""

    is_here = True

    def __init__(self, rows: RowSource, sample_weight: Any = None, n_threads: int | None = None) -> None:
        self.rows = rows
        self.n_rows, self.n_columns = rows.shape
        self.dtype = rows.dtype
        self.weights = check_sample_weight(sample_weight, rows)
        self.firsts: IndexArray = np.array([0, self.n_rows], dtype=np.intp)
        self.n_threads, self.rows_per_worker = effective_n_threads(n_threads), self.n_rows
        self._chunk = Chunk(rows, self.weights, self.n_threads)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._chunk.state.clear()

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
        """Run a task on the chunk."""
        return [task(self._chunk, payload, None if given is None else given[0], into or {})]

    def take(self, indices: IndexArray) -> Block:
        """Return a few rows."""
        return self._chunk.state.get("kept", self._chunk.rows).take(indices)

    def total(self, shape: tuple[int, ...], largest: float, base: FloatArray | None = None) -> Total:
        """Return an empty sum."""
        return _Sum(np.zeros(shape) if base is None else base)
