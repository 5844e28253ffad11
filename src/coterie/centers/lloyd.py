"""Lloyd's algorithm, and the choice of its bounds."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from coterie.arrays import Array, FloatArray, IntArray
from coterie.backend import open_backend
from coterie.backend.measure import MeasuredRows, measure
from coterie.blocks.dataset import ChunkRows
from coterie.centers.adaptive import AdaptiveAssignment
from coterie.centers.assignment import Assignment, PlainAssignment
from coterie.centers.bounded import BoundedAssignment, StoredBounds, n_bounds_of
from coterie.centers.frame import CenterFrame
from coterie.centers.passes import ClusterPasses
from coterie.fitting.deadline import UNLIMITED, Deadline
from coterie.fitting.report import Report, Stop
from coterie.fitting.threads import single_threaded_blas
from coterie.rows import as_rows

ALGORITHMS = ("auto", "lloyd", "elkan", "yinyang", "hamerly")

# The first pass with bounds takes as long as two without, so fewer passes are faster without.
_PASSES_FOR_BOUNDS = 4

# "auto" compares algorithms in passes of at least this number of multiply-adds, and rows of at least this number of
# bytes, because a row number takes eight.
_COMPARED, _COMPARED_BYTES = 2e8, 64

# For rows of at most this number of bytes and products with centers, reading bounds takes as long as comparing.
_FEW_BYTES, _FEW_PRODUCTS = 256, 2048

# Bounds of "elkan" may take this memory, or this share of that of the rows. Larger ones cost more time than they save.
_ELKAN_BYTES, _ELKAN_OF_ROWS = 128 << 20, 0.75

# Iterations that spread the centers of cells: where exactly these are matters little.
_STEPS_OF_CELLS = 5

# Fewest passes in which both kinds of bounds are compared. In fewer passes "yinyang" was at least as fast on all
# machines, because allocating the bounds of "elkan" and changing between both kinds take as long as a pass.
_LEAST_ADAPTIVE_PASSES = 20


@dataclass(frozen=True, slots=True)
class KMeansResult:
    """Result of a run of k-means.

    Attributes
    ----------
    centers : ndarray of shape (k, d), dtype of the rows
        The centroids.
    labels : ndarray of shape (n,), int32
        The cluster of each row.
    squares : ndarray of shape (n,), float64
        Squared distance of each row to the centroid of its cluster.
    inertia : float
        (Weighted) sum of the squared distances, of unit vectors of 1 - cos.
    history : record array
        What was reported of each iteration.
    reason : str
        What ended the iterations: "converged", "max_iter", "max_time" or "callback".
    """

    centers: Array
    labels: IntArray
    squares: FloatArray
    inertia: float
    history: Array
    reason: str


def lloyd(passes: ClusterPasses, centers: Array, *, stop: Stop, report: Report) -> KMeansResult:
    """Alternate the assignment and the update step until the centers stay.

    Parameters
    ----------
    passes : ClusterPasses
        The rows, with the labels and sums of their clusters.
    centers : ndarray of shape (k, d), dtype of the rows
        The initial centers.
    stop : Stop
        Its tolerance is the sum of the squared movements of the centers in an iteration that ends the run.
    report : Report
        Told of each iteration: `objective` is the inertia of the labels with the centers that gave them, `n_changed`
        counts the labels that changed, `center_shift` sums the squared movements of the centers.

    Returns
    -------
    KMeansResult
        Its labels are those of a last assignment to the final centers.

    Notes
    -----
    A cluster without mass gets the row that is the farthest from its center. O(n k d) for each iteration, less with
    bounds.

    References
    ----------
    Lloyd, Least squares quantization in PCM, 1982.
    """
    frame, n_changed, reason = iterate(passes, centers, stop=stop, report=report)
    if n_changed != 0:
        _assign(passes, frame, n_changed)
    labels, squares, total = passes.finish(frame)
    inertia = passes.inertia_scale * total
    return KMeansResult(frame.centers, labels, squares, inertia, report.history(), reason)


def best_of(run: Callable[[], KMeansResult], n_runs: int, report: Report) -> KMeansResult:
    """Return the result of the lowest inertia of several runs, or of those within `max_time`.

    Parameters
    ----------
    run : callable
        Draws initial centers, calls `report.start_run()`, and returns the result of a run from there.
    n_runs : int
        How many runs there are, if there is time.
    report : Report
        That of the runs.
    """
    best: KMeansResult | None = None
    for number in range(1, n_runs + 1):
        begin = report.seconds
        result = run()
        if best is None or result.inertia < best.inertia:
            best = result
        # The shortest run draws centers, and takes a step and a last assignment.
        shortest = 2 * (float(result.history["seconds"][0]) - begin)
        if report.reason is not None or (number < n_runs and not report.has_time_for(shortest)):
            break
    assert best is not None
    return best


def iterate(
    passes: ClusterPasses, centers: Array, *, stop: Stop, report: Report
) -> tuple[CenterFrame, int | None, str]:
    """Return the centers of `lloyd`, the number of labels that its last iteration changed, and why it stopped."""
    data, scale = passes.data, passes.inertia_scale
    frame = CenterFrame(centers, data.shift, data.n_threads)
    reason, n_changed = "max_iter", None
    for _ in range(stop.max_iter):
        n_changed = _assign(passes, frame, n_changed)
        # From the sums, unless rounding would hide it.
        measured = passes.measured_inertia(frame)
        objective, moved = passes.inertia(frame) if measured is None else measured, 0.0
        if n_changed > 0:
            passes.relocate_empty(frame)
            after = CenterFrame(passes.means(frame.centers), data.shift, data.n_threads)
            moved, frame = float(after.square_distances(frame).sum()), after
        is_over = report(
            scale * objective, frame.centers, n_changed=n_changed, center_shift=moved, **passes.progress()
        )
        if is_over or moved <= stop.tolerance:
            reason = report.reason or "converged"
            break
    return frame, n_changed, reason


def _assign(passes: ClusterPasses, frame: CenterFrame, n_changed: int | None) -> int:
    """Update labels and sums in one pass; return the number of changed labels, given that of the pass before."""
    begins, is_first = passes.n_passes == 0, n_changed is None
    # Moving a row costs two additions, so sums are made afresh while many rows move; that also sheds rounding.
    afresh = is_first or 2 * (n_changed or 0) > passes.data.n_rows or passes.data.has_far_rows
    n_changed = passes.assign(frame, afresh=afresh)
    if begins and passes.rounding_decides(frame):
        passes.break_ties()
        passes.assign(frame, afresh=True)
    return n_changed


def passes_of(
    data: MeasuredRows,
    n_clusters: int,
    algorithm: str = "auto",
    *,
    max_iter: float = math.inf,
    unit_length: bool = False,
    deadline: Deadline = UNLIMITED,
) -> ClusterPasses:
    """Return the passes of Lloyd's algorithm over the rows of a backend.

    Parameters
    ----------
    data : MeasuredRows
        The rows.
    n_clusters : int
        Number of clusters k.
    algorithm : {"auto", "lloyd", "elkan", "yinyang", "hamerly"}
        How rows find their nearest centers; the labels are the same, bit for bit.
    max_iter : int
        Maximum number of iterations, by which "auto" chooses.
    unit_length : bool
        Whether centers are scaled to length 1 after each update. Bounds hold all the same: what they add up is how far
        the centers are from where they were.
    deadline : Deadline
        When the fit is to end: with a time limit "auto" takes no bounds in the first pass, whose time shows whether
        there are enough passes for them.
    """
    is_auto = algorithm == "auto"
    if is_auto:
        algorithm = choose_algorithm(
            (data.backend.rows_per_worker, data.n_columns), n_clusters, max_iter,
            itemsize=data.dtype.itemsize, is_sparse=data.rows.is_sparse,
        )  # fmt: skip
    if n_clusters == 1:
        algorithm = "lloyd"
    n_bounds = (
        None if algorithm == "adaptive" else n_bounds_of(algorithm, data.backend.rows_per_worker, n_clusters)
    )
    new = partial(
        _new_assignment, algorithm=algorithm, n_bounds=n_bounds, max_iter=max_iter, unit_length=unit_length
    )
    if is_auto and deadline.is_set:
        return ClusterPasses(
            data, n_clusters, _plain_assignment, unit_length=unit_length, later=new, deadline=deadline
        )
    return ClusterPasses(data, n_clusters, new, unit_length=unit_length)


def _plain_assignment(rows: ChunkRows, _: CenterFrame) -> Assignment:
    return PlainAssignment(rows)


def _new_assignment(
    rows: ChunkRows,
    frame: CenterFrame,
    *,
    algorithm: str,
    n_bounds: int | None,
    max_iter: float,
    unit_length: bool,
) -> Assignment:
    if algorithm == "lloyd":
        return PlainAssignment(rows)
    if algorithm == "adaptive":
        return AdaptiveAssignment(rows, frame, max_iter=max_iter, unit_length=unit_length)
    return BoundedAssignment(rows, frame, n_bounds, unit_length=unit_length)


def choose_algorithm(
    shape: tuple[int, int], n_clusters: int, max_iter: float = math.inf, *, itemsize: int, is_sparse: bool
) -> str:
    """Return the algorithm of `algorithm="auto"`: "adaptive" where bounds are compared during the fit."""
    n_columns = shape[1]
    is_cheap = n_columns * itemsize <= _FEW_BYTES and n_clusters * n_columns <= _FEW_PRODUCTS
    if max_iter < _PASSES_FOR_BOUNDS or n_clusters < 4 or is_sparse or is_cheap:
        return "lloyd"
    if compares_bounds(shape, n_clusters, itemsize=itemsize, is_sparse=is_sparse):
        return "adaptive" if max_iter >= _LEAST_ADAPTIVE_PASSES else "yinyang"
    suits = n_columns >= 256 and n_clusters <= 2 * n_columns
    return "elkan" if suits and _elkan_fits(shape, n_clusters, itemsize) else "yinyang"


def compares_bounds(shape: tuple[int, int], n_clusters: int, *, itemsize: int, is_sparse: bool) -> bool:
    """Return whether "auto" measures which bounds are faster: with many rows, and memory for a bound per centroid."""
    n_rows, n_columns = shape
    return (
        not is_sparse
        and n_clusters >= 4
        and n_columns * itemsize >= _COMPARED_BYTES
        and float(n_rows) * n_columns * n_clusters >= _COMPARED
        and _elkan_fits(shape, n_clusters, itemsize)
    )


def _elkan_fits(shape: tuple[int, int], n_clusters: int, itemsize: int) -> bool:
    n_rows, n_columns = shape
    n_bytes = float(n_rows) * n_clusters * StoredBounds.dtype.itemsize
    return n_bytes <= max(_ELKAN_BYTES, _ELKAN_OF_ROWS * n_rows * n_columns * itemsize)


def cell_centers(rows: Array, n_cells: int, *, seed: int, n_threads: int) -> Array:
    """Return centers of cells for a search: a few iterations spread them. Equal rows share a cell.

    Parameters
    ----------
    rows : ndarray of shape (n, d), float32 or float64
        What they are learned from.
    n_cells : int
        At most n.
    seed : int
        Of the rows that they begin with.
    n_threads : int
        Threads of the kernels.

    Returns
    -------
    ndarray of shape (n_cells, d), dtype of the rows
    """
    drawn = np.random.RandomState(seed).choice(len(rows), n_cells, replace=False)
    with single_threaded_blas(), open_backend(as_rows(rows), n_threads=n_threads) as backend:
        passes = passes_of(measure(backend, n_cells), n_cells)
        frame, _, _ = iterate(passes, rows[drawn], stop=Stop(_STEPS_OF_CELLS), report=Report())
    return frame.centers
