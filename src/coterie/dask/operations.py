"""What a pass asks of each chunk. Each function gets a `Visit` and what the pass has for this chunk alone."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from coterie import _kernels
from coterie.arrays import Array, BoolArray, FloatArray, IndexArray, IntArray
from coterie.blocks.dataset import SquareDistances, check_squares, weighted_sum
from coterie.blocks.kernel_rows import kernel_rows
from coterie.centers.labels import labels_and_squares
from coterie.centers.means import DenseMeans
from coterie.centers.rounding import Doubts, SettledAssignment
from coterie.dask.worker import Visit, measure_chunk
from coterie.kmeans.nested import LocalSampleSums

__all__ = [
    "add_rows", "assign", "convert", "count", "describe", "differ", "doubt", "draw", "farthest",
    "finish", "label", "mass", "measure", "measure_labels", "move", "near", "square", "square_below", "take",
    "vote", "weigh",
]  # fmt: skip


def describe(visit: Visit, with_names: bool) -> dict[str, Any]:
    """Return what a chunk is, with the names of its columns only where they are asked for."""
    chunk, opened = visit.chunk, visit.chunk.opened
    names = tuple(opened.column_names or ())
    found = {
        "shape": (chunk.n_rows, chunk.n_columns),
        "dtype": chunk.dtype.str,
        "largest": float(max(-opened.block.min(), opened.block.max())),
        "digest": hash_of(names),
    }
    if with_names:
        found |= {"chosen": opened.chosen, "is_table": opened.is_table, "preparation": opened.preparation}
        found["column_names"] = opened.column_names
    return found


def hash_of(names: tuple[str, ...]) -> str:
    """Return a short text that tells other names from these, the same in all processes."""
    return hashlib.sha1("\0".join(names).encode(), usedforsecurity=False).hexdigest()


def convert(visit: Visit, _: None) -> None:
    """Compute in the type of the plan from now on."""
    visit.chunk.convert(visit.plan.dtype)


def weigh(visit: Visit, weights: Array) -> None:
    """Take the weights of the rows."""
    visit.chunk.weights = np.ascontiguousarray(weights, dtype=visit.chunk.dtype)


def add_rows(visit: Visit, _: None) -> None:
    """Add all rows up, without weights."""
    chunk = visit.chunk
    sums, mass = np.zeros((1, chunk.n_columns)), np.zeros(1)
    zero = np.zeros(chunk.n_columns)
    for part, x in visit.checked(chunk):
        labels = np.zeros(part.stop - part.start, dtype=np.int32)
        _kernels.add_to_clusters(x, labels, None, None, zero, sums, mass, chunk.n_threads)
    visit.sums["rows"].add(sums)


def measure(visit: Visit, given: tuple[int, IndexArray]) -> tuple[float, float, float, Array]:
    """Measure the rows from the payload, the shift from now on; `given` is the first row's number, and some rows."""
    first, some = given
    exact = measure_chunk(visit, visit.payload)
    check_squares(visit.chunk.squares, first + np.arange(len(exact)))
    return float(np.sum(exact)), weighted_sum(exact, visit.chunk.weights), float(exact.max()), exact[some]


def square_below(visit: Visit, _: None) -> tuple[float, int]:
    """Return the sum and the number of the squared distances to the shift that are at most the payload."""
    assert visit.shift is not None
    exact = measure_chunk(visit, visit.shift)
    below = exact[exact <= visit.payload]
    return float(below.sum()), len(below)


def differ(visit: Visit, _: None) -> bool:
    """Tell whether a row is not the payload."""
    return bool(np.any(visit.chunk.rows.read() != visit.payload))


def take(visit: Visit, rows: IndexArray) -> Array:
    """Return rows of ascending numbers in the chunk."""
    return np.asarray(visit.chunk.rows.take(rows))


def assign(visit: Visit, _: None) -> int:
    """Give the rows their nearest centroids; add those that moved, or all of them, to the sums of clusters."""
    chunk, afresh = visit.chunk, visit.payload["afresh"]
    frame, assignment = visit.frame(visit.payload["centers"]), visit.assignment()
    assignment.start(frame)
    sums, masses = np.zeros(frame.centers.shape), np.zeros(len(frame))
    touched: BoolArray = np.zeros(len(frame), dtype=bool)
    n_changed = 0
    for part, x in visit.blocks():
        before = assignment.labels[part].copy()
        assignment.assign(part, x)
        labels = assignment.labels[part]
        is_new = labels != before
        n_changed += int(np.count_nonzero(is_new))
        _kernels.add_to_clusters(
            x, labels, None if afresh else before, chunk.weights_of(part), chunk.shift, sums, masses,
            chunk.n_threads,
        )  # fmt: skip
        touched[labels if afresh else labels[is_new]] = True
        if not afresh:
            touched[before[is_new]] = True
    _add(visit, np.flatnonzero(touched), sums, masses)
    return n_changed


def _add(visit: Visit, clusters: IndexArray, sums: FloatArray, masses: FloatArray) -> None:
    if len(clusters) == len(masses):  # without copies
        visit.sums["sums"].add(sums)
        visit.sums["masses"].add(masses)
        return
    visit.sums["sums"].add(sums[clusters], clusters)
    visit.sums["masses"].add(masses[clusters], clusters)


def doubt(visit: Visit, rows: IndexArray) -> bool:
    """Tell whether some of these rows are in doubt with the centres of the payload."""
    if len(rows) == 0:
        return False
    labels = visit.assignment().labels[rows]
    doubts, squares = Doubts(visit.frame(visit.payload["centers"])), np.empty(len(rows))
    doubts.measure(kernel_rows(visit.labelled.take(rows)), labels, squares)
    return len(doubts.doubtful(labels, squares)) > 0


def measure_labels(visit: Visit, _: None) -> float:
    """Return the weighted sum of the squared distances of the rows to their centroids."""
    assignment = visit.assignment()
    if isinstance(assignment, SettledAssignment):
        return weighted_sum(assignment.squares, visit.chunk.weights)
    return weighted_sum(_own_squares(visit), visit.chunk.weights)


def mass(visit: Visit, _: None) -> None:
    """Sum the weights of the rows of each cluster."""
    labels = visit.assignment().labels
    masses = np.bincount(labels, weights=visit.chunk.weights, minlength=visit.plan.n_clusters)
    visit.sums["masses"].add(masses.astype(np.float64))


def farthest(visit: Visit, _: None) -> tuple[IndexArray, FloatArray, IntArray]:
    """Return the rows that are the farthest from their centroids: numbers, squared distances and labels."""
    labels, squares = visit.assignment().labels, _own_squares(visit)
    if visit.chunk.weights is not None:
        squares[visit.chunk.weights == 0] = 0
    rows = np.argsort(-squares, kind="stable")[: visit.payload["n_rows"]]
    return rows, squares[rows], labels[rows]


def move(visit: Visit, given: tuple[IndexArray, IntArray] | None) -> None:
    """Give rows other labels, and move them between the sums."""
    if given is None:
        return
    rows, labels = given
    chunk, assignment = visit.chunk, visit.assignment()
    n_clusters = visit.plan.n_clusters
    sums, masses = np.zeros((n_clusters, chunk.n_columns)), np.zeros(n_clusters)
    before = assignment.labels[rows]
    weights = None if chunk.weights is None else chunk.weights[rows]
    _kernels.add_to_clusters(
        kernel_rows(chunk.rows.take(rows)), labels, before, weights, chunk.shift, sums, masses,
        chunk.n_threads,
    )  # fmt: skip
    assignment.relabel(rows, labels)
    _add(visit, np.unique(np.concatenate([before, labels])).astype(np.intp), sums, masses)


def finish(visit: Visit, _: None) -> tuple[float, IntArray | None, FloatArray | None]:
    """Settle rows in doubt; return the inertia, and labels and squared distances where they are asked for."""
    chunk, labels = visit.chunk, visit.assignment().labels.copy()
    doubts, squares = Doubts(visit.frame(visit.payload["centers"])), np.empty(chunk.n_rows)
    for part, x in visit.blocks():
        doubts.measure(x, labels[part], squares[part])
        doubts.settle(x, chunk.take, labels[part], squares[part], part.start)
    inertia = weighted_sum(squares, chunk.weights)
    return (inertia, labels, squares) if visit.payload["with_rows"] else (inertia, None, None)


def vote(visit: Visit, new: IndexArray) -> int:
    """Take new rows into the sample, give all of it their nearest centroids, and move their votes."""
    chunk = visit.chunk
    chunk.extend(new.astype(np.intp))
    if chunk.sample is None or chunk.sample.size == 0:
        return 0
    means = DenseMeans(visit.payload["centers"], chunk.shift, chunk.n_threads)
    votes = LocalSampleSums(chunk.sample, means, visit.assignment())
    n_changed = votes.update()
    touched = np.flatnonzero((means.masses != 0) | (votes.squares != 0) | means.sums.any(axis=1))
    _add(visit, touched, means.sums, means.masses)
    visit.sums["squares"].add(votes.squares[touched], touched)
    visit.sums["counts"].add(votes.counts().astype(np.float64))
    if votes.is_settled:
        visit.sums["within"].add(votes.measured())
    return n_changed


def label(visit: Visit, _: None) -> tuple[float, IntArray | None, FloatArray | None]:
    """Return what `finish` does, for centroids of the payload that no pass has compared with the rows."""
    chunk = visit.chunk
    labels, squares = labels_and_squares(chunk.rows, visit.payload["centers"], chunk.shift, chunk.n_threads)
    inertia = weighted_sum(squares, chunk.weights)
    return (inertia, labels, squares) if visit.payload["with_rows"] else (inertia, None, None)


def _own_squares(visit: Visit) -> FloatArray:
    labels, squares = visit.assignment().labels, np.empty(visit.chunk.n_rows)
    distances = SquareDistances(visit.payload["centers"], visit.chunk.n_threads)
    for part, x in visit.blocks():
        distances.write(x, labels[part], squares[part])
    return squares


def square(visit: Visit, _: None) -> FloatArray:
    """Return the squared distances of the rows to the payload, one point."""
    chunk = visit.chunk
    labels, squares = np.zeros(chunk.n_rows, dtype=np.int32), np.empty(chunk.n_rows)
    distances = SquareDistances(visit.payload, chunk.n_threads)
    for part, x in visit.blocks():
        distances.write(x, labels[part], squares[part])
    return squares


def near(visit: Visit, _: None) -> float:
    """Bring the squared distances to the nearest candidate up to date; return their weighted sum."""
    chunk, candidates = visit.chunk, visit.payload["centers"]
    known = visit.payload["known"] if chunk.n_candidates == visit.payload["known"] else 0
    if known == 0:
        chunk.nearest = np.full(chunk.n_rows, np.inf, dtype=chunk.dtype)
    frame = visit.frame(candidates) if known == 0 else visit.frame(_after(visit, candidates, known))
    labels, scores = np.empty(chunk.n_rows, dtype=np.int32), np.empty(chunk.n_rows, dtype=chunk.dtype)
    for part, x in visit.checked(chunk):
        frame.nearest(x, labels[part], scores[part])
    np.minimum(chunk.nearest, np.maximum(scores + chunk.squares, 0), out=chunk.nearest)
    chunk.n_candidates = len(candidates)
    return weighted_sum(chunk.nearest.astype(np.float64), chunk.weights)


def _after(visit: Visit, candidates: Array, known: int) -> Array:
    """Return the candidates that are new, the same array for all chunks of a pass."""
    if "new" not in visit.made:
        visit.made["new"] = candidates[known:]
    new: Array = visit.made["new"]
    return new


def draw(visit: Visit, seed: int) -> tuple[IndexArray, Array]:
    """Draw rows, each by itself, with chances in proportion to weight times squared distance to the candidates."""
    chunk = visit.chunk
    if chunk.n_candidates != len(visit.payload["centers"]):  # opened since the last pass
        near(visit, None)
    masses = chunk.nearest.astype(np.float64)
    if chunk.weights is not None:
        masses *= chunk.weights
    uniforms = np.random.RandomState(seed).uniform(size=chunk.n_rows)
    rows = np.flatnonzero(uniforms < visit.payload["rate"] * masses)
    return rows, np.asarray(chunk.rows.take(rows))


def count(visit: Visit, _: None) -> None:
    """Sum the weights of the rows that are the nearest to each candidate."""
    chunk, frame = visit.chunk, visit.frame(visit.payload["centers"])
    labels, scores = np.empty(chunk.n_rows, dtype=np.int32), np.empty(chunk.n_rows, dtype=chunk.dtype)
    for part, x in visit.checked(chunk):
        frame.nearest(x, labels[part], scores[part])
    visit.sums["masses"].add(
        np.bincount(labels, weights=chunk.weights, minlength=len(frame)).astype(np.float64)
    )
