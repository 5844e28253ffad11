"""The truncated E-step and the moments as passes over chunks of rows: candidates stay with the rows, moments come back.

Each chunk draws the first candidates of its rows, and searches with the neighborhoods that all chunks had after the
step before. The candidates of a row depend on all steps before, so that a chunk that has lost them repeats these.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from coterie.arrays import Array, FloatArray, IndexArray, IntArray
from coterie.mixture.component_search import ComponentSearch, component_search
from coterie.mixture.parameters import Directions, MixtureParameters
from coterie.mixture.posteriors import ComponentMoments, TruncatedPosteriors, first_neighbors
from coterie.passes import Begin, ChunkRows, MeasuredRows, Passes, Total


class LearnedNeighbors:
    """The neighborhoods that chunks have learned: each component's is that of the chunk where it has the most rows.

    A total of a pass; see `coterie.passes.Total`.
    """

    def __init__(self, n_components: int, n_neighbors: int) -> None:
        self.neighbors = np.zeros((n_components, n_neighbors), dtype=np.int32)
        self._n_rows = np.zeros(n_components, dtype=np.int64)  # 0: nothing has been learned
        self._chunks = np.full(n_components, -1, dtype=np.int64)

    @property
    def empty(self) -> Callable[[], LearnedNeighbors]:
        """Function that makes an empty one."""
        return partial(LearnedNeighbors, *self.neighbors.shape)

    def add(self, chunk: int, neighbors: IntArray, n_rows: IndexArray) -> None:
        """Add what a chunk has learned, from how many rows of each component; 0 for nothing."""
        self._take(neighbors, n_rows, np.full(len(n_rows), chunk))

    def merge(self, other: LearnedNeighbors) -> None:
        """Add what other chunks have learned."""
        self._take(other.neighbors, other._n_rows, other._chunks)

    def _take(self, neighbors: IntArray, n_rows: IndexArray, chunks: IndexArray) -> None:
        is_better = (n_rows > self._n_rows) | (
            (n_rows == self._n_rows) & (n_rows > 0) & (chunks < self._chunks)
        )
        self.neighbors[is_better] = neighbors[is_better]
        self._n_rows[is_better], self._chunks[is_better] = n_rows[is_better], chunks[is_better]

    def over(self, before: IntArray) -> IntArray:
        """Return the neighborhoods after the step."""
        return np.where(self._n_rows[:, None] > 0, self.neighbors, before)


class EStep(NamedTuple):
    """Parameters of an E-step: those of the mixture, the neighborhoods, and how often rows look for components."""

    parameters: MixtureParameters
    neighbors: IntArray
    n_searches: int


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

    def __init__(
        self,
        data: MeasuredRows,
        sizes: tuple[int, int, int],
        *,
        random: np.random.RandomState,
        **search: Any,
    ) -> None:
        self._data, self._passes, self._sizes = data, data.passes, sizes
        self.total_weight = data.total_weight
        self.neighbors: IntArray = first_neighbors(random, sizes[0], sizes[2])
        self.n_distances = 0
        self._parameters: MixtureParameters
        self._energy = self._log_density = 0.0
        self._chunks = list(range(len(data.passes.firsts) - 1))
        seed = random.randint(np.iinfo(np.int32).max)
        self._state = data.passes.state(RowPosteriors)
        # The candidates of a row depend on all E-steps before.
        self._past: list[Begin] = []
        self._state.begin = lambda: self._past
        self._write(_begin, (sizes, search), given=[(seed, number) for number in self._chunks])

    def _write(self, step: Callable[..., Any], params: Any, sums: Any = None, given: Any = None) -> list[Any]:
        found = self._passes.run(step, params, self._state, sums, given, writes=True)
        self._past.append(Begin(step, params, self._state, sums, given))
        return found

    def e_step(self, parameters: MixtureParameters, n_searches: int = 1) -> float:
        params = EStep(parameters, self.neighbors, n_searches)
        learned = LearnedNeighbors(self._sizes[0], self._sizes[2])
        found = self._write(_e_step, params, learned, self._chunks)
        self.neighbors = learned.over(self.neighbors)
        n_distances, energies, log_densities = zip(*found)
        self.n_distances, self._parameters = int(sum(n_distances)), parameters
        self._energy, self._log_density = float(np.sum(energies)), float(np.sum(log_densities))
        return parameters.energies()[3]

    def mean_energy(self) -> float:
        return self._energy / self.total_weight

    def rescale(self, factor: float) -> None:
        self._log_density = float(np.sum(self._write(_rescale, factor)))

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


class RowPosteriors:
    """The posteriors of the rows of a chunk."""

    current: TruncatedPosteriors

    def __init__(self, _: ChunkRows) -> None:
        """Nothing is drawn yet."""


def _begin(
    rows: ChunkRows,
    params: tuple[tuple[int, int, int], dict[str, Any]],
    state: RowPosteriors,
    seed: tuple[int, int],
) -> None:
    """Draw the first candidates of the rows of a chunk."""
    sizes, search = params
    state.current = TruncatedPosteriors(
        rows.rows, rows.weights, sizes,
        random=np.random.RandomState(np.array(seed)), n_threads=rows.n_threads, **search,
    )  # fmt: skip


def _e_step(
    _: ChunkRows, params: EStep, state: RowPosteriors, learned: LearnedNeighbors, number: int
) -> tuple[int, float, float]:
    """Return distances computed, and the sums of the rows' energies and log-densities."""
    posteriors = state.current
    posteriors.neighbors = params.neighbors.copy()
    posteriors.e_step(params.parameters, params.n_searches)
    has_learned = np.any(posteriors.neighbors != params.neighbors, axis=1)
    n_rows = np.where(has_learned, np.maximum(posteriors.sizes(), 1), 0)
    learned.add(number, posteriors.neighbors, n_rows)
    energy = posteriors.mean_energy() * posteriors.total_weight if posteriors.total_weight > 0 else 0.0
    return posteriors.n_distances, energy, posteriors.update(0.0)


def _rescale(_: ChunkRows, factor: float, state: RowPosteriors) -> float:
    """Multiply all energies; return the sum of the rows' log-densities."""
    state.current.rescale(factor)
    return state.current.update(0.0)


def _add_moments(_: ChunkRows, params: MStep, state: RowPosteriors, totals: MomentTotals) -> None:
    # New ones: sums that each chunk kept would take more memory than its rows.
    n_factors = None if params.directions is None else params.directions.vectors.shape[1]
    found = ComponentMoments.zeros(params.means.shape, per_column=params.per_column, n_factors=n_factors)
    state.current.add_moments(found, params.means, params.directions)
    components = np.flatnonzero(found.masses)
    for name, total in totals._asdict().items():
        if total is not None:
            total.add(getattr(found, name)[components], components)


def _label(rows: ChunkRows, params: tuple[ComponentSearch, bool]) -> tuple[IntArray, FloatArray]:
    search, exact = params
    return search.with_threads(rows.most_threads).labels_and_distances(rows.source, exact=exact)
