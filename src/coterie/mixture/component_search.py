"""Search for the best components of rows: all of them, or those near the cell of the row. The log-density is linear in
a row and its squares, so both are blocked products. The truncated search puts means into about 4 sqrt(C) cells and
compares a row with the 4 sqrt(C) components around its nearest cell.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from coterie import _kernels
from coterie.arrays import Array, FloatArray, IndexArray, IntArray
from coterie.blocks.dataset import own_squares
from coterie.blocks.kernel_rows import kernel_rows
from coterie.blocks.measures import robust_shift
from coterie.cached import cached_property
from coterie.centers.frame import CenterFrame, nearest_centers
from coterie.centers.lloyd import cell_centers
from coterie.estimators.outliers import center_rounding
from coterie.mixture.parameters import MixtureParameters
from coterie.mixture.posteriors import order_by
from coterie.rows import Rows

_SCORED_BYTES = 128 << 20
_CELLS_PER_ROOT = 4

# Energies may be off by this much, a part of the logarithm of a density, before products give way to differences.
_MOST_LOST = 1e-2

# Rows whose differences from their means stay in the cache.
_ROWS_OF_DIFFERENCES = 1024


@dataclass
class ComponentSearch:
    """Finds the components of a mixture that explain rows best."""

    parameters: MixtureParameters
    n_threads: int

    def prepared(self, *, exact: bool) -> Self:
        """Return the search with its cells, which take longer to learn than to send, unless it is exact."""
        if not exact:
            self._cells  # noqa: B018 (computed and kept)
        return self

    @cached_property
    def _shift(self) -> FloatArray:
        means = self.parameters.means
        mean = np.asarray(means.mean(axis=0, dtype=np.float64))
        squares = np.sum((means - mean) ** 2, axis=1)
        middle = robust_shift(means.__getitem__, mean, squares, means.dtype)
        return mean if middle is None else middle

    @cached_property
    def _linear(self) -> tuple[FloatArray, FloatArray]:
        """Vectors v and numbers o: -log(weight * density(x)) = o - 2 features(x) . v."""
        parameters = self.parameters
        means = parameters.means - self._shift
        variances = np.broadcast_to(
            parameters.variances if parameters.variances.ndim == 2 else parameters.variances[..., None],
            means.shape,
        )
        halves = 0.5 / variances
        squares = halves if parameters.variances.ndim == 2 else halves[:, :1]
        offsets = np.sum(halves * means**2 + 0.5 * np.log(2 * np.pi * variances), axis=1)
        offsets = offsets - np.log(parameters.weights)
        return np.ascontiguousarray(np.hstack([halves * means, -0.5 * squares])), offsets

    def _features(self, block: Array) -> FloatArray:
        rows = block - self._shift
        squares = rows**2
        if self.parameters.variances.ndim < 2:
            squares = squares.sum(axis=1, keepdims=True)
        return np.hstack([rows, squares])

    def _blocks(self, rows: Rows) -> Iterator[tuple[slice, Array]]:
        n_rows = max(1, _SCORED_BYTES // (16 * rows.shape[1]))
        dtype = self.parameters.means.dtype
        for start, block in (rows if rows.dtype == dtype else rows.with_dtype(dtype)).blocks(n_rows):
            yield slice(start, start + block.shape[0]), block

    def energies(self, rows: Rows) -> Iterator[tuple[slice, FloatArray]]:
        """Yield minus the log-densities, weights included, of blocks of rows with all components."""
        for part, block in self._blocks(rows):
            for piece in self._pieces(len(block)):
                start = part.start + piece.start
                found = self._energies_of(block[piece])
                yield slice(start, start + len(found)), found

    def _energies_of(self, block: Array) -> FloatArray:
        if self._loses_digits:
            return self._energies_by_differences(block)
        vectors, offsets = self._linear
        return np.asarray(offsets - 2 * (self._features(block) @ vectors.T))

    def best(self, rows: Rows, n_best: int, *, exact: bool) -> Iterator[tuple[slice, Array, IntArray, Array]]:
        """Yield blocks of rows, with the best components of each row and their energies, ascending."""
        for part, block in self._blocks(rows):
            yield part, block, *self._best_of(block, n_best, exact)

    def labels_and_distances(self, rows: Rows, *, exact: bool) -> tuple[IntArray, FloatArray]:
        """Return the best component of each row, and the distance to it as `distances` does; one pass over the rows."""
        labels, squares = np.empty(rows.shape[0], dtype=np.int32), np.empty(rows.shape[0])
        for part, block in self._blocks(rows):
            labels[part] = self._labels_of(block, exact)
            self._write_squares(block, labels[part], squares[part])
        return labels, np.sqrt(squares)

    def distances(self, rows: Rows, labels: IntArray) -> FloatArray:
        """Return the Mahalanobis distance of each row to its component: sqrt(sum (x - mean)^2 / variance)."""
        squares = np.empty(rows.shape[0])
        for part, block in self._blocks(rows):
            self._write_squares(block, np.maximum(labels[part], 0), squares[part])
        return np.sqrt(squares)

    @property
    def rounding(self) -> FloatArray:
        """For each component, the distances that rounding of its mean alone can make."""
        variances = self.parameters.variances
        if variances.ndim == 2:
            variances = variances.min(axis=1)
        return center_rounding(self.parameters.means) / np.sqrt(variances)

    def _best_of(self, block: Array, n_best: int, exact: bool) -> tuple[IntArray, Array]:
        """Return the best components of each row, and their energies, ascending."""
        if self._loses_digits:
            return self._best_by_differences(block, n_best)
        return self._nearest(block, self._features(block), self._linear, n_best, exact)

    def _labels_of(self, block: Array, exact: bool) -> IntArray:
        """Return the best component of each row."""
        if self.parameters.variances.ndim:
            return self._best_of(block, 1, exact)[0][:, 0]
        # With one variance for all, distances order the components as the densities do.
        if exact or self._n_listed == len(self.parameters.means):
            labels = np.empty(len(block), dtype=np.int32)
            self._frame.nearest(kernel_rows(block), labels, n_threads=self.n_threads)
            return labels
        linear = self._frame.relative, self._frame.offsets
        return self._nearest(block, block, linear, 1, exact)[0][:, 0]

    @cached_property
    def _loses_digits(self) -> bool:
        """Whether some means are so distant that energies computed by products lose all digits."""
        means = self.parameters.means - self._shift
        lost = 8 * np.finfo(np.float64).eps * float(np.abs(means).max(axis=0) ** 2 @ self._halves.max(axis=0))
        return not lost < _MOST_LOST

    @cached_property
    def _halves(self) -> FloatArray:
        """Half the inverse of the variances, shape (C, d)."""
        variances = self.parameters.variances
        columns = variances if variances.ndim == 2 else variances[..., None]
        return np.broadcast_to(0.5 / columns, self.parameters.means.shape)

    def _energies_by_differences(self, block: Array) -> FloatArray:
        """Return minus the log-densities, weights included, of rows with all components, whatever is far away."""
        means, halves = self.parameters.means.astype(np.float64), self._halves
        energies = np.empty((len(block), len(means)))
        with np.errstate(over="ignore"):
            for component, (mean, half) in enumerate(zip(means, halves)):
                energies[:, component] = (block - mean) ** 2 @ half
        return energies - 0.5 * np.sum(np.log(halves / np.pi), axis=1) - np.log(self.parameters.weights)

    def _best_by_differences(self, block: Array, n_best: int) -> tuple[IntArray, FloatArray]:
        """Return the components of least energy and these energies, as `best` does."""
        ids, energies = np.empty((len(block), n_best), dtype=np.int32), np.empty((len(block), n_best))
        for piece in self._pieces(len(block)):
            found = self._energies_by_differences(block[piece])
            ids[piece] = np.argsort(found, axis=1, kind="stable")[:, :n_best]
            energies[piece] = np.take_along_axis(found, ids[piece], axis=1)
        return ids, energies

    def _pieces(self, n_rows: int) -> Iterator[slice]:
        """Yield runs of rows whose energies with all components fit in memory."""
        most = max(1, _SCORED_BYTES // (8 * len(self.parameters.means)))
        for first in range(0, n_rows, most):
            yield slice(first, min(first + most, n_rows))

    def _write_squares(self, block: Array, labels: IntArray, squares: FloatArray) -> None:
        """Write the squared distances of the rows of a block to given components, in units of the variances."""
        variances = self.parameters.variances
        if variances.ndim < 2:
            squares[:] = own_squares(kernel_rows(block), labels, self.parameters.means, self.n_threads)
            squares /= variances if variances.ndim == 0 else variances[labels]
            return
        for start in range(0, len(block), _ROWS_OF_DIFFERENCES):
            part = slice(start, start + _ROWS_OF_DIFFERENCES)
            differences = block[part] - self.parameters.means[labels[part]].astype(np.float64)
            differences /= np.sqrt(variances[labels[part]])
            np.einsum("ij,ij->i", differences, differences, out=squares[part])

    @cached_property
    def _frame(self) -> CenterFrame:
        return CenterFrame(self.parameters.means, self._shift, self.n_threads)

    def _nearest(
        self, block: Array, features: Array, linear: tuple[Array, Array], n_best: int, exact: bool
    ) -> tuple[IntArray, Array]:
        """Return the components with the lowest offset - 2 features . vector, and these scores."""
        vectors, offsets = linear
        x = kernel_rows(features)
        ids = np.empty((len(block), n_best), dtype=np.int32)
        scores = np.empty(ids.shape, dtype=features.dtype)
        # Where a cell lists too few components, only the exact search finds enough.
        if exact or n_best > self._n_listed:
            _kernels.nearest(x, vectors, offsets, ids, scores, self.n_threads, 0)
            return ids, scores
        for members, listed in self._by_cell(block):
            found = np.empty((len(members), n_best), dtype=np.int32)
            found_scores = np.empty(found.shape, dtype=scores.dtype)
            selected = _kernels.select_rows(x, members)
            _kernels.nearest(
                selected, vectors[listed], offsets[listed], found, found_scores, self.n_threads, 0
            )
            ids[members], scores[members] = listed[found], found_scores
        return ids, scores

    def _by_cell(self, block: Array) -> Iterator[tuple[IndexArray, IntArray]]:
        """Yield the rows of each cell, and the components that it lists."""
        frame, lists = self._cells
        cells = np.empty(len(block), dtype=np.int32)
        frame.nearest(kernel_rows(block), cells, n_threads=self.n_threads)
        order = order_by(cells, len(lists))
        starts = np.searchsorted(cells[order], np.arange(len(lists) + 1))
        for listed, first, last in zip(lists, starts[:-1], starts[1:]):
            if last > first:
                yield order[first:last], listed

    @property
    def _n_listed(self) -> int:
        """Number of cells, and of components that each of them lists."""
        n_components = len(self.parameters.means)
        return min(n_components, int(np.ceil(_CELLS_PER_ROOT * np.sqrt(n_components))))

    @cached_property
    def _cells(self) -> tuple[CenterFrame, IntArray]:
        """Cells of means, and the components around the center of each."""
        means = self.parameters.means
        n_cells = n_listed = self._n_listed
        centers = cell_centers(means, n_cells, seed=0, n_threads=self.n_threads)
        lists = np.empty((n_cells, n_listed), dtype=np.int32)
        scores = np.empty((n_cells, n_listed), dtype=means.dtype)
        nearest_centers(kernel_rows(centers), self._frame, lists, scores, self.n_threads)
        return CenterFrame(centers, self._shift, self.n_threads), np.sort(lists, axis=1)


class FactorSearch(ComponentSearch):
    """The same for components with factors, by accurate distances."""

    def _energies_of(self, block: Array) -> FloatArray:
        everything = np.arange(len(self.parameters.means), dtype=np.int32)
        return self._table(block.astype(np.float64), everything, self._in_double)

    def _best_of(self, block: Array, n_best: int, exact: bool) -> tuple[IntArray, Array]:
        ids, energies = np.empty((len(block), n_best), dtype=np.int32), np.empty((len(block), n_best))
        for members, listed in self._compared(block, n_best, exact):
            table = self._table(block[members], listed, self.parameters)
            if n_best == 1:
                places = table.argmin(axis=1)[:, None]
            else:
                places = np.sort(np.argpartition(table, n_best - 1, axis=1)[:, :n_best], axis=1)
            found = np.take_along_axis(table, places, axis=1)
            order = np.argsort(found, axis=1, kind="stable")
            ids[members] = listed[np.take_along_axis(places, order, axis=1)]
            energies[members] = np.take_along_axis(found, order, axis=1)
        return ids, energies

    def _compared(self, block: Array, n_best: int, exact: bool) -> Iterator[tuple[Any, IntArray]]:
        """Yield groups of rows, and the components that they are compared with."""
        if exact or n_best > self._n_listed:
            everything = np.arange(len(self.parameters.means), dtype=np.int32)
            for piece in self._pieces(len(block)):
                yield piece, everything
        else:
            yield from self._by_cell(block)

    def _table(self, block: Array, ids: IntArray, parameters: MixtureParameters) -> FloatArray:
        """Return minus the log-densities, weights included, of rows with some components."""
        directions, offsets = parameters.directions, parameters.energies()[2]
        assert directions is not None
        found = np.empty((len(block), len(ids)), dtype=block.dtype)
        _kernels.factor_energies(
            kernel_rows(np.ascontiguousarray(block)), parameters.means, directions.scales, directions.vectors,
            directions.shrinkages, offsets, ids, found, self.n_threads,
        )  # fmt: skip
        return np.asarray(found + parameters.energies()[3])

    @cached_property
    def _in_double(self) -> MixtureParameters:
        return replace(self.parameters, means=self.parameters.means.astype(np.float64))

    def _write_squares(self, block: Array, labels: IntArray, squares: FloatArray) -> None:
        directions = self.parameters.directions
        assert directions is not None
        found, none = np.empty((len(block), 1), dtype=block.dtype), np.zeros(len(self.parameters.means))
        _kernels.factor_energies_of_listed(
            kernel_rows(np.ascontiguousarray(block)), self.parameters.means, directions.scales, directions.vectors,
            directions.shrinkages, none.astype(block.dtype), labels[:, None].copy(), found, self.n_threads,
        )  # fmt: skip
        np.multiply(found[:, 0], 2.0, out=squares)

    def factor_means(self, rows: Array, labels: IntArray) -> FloatArray:
        """Return what the factors of given components explain of rows: their posterior mean times the loadings."""
        directions = self._in_double.directions
        assert directions is not None
        d = rows.shape[1]
        shares = directions.strengths / (1 + directions.strengths)
        out = np.empty(rows.shape)
        for start in range(0, len(rows), _ROWS_OF_DIFFERENCES):
            part = slice(start, start + _ROWS_OF_DIFFERENCES)
            own = labels[part]
            scaled = (rows[part] - self._in_double.means[own]) * directions.scales[own]
            vectors = directions.vectors[own, :, :d]
            projections = np.einsum("nhd,nd->nh", vectors, scaled) * shares[own]
            out[part] = np.einsum("nhd,nh->nd", vectors, projections) / directions.scales[own]
        return out


def component_search(parameters: MixtureParameters, n_threads: int) -> ComponentSearch:
    """Return the search for the best components of rows under a mixture, whose factors may all be 0."""
    has_factors = parameters.factors is not None and parameters.factors.any()
    return (FactorSearch if has_factors else ComponentSearch)(parameters, n_threads)
