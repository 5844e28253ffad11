"""The choice of the bounds of Lloyd's algorithm."""

from __future__ import annotations

import math
from dataclasses import dataclass

from coterie.blocks.dataset import FitRows
from coterie.centers.adaptive import AdaptiveAssignment
from coterie.centers.assignment import Bounds
from coterie.centers.bounded import BoundedAssignment, StoredBounds, n_bounds_of
from coterie.centers.frame import CenterFrame
from coterie.passes import MeasuredRows

ALGORITHMS = ("auto", "lloyd", "elkan", "yinyang", "hamerly")

# The first pass with bounds takes as long as two without, so fewer passes are faster without.
PASSES_FOR_BOUNDS = 4

# "auto" compares algorithms in passes of at least this number of multiply-adds, and rows of at least this number of
# bytes, because a row number takes eight.
_COMPARED, _COMPARED_BYTES = 2e8, 64

# For rows of at most this number of bytes and products with centers, reading bounds takes as long as comparing.
_FEW_BYTES, _FEW_PRODUCTS = 256, 2048

# Bounds of "elkan" may take this memory, or this share of that of the rows. Larger ones cost more time than they save.
_ELKAN_BYTES, _ELKAN_OF_ROWS = 128 << 20, 0.75

# Fewest passes in which both kinds of bounds are compared. In fewer passes "yinyang" was at least as fast on all
# machines, because allocating the bounds of "elkan" and changing between both kinds take as long as a pass.
_LEAST_ADAPTIVE_PASSES = 20


@dataclass(frozen=True)
class BoundsRule:
    """Rows are assigned to their nearest centers by one of the algorithms of `coterie.KMeans`, or by "adaptive".

    `n_bounds` is the number of lower bounds per row, None for one per center.
    """

    algorithm: str
    n_bounds: int | None = None
    max_iter: float = math.inf
    unit_length: bool = False

    def bounds(self, rows: FitRows, frame: CenterFrame) -> Bounds | None:
        """Return the bounds of rows before their first pass; None to compare all rows with all centers."""
        if self.algorithm == "lloyd":
            return None
        if self.algorithm == "adaptive":
            return AdaptiveAssignment(rows, frame, max_iter=self.max_iter, unit_length=self.unit_length)
        return BoundedAssignment(rows, frame, self.n_bounds, unit_length=self.unit_length)


def choose_rule(
    data: MeasuredRows,
    n_clusters: int,
    algorithm: str,
    *,
    max_iter: float = math.inf,
    unit_length: bool = False,
) -> BoundsRule:
    """Return the rule of an algorithm of `coterie.KMeans`; "auto" chooses by the data and the number of iterations."""
    n_rows = data.passes.rows_per_worker
    if algorithm == "auto":
        algorithm = choose_algorithm(
            (n_rows, data.n_columns), n_clusters, max_iter,
            itemsize=data.dtype.itemsize, is_sparse=data.rows.is_sparse,
        )  # fmt: skip
    if n_clusters == 1 or algorithm == "lloyd":
        return BoundsRule("lloyd")
    n_bounds = None if algorithm == "adaptive" else n_bounds_of(algorithm, n_rows, n_clusters)
    return BoundsRule(algorithm, n_bounds, max_iter, unit_length)


def choose_algorithm(
    shape: tuple[int, int], n_clusters: int, max_iter: float = math.inf, *, itemsize: int, is_sparse: bool
) -> str:
    """Return the algorithm of `algorithm="auto"`: "adaptive" where bounds are compared during the fit."""
    n_columns = shape[1]
    is_cheap = n_columns * itemsize <= _FEW_BYTES and n_clusters * n_columns <= _FEW_PRODUCTS
    if max_iter < PASSES_FOR_BOUNDS or n_clusters < 4 or is_sparse or is_cheap:
        return "lloyd"
    if compares_bounds(shape, n_clusters, itemsize=itemsize, is_sparse=is_sparse):
        return "adaptive" if max_iter >= _LEAST_ADAPTIVE_PASSES else "yinyang"
    suits = n_columns >= 256 and n_clusters <= 2 * n_columns
    return "elkan" if suits and _elkan_fits(shape, n_clusters, itemsize) else "yinyang"


def compares_bounds(shape: tuple[int, int], n_clusters: int, *, itemsize: int, is_sparse: bool) -> bool:
    """Return whether "auto" measures which bounds are faster: with many rows, and memory for a bound per centroid."""
    n_rows, n_columns = shape
    return (
        not is_sparse
        and n_clusters >= 4
        and n_columns * itemsize >= _COMPARED_BYTES
        and float(n_rows) * n_columns * n_clusters >= _COMPARED
        and _elkan_fits(shape, n_clusters, itemsize)
    )


def _elkan_fits(shape: tuple[int, int], n_clusters: int, itemsize: int) -> bool:
    n_rows, n_columns = shape
    n_bytes = float(n_rows) * n_clusters * StoredBounds.dtype.itemsize
    return n_bytes <= max(_ELKAN_BYTES, _ELKAN_OF_ROWS * n_rows * n_columns * itemsize)
