"""k-means||: rounds of independent draws from all rows, then k-means++ among the candidates."""

from __future__ import annotations

from functools import partial

import numpy as np

from coterie.arrays import Array, FloatArray, IndexArray, IntArray
from coterie.blocks.dataset import weighted_sum
from coterie.blocks.kernel_rows import dense
from coterie.centers.frame import CenterFrame
from coterie.fitting.checks import check_sum_of_squares
from coterie.fitting.deadline import UNLIMITED, Deadline
from coterie.passes import Begin, ChunkRows, MeasuredRows, Total, measure_rows
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
    """Choose initial centers by k-means|| (Bahmani et al. 2012): seven passes, O(n k d) time, 4 or 8 bytes a row."""
    passes, nearest = data.passes, data.passes.state(_far_from_all)
    candidates = take_rows(data, _first_row(data, random))
    new = candidates
    for _ in range(_ROUNDS):
        if deadline.is_over:
            break
        found = passes.run(_update_nearest, new, nearest, writes=True)
        begin = Begin(_update_nearest, candidates, nearest)
        passes.keep_begin(nearest, partial(list, [begin]))
        potential = float(np.sum(found))
        check_sum_of_squares(potential)
        if not potential > 0:
            break
        seeds = random.randint(np.iinfo(np.int32).max, size=len(passes.firsts) - 1).tolist()
        drawn = passes.run(_draw, n_clusters / potential, nearest, given=seeds)
        new = np.concatenate(drawn)
        candidates = np.concatenate([candidates, new])
    if len(candidates) < n_clusters:  # few distinct rows
        return seed_by_square_distance(
            sample_of(data, n_clusters, random).in_this_process(), n_clusters, random, deadline=deadline
        )[0]
    masses = passes.total((len(candidates),), 2 * data.total_weight)
    passes.run(_count_nearest, CenterFrame(candidates, data.shift), sums=masses)
    weighted = measure_rows(
        as_rows(candidates), masses.total(), n_clusters=n_clusters, n_threads=data.n_threads
    )
    return seed_by_square_distance(weighted.in_this_process(), n_clusters, random, deadline=deadline)[0]


def sample_of(data: MeasuredRows, n_clusters: int, random: np.random.RandomState) -> MeasuredRows:
    """Return a bounded random sample of rows, in this process: all rows if these are few."""
    fitting = _SAMPLE_BYTES // (data.n_columns * data.dtype.itemsize)
    size = min(max(_SAMPLE_ROWS, _ROWS_PER_CENTER * n_clusters), max(fitting, 4 * n_clusters))
    if size >= data.n_rows:
        numbers = np.arange(data.n_rows)
    else:
        numbers = np.sort(random.choice(data.n_rows, size=size, replace=False))
    weights = None if data.weights is None else data.weights[numbers]
    rows = as_rows(data.passes.take(numbers))
    return measure_rows(rows, weights, n_clusters=n_clusters, n_threads=data.n_threads)


def _first_row(data: MeasuredRows, random: np.random.RandomState) -> IndexArray:
    chances = None if data.weights is None else data.weights / data.weights.sum(dtype=np.float64)
    return random.choice(data.n_rows, size=1, p=chances)


def _far_from_all(rows: ChunkRows) -> Array:
    """Return the squared distance of each row to the nearest of no candidates."""
    return np.full(rows.n_rows, np.inf, dtype=rows.dtype)


def _update_nearest(rows: ChunkRows, candidates: Array, nearest: Array) -> float:
    """Take in further candidates; return the (weighted) sum of the squared distances to the nearest."""
    if len(candidates) > 0:  # a round may draw no row
        _, squares = _nearest(rows, CenterFrame(candidates, rows.shift, rows.n_threads))
        np.minimum(nearest, squares.astype(rows.dtype), out=nearest)
    return weighted_sum(nearest.astype(np.float64), rows.weights)


def _draw(rows: ChunkRows, rate: float, nearest: Array, seed: int) -> Array:
    """Draw each row independently, with probability proportional to weight times squared distance to the candidates."""
    masses = nearest.astype(np.float64)
    if rows.weights is not None:
        masses *= rows.weights
    uniforms = np.random.RandomState(seed).uniform(size=rows.n_rows)
    drawn: Array = dense(rows.take(np.flatnonzero(uniforms < rate * masses)))
    return drawn


def _count_nearest(rows: ChunkRows, frame: CenterFrame, total: Total) -> None:
    labels, _ = _nearest(rows, frame)
    with total.part() as masses:
        masses += np.bincount(labels, weights=rows.weights, minlength=len(frame))


def _nearest(rows: ChunkRows, frame: CenterFrame) -> tuple[IntArray, FloatArray]:
    labels, squares = np.empty(rows.n_rows, dtype=np.int32), np.empty(rows.n_rows)
    for part, x in rows.blocks():
        frame.nearest(x, labels[part], squares[part], n_threads=rows.n_threads)
    return labels, squares
