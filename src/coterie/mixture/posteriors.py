"""The truncated E-step (Hirschberger, Forster & Lücke 2022): each row's best components and its shares in them. Better
ones are searched among the nearest components of those a row has, at a cost that does not depend on the number of
components.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from coterie import _kernels
from coterie.arrays import Array, BoolArray, IndexArray, IntArray
from coterie.blocks.dataset import total_weight, weighted_sum
from coterie.blocks.kernel_rows import KEPT_BYTES, kernel_blocks, kernel_rows
from coterie.limits.memory import check_allocation
from coterie.mixture.parameters import Directions, MixtureParameters
from coterie.rows import Rows

# A block searches with the neighborhoods of the block before; block sizes depend only on the shape.
_EM_BLOCK_BYTES = 256 << 20

# E-steps after which rows in memory are put in the order of their components. Few rows change theirs later: from then
# on not every E-step has to search, and those that do not cost a quarter.
_SORT_AFTER = 3

# Longer rows are not sorted: they are read equally fast in any order, and a sorted copy would need new memory.
_LONG_ROW_BYTES = 2048


class TruncatedPosteriors:
    """The E-step on rows of this process. `sizes` are the numbers of components C, candidates per row C' and neighbors
    per component G; `neighbors` (C, G) has the component itself first. `group_size` rows search each other's candidates
    (1 in the papers). `random` draws the first candidates; None: the first step is `search_around`.
    """

    def __init__(
        self,
        rows: Rows,
        weights: Array | None,
        sizes: tuple[int, int, int],
        *,
        random_candidate: bool = False,
        group_size: int = 1,
        search_every: int = 1,
        random: np.random.RandomState | None = None,
        n_threads: int,
    ) -> None:
        self._rows, self._weights, self._n_threads = rows, weights, n_threads
        self._random, self._random_candidate = random or np.random.RandomState(0), random_candidate
        self._group_size, self._search_every = group_size, search_every
        n_rows, n_columns = rows.shape
        n_components, n_candidates, n_neighbors = sizes
        self._n_components = n_components
        row_bytes = n_columns * rows.dtype.itemsize
        quantum = _kernels.ROW_QUANTUM
        self._block_rows = max(quantum, _EM_BLOCK_BYTES // row_bytes // quantum * quantum)
        self._in_memory = rows.read() if n_rows * row_bytes <= KEPT_BYTES else None
        self._given = self._in_memory, weights
        self._is_sorted_later = self._in_memory is not None and row_bytes < _LONG_ROW_BYTES
        self.total_weight = total_weight(n_rows, weights)
        self.n_distances = self._n_steps = 0
        check_allocation(
            float(n_rows) * n_candidates * (12 + 3 * rows.dtype.itemsize),
            f"{n_candidates} candidate components of all rows",
            "use a coreset (coreset_size), or fewer candidates",
        )
        self._candidates: IntArray = (
            np.empty((n_rows, n_candidates), dtype=np.int32)
            if random is None
            else distinct_draws(random, n_rows, n_components, n_candidates)
        )
        self._energies = np.empty((n_rows, n_candidates), dtype=rows.dtype)
        self._shares = np.empty_like(self._energies)
        # Allocating memory in every iteration would take longer than the computation.
        self._log_densities = np.empty(n_rows)
        self.neighbors: IntArray = first_neighbors(self._random, n_components, n_neighbors)

    def _blocks(self) -> Iterator[tuple[slice, Any]]:
        if self._in_memory is None:
            yield from kernel_blocks(self._rows, self._block_rows)
            return
        for start in range(0, len(self._in_memory), self._block_rows):
            part = slice(start, min(start + self._block_rows, len(self._in_memory)))
            yield part, kernel_rows(self._in_memory[part])

    def e_step(self, parameters: MixtureParameters, n_searches: int = 1) -> float:
        """Update candidates and energies, with this number of searches; return the base of the energies."""
        base = parameters.energies()[3]
        self._replace_dropped(parameters.weights > 0)
        self.n_distances = 0
        if is_search(self._n_steps, self._search_every):
            for number in range(n_searches):
                # Before the first search nothing is known of the rows that share a component: they were drawn together.
                self._search(parameters, learn=self._n_steps + number > 0)
        else:
            self.refresh(parameters)
        self._n_steps += 1
        if self._n_steps == _SORT_AFTER and self._is_sorted_later:
            # Rows of one component are worked on together, so they had better lie together.
            order = order_by(self._candidates[:, 0], self._n_components)
            self._sort_rows(order)
            self._candidates, self._energies = self._candidates[order], self._energies[order]
        return base

    def _search(self, parameters: MixtureParameters, learn: bool) -> None:
        # Rows that search by themselves show even in the first search which of them belong together.
        alone = self._group_size == 1
        scales, precisions, offsets, _ = parameters.energies()
        directions = parameters.directions
        for part, x in self._blocks():
            extra = None
            if self._random_candidate:
                n_rows = part.stop - part.start
                extra = self._random.randint(self._n_components, size=n_rows, dtype=np.int32)
            options = (
                self._candidates[part], self._energies[part], self.neighbors, extra,
                self._group_size, learn or alone, alone, self._n_threads,
            )  # fmt: skip
            if directions is None:
                self.n_distances += _kernels.truncated_search(
                    x, parameters.means, scales, precisions, offsets, *options
                )
            else:
                self.n_distances += _kernels.factor_search(
                    x, parameters.means, directions.scales, directions.vectors, directions.shrinkages, offsets,
                    *options,
                )  # fmt: skip

    def start_at(self, components: IntArray) -> None:
        """Let later searches start at a component of each row, in the order of the rows as they were given."""
        if self._is_sorted_later:
            order = order_by(components, self._n_components)
            self._sort_rows(order)
            components = components[order]
        self._starts = components

    def search_around(self, parameters: MixtureParameters, neighbors: IntArray) -> None:
        """Search among the neighbors of the component that each row starts at, and those of the first C' of them:
        candidates do not depend on the steps before.
        """
        n_candidates, n_neighbors = self._candidates.shape[1], self.neighbors.shape[1]
        np.take(neighbors[:, :n_candidates], self._starts, axis=0, out=self._candidates, mode="clip")
        self.neighbors = np.ascontiguousarray(neighbors[:, :n_neighbors])
        self._search(parameters, learn=False)

    def refresh(self, parameters: MixtureParameters) -> None:
        """Update the energies of the candidates, and sort these by them; of the same ones all but one are ignored."""
        scales, precisions, offsets, _ = parameters.energies()
        directions = parameters.directions
        for part, x in self._blocks():
            listed = self._candidates[part], self._energies[part], self._n_threads
            if directions is None:
                _kernels.distances_to_listed(x, parameters.means, scales, precisions, offsets, *listed)
            else:
                _kernels.factor_energies_of_listed(
                    x, parameters.means, directions.scales, directions.vectors, directions.shrinkages, offsets,
                    *listed,
                )  # fmt: skip
            self.n_distances += self._candidates[part].size

    def _replace_dropped(self, alive: BoolArray) -> None:
        """Replace dropped candidates by the best remaining one of the row; by any, if none is left."""
        if alive.all():
            return
        lives = alive[self._candidates]
        affected = np.flatnonzero(~lives.all(axis=1))
        candidates, lives = self._candidates[affected], lives[affected]
        best = candidates[np.arange(len(affected)), lives.argmax(axis=1)]
        none_left = ~lives.any(axis=1)
        best[none_left] = self._random.choice(np.flatnonzero(alive), np.count_nonzero(none_left))
        candidates[:, 0] = best
        self._candidates[affected] = np.where(alive[candidates], candidates, best[:, None])

    def _sort_rows(self, order: IndexArray) -> None:
        """Put the rows, as they were given, in another order."""
        given, weights = self._given
        assert given is not None
        # In half of the time of an index; memory that is written for the first time would take longer.
        out = None if self._in_memory is given else self._in_memory
        self._in_memory = np.take(given, order, axis=0, out=out, mode="clip")
        self._weights = None if weights is None else weights[order]

    def mean_energy(self) -> float:
        """Return the (weighted) mean of the energies of the rows with their best components."""
        return weighted_sum(self._energies[:, 0].astype(np.float64), self._weights) / self.total_weight

    def rescale(self, parameters: MixtureParameters) -> None:
        """Update the energies where only the shared variance has changed, from 1."""
        self._energies *= 1 / float(parameters.variances)

    def update(self, base: float) -> float:
        """Renew the shares from the energies; return the free energy (lower bound of the log-likelihood)."""
        # Smaller shares could not change a sum.
        negligible = float(-np.log(np.finfo(self._energies.dtype).eps / 8))
        _kernels.truncated_posteriors(
            self._energies, negligible, self._shares, self._log_densities, self._n_threads
        )
        return weighted_sum(self._log_densities, self._weights) - base * self.total_weight

    def moments(
        self, means: Array, *, per_column: bool, directions: Directions | None = None
    ) -> ComponentMoments:
        """Return the sufficient statistics of the rows for the M-step."""
        n, d = means.shape
        sums: dict[str, Any] = {"second": np.zeros((n, d))} if per_column else {}
        if directions is None:
            sums["energies"] = np.zeros(n)
        else:
            h = directions.vectors.shape[1]
            sums |= {
                "cross": np.zeros((n, h, d)),
                "projections": np.zeros((n, h)),
                "outer": np.zeros((n, h, h)),
            }
        out = ComponentMoments(np.zeros(n), np.zeros((n, d)), **sums)
        for part, x in self._blocks():
            weights = None if self._weights is None else self._weights[part]
            candidates, shares = self._candidates[part], self._shares[part]
            if directions is None:
                _kernels.mixture_moments(
                    x, candidates, shares, self._energies[part], weights, means,
                    out.masses, out.energies, out.first, out.second, self._n_threads,
                )  # fmt: skip
            else:
                _kernels.factor_moments(
                    x, candidates, shares, weights, means, directions.scales, directions.vectors,
                    out.masses, out.first, out.second, out.cross, out.projections, out.outer, self._n_threads,
                )  # fmt: skip
        return out


class ComponentMoments(NamedTuple):
    """Weighted sums over the rows of each component, relative to its mean: of shares s `masses` (C,), of s x and s x^2
    `first` and `second` (C, d); without directions of s times energies `energies` (C,), with them of s p, s p x and
    s p p' `projections` (C, H), `cross` (C, H, d) and `outer` (C, H, H). Arrays, or a `coterie.passes.Total` of each.
    """

    masses: Any
    first: Any
    energies: Any = None
    second: Any = None
    cross: Any = None
    projections: Any = None
    outer: Any = None


def is_search(n_steps: int, search_every: int) -> bool:
    """Return whether the E-step after this number of them searches for better candidates."""
    return n_steps <= _SORT_AFTER or (n_steps - _SORT_AFTER) % search_every == 0


def first_neighbors(random: np.random.RandomState, n_components: int, n_neighbors: int) -> IntArray:
    """Draw neighbors for each component; the first one is the component itself."""
    others = distinct_draws(random, n_components, n_components - 1, n_neighbors - 1)
    own = np.arange(n_components, dtype=np.int32)[:, None]
    return np.hstack([own, others + (others >= own)]).astype(np.int32)


def distinct_draws(random: np.random.RandomState, n_rows: int, n: int, n_draws: int) -> IntArray:
    """Draw `n_draws` distinct numbers below n for each row, uniformly: shape (n_rows, n_draws), int32."""
    if n <= 4 * n_draws:
        return np.argsort(random.uniform(size=(n_rows, n)), axis=1)[:, :n_draws].astype(np.int32)
    out = random.randint(n, size=(n_rows, n_draws), dtype=np.int32)
    repeating = np.arange(n_rows)
    while n_draws > 1 and len(repeating):
        ascending = np.sort(out[repeating], axis=1)
        repeating = repeating[(ascending[:, 1:] == ascending[:, :-1]).any(axis=1)]
        out[repeating] = random.randint(n, size=(len(repeating), n_draws), dtype=np.int32)
    return out


def order_by(keys: Array, n_keys: int) -> IndexArray:
    """Return the order that sorts non-negative integers below n_keys; equal ones stay in their order."""
    # NumPy sorts 16 bits in linear time.
    return np.argsort(keys.astype(np.uint16) if n_keys <= 1 << 16 else keys, kind="stable").astype(np.int64)
