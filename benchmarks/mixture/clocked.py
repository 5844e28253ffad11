"""EM with a clock beside the parts of its E-step."""

from __future__ import annotations

import time
from collections import defaultdict
from typing import Any

import numpy as np

from benchmarks.mixture.settings import Coreset, Setting
from coterie.backend.measure import measure_rows
from coterie.fitting.checks import check_sample_weight
from coterie.fitting.threads import single_threaded_blas
from coterie.mixture.em import m_step, shared_variance
from coterie.mixture.parameters import MixtureParameters
from coterie.mixture.posteriors import Moments, TruncatedPosteriors
from coterie.rows import as_rows
from coterie.seeding.markov_chain import seed_by_markov_chain

SEARCH, REFRESH, POSTERIORS, MOMENTS, ALL, N_DISTANCES = (
    "search_seconds", "refresh_seconds", "posteriors_seconds", "moments_seconds", "seconds", "n_distances",
)  # fmt: skip


class ClockedPosteriors(TruncatedPosteriors):
    """The E-step; `seconds` has the sum of those of each part."""

    def __init__(self, rows: Any, weights: Any, sizes: tuple[int, int, int], **others: Any) -> None:
        super().__init__(rows, weights, sizes, **others)
        self._n_refreshed = rows.shape[0] * sizes[1]
        self.seconds: dict[str, float] = defaultdict(float)

    def e_step(self, parameters: MixtureParameters, n_searches: int = 1) -> float:
        """See `TruncatedPosteriors`; those steps that do not search evaluate the distances of the candidates alone."""
        begin = time.perf_counter()
        base = super().e_step(parameters, n_searches)
        part = SEARCH if self.n_distances > self._n_refreshed else REFRESH
        self.seconds[part] += time.perf_counter() - begin
        return base

    def update(self, base: float) -> float:
        """See `TruncatedPosteriors`."""
        begin = time.perf_counter()
        bound = super().update(base)
        self.seconds[POSTERIORS] += time.perf_counter() - begin
        return bound

    def moments(self, means: Any, *, per_column: bool) -> Moments:
        """See `TruncatedPosteriors`."""
        begin = time.perf_counter()
        found = super().moments(means, per_column=per_column)
        self.seconds[MOMENTS] += time.perf_counter() - begin
        return found


def clocked_iterations(
    coreset: Coreset, setting: Setting, seed: int, n_threads: int, n_iter: int
) -> list[dict[str, float]]:
    """Fit a mixture as `TruncatedGaussianMixture` does, with one variance for all components.

    Returns
    -------
    list of dict
        After each iteration the seconds of each part and of all by then, and the distances that it evaluated.
    """
    model = setting.mixture(seed, n_threads)
    rows = as_rows(coreset[0])
    random = np.random.RandomState(seed)
    n_components = setting.n_clusters
    sizes = (n_components, min(setting.n_candidates, n_components), min(setting.n_neighbors, n_components))
    # Data whose variance is that small are not among the rows.
    smallest = float(np.finfo(np.float32).tiny)
    totals = []
    with single_threaded_blas():
        weights = check_sample_weight(coreset[1], rows)
        data = measure_rows(rows, weights, n_clusters=n_components, n_threads=n_threads).in_this_process()
        centers = seed_by_markov_chain(data, n_components, random, setting.chain_length)[0]
        posteriors = ClockedPosteriors(
            data.rows, data.weights, sizes, random_candidate=model.random_candidate,
            rows_per_tile=model.search_group_size, search_every=model.search_every, random=random, n_threads=n_threads,
        )  # fmt: skip
        start = MixtureParameters(centers, np.array(np.nan), np.full(n_components, 1 / n_components))
        parameters, base = shared_variance(posteriors, start, smallest)
        posteriors.update(base)
        begin = time.perf_counter()
        for _ in range(n_iter):
            parameters = m_step(
                posteriors, parameters, covariance_type=model.covariance_type, reg_covar=model.reg_covar,
                smallest_variance=smallest,
            )  # fmt: skip
            posteriors.update(posteriors.e_step(parameters))
            seconds = dict.fromkeys((SEARCH, REFRESH, POSTERIORS, MOMENTS), 0.0) | posteriors.seconds
            found = {ALL: time.perf_counter() - begin, N_DISTANCES: float(posteriors.n_distances)}
            totals.append(seconds | found)
    return totals
