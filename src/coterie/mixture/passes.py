"""The truncated E-step and the moments as passes over chunks of rows on workers. A search starts at the component whose
mean was nearest to a row, at this step or before, so a chunk that is lost finds its candidates again by two searches.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from coterie.arrays import Array, FloatArray, IntArray
from coterie.centers.frame import CenterFrame
from coterie.graphs import nearest_neighbors
from coterie.mixture.component_search import ComponentSearch, component_search
from coterie.mixture.parameters import Directions, MixtureParameters
from coterie.mixture.posteriors import ComponentMoments, TruncatedPosteriors, is_search
from coterie.passes import Begin, ChunkRows, MeasuredRows, Passes

# Rows of one nearest mean that search among each other's candidates.
_GROUP_SIZE = 16


class Search(NamedTuple):
    """A search for candidates: among those of a component where the row starts, that of the nearest of the `means` of
    the components `alive`; None: that of the last search. `neighbors` (C, at least C' and G) are each component and
    those of the means nearest to its own.
    """

    means: CenterFrame | None
    alive: IntArray
    neighbors: IntArray


class MStep(NamedTuple):
    """Parameters of sums of moments around `means`; see `TruncatedPosteriors.moments`."""

    means: Array
    per_column: bool
    directions: Directions | None


@dataclass(frozen=True)
class EStep:
    """Parameters of an E-step: those of the mixture, the numbers C, C' and G, and the search for candidates (None:
    rows keep theirs). If it `rescales`, only the shared variance has changed, from 1; `moments` are summed in the
    same pass.
    """

    parameters: MixtureParameters
    sizes: tuple[int, int, int]
    search: Search | None = None
    rescales: bool = False
    moments: MStep | None = None


class ChunkPosteriors:
    """The E-step on the chunks of a fit: methods do what those of `TruncatedPosteriors` of the same name do."""

    def __init__(self, data: MeasuredRows, sizes: tuple[int, int, int], search_every: int) -> None:
        self._data, self._passes = data, data.passes
        self._sizes = sizes
        self._search_every, self._n_steps, self._n_searches, self._n_alive = search_every, 0, 0, 0
        self.total_weight = data.total_weight
        self.n_distances = 0
        self._parameters: MixtureParameters
        self._energy = self._log_density = 0.0
        self._state = data.passes.state(RowPosteriors)
        # The moments that an M-step has asked for, and those that the E-step has summed since, of the same kind.
        self._asked: MStep | None = None
        self._summed: tuple[MStep, ComponentMoments] | None = None

    def e_step(self, parameters: MixtureParameters, n_searches: int = 1) -> float:
        search, alive = None, np.flatnonzero(parameters.weights > 0).astype(np.int32)
        if is_search(self._n_steps, self._search_every) or self._n_alive != len(alive):
            means = parameters.means[alive]
            near = alive[nearest_components(means, max(self._sizes[1:]))]
            neighbors = np.tile(np.arange(self._sizes[0], dtype=np.int32)[:, None], max(self._sizes[1:]))
            neighbors[alive, : near.shape[1]] = near
            # Means move less and less: rows find the nearest ones in the search 1, 2, 4, 8, ...
            is_start = self._n_alive != len(alive) or self._n_searches & (self._n_searches + 1) == 0
            search = Search(CenterFrame(means, self._data.shift) if is_start else None, alive, neighbors)
            self._n_searches += 1
        self._n_steps, self._n_alive = self._n_steps + 1, len(alive)
        return self._run(EStep(parameters, self._sizes, search))

    def _run(self, params: EStep) -> float:
        self._parameters, totals, self._summed = params.parameters, None, None
        past = [one for one in self._state.begin() if one.params.search is not None]
        if params.search is not None:
            past = past[:1] if params.search.means is None else []
        begin = [*past, Begin(_e_step, params, self._state)]
        if self._asked is not None:
            asked = MStep(params.parameters.means, self._asked.per_column, params.parameters.directions)
            params, totals = replace(params, moments=asked), self._empty_moments(asked)
            self._summed = asked, totals
        found = self._passes.run(_e_step, params, self._state, totals, writes=True)
        self._passes.keep_begin(self._state, partial(list, begin))
        n_distances, energies, log_densities = zip(*found)
        self.n_distances = int(sum(n_distances))
        self._energy, self._log_density = float(np.sum(energies)), float(np.sum(log_densities))
        return params.parameters.energies()[3]

    @property
    def neighbors(self) -> IntArray:
        """Each component, first, and those of the nearest means: shape (C, G)."""
        return nearest_components(self._parameters.means, self._sizes[2])

    def mean_energy(self) -> float:
        return self._energy / self.total_weight

    def rescale(self, parameters: MixtureParameters) -> None:
        self._run(EStep(parameters, self._sizes, rescales=True))

    def update(self, base: float) -> float:
        # The shares have been renewed already.
        return self._log_density - base * self.total_weight

    def moments(
        self, means: Array, *, per_column: bool, directions: Directions | None = None
    ) -> ComponentMoments:
        asked, summed = MStep(means, per_column, directions), self._summed
        if summed is not None and all(one is other for one, other in zip(summed[0], asked)):
            totals = summed[1]
        else:
            totals = self._empty_moments(asked)
            self._passes.run(_add_moments, asked, self._state, totals)
        self._asked, self._summed = asked, None
        return ComponentMoments(*(total and total.total() for total in totals))

    def _empty_moments(self, asked: MStep) -> ComponentMoments:
        """Return empty totals, for distances of rows to means as large as there can be."""
        data, total, (means, per_column, directions) = self._data, self._passes.total, asked
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
            return ComponentMoments(energies=total(shape[:1], mass * energy), **empty)
        n, n_factors = shape[0], directions.vectors.shape[1]
        # Directions have length 1 but for rounding.
        projection = 2 * float(directions.scales.max()) * reach
        return ComponentMoments(
            cross=total((n, n_factors, shape[1]), mass * projection * reach),
            projections=total((n, n_factors), mass * projection),
            outer=total((n, n_factors, n_factors), mass * projection**2),
            **empty,
        )


def nearest_components(means: Array, n_nearest: int) -> IntArray:
    """Return each component, first, and those of the nearest means; fewer than `n_nearest` if there are fewer."""
    own = np.arange(len(means), dtype=np.int32)[:, None]
    n_others = min(n_nearest, len(means)) - 1
    return np.hstack([own, nearest_neighbors(means, n_others, random_state=0)[0]]) if n_others else own


def label_all(passes: Passes, parameters: MixtureParameters, *, exact: bool) -> tuple[IntArray, FloatArray]:
    """Return the best component of each row, and its distance to that."""
    # Cells take as long to learn as labels of 50,000 rows: they are learned once, here.
    search = component_search(parameters, passes.n_threads).prepared(exact=exact)
    labels, distances = zip(*passes.run(_label, (search, exact)))
    return np.concatenate(labels), np.concatenate(distances)


class RowPosteriors:
    """The posteriors of the rows of a chunk; None before the first E-step."""

    current: TruncatedPosteriors | None = None

    def __init__(self, _: ChunkRows) -> None:
        """Nothing is known yet."""


def _e_step(
    rows: ChunkRows, params: EStep, state: RowPosteriors, totals: Any = None
) -> tuple[int, float, float]:
    """Return distances computed, and the sums of the rows' energies and log-densities."""
    if state.current is None:
        state.current = TruncatedPosteriors(
            rows.rows, rows.weights, params.sizes, group_size=_GROUP_SIZE, n_threads=rows.n_threads
        )
    posteriors, search = state.current, params.search
    posteriors.n_distances = 0
    if params.rescales:
        posteriors.rescale(params.parameters)
    elif search is None:
        posteriors.refresh(params.parameters)
    else:
        if search.means is not None:
            nearest = np.empty(rows.n_rows, dtype=np.int32)
            for part, x in rows.blocks():
                search.means.nearest(x, nearest[part], known=rows.squares[part], n_threads=rows.n_threads)
            posteriors.start_at(search.alive[nearest])
            posteriors.n_distances += len(search.means) * rows.n_rows
        posteriors.search_around(params.parameters, search.neighbors)
    energy = posteriors.mean_energy() * posteriors.total_weight if posteriors.total_weight > 0 else 0.0
    log_density = posteriors.update(0.0)
    if params.moments is not None:
        _add_moments(rows, params.moments, state, totals)
    return posteriors.n_distances, energy, log_density


def _add_moments(_: ChunkRows, params: MStep, state: RowPosteriors, totals: Any) -> None:
    assert state.current is not None
    found = state.current.moments(params.means, per_column=params.per_column, directions=params.directions)
    components = np.flatnonzero(found.masses)
    for part, total in zip(found, totals):
        if total is not None:
            total.add(part[components], components)


def _label(rows: ChunkRows, params: tuple[ComponentSearch, bool]) -> tuple[IntArray, FloatArray]:
    search, exact = params
    search.n_threads = rows.most_threads
    return search.labels_and_distances(rows.source, exact=exact)
