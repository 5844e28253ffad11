"""k-means||: rounds of independent draws from all rows, then k-means++ among the candidates."""

from __future__ import annotations

from typing import Any

import numpy as np

from coterie.arrays import Array, FloatArray, IndexArray
from coterie.backend import Chunk
from coterie.backend.measure import MeasuredRows, measure_rows, rows_of
from coterie.blocks.dataset import ChunkRows, weighted_sum
from coterie.blocks.kernel_rows import dense
from coterie.centers.frame import CenterFrame
from coterie.fitting.deadline import UNLIMITED, Deadline
from coterie.rows import as_rows
from coterie.seeding.greedy import seed_by_square_distance
from coterie.seeding.seeds import take_rows

__all__ = ["sample_of", "seed_in_rounds"]

# Number of rounds; each draws about as many rows as there are clusters.
_ROUNDS = 5

# A sample for k-means++: this many rows, or this many for each center, in at most this many bytes.
_SAMPLE_ROWS, _ROWS_PER_CENTER, _SAMPLE_BYTES = 100_000, 64, 256 << 20


def seed_in_rounds(
    data: MeasuredRows, n_clusters: int, random: np.random.RandomState, *, deadline: Deadline = UNLIMITED
) -> Array:
    """Choose initial centers by k-means||.

    Parameters
    ----------
    data : MeasuredRows
        The rows, in this process or on workers.
    n_clusters : int
        Number of rows to choose.
    random : RandomState
        Draws.
    deadline : Deadline
        When to end the rounds.

    Returns
    -------
    ndarray of shape (n_clusters, d), dtype of the rows

    Notes
    -----
    Seven passes over the rows: O(n k d) time, and 4 or 8 bytes a row.

    References
    ----------
    Bahmani et al., Scalable k-means++, VLDB 2012.
    """
    backend = data.backend
    candidates = take_rows(data, _first_row(data, random))  # type: ignore[arg-type]
    n_known = 0
    for _ in range(_ROUNDS):
        if deadline.is_over:
            break
        payload = {"candidates": candidates, "n_known": n_known}
        potential = float(np.sum(backend.run(_update_nearest, payload, writes="nearest", renews=True)))
        if not potential > 0:
            break
        seeds = random.randint(np.iinfo(np.int32).max, size=len(backend.firsts) - 1).tolist()
        drawn = backend.run(_draw, n_clusters / potential, given=seeds)
        n_known, candidates = len(candidates), np.concatenate([candidates, *drawn])
    if len(candidates) < n_clusters:  # few distinct rows
        return seed_by_square_distance(
            sample_of(data, n_clusters, random), n_clusters, random, deadline=deadline
        )[0]
    masses = backend.total((len(candidates),), 2 * data.total_weight)
    backend.run(_count_nearest, CenterFrame(candidates, data.shift), into={"masses": masses})
    weighted = measure_rows(
        as_rows(candidates), masses.total(), n_clusters=n_clusters, n_threads=data.n_threads
    )
    return seed_by_square_distance(weighted.in_this_process(), n_clusters, random, deadline=deadline)[0]


def sample_of(data: MeasuredRows, n_clusters: int, random: np.random.RandomState) -> ChunkRows:
    """Return a bounded random sample of rows, in this process: all rows if these are few."""
    fitting = _SAMPLE_BYTES // (data.n_columns * data.dtype.itemsize)
    size = min(max(_SAMPLE_ROWS, _ROWS_PER_CENTER * n_clusters), max(fitting, 4 * n_clusters))
    if size >= data.n_rows:
        numbers = np.arange(data.n_rows)
    else:
        numbers = np.sort(random.choice(data.n_rows, size=size, replace=False))
    weights = None if data.weights is None else data.weights[numbers]
    rows = as_rows(data.backend.take(numbers))
    sample = measure_rows(rows, weights, n_clusters=n_clusters, n_threads=data.n_threads)
    return sample.in_this_process()


def _first_row(data: MeasuredRows, random: np.random.RandomState) -> IndexArray:
    chances = None if data.weights is None else data.weights / data.weights.sum(dtype=np.float64)
    return random.choice(data.n_rows, size=1, p=chances)


def _update_nearest(chunk: Chunk, payload: dict[str, Any], _: Any, __: Any) -> float:
    """Compute the squared distances to the nearest candidate; only to new candidates if the others are known."""
    rows, candidates, n_known = rows_of(chunk), payload["candidates"], payload["n_known"]
    held: tuple[int, Array] = chunk.state.get("nearest", (0, np.empty(0)))
    if held[0] != n_known or n_known == 0:
        n_known, nearest = 0, np.full(rows.n_rows, np.inf, dtype=rows.dtype)
    else:
        nearest = held[1]
    if n_known < len(candidates):  # a round may draw no row
        frame = CenterFrame(candidates[n_known:], rows.shift, rows.n_threads)
        _, scores = _nearest(chunk, frame)
        np.minimum(nearest, np.maximum(scores + rows.squares, 0), out=nearest)
    chunk.state["nearest"] = len(candidates), nearest
    return weighted_sum(nearest.astype(np.float64), rows.weights)


def _draw(chunk: Chunk, rate: float, seed: int, _: Any) -> Array:
    """Draw each row independently, with probability proportional to weight times squared distance to the candidates."""
    rows, masses = rows_of(chunk), chunk.state["nearest"][1].astype(np.float64)
    if rows.weights is not None:
        masses *= rows.weights
    uniforms = np.random.RandomState(seed).uniform(size=rows.n_rows)
    drawn: Array = dense(rows.take(np.flatnonzero(uniforms < rate * masses)))
    return drawn


def _count_nearest(chunk: Chunk, frame: CenterFrame, _: Any, into: Any) -> None:
    frame.n_threads = rows_of(chunk).n_threads
    labels, _scores = _nearest(chunk, frame)
    with into["masses"].part() as masses:
        masses += np.bincount(labels, weights=rows_of(chunk).weights, minlength=len(frame))


def _nearest(chunk: Chunk, frame: CenterFrame) -> tuple[IndexArray, FloatArray]:
    rows = rows_of(chunk)
    labels, scores = np.empty(rows.n_rows, dtype=np.int32), np.empty(rows.n_rows, dtype=rows.dtype)
    for part, x in rows.blocks():
        chunk.check()
        frame.nearest(x, labels[part], scores[part])
    return labels, scores  # type: ignore[return-value]
