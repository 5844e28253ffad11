"""The truncated E-step and the moments as passes over chunks of rows: candidates stay with the rows, moments come back.

Each chunk draws the first candidates of its rows, and searches with the neighborhoods that all chunks had after the
step before. The candidates of a row depend on all steps before, so each E-step is recorded, and repeated where a chunk
is opened again.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from coterie.arrays import Array, FloatArray, IndexArray, IntArray
from coterie.backend import Backend, Chunk
from coterie.backend.measure import MeasuredRows, rows_of
from coterie.mixture.component_search import component_search
from coterie.mixture.parameters import Directions, MixtureParameters
from coterie.mixture.posteriors import Moments, TruncatedPosteriors, first_neighbors


class LearnedNeighbors:
    """The neighborhoods that chunks have learned: each component's is that of the chunk where it has the most rows.

    A total of a pass; see `coterie.backend.Total`.

    Parameters
    ----------
    n_components, n_neighbors : int
        Shape of the neighborhoods.
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
        self.merge_arrays(neighbors, n_rows, np.full(len(n_rows), chunk))

    def merge(self, other: LearnedNeighbors) -> None:
        """Add what other chunks have learned."""
        self.merge_arrays(*other.arrays())

    def arrays(self) -> tuple[IntArray, IndexArray, IndexArray]:
        """Return neighborhoods, numbers of rows and chunks."""
        return self.neighbors, self._n_rows, self._chunks

    def merge_arrays(self, neighbors: IntArray, n_rows: IndexArray, chunks: IndexArray) -> None:
        """Add the arrays of another one."""
        is_better = (n_rows > self._n_rows) | (
            (n_rows == self._n_rows) & (n_rows > 0) & (chunks < self._chunks)
        )
        self.neighbors[is_better] = neighbors[is_better]
        self._n_rows[is_better], self._chunks[is_better] = n_rows[is_better], chunks[is_better]

    def over(self, before: IntArray) -> IntArray:
        """Return the neighborhoods after the step."""
        return np.where(self._n_rows[:, None] > 0, self.neighbors, before)


class ChunkPosteriors:
    """The E-step on the chunks of a backend; see `coterie.mixture.posteriors.Posteriors`.

    Parameters
    ----------
    data : MeasuredRows
        The rows.
    sizes : tuple of int
        Number of components C, of candidates per row C', of neighbors per component G (with itself).
    random : RandomState
        Source of randomness.
    **search
        `random_candidate`, `rows_per_tile` and `search_every` of `TruncatedPosteriors`.
    """

    def __init__(
        self,
        data: MeasuredRows,
        sizes: tuple[int, int, int],
        *,
        random: np.random.RandomState,
        **search: Any,
    ) -> None:
        self._data, self._backend, self._sizes = data, data.backend, sizes
        self.total_weight = data.total_weight
        self.neighbors: IntArray = first_neighbors(random, sizes[0], sizes[2])
        self.n_distances = 0
        self._parameters: MixtureParameters
        self._energy = self._log_density = 0.0
        self._chunks = list(range(len(self._backend.firsts) - 1))
        payload = {"seed": random.randint(np.iinfo(np.int32).max), "sizes": sizes, "search": search}
        self._backend.run(_begin, payload, given=self._chunks, writes="candidates", renews=True)

    def e_step(self, parameters: MixtureParameters, n_searches: int = 1) -> float:
        """See `Posteriors`."""
        payload = {"parameters": parameters, "neighbors": self.neighbors, "n_searches": n_searches}
        learned = LearnedNeighbors(self._sizes[0], self._sizes[2])
        found = self._backend.run(
            _e_step, payload, given=self._chunks, into={"neighbors": learned}, writes="candidates"
        )
        self.neighbors = learned.over(self.neighbors)
        n_distances, energies, log_densities = zip(*found)
        self.n_distances, self._parameters = int(sum(n_distances)), parameters
        self._energy, self._log_density = float(np.sum(energies)), float(np.sum(log_densities))
        return parameters.energies()[3]

    def mean_energy(self) -> float:
        """See `Posteriors`."""
        return self._energy / self.total_weight

    def rescale(self, factor: float) -> None:
        """See `Posteriors`."""
        self._log_density = float(np.sum(self._backend.run(_rescale, factor, writes="candidates")))

    def update(self, base: float) -> float:
        """See `Posteriors`; the shares have been renewed already."""
        return self._log_density - base * self.total_weight

    def moments(self, means: Array, *, per_column: bool, directions: Directions | None = None) -> Moments:
        """See `Posteriors`."""
        names = ["masses", "energies", "first", *(["second"] if per_column else [])]
        if directions is not None:
            names = ["masses", "first", "second", "cross", "projections", "outer"]
        payload = {"means": means, "per_column": per_column, "directions": directions}
        empty = self._empty_moments(means, directions)
        into = {name: empty[name] for name in names}
        self._backend.run(_add_moments, payload, into=into)
        totals = {name: total.total() for name, total in into.items()}
        return Moments(**{"energies": np.zeros(len(means)), "second": None, **totals})

    def _empty_moments(self, means: Array, directions: Directions | None) -> dict[str, Any]:
        """Return empty totals, for distances of rows to means as large as there can be."""
        data, total = self._data, self._backend.total
        mass, shape = 2 * self.total_weight, means.shape
        radius = np.sqrt(np.max(np.sum((means - data.shift) ** 2, axis=1, dtype=np.float64)))
        reach = float(np.sqrt(data.largest_square) + radius)
        scales, precisions, offsets, _ = self._parameters.energies()
        largest = float(precisions.max()) * (1.0 if scales is None else float(scales.max()) ** 2)
        energy = largest * reach**2 + float(np.abs(offsets[np.isfinite(offsets)]).max())
        empty = {
            "masses": total(shape[:1], mass),
            "energies": total(shape[:1], mass * energy),
            "first": total(shape, mass * reach),
            "second": total(shape, mass * reach**2),
        }
        if directions is not None:
            n, n_factors = shape[0], directions.vectors.shape[1]
            # Directions have length 1 but for rounding.
            projection = 2 * float(directions.scales.max()) * reach
            empty["cross"] = total((n, n_factors, shape[1]), mass * projection * reach)
            empty["projections"] = total((n, n_factors), mass * projection)
            empty["outer"] = total((n, n_factors, n_factors), mass * projection**2)
        return empty


def label_all(backend: Backend, parameters: MixtureParameters, *, exact: bool) -> tuple[IntArray, FloatArray]:
    """Return the best component of each row, and its distance to that."""
    parts = backend.run(_label, {"parameters": parameters, "exact": exact})
    labels, distances = zip(*parts)
    return np.concatenate(labels), np.concatenate(distances)


def _posteriors_of(chunk: Chunk) -> TruncatedPosteriors:
    posteriors: TruncatedPosteriors = chunk.state["posteriors"]
    return posteriors


def _begin(chunk: Chunk, payload: dict[str, Any], number: int, _: Any) -> None:
    """Draw the first candidates of the rows of a chunk."""
    rows = rows_of(chunk)
    chunk.state["posteriors"] = TruncatedPosteriors(
        rows.rows, rows.weights, payload["sizes"],
        random=np.random.RandomState(np.array([payload["seed"], number])), n_threads=rows.n_threads,
        **payload["search"],
    )  # fmt: skip


def _e_step(chunk: Chunk, payload: dict[str, Any], number: int, into: Any) -> tuple[int, float, float]:
    """Return distances computed, and the sums of the rows' energies and log-densities."""
    chunk.check()
    posteriors, before = _posteriors_of(chunk), payload["neighbors"]
    posteriors.neighbors = before.copy()
    posteriors.e_step(payload["parameters"], payload["n_searches"])
    has_learned = np.any(posteriors.neighbors != before, axis=1)
    n_rows = np.where(has_learned, np.maximum(posteriors.sizes(), 1), 0)
    into["neighbors"].add(number, posteriors.neighbors, n_rows)
    energy = posteriors.mean_energy() * posteriors.total_weight if posteriors.total_weight > 0 else 0.0
    return posteriors.n_distances, energy, posteriors.update(0.0)


def _rescale(chunk: Chunk, factor: float, _: Any, __: Any) -> float:
    """Multiply all energies; return the sum of the rows' log-densities."""
    posteriors = _posteriors_of(chunk)
    posteriors.rescale(factor)
    return posteriors.update(0.0)


def _add_moments(chunk: Chunk, payload: dict[str, Any], _: Any, into: Any) -> None:
    # New ones: sums that each chunk kept would take more memory than its rows.
    directions = payload["directions"]
    n_factors = None if directions is None else directions.vectors.shape[1]
    found = Moments.zeros(payload["means"].shape, per_column=payload["per_column"], n_factors=n_factors)
    _posteriors_of(chunk).add_moments(found, payload["means"], directions)
    components = np.flatnonzero(found.masses)
    for name, total in into.items():
        total.add(getattr(found, name)[components], components)


def _label(chunk: Chunk, payload: dict[str, Any], _: Any, __: Any) -> tuple[IntArray, FloatArray]:
    shared = chunk.exchange.shared  # for all chunks: cells take as long to learn as labels of 50,000 rows
    if "search" not in shared:
        shared["search"] = component_search(payload["parameters"], chunk.n_threads)
    found: tuple[IntArray, FloatArray] = shared["search"].labels_and_distances(
        chunk.rows, exact=payload["exact"]
    )
    return found
