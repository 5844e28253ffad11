"""How many lower bounds nested mini-batches keep for each row, by what they take of the memory of the rows."""

from __future__ import annotations

from coterie.arrays import LINE_BYTES
from coterie.centers.bounded import n_bounds_of

__all__ = ["n_bounds_per_row"]

# Lower bounds may take this much of the memory of the rows themselves.
_BOUNDS_OF_ROW = 0.5
_LANE_BOUNDS_OF_ROW = 0.1


def n_bounds_per_row(
    n_rows: int, n_columns: int, n_clusters: int, itemsize: int, kind: str = "auto"
) -> int | None:
    """Return how many lower bounds each row keeps: 0 for none, None for one per centroid; see the estimator's notes."""
    if kind == "off" or (kind == "auto" and n_clusters < 4):
        return 0
    if kind != "auto":
        return n_bounds_of(kind, n_rows, n_clusters)
    lanes = LINE_BYTES // itemsize
    if -(-n_clusters // lanes) * lanes <= _LANE_BOUNDS_OF_ROW * n_columns:
        return None
    groups = n_bounds_of("yinyang", n_rows, n_clusters)
    assert groups is not None
    return max(1, min(groups, int(_BOUNDS_OF_ROW * n_columns)))
