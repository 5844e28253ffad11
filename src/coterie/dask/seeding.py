"""Where to begin on a cluster: a bounded sample of rows comes here, and the seedings of one machine choose among it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from coterie.arrays import Array
from coterie.blocks.dataset import Dataset
from coterie.dask import operations
from coterie.dask.exact_sums import Steps, exact
from coterie.dask.worker_rows import WorkerRows
from coterie.rows import as_rows
from coterie.seeding.greedy import seed_by_square_distance
from coterie.seeding.markov_chain import seed_by_markov_chain
from coterie.seeding.seeds import seed_at_random

__all__ = ["SEEDINGS"]

# A sample for k-means++: so many rows, or so many for each centre, in at most so many bytes.
_SAMPLE_ROWS, _ROWS_PER_CENTER, _SAMPLE_BYTES = 100_000, 64, 256 << 20

# Rounds of k-means||, in each of which about as many rows are drawn as there are clusters.
_ROUNDS = 5


def seed_on_sample(data: WorkerRows, n_clusters: int, random: np.random.RandomState) -> Array:
    """Choose by k-means++ among a sample; of few rows among all, as one machine does."""
    fitting = _SAMPLE_BYTES // (data.n_columns * data.dtype.itemsize)
    size = min(max(_SAMPLE_ROWS, _ROWS_PER_CENTER * n_clusters), max(fitting, 4 * n_clusters))
    if size >= data.n_rows:
        numbers = np.arange(data.n_rows)
    else:
        numbers = np.sort(random.choice(data.n_rows, size=size, replace=False))
    weights = None if data.weights is None else data.weights[numbers]
    return _chosen(data, data.take(numbers), weights, n_clusters, random)


def seed_in_rounds(data: WorkerRows, n_clusters: int, random: np.random.RandomState) -> Array:
    """Choose by k-means|| (Bahmani et al. 2012): rounds of draws far from those before, then k-means++ among them."""
    candidates = seed_at_random(data, 1, random)[0]  # type: ignore[arg-type]
    known = 0
    for _ in range(_ROUNDS):
        payload = {"centers": candidates, "known": known}
        found = data.crew.run("near", operations.near, payload).results
        potential = float(np.sum([found[number] for number in range(len(found))]))
        if not potential > 0:
            break
        seeds = random.randint(np.iinfo(np.int32).max, size=len(found)).tolist()
        payload = {"centers": candidates, "known": known, "rate": n_clusters / potential}
        drawn = data.crew.run("draw", operations.draw, payload, given=seeds).results
        known = len(candidates)
        candidates = np.concatenate([candidates, *(drawn[number][1] for number in range(len(drawn)))])
    if len(candidates) < n_clusters:  # few rows differ
        return seed_on_sample(data, n_clusters, random)
    steps = Steps.below(2 * data.total_weight)
    answer = data.crew.run(
        "count", operations.count, {"centers": candidates}, sums={"masses": exact((len(candidates),), steps)}
    )
    return _chosen(data, candidates, answer.sums["masses"].total(), n_clusters, random)


def _chosen(
    data: WorkerRows, rows: Array, weights: Array | None, n_clusters: int, random: np.random.RandomState
) -> Array:
    sample = Dataset(as_rows(rows), weights, n_clusters=n_clusters, n_threads=data.n_threads)
    return seed_by_square_distance(sample, n_clusters, random)[0]


SEEDINGS: dict[str, Callable[[WorkerRows, int, np.random.RandomState], Array]] = {
    "k-means++": seed_on_sample,
    "k-means||": seed_in_rounds,
    "afk-mc2": lambda data, n_clusters, random: seed_by_markov_chain(data, n_clusters, random)[0],  # type: ignore[arg-type]
    "random": lambda data, n_clusters, random: seed_at_random(data, n_clusters, random)[0],  # type: ignore[arg-type]
}
