"""Passes over the rows of a fit: block by block in this process, or on the workers of a cluster that hold them.

A solver is a function that calls `Passes.run` once for each pass::

    labels = passes.state(RowLabels)                       # values of rows that last over passes
    sums = ClusterSums(passes.total((k, d), largest), passes.total((k,), mass))
    for _ in range(max_iter):
        n_changed = passes.run(assign_rows, AssignmentPass(frame), labels, sums, writes=True)
        passes.keep_begin(labels, lambda: [Begin(label_rows, frame, labels)])
        centers = sums.sums.total() / sums.masses.total()[:, None]

The step is a module-level function ``assign_rows(rows, params, state, sums)``. `rows` is a `ChunkRows`: consecutive
rows with their weights, of which ``rows.blocks()`` yields (slice, rows for the kernels). In this process there is one
chunk, all rows; on a cluster there are many. The step gets the other arguments that `run` is called with, in their
order, and leaves out those that are not given:

- `params`, one frozen dataclass or array for all chunks;
- `state`, the object that the function of `Passes.state` has made for the rows of the chunk: an object with arrays by
  row, which the step changes in place. On a cluster a chunk may lose it, with its worker; then the passes of
  `keep_begin` make the values afresh, as the last pass left them;
- `sums`, a NamedTuple of `Total`: what the step adds is summed over the chunks, on a cluster exactly, so that neither
  workers nor order change a bit;
- `given`, one value for each chunk.

It returns something small; `run` returns a list of these, in the order of the chunks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from itertools import chain
from typing import Any, Generic, NamedTuple, Protocol, Self, TypeVar

import numpy as np
import numpy.typing as npt

from coterie.arrays import Array, FloatArray, IndexArray, IntArray
from coterie.blocks.dataset import (
    ChunkRows,
    check_squares,
    check_vanishing,
    squares_to_point,
    total_weight,
    useful_n_threads,
    weighted_sum,
)
from coterie.blocks.kernel_rows import dense, kernel_rows
from coterie.blocks.measures import digits_lost, robust_shift, sample_positions, typical_square
from coterie.fitting.checks import check_sample_weight
from coterie.fitting.threads import effective_n_threads
from coterie.rows import Block, Rows

__all__ = ["ChunkRows", "MeasuredRows", "Passes", "State", "Total", "measure", "open_passes"]

S = TypeVar("S")

# Share of the standard deviation of a column that sums on workers may lose.
_MOST_LOST = 1e-6


class Total(Protocol):
    """A sum over all chunks, float64. Differences of less than `resolution` may be lost; 0 if rounding is relative."""

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


class PlainSum:
    """A `Total` in one array."""

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


class Begin(NamedTuple):
    """A pass by which a chunk makes values of a state that it has lost; the arguments are those of `Passes.run`."""

    step: Callable[..., Any]
    params: Any
    state: State[Any] | tuple[State[Any], ...]
    sums: Any = None
    given: Sequence[Any] | None = None


class State(Generic[S]):
    """Values that belong to the rows of each chunk and last over passes: `new(rows)` makes those of a chunk.

    A later state of the same `name` takes the place of this one. `n_passes` passes have changed the values; those that
    `begin` returns make them from new ones.
    """

    def __init__(self, new: Callable[[ChunkRows], S], name: str, number: int) -> None:
        self.new, self.name, self.number = new, name, number
        self.n_passes = 0
        self.begin: Callable[[], list[Begin]] = list
        self._here: S | None = None

    def here(self, rows: ChunkRows) -> S:
        """Return the values of the only chunk of this process."""
        if self._here is None:
            self._here = self.new(rows)
        return self._here


class Passes:
    """The rows of a fit in this process, as one chunk, and the passes over them; a context manager."""

    is_here = True  # whether the rows are read in this process, as one chunk

    def __init__(self, rows: Rows, sample_weight: Any = None, n_threads: int | None = None) -> None:
        self.rows, self.dtype = rows, rows.dtype  # float32 or float64; single rows can be taken
        self.n_rows, self.n_columns = rows.shape
        self.weights = check_sample_weight(sample_weight, rows)  # (n_rows,); None for 1
        # The first row of each chunk, then the number of rows.
        self.firsts: IndexArray = np.array([0, self.n_rows], dtype=np.intp)
        # Threads of the kernels of this process, and about how many rows each process holds.
        self.n_threads, self.rows_per_worker = effective_n_threads(n_threads), self.n_rows
        self._chunk = ChunkRows(rows, self.weights, n_threads=self.n_threads)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Release what belongs to the rows."""

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
        """Run a step on each chunk; return the results in the order of the chunks.

        `writes` tells that the step changes the state (of several the last one); `keep_begin` follows then.
        """
        states = state if isinstance(state, tuple) else (state,)
        arguments = [] if params is None else [params]
        arguments += [each.here(self._chunk) for each in states]
        if sums is not None:
            arguments.append(sums)
        if given is not None:
            arguments.append(given[0])
        return [step(self._chunk, *arguments)]

    def state(self, new: Callable[[ChunkRows], S], name: str = "") -> State[S]:
        """Return a state whose values `new` makes for each chunk."""
        return State(new, name or getattr(new, "__name__", ""), 0)

    def total(self, shape: tuple[int, ...], largest: float, base: FloatArray | None = None) -> Total:
        """Return an empty sum, or one that begins with `base`, an array that may be changed.

        `largest` is an upper bound of the absolute values of parts and totals.
        """
        return PlainSum(np.zeros(shape) if base is None else base)

    def take(self, numbers: IndexArray) -> Block:
        """Return a few rows by their numbers, ascending."""
        return self._chunk.take(numbers)

    def split(self, numbers: IndexArray) -> list[IndexArray]:
        """Return ascending numbers of rows as positions in each chunk."""
        if len(self.firsts) == 2:
            return [numbers]
        ends = np.searchsorted(numbers, self.firsts).tolist()
        return [numbers[low:high] - first for low, high, first in zip(ends, ends[1:], self.firsts)]

    def prepare(self, n_clusters: int) -> None:
        """Prepare passes that compare the rows with this number of clusters."""
        self._chunk.prepare(n_clusters)

    def keep_shift(self, shift: FloatArray) -> None:
        """Note the shift that the rows were measured from, for chunks that are opened again."""

    def keep_begin(self, state: State[Any], begin: Callable[[], list[Begin]]) -> None:
        """Note by which passes a chunk makes the values of a state that it has lost; in this process none is lost."""


def are_on_workers(rows: Rows) -> bool:
    """Return whether rows are on the workers of a cluster, as those of `coterie.dask.rows` are."""
    return hasattr(rows, "passes")


def open_passes(rows: Rows, sample_weight: Any = None, n_threads: int | None = None) -> Passes:
    """Return the passes over rows: those of a cluster for rows of `coterie.dask.rows`, else of this process.

    Parameters
    ----------
    rows : Rows of shape (n, d)
        The rows.
    sample_weight : array-like of shape (n,), optional
        Non-negative weights.
    n_threads : int, optional
        Threads of the kernels. None: all processors, of this process or of each worker.

    Returns
    -------
    Passes

    Raises
    ------
    ValueError
        If weights are negative, not finite or all 0, or there is not one for each row.

    Examples
    --------
    >>> import numpy as np
    >>> from coterie.passes import open_passes
    >>> from coterie.rows import as_rows
    >>> def largest(rows):
    ...     return max(float(block.max()) for _, block in rows.source.blocks())
    >>> with open_passes(as_rows(np.arange(6.0).reshape(3, 2))) as passes:
    ...     passes.run(largest)
    [5.0]
    """
    own: Callable[..., Passes] | None = getattr(rows, "passes", None)
    return Passes(rows, sample_weight, n_threads) if own is None else own(sample_weight, n_threads)


# --- the rows as a whole ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class MeasuredRows:
    """The rows of a fit as a whole, for seedings and solvers."""

    passes: Passes
    n_threads: int  # of the kernels in this process; small data get one
    total_weight: float
    shift: FloatArray  # (d,), float64: the mean of the rows (0 for sparse rows), or see `robust_shift`
    total_square: float  # weighted sum of the squared distances to the shift
    mean_variance: float  # mean over the columns of their variances
    # Whether some rows are so far out that in sums over all rows, in float64, the others are lost to rounding. Then
    # `mean_variance` is that of the others.
    has_far_rows: bool
    largest_square: float  # the largest squared distance to the shift

    @property
    def rows(self) -> Rows:
        """The rows."""
        return self.passes.rows

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.passes.n_rows

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return self.passes.n_columns

    @property
    def dtype(self) -> np.dtype[Any]:
        """float32 or float64."""
        return self.passes.dtype

    @property
    def weights(self) -> Array | None:
        """Weights of the rows; None for 1."""
        return self.passes.weights

    def in_this_process(self) -> ChunkRows:
        """Return the rows of this process, all in one chunk."""
        assert self.passes.is_here
        return self.passes._chunk

    def own_square_distances(self, centers: FloatArray, labels: IntArray) -> FloatArray:
        """Return the squared distance of every row to centers[label], accurately: 8 bytes a row."""
        given = np.split(labels, self.passes.firsts[1:-1])
        return np.concatenate(self.passes.run(_own_squares, centers, given=given))


class _Measured(NamedTuple):
    """Squared distances of rows to a point: their sum, their weighted sum, the largest, and those of some rows."""

    total: float
    weighted: float
    largest: float
    some: FloatArray


def measure(passes: Passes, n_clusters: int) -> MeasuredRows:
    """Measure rows that are compared with `n_clusters` clusters: two passes, and a third in rare cases.

    A ValueError is raised if squared distances overflow or vanish in the dtype of the rows, or if most rows are lost in
    sums on workers.
    """
    n_rows, n_columns, is_sparse = passes.n_rows, passes.n_columns, passes.rows.is_sparse
    samples = passes.split(sample_positions(n_rows))
    passes.prepare(n_clusters)

    def mean_row() -> FloatArray:
        sums = passes.run(_sum_of_rows)
        return (sums[0] if len(sums) == 1 else np.sum(sums, axis=0)) / n_rows

    def squares_to(point: FloatArray) -> _Measured:
        parts = passes.run(_measure_from, point, given=samples)
        passes.keep_shift(point)
        if len(parts) == 1:
            return parts[0]  # type: ignore[no-any-return]
        total, weighted, largest, some = zip(*parts)
        return _Measured(float(np.sum(total)), float(np.sum(weighted)), max(largest), np.concatenate(some))

    shift = mean = np.zeros(n_columns) if is_sparse else mean_row()
    found = squares_to(shift)
    if not is_sparse:
        middle = robust_shift(
            lambda places: passes.take(sample_positions(n_rows)[places]), mean, found.some, passes.dtype
        )
        if middle is not None:
            shift = middle
            found = squares_to(shift)
    check_differences(passes, found.largest)
    most = digits_lost(np.float64) * typical_square(found.some)
    has_far_rows = 0 < most < found.largest
    if has_far_rows:
        below, counts = zip(*passes.run(_squares_below, most))
        variance = float(np.sum(below)) / max(1, int(np.sum(counts))) / n_columns
    else:
        mean = mean_row() if is_sparse else mean
        variance = (found.total / n_rows - float(((mean - shift) ** 2).sum())) / n_columns
    _check_resolution(passes, found.largest, found.some)
    return MeasuredRows(
        passes,
        useful_n_threads(n_rows * n_columns * n_clusters, passes.n_threads),
        total_weight(n_rows, passes.weights),
        shift,
        found.weighted,
        variance,
        has_far_rows,
        found.largest,
    )


def measure_rows(
    rows: Rows, weights: npt.ArrayLike | None = None, *, n_clusters: int, n_threads: int | None
) -> MeasuredRows:
    """Measure rows in this process; see `measure`."""
    return measure(Passes(rows, weights, n_threads), n_clusters)


def largest_square(passes: Passes, point: FloatArray) -> float:
    """Return the largest squared distance of the rows to a point, in one pass; the errors are those of `measure`."""
    found = passes.run(_largest_square, point, given=passes.split(sample_positions(passes.n_rows)))
    largest, some = zip(*found)
    _check_resolution(passes, max(largest), np.concatenate(some))
    return float(max(largest))


def check_differences(passes: Passes, largest: float) -> None:
    """Raise a ValueError if rows differ although the largest squared distance between them has no digits."""
    if largest < float(np.finfo(passes.dtype).tiny):
        first = dense(passes.take(np.zeros(1, dtype=np.intp)))
        passes.run(_check_vanishing, largest, given=[first] * (len(passes.firsts) - 1))


def _check_resolution(passes: Passes, largest: float, some: FloatArray) -> None:
    """Raise a ValueError if distant rows make sums on workers lose the digits of the others."""
    if passes.is_here:
        return
    farthest, weight = float(np.sqrt(largest)), total_weight(passes.n_rows, passes.weights)
    spread = float(np.sqrt(np.median(some) / passes.n_columns))
    resolution = passes.total((1,), 2 * weight * farthest).resolution
    if 0 < _MOST_LOST * spread * weight / passes.n_rows < resolution:
        raise ValueError(
            f"Some rows of X are so far away ({farthest:.3g}) that sums on a cluster lose the digits of others: "
            "leave these rows out, or fit all rows on one machine."
        )


# --- steps -----------------------------------------------------------------------------------------------------------


def _sum_of_rows(rows: ChunkRows) -> FloatArray:
    return rows.sum_of(rows.blocks())


def _measure_from(rows: ChunkRows, point: FloatArray, some: IndexArray) -> _Measured:
    exact = rows.measure_from(point)
    total = weighted = weighted_sum(exact, None)
    if rows.weights is not None:
        weighted = weighted_sum(exact, rows.weights)
    return _Measured(total, weighted, float(exact.max()), exact[some])


def _squares_below(rows: ChunkRows, largest: float) -> tuple[float, int]:
    exact = rows.measure_from(rows.shift)
    below = exact[exact <= largest]
    return float(below.sum()), len(below)


def _own_squares(rows: ChunkRows, centers: FloatArray, labels: IntArray) -> FloatArray:
    return rows.own_square_distances(centers, labels)


def _largest_square(rows: ChunkRows, point: FloatArray, some: IndexArray) -> tuple[float, FloatArray]:
    exact = np.empty(rows.n_rows)
    for start, block in rows.source.blocks():
        part = slice(start, start + block.shape[0])
        exact[part] = squares_to_point(kernel_rows(block), block.shape[0], point, rows.most_threads)
    with np.errstate(over="ignore"):
        check_squares(exact.astype(rows.dtype), rows.first)
    return float(exact.max()), exact[some]


def _check_vanishing(rows: ChunkRows, largest: float, first: Array) -> None:
    blocks = (block for _, block in rows.source.blocks())
    check_vanishing(np.array([largest]), rows.dtype, chain([first], blocks))
