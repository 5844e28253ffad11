"""The E-step of a mixture on workers: candidates and shares stay with the rows, moments come back.

What a row's candidates are depends on all steps before. So the client keeps the parameters and neighbourhoods of these
steps; a worker that opens a chunk again goes through them, and arrives at the same bits. Where there are checkpoints,
candidates come to the client with each step instead, and only the last step is repeated.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from coterie.arrays import Array, FloatArray, IndexArray, IntArray
from coterie.dask.exact_sums import Steps, exact
from coterie.dask.worker import Visit
from coterie.dask.worker_rows import WorkerRows
from coterie.mixture.component_search import ComponentSearch, component_search
from coterie.mixture.parameters import Directions, MixtureParameters
from coterie.mixture.posteriors import Moments, TruncatedPosteriors, first_neighbors

__all__ = ["LearntNeighbors", "WorkerPosteriors", "label_by_mixture"]


class LearntNeighbors:
    """The neighbourhoods that chunks have learnt: each component's is that of the chunk where it has the most rows.

    Parameters
    ----------
    n_components, n_neighbors : int
        Shape of the neighbourhoods.
    """

    def __init__(self, n_components: int, n_neighbors: int) -> None:
        self.neighbors = np.zeros((n_components, n_neighbors), dtype=np.int32)
        self._n_rows = np.zeros(n_components, dtype=np.int64)  # 0: nothing has been learnt
        self._chunks = np.full(n_components, -1, dtype=np.int64)

    @property
    def nbytes(self) -> int:
        """What travels of it."""
        return self.neighbors.nbytes + self._n_rows.nbytes + self._chunks.nbytes

    def add(self, chunk: int, neighbors: IntArray, n_rows: IndexArray) -> None:
        """Take in what a chunk has learnt; `n_rows` says from how many rows of each component, 0 for nothing."""
        self._take(neighbors, n_rows, np.full(len(n_rows), chunk))

    def take_in(self, other: LearntNeighbors) -> None:
        """Take in what other chunks have learnt."""
        self._take(other.neighbors, other._n_rows, other._chunks)

    def _take(self, neighbors: IntArray, n_rows: IndexArray, chunks: IndexArray) -> None:
        is_better = (n_rows > self._n_rows) | (
            (n_rows == self._n_rows) & (n_rows > 0) & (chunks < self._chunks)
        )
        self.neighbors[is_better] = neighbors[is_better]
        self._n_rows[is_better], self._chunks[is_better] = n_rows[is_better], chunks[is_better]

    def over(self, before: IntArray) -> IntArray:
        """Return the neighbourhoods after the step."""
        return np.where(self._n_rows[:, None] > 0, self.neighbors, before)


def begin(visit: Visit, kept: Mapping[str, Array] | None) -> None:
    """Draw the first candidates of the rows of a chunk, or take those that have been kept."""
    chunk, payload = visit.chunk, visit.payload
    random = np.random.RandomState(np.array([payload["seed"], chunk.number]))
    chunk.posteriors = TruncatedPosteriors(
        chunk.rows,
        chunk.weights,
        payload["sizes"],
        random=random,
        n_threads=chunk.n_threads,
        **payload["search"],
    )
    kept = kept or chunk.kept
    if kept is not None:
        chunk.posteriors.go_on(kept)


def step(visit: Visit, _: None) -> tuple[int, float, float, dict[str, Array] | None]:
    """Take an E-step.

    Return distances computed, the sums of the rows' energies and log-densities, and what the step depended on, where it
    is to be kept.
    """
    posteriors, payload = _posteriors(visit), visit.payload
    kept = posteriors.kept() if payload["is_kept"] else None
    before = payload["neighbors"]
    posteriors.neighbors = before.copy()
    posteriors.e_step(payload["parameters"], payload["n_searches"])
    has_learnt = np.any(posteriors.neighbors != before, axis=1)
    n_rows = np.where(has_learnt, np.maximum(posteriors.sizes(), 1), 0)
    visit.sums["neighbors"].add(visit.chunk.number, posteriors.neighbors, n_rows)
    energy = posteriors.mean_energy() * posteriors.total_weight if posteriors.total_weight > 0 else 0.0
    return posteriors.n_distances, energy, posteriors.update(0.0), kept


def rescale(visit: Visit, _: None) -> float:
    """Multiply all energies; return the sum of the rows' log-densities."""
    posteriors = _posteriors(visit)
    posteriors.rescale(visit.payload)
    return posteriors.update(0.0)


def add_moments(visit: Visit, _: None) -> None:
    """Add up what the M-step needs of the rows."""
    payload = visit.payload
    # New ones: sums that each chunk kept would take more memory than its rows.
    directions = payload["directions"]
    n_factors = None if directions is None else directions.vectors.shape[1]
    found = Moments.zeros(payload["means"].shape, per_column=payload["per_column"], n_factors=n_factors)
    _posteriors(visit).add_moments(found, payload["means"], directions)
    components = np.flatnonzero(found.masses)
    for name in payload["names"]:
        visit.sums[name].add(getattr(found, name)[components], components)


def label_by_mixture(visit: Visit, _: None) -> tuple[float, IntArray | None, FloatArray | None]:
    """Return the best component of each row and its distance to it, where they are asked for."""
    chunk, payload = visit.chunk, visit.payload
    if "search" not in visit.made:  # whose cells take as long to learn as labels of 50,000 rows
        visit.made["search"] = component_search(payload["parameters"], chunk.n_threads)
    search: ComponentSearch = visit.made["search"]
    labels, distances = search.labels_and_distances(chunk.rows, exact=payload["exact"])
    return 0.0, labels, distances


def _posteriors(visit: Visit) -> TruncatedPosteriors:
    assert visit.chunk.posteriors is not None
    return visit.chunk.posteriors


def _by_chunk(begun: Mapping[str, Array], data: WorkerRows) -> list[dict[str, Array]]:
    """Cut what belongs to the rows by chunks."""
    parts = data.by_chunk(begun["candidates"]), data.by_chunk(begun["order"]), begun["random"]
    return [dict(zip(("candidates", "order", "random"), chunk)) for chunk in zip(*parts)]


class WorkerPosteriors:
    """The E-step on rows of workers; see `coterie.mixture.posteriors.Posteriors`.

    Each chunk draws its own first candidates, and searches with the neighbourhoods that all of them had after the step
    before.

    Parameters
    ----------
    data : WorkerRows
        The rows.
    sizes : tuple of int
        Number of components C, of candidates per row C', of neighbours per component G (with itself).
    random : RandomState
        Source of randomness.
    is_kept : bool
        Whether what an E-step depends on comes here with it, for checkpoints.
    begun : mapping of str to ndarray, or None
        What `now` of another object has returned; the first E-step repeats its last one.
    **search
        `random_candidate`, `rows_per_tile` and `search_every` of `TruncatedPosteriors`.

    Attributes
    ----------
    data
        As above.
    """

    def __init__(
        self,
        data: WorkerRows,
        sizes: tuple[int, int, int],
        *,
        random: np.random.RandomState,
        is_kept: bool = False,
        begun: Mapping[str, Array] | None = None,
        **search: Any,
    ) -> None:
        self.data, self._sizes, self._is_kept = data, sizes, is_kept
        self.total_weight = data.total_weight
        self.neighbors: IntArray = first_neighbors(random, sizes[0], sizes[2])
        self.n_distances = 0
        self.parameters: MixtureParameters
        self._energy = self._log_density = 0.0
        data.crew.past = []
        data.crew.kept = None if begun is None else _by_chunk(begun, data)
        if begun is not None:
            self.neighbors = begun["neighbors"]
        self._before = self.neighbors
        seed = random.randint(np.iinfo(np.int32).max)
        payload = {"seed": seed, "sizes": sizes, "search": search}
        self._change("begin", begin, payload, given=data.crew.kept)

    def _change(self, name: str, operation: Any, payload: Any, **options: Any) -> Any:
        """Make a pass that changes what belongs to the rows."""
        answer = self.data.crew.run(name, operation, payload, **options)
        self.data.crew.past.append((operation, payload))
        return answer

    def e_step(self, parameters: MixtureParameters, n_searches: int = 1) -> float:
        """See `Posteriors`."""
        payload = {"parameters": parameters, "neighbors": self.neighbors, "n_searches": n_searches}
        payload["is_kept"] = self._is_kept
        empty = partial(LearntNeighbors, self._sizes[0], self._sizes[2])
        answer = self._change("e-step", step, payload, sums={"neighbors": empty})
        self._before, self.neighbors = self.neighbors, answer.sums["neighbors"].over(self.neighbors)
        found = [answer.results[number] for number in range(len(answer.results))]
        n_distances, energies, log_densities, kept = zip(*found)
        if self._is_kept:  # what has been before is not repeated any more
            crew = self.data.crew
            crew.kept, crew.past = list(kept), [crew.past[0], crew.past[-1]]
        self.n_distances, self.parameters = int(sum(n_distances)), parameters
        self._energy, self._log_density = float(np.sum(energies)), float(np.sum(log_densities))
        return parameters.energies()[3]

    def now(self) -> dict[str, Array]:
        """Return what the last E-step depended on, its parameters apart, where that is kept."""
        kept = self.data.crew.kept
        assert kept is not None
        joined = {name: np.concatenate([chunk[name] for chunk in kept]) for name in ("candidates", "order")}
        random = np.stack([chunk["random"] for chunk in kept])
        return joined | {"random": random, "neighbors": self._before}

    def mean_energy(self) -> float:
        """See `Posteriors`."""
        return self._energy / self.total_weight

    def rescale(self, factor: float) -> None:
        """See `Posteriors`."""
        found = self._change("rescale", rescale, factor).results
        self._log_density = float(np.sum([found[number] for number in range(len(found))]))

    def update(self, base: float) -> float:
        """See `Posteriors`; the shares have been renewed already."""
        return self._log_density - base * self.total_weight

    def moments(self, means: Array, *, per_column: bool, directions: Directions | None = None) -> Moments:
        """See `Posteriors`."""
        names = ["masses", "energies", "first", *(["second"] if per_column else [])]
        if directions is not None:
            names = ["masses", "first", "second", "cross", "projections", "outer"]
        payload = {"means": means, "per_column": per_column, "names": names, "directions": directions}
        sums = {name: empty for name, empty in self._empty(means, directions).items() if name in names}
        found = self.data.crew.run("moments", add_moments, payload, sums=sums).sums
        totals = {name: found[name].total() for name in names}
        return Moments(**{"energies": np.zeros(len(means)), "second": None, **totals})

    def _empty(self, means: Array, directions: Directions | None) -> dict[str, Any]:
        """Return what makes empty sums, of steps that suit the largest distance of a row to a mean."""
        mass, shape = 2 * self.total_weight, means.shape
        radius = np.sqrt(np.max(np.sum((means - self.data.shift) ** 2, axis=1, dtype=np.float64)))
        reach = float(np.sqrt(self.data.largest_square) + radius)
        scales, precisions, offsets, _ = self.parameters.energies()
        largest = float(precisions.max()) * (1.0 if scales is None else float(scales.max()) ** 2)
        energy = largest * reach**2 + float(np.abs(offsets[np.isfinite(offsets)]).max())
        empty = {
            "masses": exact(shape[:1], Steps.below(mass)),
            "energies": exact(shape[:1], Steps.below(mass * energy)),
            "first": exact(shape, Steps.below(mass * reach)),
            "second": exact(shape, Steps.below(mass * reach**2)),
        }
        if directions is not None:
            n, n_factors = shape[0], directions.vectors.shape[1]
            # Directions have length 1 but for rounding.
            projection = 2 * float(directions.scales.max()) * reach
            empty["cross"] = exact((n, n_factors, shape[1]), Steps.below(mass * projection * reach))
            empty["projections"] = exact((n, n_factors), Steps.below(mass * projection))
            empty["outer"] = exact((n, n_factors, n_factors), Steps.below(mass * projection**2))
        return empty
