"""The passes of Lloyd's loop over rows that workers hold: see `coterie.centers.passes.ClusterPasses`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from coterie.arrays import FloatArray, IndexArray, IntArray
from coterie.blocks.measures import sample_positions
from coterie.centers.bounded import n_bounds_of
from coterie.centers.frame import CenterFrame
from coterie.centers.lloyd import algorithm_of
from coterie.centers.passes import ALGORITHMS_OF_HISTORY
from coterie.centers.sums import Totals
from coterie.dask import operations
from coterie.dask.exact_sums import ExactSum, Steps, exact
from coterie.dask.worker_rows import WorkerRows, gathered

__all__ = ["WorkerPasses"]


class WorkerPasses:
    """Passes whose blocks, labels and bounds are on workers; centres go there, exact sums of clusters come back.

    Parameters
    ----------
    data : WorkerRows
        The rows.
    n_clusters : int
        Number of clusters k.
    algorithm : str
        See `coterie.KMeans`.
    run : int
        Number of the start.
    unit_length : bool
        Whether centroids have length 1.
    always_afresh : bool
        Whether sums are made of all rows in each pass: then they depend on the centres alone, and a fit that goes on
        from a checkpoint has the same bits.
    gathers : bool
        Whether the labels of all rows come here at the end.
    """

    def __init__(
        self,
        data: WorkerRows,
        n_clusters: int,
        algorithm: str,
        run: int,
        *,
        unit_length: bool,
        always_afresh: bool,
        gathers: bool,
    ) -> None:
        self.data = data
        shape = n_clusters, data.n_columns
        self.sums = Totals(shape, data.shift, data.total_square, data.n_threads, unit_length=unit_length)
        mass = 2 * data.total_weight
        self._empty = {
            "sums": exact(shape, Steps.below(mass * float(np.sqrt(data.largest_square)))),
            "masses": exact((n_clusters,), Steps.below(mass)),
        }
        self._exact = {name: empty() for name, empty in self._empty.items()}
        self._always_afresh = always_afresh
        self._gathers = gathers
        crew, itemsize = data.crew, data.dtype.itemsize
        held = data.rows_per_worker, data.n_columns
        chosen = algorithm_of(algorithm, held, n_clusters, itemsize=itemsize, is_sparse=False)
        is_plain = chosen == "lloyd" or n_clusters == 1
        self.algorithm = "lloyd" if is_plain else chosen
        n_bounds = 0 if is_plain else n_bounds_of(chosen, data.rows_per_worker, n_clusters)
        crew.plan = replace(crew.plan, n_bounds=n_bounds, run=run, is_settled=False)
        crew.before, crew.moved = None, {}

    def assign(self, frame: CenterFrame, *, afresh: bool) -> int:
        """See `ClusterPasses`."""
        afresh = afresh or self._always_afresh
        payload = {"centers": frame.centers, "afresh": afresh}
        answer = self.data.crew.run("assign", operations.assign, payload, sums=self._empty)
        if afresh:
            self._exact = {name: empty() for name, empty in self._empty.items()}
        else:
            empty = self.sums.masses == 0  # of which the loop has removed what rounding had left
            for held in self._exact.values():
                held.high[empty] = 0
                held.low[empty] = 0
        self._add(answer.sums)
        self.data.crew.have_labels(frame.centers)
        return int(sum(answer.results.values()))

    def rounding_decides(self, frame: CenterFrame) -> bool:
        """See `ClusterPasses`."""
        numbers = self.data.chunk_rows(sample_positions(self.data.n_rows))
        answer = self.data.crew.run("doubt", operations.doubt, {"centers": frame.centers}, given=numbers)
        return any(answer.results.values())

    def settle(self) -> None:
        """See `ClusterPasses`."""
        self.data.crew.plan = replace(self.data.crew.plan, is_settled=True)

    def measured_inertia(self, frame: CenterFrame) -> float | None:
        """See `ClusterPasses`."""
        if not self.data.crew.plan.is_settled and not self.data.has_far_rows:
            return None
        answer = self.data.crew.run("inertia", operations.measure_labels, {"centers": frame.centers})
        return self._in_order(answer.results)

    def exact_masses(self) -> FloatArray:
        """See `ClusterPasses`."""
        answer = self.data.crew.run("mass", operations.mass, sums={"masses": self._empty["masses"]})
        return answer.sums["masses"].total()

    def farthest(self, frame: CenterFrame, n_rows: int) -> tuple[IndexArray, IntArray]:
        """See `ClusterPasses`."""
        payload = {"centers": frame.centers, "n_rows": n_rows}
        found = self.data.crew.run("farthest", operations.farthest, payload).results
        parts = [found[number] for number in range(len(found))]
        rows = np.concatenate([part[0] + first for part, first in zip(parts, self.data.firsts)])
        squares, labels = (np.concatenate([part[i] for part in parts]) for i in (1, 2))
        best = np.lexsort((rows, -squares))[:n_rows]
        best = best[squares[best] > 0]
        return rows[best], labels[best]

    def move(self, rows: IndexArray, before: IntArray, labels: IntArray) -> None:
        """See `ClusterPasses`."""
        if len(rows) == 0:
            return
        order = np.argsort(rows)
        by_chunk = self.data.chunk_rows(rows[order])
        cuts = np.cumsum([len(part) for part in by_chunk])[:-1]
        given: list[Any] = [
            (part, new) if len(part) else None for part, new in zip(by_chunk, np.split(labels[order], cuts))
        ]
        answer = self.data.crew.run("move", operations.move, given=given, sums=self._empty)
        self._add(answer.sums)
        moved = {number: pair for number, pair in enumerate(given) if pair is not None}
        self.data.crew.moved = moved

    def progress(self) -> dict[str, Any]:
        """See `ClusterPasses`."""
        return {"algorithm": ALGORITHMS_OF_HISTORY.index(self.algorithm)}

    def finish(self, frame: CenterFrame) -> tuple[IntArray, FloatArray, float]:
        """See `ClusterPasses`; the arrays are empty where the labels stay on the workers."""
        payload = {"centers": frame.centers, "with_rows": self._gathers}
        found = self.data.crew.run("finish", operations.finish, payload).results
        return gathered(found)

    def _add(self, sums: dict[str, ExactSum]) -> None:
        for name, held in self._exact.items():
            held.take_in(sums[name])
        self.sums.sums[:] = self._exact["sums"].total()
        self.sums.masses[:] = self._exact["masses"].total()

    @staticmethod
    def _in_order(results: dict[int, Any]) -> float:
        return float(np.sum([results[number] for number in range(len(results))]))
