"""What a pass asks of each chunk. Each function gets a `Visit` and what the pass has for this chunk alone."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from coterie import _kernels
from coterie.arrays import Array, FloatArray, IndexArray, IntArray
from coterie.blocks.dataset import SquareDistances, check_squares, weighted_sum
from coterie.centers.labels import labels_and_squares
from coterie.dask.worker import Visit, measure_chunk

__all__ = [
    "add_rows", "convert", "count", "describe", "differ", "draw", "label", "measure", "near", "square",
    "square_below", "take", "weigh",
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
    check_squares(visit.chunk.squares, first)
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


def label(visit: Visit, _: None) -> tuple[float, IntArray | None, FloatArray | None]:
    """Return the inertia by the centers of the payload, and labels and squared distances where they are asked for."""
    chunk = visit.chunk
    labels, squares = labels_and_squares(chunk.rows, visit.payload["centers"], chunk.shift, chunk.n_threads)
    inertia = weighted_sum(squares, chunk.weights)
    return (inertia, labels, squares) if visit.payload["with_rows"] else (inertia, None, None)


def square(visit: Visit, _: None) -> FloatArray:
    """Return the squared distances of the rows to the payload, one point."""
    chunk = visit.chunk
    labels, squares = np.zeros(chunk.n_rows, dtype=np.int32), np.empty(chunk.n_rows)
    distances = SquareDistances(visit.payload, chunk.n_threads)
    for part, x in visit.checked(visit.chunk):
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
