"""The rows of a fit on workers, measured as `coterie.blocks.dataset.Dataset` measures those at hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from coterie.arrays import Array, FloatArray, IndexArray, IntArray
from coterie.blocks.dataset import total_weight
from coterie.blocks.measures import Squares, measures, sample_positions
from coterie.dask import operations
from coterie.dask.crew import Crew
from coterie.dask.exact_sums import Steps, exact
from coterie.fitting.checks import check_sample_weight
from coterie.rows import RowSource

__all__ = ["WorkerRows", "gathered"]

# Labels of so many rows come to the client; those of more stay where the rows are.
GATHERED_ROWS = 10_000_000

# Part of the spread of a column that rounding of a chunk's sum may take.
_MOST_LOST = 1e-6


class _RowsElsewhere(RowSource):
    """What is known of the rows of a cluster; single ones can be taken."""

    def __init__(self, rows: WorkerRows, first: dict[str, Any]) -> None:
        super().__init__(
            (rows.n_rows, rows.n_columns),
            rows.dtype,
            column_names=first["column_names"],
            is_table=first["is_table"],
            description="rows on a Dask cluster",
            chosen=first["chosen"],
        )
        self.preparation = first["preparation"]
        self._rows = rows

    def take_rows(self, indices: IndexArray) -> Array:
        return self._rows.take(indices)


class WorkerRows:
    """Rows that workers hold, chunk by chunk; see `coterie.blocks.dataset.Dataset` for the attributes.

    Parameters
    ----------
    crew : Crew
        The workers. Their chunks are opened here.
    sample_weight : array-like of shape (n,), Dask array, or None
        Weights of all rows.
    n_threads : int
        Threads of this process.

    Attributes
    ----------
    rows : RowSource
        What is known of the rows without reading them: shape, type, names of columns.
    firsts : ndarray of int
        The first row of each chunk, and the number of all.
    rows_per_worker : int
        About as many rows as a worker holds, by which bounds are chosen.
    """

    def __init__(self, crew: Crew, sample_weight: Any, n_threads: int) -> None:
        self.crew = crew
        self.n_threads = n_threads
        self._describe()
        self.weights = self._weigh(sample_weight)
        self.total_weight = total_weight(self.n_rows, self.weights)

    def measure(self) -> None:
        """Find the shift, and measure all rows from it."""
        found = measures(self, is_sparse=False)
        self.shift, self.total_square = found.shift, found.total_square
        self.mean_variance, self.has_far_rows = found.mean_variance, found.has_far_rows

    def _describe(self) -> None:
        """Let the workers open their chunks; take down what they are."""
        numbers = range(len(self.crew.chunks))
        found = self.crew.run("open", operations.describe, given=[number == 0 for number in numbers]).results
        first = found[0]
        for number in numbers:
            if found[number]["shape"][1] != first["shape"][1]:
                raise ValueError(
                    f"Chunks must have the same columns: chunk 0 has {first['shape'][1]}, chunk {number} has "
                    f"{found[number]['shape'][1]}."
                )
            if found[number]["digest"] != first["digest"]:
                raise ValueError(
                    f"Chunks must have the same column names in order: chunks 0 and {number} differ."
                )
        sizes = [found[number]["shape"][0] for number in numbers]
        self.firsts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.intp)
        self.n_rows, self.n_columns = int(self.firsts[-1]), int(first["shape"][1])
        self.dtype = np.result_type(*{found[number]["dtype"] for number in numbers})
        self._largest = max(found[number]["largest"] for number in numbers)
        self.rows_per_worker = -(-self.n_rows // self.crew.n_workers)
        self.crew.plan = replace(self.crew.plan, dtype=self.dtype.str)
        if any(found[number]["dtype"] != self.dtype.str for number in numbers):
            self.crew.run("convert", operations.convert)
        self.rows = _RowsElsewhere(self, first)

    def _weigh(self, sample_weight: Any) -> Array | None:
        if hasattr(sample_weight, "compute"):
            sample_weight = sample_weight.compute()
        weights = check_sample_weight(sample_weight, self.rows)
        if weights is not None:
            weights = np.ascontiguousarray(weights, dtype=self.dtype)
            self.crew.weights = self.by_chunk(weights)
            self.crew.run("weigh", operations.weigh, given=self.crew.weights)
        return weights

    def by_chunk(self, values: Array) -> list[Array]:
        """Cut something that each row has by chunks."""
        return np.split(values, self.firsts[1:-1])

    def chunk_rows(self, numbers: npt.ArrayLike) -> list[IndexArray]:
        """Return rows of ascending numbers as numbers in each chunk."""
        ascending = np.asarray(numbers, dtype=np.intp)
        parts = np.split(ascending, np.searchsorted(ascending, self.firsts[1:-1]))
        return [part - first for part, first in zip(parts, self.firsts)]

    @property
    def gathers(self) -> bool:
        """Whether labels come to the client at the end of a fit."""
        return self.n_rows <= GATHERED_ROWS

    # --- what is asked in passes -------------------------------------------------------------------------------------

    def take(self, positions: IndexArray) -> Array:
        """Return rows of ascending numbers; a bounded sample."""
        answer = self.crew.run("take", operations.take, given=self.chunk_rows(positions))
        return np.concatenate([answer.results[number] for number in range(len(self.crew.chunks))])

    def own_square_distances(self, centers: FloatArray, labels: IntArray) -> FloatArray:
        """Return the squared distance of every row to one point: 8 bytes for each row come here."""
        answer = self.crew.run("square", operations.square, centers[:1])
        return np.concatenate([answer.results[number] for number in range(len(self.crew.chunks))])

    def mean_row(self) -> FloatArray:
        """Return the mean of the rows."""
        steps = Steps.below(self.n_rows * self._largest)
        answer = self.crew.run("mean", operations.add_rows, sums={"rows": exact((1, self.n_columns), steps)})
        return answer.sums["rows"].total()[0] / self.n_rows

    def squares_to(self, point: FloatArray) -> Squares:
        """Measure the rows from a point, which becomes their shift."""
        self.shift = point
        some = self.chunk_rows(sample_positions(self.n_rows))
        given = list(zip(self.firsts.tolist(), some))
        answer = self.crew.run("measure", operations.measure, point, given=given)
        self.crew.shift = point
        found = [answer.results[number] for number in range(len(some))]
        totals, weighted, largest, sample = zip(*found)
        self.largest_square = max(largest)
        squares = np.concatenate(sample)
        self._check_far_rows(float(np.median(squares)) / self.n_columns)
        return Squares(float(np.sum(totals)), float(np.sum(weighted)), self.largest_square, squares)

    def _check_far_rows(self, variance: float) -> None:
        """Raise a ValueError if some rows are so far out that in sums of one step for all the others are lost."""
        farthest, unit = float(np.sqrt(self.largest_square)), self.total_weight / self.n_rows
        step = Steps.below(2 * self.total_weight * farthest).fine
        if variance > 0 and step > _MOST_LOST * np.sqrt(variance) * unit:
            raise ValueError(
                f"Some rows of X are so far away from the others ({farthest:.3g}) that these are lost in sums on a "
                "cluster: leave the far ones out, or fit all rows on one machine."
            )

    def check_vanishing(self, largest: float) -> None:
        """Raise a ValueError if rows differ although the largest of their squares has no digits."""
        if largest >= np.finfo(self.dtype).tiny:
            return
        answer = self.crew.run("differ", operations.differ, self.take(np.zeros(1, dtype=np.intp)))
        if any(answer.results.values()):
            raise ValueError(
                f"The rows of X differ too little for {self.dtype}: squared distances vanish. Multiply X by a large "
                "number, such as a power of 2."
            )

    def mean_below(self, largest: float) -> float:
        """Return the mean of the squared distances that are at most so large."""
        found = self.crew.run("square", operations.square_below, largest).results
        sums, counts = zip(*(found[number] for number in range(len(found))))
        return float(np.sum(sums)) / max(1, int(np.sum(counts)))

    def labels_and_squares(self, centers: Array) -> tuple[IntArray, FloatArray, float]:
        """Return the nearest centroid of each row, the squared distances, and their weighted sum.

        Labels and distances are empty where they stay on the workers.
        """
        payload = {"centers": centers, "with_rows": self.gathers}
        return gathered(self.crew.run("label", operations.label, payload).results)


def gathered(results: dict[int, Any]) -> tuple[IntArray, FloatArray, float]:
    """Return labels and squared distances of all chunks, empty if they did not come, and the sum of the latter."""
    parts = [results[number] for number in range(len(results))]
    total = float(np.sum([part[0] for part in parts]))
    if parts[0][1] is None:
        return np.empty(0, dtype=np.int32), np.empty(0), total
    return np.concatenate([part[1] for part in parts]), np.concatenate([part[2] for part in parts]), total
