"""The choice of the bounds of Lloyd's algorithm."""

from __future__ import annotations

import math
from dataclasses import dataclass

from coterie import _kernels
from coterie.blocks.dataset import ChunkRows
from coterie.centers.assignment import Bounds
from coterie.centers.bounded import BoundedAssignment, n_bounds_of
from coterie.centers.frame import CenterFrame
from coterie.limits.memory import is_free
from coterie.passes import MeasuredRows

ALGORITHMS = ("auto", "lloyd", "elkan", "yinyang")

# The first pass with bounds takes as long as two without, so fewer passes are faster without.
PASSES_FOR_BOUNDS = 4

# For rows of at most this number of bytes and products with centers, reading bounds takes as long as comparing.
_FEW_BYTES, _FEW_PRODUCTS = 256, 2048

# Bounds take over from products of bytes once at most this share of the rows changes its label.
SETTLED = 0.02

# With fewer passes than this, bounds do not repay the time of their first pass where products are of bytes.
_PASSES_FOR_BOUNDS_AFTER_BYTES = 12


@dataclass(frozen=True)
class BoundsRule:
    """An assignment by `n_bounds` lower bounds per row, None for one per center; see `coterie.KMeans`."""

    algorithm: str
    n_bounds: int | None = None
    unit_length: bool = False

    def bounds(self, rows: ChunkRows, frame: CenterFrame) -> Bounds | None:
        """Return the bounds of rows before their first pass; None to compare all rows with all centers."""
        if self.algorithm == "lloyd":
            return None
        return BoundedAssignment(rows, frame, self.n_bounds, unit_length=self.unit_length)


def choose_rules(
    data: MeasuredRows,
    n_clusters: int,
    algorithm: str,
    *,
    max_iter: float = math.inf,
    unit_length: bool = False,
) -> tuple[BoundsRule, BoundsRule]:
    """Return the rule of an algorithm of `coterie.KMeans`, and the one for when few rows change their label. "auto"
    takes no bounds that do not fit in memory.
    """
    names = [algorithm, algorithm]
    if algorithm == "auto":
        itemsize, is_sparse = data.dtype.itemsize, data.rows.is_sparse
        names = [
            choose_algorithm(
                data.n_columns, n_clusters, max_iter,
                itemsize=itemsize, is_sparse=is_sparse, is_settled=is_settled,
            )
            for is_settled in (False, True)
        ]  # fmt: skip
    n_rows = data.passes.rows_per_worker

    def rule(name: str) -> BoundsRule:
        if n_clusters == 1 or name == "lloyd":
            return BoundsRule("lloyd")
        n_bounds = n_bounds_of(name, n_rows, n_clusters)
        fits = algorithm != "auto" or is_free(2.0 * n_rows * (n_bounds or n_clusters))
        return BoundsRule(name, n_bounds, unit_length) if fits else BoundsRule("lloyd")

    return rule(names[0]), rule(names[1])


def choose_algorithm(
    n_columns: int,
    n_clusters: int,
    max_iter: float = math.inf,
    *,
    itemsize: int,
    is_sparse: bool,
    is_settled: bool = False,
) -> str:
    """Return the algorithm of `algorithm="auto"`. Products of bytes are faster than bounds for up to some hundreds of
    columns (by the instruction set; measured), until few rows change their label (`is_settled`).
    """
    is_cheap = n_columns * itemsize <= _FEW_BYTES and n_clusters * n_columns <= _FEW_PRODUCTS
    if max_iter < PASSES_FOR_BOUNDS or n_clusters < 4 or is_sparse or is_cheap:
        return "lloyd"
    least_columns, least_centers, least_products, bound_columns = _kernels.byte_limits()
    is_for_bytes = 0 < least_columns <= n_columns and n_clusters >= least_centers
    is_for_bytes &= n_columns * n_clusters * itemsize // 4 >= least_products
    if is_for_bytes and max_iter < _PASSES_FOR_BOUNDS_AFTER_BYTES:
        return "lloyd"
    if is_for_bytes and n_columns < bound_columns:
        return "yinyang" if is_settled else "lloyd"  # its bounds take a limited memory
    return "elkan" if n_columns >= 256 and n_clusters <= n_columns else "yinyang"
