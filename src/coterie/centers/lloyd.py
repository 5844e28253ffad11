"""Lloyd's algorithm."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from coterie import _kernels
from coterie.arrays import Array, FloatArray, IndexArray, IntArray
from coterie.blocks.dataset import weighted_sum
from coterie.blocks.kernel_rows import kernel_rows
from coterie.centers.assignment import AssignmentRule, RowLabels
from coterie.centers.choice import PASSES_FOR_BOUNDS, SETTLED, BoundsRule, choose_rules
from coterie.centers.frame import CenterFrame, moved_centers
from coterie.fitting.deadline import UNLIMITED, Deadline
from coterie.fitting.report import FitReport, Stop
from coterie.fitting.threads import single_threaded_blas
from coterie.passes import Begin, ChunkRows, MeasuredRows, Passes, Total, measure
from coterie.rows import as_rows

# What the numbers in the history's column `algorithm` stand for.
ALGORITHMS_OF_HISTORY = ("lloyd", "elkan", "yinyang")

# Part of the sum of the squared lengths of the rows below which the inertia is measured row by row: as a difference of
# sums it would have fewer than six digits.
LEAST_INERTIA = 1e-9

# Iterations that spread the centers of cells: where exactly these are matters little.
_STEPS_OF_CELLS = 5


@dataclass(frozen=True, slots=True)
class KMeansResult:
    """The result of k-means: centers (k, d), labels and squared distances (n,), their weighted sum `inertia` (of unit
    vectors of 1 - cos), and the `reason`: "converged", "max_iter", "max_time" or "callback".
    """

    centers: Array
    labels: IntArray
    squares: FloatArray
    inertia: float
    history: Array
    reason: str


def lloyd(
    clusters: ClusteredRows, centers: Array, *, stop: Stop, report: FitReport | None = None
) -> CenterFrame:
    """Alternate the assignment and the update step until the centers stay (Lloyd 1982); return the final centers,
    to which `ClusteredRows.result` assigns the rows. `stop` gets the sum of the squared movements; a cluster
    without mass gets the row that is the farthest from its center.
    """
    run, labels, sums = clusters.passes.run, clusters.labels, clusters.sums
    frame = clusters.frame(centers)
    clusters.n_changed, clusters.reason = clusters.passes.n_rows, "max_iter"
    for _ in range(stop.max_iter):
        clusters.note(run(assign_rows, clusters.next_pass(frame), labels, sums, writes=True), frame)
        objective, moved = 0.0 if report is None else clusters.inertia(frame), 0.0
        if clusters.n_changed > 0:
            clusters.relocate_empty(frame)
            after = clusters.frame(clusters.means(frame.centers))
            moved, frame = float(after.square_distances(frame).sum()), after
        is_over = False
        if report is not None:
            fields = {"n_changed": clusters.n_changed, "center_shift": moved, **clusters.progress()}
            is_over = report(clusters.inertia_scale * objective, frame.centers, **fields)
        if is_over or moved <= stop.tolerance:
            clusters.reason = (report and report.reason) or "converged"
            break
    return frame


class AssignmentPass(NamedTuple):
    """Parameters of an assignment step. With `afresh` the sums are of all rows, else updated by the rows that move."""

    frame: CenterFrame
    rule: AssignmentRule
    afresh: bool


class ClusterSums(NamedTuple):
    """The (weighted) sums of the rows of each cluster relative to the shift, (k, d), and the sums of their weights."""

    sums: Total
    masses: Total


def assign_rows(
    rows: ChunkRows, params: AssignmentPass, state: RowLabels, sums: ClusterSums
) -> tuple[int, str]:
    """Assign rows to their nearest centers; return how many labels changed, and the algorithm of most rows."""
    frame, n_threads, n_changed = params.frame, rows.n_threads, 0
    state.start(frame, params.rule)
    labels, bounds = state.labels, state.bounds
    with sums.sums.part() as row_sums, sums.masses.part() as masses:
        for part, x in rows.blocks():
            own, before = labels[part], labels[part].copy()
            if bounds is None:
                frame.nearest(x, own, known=rows.squares[part], n_threads=n_threads)
            else:
                bounds.assign(part, x)
            _kernels.add_to_clusters(
                x, own, None if params.afresh else before, rows.weights_of(part), rows.shift, row_sums, masses,
                n_threads,
            )  # fmt: skip
            n_changed += int(np.count_nonzero(own != before))
    return n_changed, state.algorithm


def label_rows(rows: ChunkRows, frame: CenterFrame, state: RowLabels) -> None:
    """Label rows by the centers alone, without bounds or sums."""
    state.start(frame, BoundsRule("lloyd"))
    for part, x in rows.blocks():
        frame.nearest(x, state.labels[part], n_threads=rows.n_threads)


class ClusteredRows:
    """Labels and sums of the rows of a fit between the passes of Lloyd's algorithm, with centers of length 1 if
    `unit_length`. Rows are assigned by `rule`, or by `later` once at most the share `settled` changes its label, if
    the deadline leaves time for some passes.
    """

    def __init__(
        self,
        data: MeasuredRows,
        n_clusters: int,
        rule: AssignmentRule,
        *,
        unit_length: bool = False,
        later: AssignmentRule | None = None,
        settled: float = 1.0,
        deadline: Deadline = UNLIMITED,
    ) -> None:
        self.data, self.passes = data, data.passes
        self.labels = self.passes.state(RowLabels)
        self.inertia_scale = 0.5 if unit_length else 1.0  # at length 1 that is 1 - cos
        self.n_changed, self.reason = data.n_rows, "max_iter"
        self._rule, self._later, self._settled = rule, later, settled
        self._deadline, self._begin = deadline, deadline.seconds
        self._unit_length = unit_length
        self._n_passes, self._first_seconds, self._algorithm = 0, 0.0, "lloyd"
        mass = 2 * data.total_weight
        self.sums = ClusterSums(
            self.passes.total((n_clusters, data.n_columns), mass * float(np.sqrt(data.largest_square))),
            self.passes.total((n_clusters,), mass),
        )

    @classmethod
    def of(
        cls,
        data: MeasuredRows,
        n_clusters: int,
        algorithm: str = "auto",
        *,
        max_iter: float = float("inf"),
        unit_length: bool = False,
        deadline: Deadline = UNLIMITED,
    ) -> ClusteredRows:
        """Return clusters assigned by an algorithm of `coterie.KMeans`. With a time limit "auto" takes no bounds in the
        first pass, whose time shows whether there are enough passes.
        """
        rule, later = choose_rules(data, n_clusters, algorithm, max_iter=max_iter, unit_length=unit_length)
        settled = 1.0 if rule == later else SETTLED
        if algorithm == "auto" and deadline.is_set:
            rule = BoundsRule("lloyd")
        return cls(
            data, n_clusters, rule, unit_length=unit_length, later=later, settled=settled, deadline=deadline
        )

    def frame(self, centers: Array) -> CenterFrame:
        """Return centers for the kernels."""
        return CenterFrame(centers, self.data.shift, self.data.n_threads)

    def next_pass(self, frame: CenterFrame, *, afresh: bool = False) -> AssignmentPass:
        """Return the parameters of the next assignment step. Sums are made afresh while many rows move: a move takes
        two additions, and rounding errors would add up.
        """
        is_settled = self._n_passes > 0 and self.n_changed <= self._settled * self.data.n_rows
        if self._later is not None and is_settled:
            if self._deadline.left > PASSES_FOR_BOUNDS * self._first_seconds:
                self._rule = self._later
            self._later = None
        afresh |= 2 * self.n_changed > self.data.n_rows or self.data.has_far_rows
        if afresh:
            self.sums.sums.clear()
            self.sums.masses.clear()
        self._begin = self._deadline.seconds
        return AssignmentPass(frame, self._rule, afresh)

    def note(self, found: list[tuple[int, str]], frame: CenterFrame) -> None:
        """Note what an assignment step has found, with the centers that gave the labels."""
        self.passes.keep_begin(self.labels, lambda: [Begin(label_rows, frame, self.labels)])
        self._n_passes += 1
        if self._n_passes == 1:
            self._first_seconds = self._deadline.seconds - self._begin
        self.n_changed, self._algorithm = sum(n_changed for n_changed, _ in found), found[0][1]

    def progress(self) -> dict[str, Any]:
        """Return further fields of the history for the last pass."""
        return {"algorithm": ALGORITHMS_OF_HISTORY.index(self._algorithm)}

    def inertia(self, frame: CenterFrame) -> float:
        """Return the inertia of the labels with the centers that gave them; by all rows where sums are not accurate."""
        by_sums = self.inertia_by_sums(frame)
        if self.data.has_far_rows or by_sums < LEAST_INERTIA * self.data.total_square:
            return float(np.sum(self.passes.run(_inertia, frame.centers, self.labels)))
        return by_sums

    def inertia_by_sums(self, frame: CenterFrame) -> float:
        """Return the inertia of the labels with any centers, without a pass over the rows."""
        sums, masses = self.sums.sums.total(), self.sums.masses.total()
        cross, distances = np.empty(len(frame)), np.empty(len(frame))
        _kernels.compare_centers(sums, frame.relative, cross, distances, frame.n_threads)
        return max(0.0, self.data.total_square + float((masses * frame.squares - 2 * cross).sum()))

    def means(self, before: Array) -> Array:
        """Return the center of each cluster; one without mass, or whose rows sum to zero, keeps its old one."""
        return moved_centers(
            self.sums.sums.total(), self.sums.masses.total(), self.data.shift, before, self.data.n_threads,
            unit_length=self._unit_length,
        )  # fmt: skip

    def relocate_empty(self, frame: CenterFrame) -> None:
        """Give each cluster without mass a row of its own: those that are the farthest from their centers."""
        masses = self.sums.masses.total()
        (candidates,) = (masses <= 1e-9 * self.data.total_weight / len(masses)).nonzero()
        if len(candidates) == 0:
            return
        counted = self.passes.total(masses.shape, 2 * self.data.total_weight)
        self.passes.run(_add_masses, None, self.labels, counted)
        empty = candidates[counted.total()[candidates] == 0]
        for total in self.sums:  # rounding may have left something
            total.clear(empty)
        if len(empty) == 0:
            return
        rows, before = self._farthest(frame, len(empty))
        labels = empty[: len(rows)].astype(np.int32)
        if len(rows) == 0:
            return
        order = np.argsort(rows)
        by_chunk = self.passes.split(rows[order])
        ends = np.cumsum([len(part) for part in by_chunk])[:-1]
        # In the order of the distances within each chunk.
        given = []
        for part, places in zip(by_chunk, np.split(order, ends)):
            ranks = np.argsort(places)
            given.append((part[ranks], before[places[ranks]], labels[places[ranks]]))
        self.passes.run(_move, None, self.labels, self.sums, given, writes=True)
        begin = Begin(label_rows, frame, self.labels), Begin(_move, None, self.labels, self.sums, given)
        self.passes.keep_begin(self.labels, lambda: list(begin))

    def _farthest(self, frame: CenterFrame, n_rows: int) -> tuple[IndexArray, IntArray]:
        """Return the rows that are the farthest from their centers, with a weight and a distance, and their labels."""
        numbers = [n_rows] * (len(self.passes.firsts) - 1)
        found = self.passes.run(_farthest, frame.centers, self.labels, given=numbers)
        rows = np.concatenate([part + first for (part, _, _), first in zip(found, self.passes.firsts)])
        squares, labels = (np.concatenate([part[i] for part in found]) for i in (1, 2))
        best = np.lexsort((rows, -squares))[:n_rows]
        best = best[squares[best] > 0]
        return rows[best], labels[best]

    def result(self, frame: CenterFrame, report: FitReport) -> KMeansResult:
        """Return the labels of the rows by the final centers, and their squared distances."""
        if self.n_changed != 0:
            self._later = None  # bounds do not repay one pass
            run, labels, sums = self.passes.run, self.labels, self.sums
            self.note(run(assign_rows, self.next_pass(frame), labels, sums, writes=True), frame)
        labels_of_rows, squares, totals = zip(*self.passes.run(_finish, frame, self.labels))
        inertia = self.inertia_scale * float(totals[0] if len(totals) == 1 else np.sum(totals))
        return KMeansResult(
            frame.centers, _joined(labels_of_rows), _joined(squares), inertia, report.history(), self.reason
        )


def lower_inertia(best: KMeansResult | None, result: KMeansResult) -> KMeansResult:
    """Return the better of two runs: the first of equal ones."""
    return result if best is None or result.inertia < best.inertia else best


def cell_centers(rows: Array, n_cells: int, *, seed: int, n_threads: int) -> Array:
    """Return centers of cells for a search in rows, by a few iterations from random ones; equal rows share a cell."""
    drawn = np.random.RandomState(seed).choice(len(rows), n_cells, replace=False)
    with single_threaded_blas():
        clusters = ClusteredRows.of(measure(Passes(as_rows(rows), n_threads=n_threads), n_cells), n_cells)
        return lloyd(clusters, rows[drawn], stop=Stop(_STEPS_OF_CELLS)).centers


def _joined(parts: tuple[Array, ...]) -> Array:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


# --- further steps ---------------------------------------------------------------------------------------------------


def _inertia(rows: ChunkRows, centers: Array, state: RowLabels) -> float:
    return weighted_sum(rows.own_square_distances(centers, state.labels), rows.weights)


def _add_masses(rows: ChunkRows, state: RowLabels, total: Total) -> None:
    with total.part() as masses:
        masses += np.bincount(state.labels, weights=rows.weights, minlength=len(masses))


def _farthest(
    rows: ChunkRows, centers: Array, state: RowLabels, n_rows: int
) -> tuple[IndexArray, FloatArray, IntArray]:
    squares = rows.own_square_distances(centers, state.labels)
    if rows.weights is not None:
        squares[rows.weights == 0] = 0
    farthest = np.argsort(-squares, kind="stable")[:n_rows]
    return farthest, squares[farthest], state.labels[farthest]


def _move(
    rows: ChunkRows, state: RowLabels, sums: ClusterSums, given: tuple[IndexArray, IntArray, IntArray]
) -> None:
    numbers, before, labels = given
    with sums.sums.part() as row_sums, sums.masses.part() as masses:
        for at, number in enumerate(numbers.tolist()):
            one = slice(at, at + 1)
            _kernels.add_to_clusters(
                kernel_rows(rows.take(numbers[one])), labels[one], before[one],
                rows.weights_of(slice(number, number + 1)), rows.shift, row_sums, masses, rows.n_threads,
            )  # fmt: skip
    state.relabel(numbers, labels)


def _finish(rows: ChunkRows, frame: CenterFrame, state: RowLabels) -> tuple[IntArray, FloatArray, float]:
    squares = rows.own_square_distances(frame.centers, state.labels)
    return state.labels.copy(), squares, weighted_sum(squares, rows.weights)
