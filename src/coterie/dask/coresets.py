"""Lightweight coresets of rows on a cluster: moments come here, draws go back, and only drawn rows travel."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from coterie.arrays import Array, IndexArray
from coterie.coresets import merge_moments, split_draws
from coterie.dask import operations
from coterie.dask.chunks import chunks_of
from coterie.dask.crew import Crew
from coterie.dask.extra import client_of
from coterie.dask.rows import WorkerRows
from coterie.dask.worker import Plan
from coterie.fitting.checks import check_positive_integer
from coterie.fitting.randomness import random_stream
from coterie.fitting.threads import effective_n_threads

__all__ = ["coreset_of", "lightweight_coreset"]


def lightweight_coreset(
    X: Any,
    size: int,
    *,
    sample_weight: Any = None,
    random_state: int | np.random.RandomState | None = None,
    n_threads: int | None = None,
    client: Any = None,
    open_options: Mapping[str, Any] | None = None,
) -> tuple[Array, Array, IndexArray]:
    """Draw weighted rows whose k-means energy is close to that of all rows: `coterie.coresets.lightweight_coreset`.

    What comes back fits one machine, and every estimator that takes weights: so are mixtures and thousands of clusters
    found in rows of a cluster.

    Parameters
    ----------
    X : Dask array, Dask DataFrame, or path
        The rows; see `coterie.dask.KMeans.fit`.
    size : int
        Number of draws. A row may be drawn more than once.
    sample_weight : array-like or Dask array of shape (n,), optional
        Non-negative weights.
    random_state : int, RandomState or None
        Same seed and same chunks, same bits: for any number of workers.
    n_threads : int, optional
        Threads of each worker's kernels. None: as many as the worker has.
    client : distributed.Client, optional
        None: the current one.
    open_options : dict, optional
        See `coterie.dask.KMeans`.

    Returns
    -------
    rows : ndarray of shape (size, d)
        The rows drawn, in the order of the data.
    weights : ndarray of shape (size,)
        Their weights.
    indices : ndarray of shape (size,)
        Which rows they are.

    Examples
    --------
    >>> import coterie
    >>> from coterie.dask import lightweight_coreset
    >>> rows, weights, _ = lightweight_coreset("s3://bucket/*.parquet", 65_536)  # doctest: +SKIP
    >>> mixture = coterie.TruncatedGaussianMixture(4_000)  # doctest: +SKIP
    >>> mixture.fit(rows, sample_weight=weights)  # doctest: +SKIP
    """
    check_positive_integer("size", size)
    plan = Plan(1, n_threads=n_threads)
    with Crew(client_of(client), chunks_of(X, open_options), plan) as crew:
        data = WorkerRows(crew, sample_weight, effective_n_threads(None))
        data.measure()
        return coreset_of(data, size, random_stream(random_state))


def coreset_of(data: WorkerRows, size: int, random: np.random.RandomState) -> tuple[Array, Array, IndexArray]:
    """Draw a coreset of rows that workers hold already: two passes."""
    numbers = range(len(data.crew.chunks))
    found = data.crew.run("moments", operations.moments).results
    parts = [found[number] for number in numbers]
    total = merge_moments(parts)
    draws = split_draws(parts, total, size, random)
    seeds = random.randint(np.iinfo(np.int32).max, size=len(parts))
    payload = {"total": total, "size": size}
    drawn = data.crew.run(
        "coreset", operations.draw_coreset, payload, given=list(zip(draws.tolist(), seeds.tolist()))
    ).results
    chosen, weights, rows = zip(*(drawn[number] for number in numbers))
    indices = np.concatenate([part + first for part, first in zip(chosen, data.firsts)])
    return np.concatenate(rows), np.concatenate(weights).astype(data.dtype), indices
