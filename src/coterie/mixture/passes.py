"""The truncated E-step and the moments as passes over chunks of rows on workers. A chunk that has lost its candidates
finds the same ones again by a search among all components, under the parameters of the last search.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from coterie.arrays import Array, FloatArray, IntArray
from coterie.graphs import nearest_neighbors
from coterie.mixture.component_search import ComponentSearch, component_search
from coterie.mixture.parameters import Directions, MixtureParameters
from coterie.mixture.posteriors import ComponentMoments, TruncatedPosteriors, is_search
from coterie.passes import Begin, ChunkRows, MeasuredRows, Passes, Total

# Up to this number of components rows are compared with all, which takes no longer than with those around a cell.
_FEW_COMPONENTS = 64


class EStep(NamedTuple):
    """Parameters of an E-step: those of the mixture, and the search for candidates; None: rows keep theirs."""

    parameters: MixtureParameters
    n_candidates: int
    search: ComponentSearch | None


class MStep(NamedTuple):
    """Parameters of the pass that sums moments around `means`; see `Posteriors.moments`."""

    means: Array
    per_column: bool
    directions: Directions | None


class MomentTotals(NamedTuple):
    """The totals of the fields of `ComponentMoments`; None for those that are not summed."""

    masses: Total
    first: Total
    energies: Total | None = None
    second: Total | None = None
    cross: Total | None = None
    projections: Total | None = None
    outer: Total | None = None


class ChunkPosteriors:
    """The E-step on the chunks of a fit: methods do what those of `TruncatedPosteriors` of the same name do."""

    def __init__(self, data: MeasuredRows, sizes: tuple[int, int, int], search_every: int) -> None:
        self._data, self._passes = data, data.passes
        self._n_candidates, self._n_neighbors = sizes[1:]
        self._search_every, self._n_steps, self._n_alive = search_every, 0, 0
        self.total_weight = data.total_weight
        self.n_distances = 0
        self._parameters: MixtureParameters
        self._energy = self._log_density = 0.0
        self._state = data.passes.state(RowPosteriors)

    def e_step(self, parameters: MixtureParameters, n_searches: int = 1) -> float:
        search, alive = None, parameters.weights > 0
        if is_search(self._n_steps, self._search_every) or self._n_alive != np.count_nonzero(alive):
            living = parameters if alive.all() else parameters.of(alive)
            search = component_search(living, self._passes.n_threads)
            search = search.prepared(exact=_is_exact(search))
        self._n_steps, self._n_alive = self._n_steps + 1, int(np.count_nonzero(alive))
        return self._run(EStep(parameters, self._n_candidates, search))

    def _run(self, params: EStep) -> float:
        found = self._passes.run(_e_step, params, self._state, writes=True)
        begin = [Begin(_e_step, params, self._state)]
        if params.search is None:
            begin = [self._state.begin()[0], *begin]
        self._state.begin = partial(list, begin)
        n_distances, energies, log_densities = zip(*found)
        self.n_distances, self._parameters = int(sum(n_distances)), params.parameters
        self._energy, self._log_density = float(np.sum(energies)), float(np.sum(log_densities))
        return params.parameters.energies()[3]

    @property
    def neighbors(self) -> IntArray:
        """Each component (C, G), first, and those of the nearest means."""
        means = self._parameters.means
        own = np.arange(len(means), dtype=np.int32)[:, None]
        if self._n_neighbors == 1:
            return own
        return np.hstack([own, nearest_neighbors(means, self._n_neighbors - 1, random_state=0)[0]])

    def mean_energy(self) -> float:
        return self._energy / self.total_weight

    def rescale(self, parameters: MixtureParameters) -> None:
        self._run(EStep(parameters, self._n_candidates, None))

    def update(self, base: float) -> float:
        # The shares have been renewed already.
        return self._log_density - base * self.total_weight

    def moments(
        self, means: Array, *, per_column: bool, directions: Directions | None = None
    ) -> ComponentMoments:
        totals = self._empty_moments(means, directions, per_column=per_column)
        self._passes.run(_add_moments, MStep(means, per_column, directions), self._state, totals)
        found = {name: total.total() for name, total in totals._asdict().items() if total is not None}
        return ComponentMoments(**{"energies": np.zeros(len(means)), "second": None, **found})

    def _empty_moments(
        self, means: Array, directions: Directions | None, *, per_column: bool
    ) -> MomentTotals:
        """Return empty totals, for distances of rows to means as large as there can be."""
        data, total = self._data, self._passes.total
        mass, shape = 2 * self.total_weight, means.shape
        radius = np.sqrt(np.max(np.sum((means - data.shift) ** 2, axis=1, dtype=np.float64)))
        reach = float(np.sqrt(data.largest_square) + radius)
        empty = {"masses": total(shape[:1], mass), "first": total(shape, mass * reach)}
        if per_column or directions is not None:
            empty["second"] = total(shape, mass * reach**2)
        if directions is None:
            scales, precisions, offsets, _ = self._parameters.energies()
            largest = float(precisions.max()) * (1.0 if scales is None else float(scales.max()) ** 2)
            energy = largest * reach**2 + float(np.abs(offsets[np.isfinite(offsets)]).max())
            return MomentTotals(energies=total(shape[:1], mass * energy), **empty)
        n, n_factors = shape[0], directions.vectors.shape[1]
        # Directions have length 1 but for rounding.
        projection = 2 * float(directions.scales.max()) * reach
        return MomentTotals(
            cross=total((n, n_factors, shape[1]), mass * projection * reach),
            projections=total((n, n_factors), mass * projection),
            outer=total((n, n_factors, n_factors), mass * projection**2),
            **empty,
        )


def label_all(passes: Passes, parameters: MixtureParameters, *, exact: bool) -> tuple[IntArray, FloatArray]:
    """Return the best component of each row, and its distance to that."""
    # Cells take as long to learn as labels of 50,000 rows: they are learned once, here.
    search = component_search(parameters, passes.n_threads).prepared(exact=exact)
    labels, distances = zip(*passes.run(_label, (search, exact)))
    return np.concatenate(labels), np.concatenate(distances)


def _is_exact(search: ComponentSearch) -> bool:
    return len(search.parameters.means) <= _FEW_COMPONENTS


class RowPosteriors:
    """The posteriors of the rows of a chunk; None before the first E-step."""

    current: TruncatedPosteriors | None = None

    def __init__(self, _: ChunkRows) -> None:
        """Nothing is known yet."""


def _e_step(rows: ChunkRows, params: EStep, state: RowPosteriors) -> tuple[int, float, float]:
    """Return distances computed, and the sums of the rows' energies and log-densities."""
    if state.current is None:
        sizes = len(params.parameters.means), params.n_candidates, 1
        state.current = TruncatedPosteriors(rows.rows, rows.weights, sizes, n_threads=rows.n_threads)
    posteriors = state.current
    posteriors.n_distances = 0
    if params.search is not None:
        alive = np.flatnonzero(params.parameters.weights).astype(np.int32)
        search = params.search.with_threads(rows.n_threads)
        posteriors.find_candidates(search, alive, exact=_is_exact(search))
    posteriors.refresh(params.parameters)
    energy = posteriors.mean_energy() * posteriors.total_weight if posteriors.total_weight > 0 else 0.0
    return posteriors.n_distances, energy, posteriors.update(0.0)


def _add_moments(_: ChunkRows, params: MStep, state: RowPosteriors, totals: MomentTotals) -> None:
    # New ones: sums that each chunk kept would take more memory than its rows.
    n_factors = None if params.directions is None else params.directions.vectors.shape[1]
    assert state.current is not None
    found = ComponentMoments.zeros(params.means.shape, per_column=params.per_column, n_factors=n_factors)
    state.current.add_moments(found, params.means, params.directions)
    components = np.flatnonzero(found.masses)
    for name, total in totals._asdict().items():
        if total is not None:
            total.add(getattr(found, name)[components], components)


def _label(rows: ChunkRows, params: tuple[ComponentSearch, bool]) -> tuple[IntArray, FloatArray]:
    search, exact = params
    return search.with_threads(rows.most_threads).labels_and_distances(rows.source, exact=exact)
