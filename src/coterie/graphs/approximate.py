"""Approximate nearest neighbors of dense rows: products within overlapping cells. Rows visit cells with a near border,
and are compared if either visits the cell of the other; products use few principal components if these suffice. The
result of a row does not depend on other queries or threads.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.utils.extmath import randomized_svd

from coterie import _kernels
from coterie.arrays import Array, BoolArray, FloatArray, IndexArray, IntArray, lanes_of
from coterie.blocks.dataset import check_vanishing
from coterie.blocks.kernel_rows import kernel_rows
from coterie.centers.frame import CenterFrame
from coterie.centers.lloyd import cell_centers
from coterie.fitting.threads import single_threaded_blas
from coterie.graphs.exact import (
    ExactSearch,
    IdsAndSquares,
    byte_unit,
    is_for_bytes,
    lowest_of_blocks,
    lowest_scores,
    nearest_of_candidates,
    neighbors_by_differences,
    relative_rows,
    without_self,
)

# One half plans a search, the other measures its recall, 0.99 to within 0.7%.
N_PROBES = 256

# Equal distances differ by so much where they are summed in another order.
_TIE = 1e-6

# Cells per square root of the number of points, and points per cell that they are learned from.
_CELLS_PER_ROOT = 2
_SAMPLE_PER_CELL = 32

# Multiply-adds of one call, a fraction of a second: Ctrl-C is answered between calls. Each packs the points, so that
# there are only a few.
_CALL_MULTIPLY_ADDS, _MOST_CALLS = 2e10, 8

# Bytes of the bit sets of visited cells that are held at a time.
_VISITED_BYTES = 16 << 20

# How many directions are tried, the last ones only where others do not suffice, and rows that they are learned from.
# With more than half of the columns nothing is gained.
WIDTHS = (32, 48, 64, 96, 128, 192, 256)
_LAST_WIDTHS = 2
_SAMPLE = 2048

# Additional candidates; in few directions at most this multiple of the number of neighbors, and an additional number.
_SPARE = 2
_IN_DIRECTIONS, _SPARE_IN_DIRECTIONS = 3, 8

# Of how many rows distances to borders are computed at a time.
_PLANNED_ROWS = 16

# Which of the rows that plan judge bytes, with at least how many neighbors; what rounding changes is at most this part
# of how much their squared distances differ.
_ROUNDED_STEP, _LEAST_ROUNDED, _MOST_ROUNDED = 4, 4, 0.25

# Additional candidates where rounding orders them.
_SPARE_OF_BYTES = 3

# Cost of a row: for each direction, multiply-adds with this multiple of the root of the number of points, and with the
# columns; for each number of a measured candidate, this number of multiply-adds, as it is read from memory.
_MET_PER_ROOT, _TIMES_MEASURED = 15.0, 9.0

# Rows that are taken relative to the mean at a time.
_CELL_BLOCK_BYTES = 4 << 20


def approximate_index(
    points: Array,
    sample: Array | None,
    n_neighbors: int,
    recall: float,
    seed: int,
    n_threads: int,
) -> CellIndex | ExactSearch:
    """Prepare a search for near points that finds the share `recall` of the neighbors of rows like `sample`
    (None: like the points). The search is exact where an approximate one would take more work.
    """
    if sample is None and len(points) == 1:
        sample = points
    index = CellIndex(points, sample, n_neighbors, recall, seed, n_threads)
    return index if index.is_worthwhile else ExactSearch(points, n_threads)


class CellIndex:
    """Index of points in overlapping cells; `recall` is measured on other rows than those that plan the search. An
    index that is not worthwhile, because comparing with all points is cheaper, answers no queries.
    """

    method: ClassVar[str] = "approximate"

    def __init__(
        self,
        points: Array,
        sample: Array | None,
        n_neighbors: int,
        recall: float,
        seed: int,
        n_threads: int,
    ) -> None:
        n, d = points.shape
        self._points, self._shift = points, points.mean(axis=0, dtype=np.float64)
        are_points = sample is None
        n_neighbors = min(n_neighbors, n - are_points)
        sampled = points if sample is None else sample
        rows = np.sort(
            np.random.RandomState(seed).choice(len(sampled), min(N_PROBES, len(sampled)), replace=False)
        )
        drawn, offsets = draw_recall_sample(
            sampled[rows], rows if are_points else None, points, self._shift, n_neighbors, n_threads
        )
        planners, judges = drawn.halves() if len(rows) > 1 else (drawn, drawn)
        missed = 1 - recall  # by directions and by cells
        found = few_directions(points, self._shift, offsets, planners, 1 - missed / 4, seed, n_threads)
        if found is None:
            self._directions, near = None, relative_rows(points, self._shift, n_threads)[0]
            n_candidates = candidates_of(n_neighbors, False) + are_points
        else:
            self._directions, near = found.directions, found.near
            n_candidates = max(found.n_candidates, n_neighbors + are_points)
        self._n_candidates = min(n_candidates, n)
        n_cells, size = sample_of_cells(n)
        learned = np.sort(np.random.RandomState(seed).choice(n, min(size, n), replace=False))
        centers = cell_centers(near[learned], n_cells, seed=seed, n_threads=n_threads)
        vectors = self._near(planners.vectors, n_threads)
        nearest = [near[ids] for ids in planners.ids]
        reach, n_visits = plan_reach(centers, vectors, nearest, 1 - 3 * missed / 4)
        # Within cells a product takes about twice as long.
        self.is_worthwhile = 2 * (1 + 2 * n_visits) * near.shape[1] < n_cells * d
        if not self.is_worthwhile:
            return
        self._cells = Cells(centers, reach, n_threads)
        visits = self._cells.visits(near, n_threads)
        self._visits = visits if are_points else None
        unit = 0.0
        if is_for_bytes(near) and rounding_is_small(vectors, nearest):
            unit, self._n_candidates = byte_unit(near), min(n_candidates + _SPARE_OF_BYTES, n)
        self._cell_points = CellPoints(near, offsets, visits, n_cells, unit)
        ids, _ = self.neighbors(judges.vectors, n_neighbors + are_points, n_threads)
        self.recall = judges.recall(points, ids)

    def neighbors(self, queries: Array | None, n_neighbors: int, n_threads: int) -> IdsAndSquares:
        """Return near points of each query by distance, then number, and their squared distances: both (q,
        n_neighbors). None as queries: the points among each other, without a point as its own neighbor.
        """
        points = self._points
        if queries is None:
            assert self._visits is not None
            near, visits = self._cell_points.near, self._visits
        else:
            near = self._near(queries, n_threads)
            visits = self._cells.visits(near, n_threads)
        candidates = self._cell_points.candidates(near, visits, self._n_candidates, n_threads)
        ids, squares = nearest_of_candidates(
            points, queries, candidates, visits.row_order, n_neighbors, n_threads
        )
        # Rows whose cells hold too few points are compared with all.
        few = np.flatnonzero(ids[:, -1] < 0)
        if len(few):
            own = few.astype(np.int32) if queries is None else None
            rows = (points if queries is None else queries)[few]
            ids[few], squares[few] = neighbors_by_differences(points, rows, own, n_neighbors, n_threads)
        return ids, squares

    def _near(self, rows: Array, n_threads: int) -> Array:
        """Return rows relative to the mean, and in the directions."""
        relative = relative_rows(rows, self._shift, n_threads)[0]
        return (
            relative
            if self._directions is None
            else rows_in_directions(relative, self._directions, n_threads)
        )


# --- cells


@dataclass(frozen=True)
class Visits:
    """Cells that each row visits."""

    own: IntArray  # (q,), int32: the cell of each row
    starts: IndexArray  # (q + 1,): where the visits of each row begin in `cells`, and where the last ones end
    cells: IntArray  # the cells that each row visits, ascending

    @property
    def row_order(self) -> IndexArray:
        """The rows, those of one cell together."""
        return np.argsort(self.own, kind="stable")


class Cells:
    """Centers of cells. Rows visit the cell behind a border up to the distance reach / 2."""

    def __init__(self, centers: Array, reach: float, n_threads: int) -> None:
        self._frame, self._reach = CenterFrame(centers, np.zeros(centers.shape[1]), n_threads), reach
        lanes = lanes_of(centers.dtype)
        self._gaps = np.zeros((len(centers), -(-len(centers) // lanes) * lanes), dtype=centers.dtype)
        self._gaps[:, : len(centers)] = np.sqrt(_square_distances(centers, centers))
        np.fill_diagonal(self._gaps, 0)  # rounding would have rows visit their own cells

    def __len__(self) -> int:
        return len(self._frame)

    def visits(self, rows: Array, n_threads: int) -> Visits:
        """Return the cell of each row and those that it visits."""
        lanes, n_panels = lanes_of(rows.dtype), self._gaps.shape[1] // lanes_of(rows.dtype)
        own, counts = np.empty(len(rows), dtype=np.int32), np.zeros(len(rows), dtype=np.intp)
        size = max(1024, _VISITED_BYTES // (2 * n_panels))
        cells = [np.empty(0, dtype=np.int32)]
        for first in range(0, len(rows), size):
            part = slice(first, min(first + size, len(rows)))
            visited = np.empty((part.stop - first, n_panels), dtype=np.uint16)
            _kernels.cells_in_reach(
                kernel_rows(rows[part]), self._frame.relative, self._frame.offsets, self._gaps, self._reach,
                own[part], visited, n_threads,
            )  # fmt: skip
            at, panels = np.nonzero(visited)
            bits = visited[at, panels].astype("<u2").view(np.uint8).reshape(-1, 2)
            pairs, slots = np.nonzero(np.unpackbits(bits, axis=1, bitorder="little"))
            cells.append((panels[pairs] * lanes + slots).astype(np.int32))
            counts[part] = np.bincount(at[pairs], minlength=len(visited))
        return Visits(own, np.concatenate([[0], np.cumsum(counts)]), np.concatenate(cells))


class CellPoints:
    """Points sorted into cells, and the points that visit each cell. `unit`: see `byte_unit`; 0: by floats."""

    def __init__(self, near: Array, offsets: Array, visits: Visits, n_cells: int, unit: float = 0.0) -> None:
        self.near, self._offsets, self._unit = near, offsets, unit
        self._order = visits.row_order.astype(np.int32)
        self._starts = np.concatenate([[0], np.cumsum(np.bincount(visits.own, minlength=n_cells))])
        crossed = sp.csr_array(
            (np.ones(len(visits.cells), dtype=np.uint8), visits.cells, visits.starts),
            shape=(len(near), n_cells),
        ).tocsc()
        self._visitors = crossed.indices.astype(np.int32, copy=False)
        self._visitor_starts = crossed.indptr.astype(np.intp, copy=False)

    def candidates(self, rows: Array, visits: Visits, n_candidates: int, n_threads: int) -> IntArray:
        """Return the points of lowest score |y|^2 - 2 x.y of the cells that each row x visits: (q, n_candidates) int32,
        ascending by score, -1 for none.
        """
        ids, x = np.empty((len(rows), n_candidates), dtype=np.int32), kernel_rows(rows)
        met = self.near.size / (len(self._starts) - 1) * (len(rows) + 2 * len(visits.cells))
        n_calls = min(1 + int(met / _CALL_MULTIPLY_ADDS), _MOST_CALLS)
        for listed in np.array_split(visits.row_order, n_calls):
            _kernels.nearest_in_cells(
                x, self.near, self._offsets, self._order, self._starts, self._visitors, self._visitor_starts, listed,
                visits.own, visits.starts, visits.cells, self._unit, ids, n_threads,
            )  # fmt: skip
        return ids


def sample_of_cells(n_rows: int) -> tuple[int, int]:
    """Return the number of cells for a number of rows, and the number of rows that they are learned from."""
    n_cells = min(n_rows, int(np.ceil(_CELLS_PER_ROOT * np.sqrt(n_rows))))
    return n_cells, min(n_rows, _SAMPLE_PER_CELL * n_cells)


def plan_reach(centers: Array, rows: Array, near: list[Array], recall: float) -> tuple[float, float]:
    """Return the reach at which rows visit the cells of the share `recall` of their nearest points, and the mean number
    of visits. Row x of cell a has the distance (|x - c|^2 - |x - a|^2) / (2 |a - c|) to the border of cell c.
    """
    own, crossings = _border_distances(rows, centers)
    least = []
    for some in np.array_split(np.arange(len(rows)), -(-len(rows) // _PLANNED_ROWS)):
        cells, others = _border_distances(np.concatenate([near[row] for row in some]), centers)
        asking = np.repeat(some, [len(near[row]) for row in some])
        least.append(np.minimum(crossings[asking, cells], others[np.arange(len(others)), own[asking]]))
    border = float(np.quantile(np.concatenate(least), recall, method="higher")) * (1 + 1e-4)
    return 2 * border, float(np.mean(np.count_nonzero(crossings < border, axis=1)))


def rounding_is_small(rows: Array, near: list[Array]) -> bool:
    """Whether rounding to 7 bits changes the distances of most rows to their nearest points, relative to each other,
    by a small part of what they differ.
    """

    def squares(row: Array, points: Array) -> FloatArray:
        return np.square(points.astype(np.float64) - row).sum(axis=1)

    def rounded(values: Array) -> FloatArray:
        largest = np.abs(values).max(axis=-1, keepdims=True).astype(np.float64)
        step = np.where(largest > 0, largest, 1) / 63
        return np.rint(values / step) * step

    def is_small(row: Array, points: Array) -> bool:
        exact = squares(row, points)
        moved = squares(rounded(row), rounded(points)) - exact
        return bool(np.std(moved) <= _MOST_ROUNDED * np.std(exact))

    some = [is_small(*pair) for pair in zip(rows[::_ROUNDED_STEP], near[::_ROUNDED_STEP])]
    return len(near[0]) >= _LEAST_ROUNDED and bool(np.mean(some) >= 0.9)


def _border_distances(rows: Array, centers: Array) -> tuple[IndexArray, FloatArray]:
    """Return the cell of each row, and the distances to its borders with all cells, 0 for its own."""
    squares = _square_distances(rows, centers)
    own = squares.argmin(axis=1)
    gaps = np.sqrt(_square_distances(centers, centers))[own]
    above = squares - squares[np.arange(len(rows)), own][:, None]
    return own, np.divide(above, 2 * gaps, out=np.zeros_like(gaps), where=gaps > 0)


def _square_distances(rows: Array, others: Array) -> FloatArray:
    """Return the squared distances of all pairs by products in float64."""
    rows, others = rows.astype(np.float64), others.astype(np.float64)
    with single_threaded_blas():
        products = rows @ others.T
    squares = np.square(rows).sum(axis=1)[:, None] + np.square(others).sum(axis=1) - 2 * products
    return np.maximum(squares, 0)


# --- probes


@dataclass(frozen=True)
class RecallSample:
    """A sample of queries with their true nearest points, to measure recall."""

    own: IntArray  # (p,), int32: which point each of them is, -1 for none
    vectors: Array  # (p, d): the rows
    ids: IntArray  # (p, n_neighbors), int32: their nearest points by products, themselves not counted
    furthest: FloatArray  # (p,): squared distance to the last of them

    def halves(self) -> tuple[RecallSample, RecallSample]:
        """Return two sets: the rows that a search is planned by overestimate its recall."""
        return self._some(slice(0, None, 2)), self._some(slice(1, None, 2))

    def _some(self, part: slice) -> RecallSample:
        vectors = np.ascontiguousarray(self.vectors[part])
        return RecallSample(self.own[part], vectors, self.ids[part], self.furthest[part])

    def recall(self, points: Array, found: IntArray) -> float:
        """Return the share of nearest points in `found` (p, m), -1 for none; ties with the last one count."""
        return float(self._recalls(points, found)[-1])

    def enough(self, points: Array, found: IntArray, recall: float) -> int | None:
        """Return the number of first columns of `found` with the share `recall` of nearest points, or None."""
        recalls = self._recalls(points, found)
        return int(np.argmax(recalls >= recall)) + 1 if recalls[-1] >= recall else None

    def _recalls(self, points: Array, found: IntArray) -> FloatArray:
        """Return the share of the nearest points among the first of those found, the first two, ..."""
        good = [_are_near(*probe, points) for probe in zip(self.vectors, found, self.own, self.furthest)]
        n_neighbors = self.ids.shape[1]
        return np.minimum(np.cumsum(good, axis=1), n_neighbors).mean(axis=0) / n_neighbors


def _are_near(vector: Array, found: IntArray, own: int, furthest: float, points: Array) -> BoolArray:
    others = (found >= 0) & (found != own)
    return others & (_squares_to(vector, points[found]) <= furthest * (1 + _TIE))


def _squares_to(vector: Array, points: Array) -> FloatArray:
    return np.square(points.astype(np.float64) - vector).sum(axis=1)


def draw_recall_sample(
    vectors: Array,
    own: IndexArray | None,
    points: Array,
    shift: FloatArray,
    n_neighbors: int,
    n_threads: int,
) -> tuple[RecallSample, Array]:
    """Compare a sample of queries with all points; return it and the points' squared lengths relative to the mean."""
    offsets = np.empty(len(points), dtype=points.dtype)
    relative_vectors = relative_rows(vectors, shift, n_threads)[0]

    def blocks() -> Iterator[tuple[int, Array, Array]]:
        for part, relative, squares in _relative_blocks(points, shift, n_threads, n_neighbors + 1):
            check_vanishing(squares, points.dtype, [points[part]])
            offsets[part] = squares
            yield part.start, relative, offsets[part]

    ids, scores = lowest_of_blocks(relative_vectors, blocks(), n_neighbors + (own is not None), n_threads)
    are_points = own is not None
    known = np.full(len(vectors), -1, dtype=np.int32) if own is None else own.astype(np.int32)
    if are_points:
        ids, _ = without_self(ids, scores, known)
    furthest = [_squares_to(vector, points[near]).max() for vector, near in zip(vectors, ids)]
    return RecallSample(known, vectors, ids, np.array(furthest)), offsets


def _relative_blocks(
    points: Array, shift: FloatArray, n_threads: int, n_least: int = 1
) -> Iterator[tuple[slice, Array, FloatArray]]:
    """Yield blocks of points relative to the mean, and their squared lengths; all of them would be a copy."""
    size = max(n_least, _CELL_BLOCK_BYTES // (points.shape[1] * points.itemsize))
    size = -(-size // 64) * 64
    for first in range(0, len(points), size):
        part = slice(first, min(first + size, len(points)))
        yield part, *relative_rows(points[part], shift, n_threads)


# --- directions


@dataclass(frozen=True)
class FewDirections:
    """Directions in which near points are found before their distances are measured in all columns."""

    directions: Array  # (d, m): orthogonal
    near: Array  # (n, m): the points in these
    n_candidates: int  # how many of the points that seem nearest in these are to be measured in all columns


def candidates_of(n_neighbors: int, in_few: bool) -> int:
    """Return among how many candidates neighbors are searched: at most, in few directions, or in all columns."""
    return _IN_DIRECTIONS * n_neighbors + _SPARE_IN_DIRECTIONS if in_few else n_neighbors + _SPARE


def few_directions(
    points: Array,
    shift: FloatArray,
    offsets: Array,
    probes: RecallSample,
    recall: float,
    seed: int,
    n_threads: int,
) -> FewDirections | None:
    """Return the principal directions in which nearest points are found at the least cost, from candidates of least
    |x|^2 + |y|^2 - 2 x.y there; None if half of the columns do not suffice.
    """
    n, d = points.shape
    if not offsets.any():
        return None
    best, least = None, np.inf
    per_direction, per_candidate = _MET_PER_ROOT * np.sqrt(n) + d, d * _TIMES_MEASURED
    fewest = probes.ids.shape[1] * per_candidate
    most = min(candidates_of(probes.ids.shape[1], True) + 1, n)
    relative_vectors = relative_rows(probes.vectors, shift, n_threads)[0]
    random = np.random.RandomState(seed)
    sample = points[np.sort(random.choice(n, min(_SAMPLE, n), replace=False))]
    sample = relative_rows(sample, shift, n_threads)[0]
    for step in (WIDTHS[:-_LAST_WIDTHS], WIDTHS[-_LAST_WIDTHS:]):
        widths = [width for width in step if width <= d // 2]
        if not widths:
            break
        directions = principal_directions(sample, widths[-1], seed)
        everywhere = np.empty((n, widths[-1]), dtype=points.dtype)
        for part, relative, _ in _relative_blocks(points, shift, n_threads):
            everywhere[part] = rows_in_directions(relative, directions, n_threads)
        for width in widths:
            if width * per_direction + fewest >= least:
                break
            near = np.ascontiguousarray(everywhere[:, :width])
            vectors = rows_in_directions(relative_vectors, directions[:, :width], n_threads)
            found, _ = lowest_scores(vectors, near, offsets, most, n_threads)
            enough = probes.enough(points, found, recall)
            if enough is None:
                continue
            cost = width * per_direction + enough * per_candidate
            if cost < least:
                best = FewDirections(np.ascontiguousarray(directions[:, :width]), near, enough)
                least = cost
        if best is not None:
            break
    return best


def rows_in_directions(rows: Array, directions: Array, n_threads: int) -> Array:
    """Return the products of rows and directions, each row bit-identical for any other rows."""
    found = np.empty((len(rows), directions.shape[1]), dtype=rows.dtype)
    offsets = np.zeros(directions.shape[1], dtype=rows.dtype)
    _kernels.products(kernel_rows(rows), np.ascontiguousarray(directions.T), offsets, found, n_threads)
    return found


def principal_directions(sample: Array, n_directions: int, seed: int) -> Array:
    """Return the directions in which rows, relative to their mean, differ most: an array of shape (d, n_directions)."""
    largest = np.abs(sample).max(initial=0)
    if not largest:
        return np.eye(sample.shape[1], n_directions, dtype=sample.dtype)
    with single_threaded_blas():
        found = randomized_svd(sample / largest, n_directions, n_iter=2, random_state=seed)[2]
    return np.ascontiguousarray(found.T.astype(sample.dtype, copy=False))
