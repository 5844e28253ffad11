"""What preparing a table learns of its columns: what to fill in, and by what to scale. Passes over blocks of rows."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from typing import Literal, TypeAlias

import numpy as np

from coterie.arrays import BoolArray, FloatArray
from coterie.rows.checks import check_finite
from coterie.rows.source import RowSource

__all__ = ["Impute", "Scale", "learned_scale", "learned_values"]

Impute: TypeAlias = Literal["mean", "median"]
Scale: TypeAlias = Literal["standard", "robust"]

# Medians and quartiles need a column's values at once; of a table that is larger as float64, rows in equal distances
# are taken. A quarter of a million rows, which 500 columns leave, have the median to 0.3% of a standard deviation.
_HELD_BYTES = 1 << 30


def learned_values(rows: RowSource, strategy: Impute) -> FloatArray:
    """Return the mean or the median of what each column has.

    Means take one pass over blocks in float64. Medians are exact for tables of up to 1 GiB as float64.

    Raises
    ------
    ValueError
        If a column has no value, or a row has an infinity.
    """
    if strategy == "median":
        sample = _sample(_blocks_with_missing(rows), rows)
        _check_any(np.asarray(~np.isnan(sample).all(axis=0)), rows)
        return np.array([np.nanmedian(column) for column in sample.T])
    from sklearn.preprocessing import StandardScaler  # slow to load, and seldom needed

    scaler, found = StandardScaler(), np.zeros(rows.shape[1], dtype=bool)
    for _, block in _blocks_with_missing(rows):
        found |= ~np.isnan(block).all(axis=0)
        with warnings.catch_warnings():
            # Of columns without a value so far.
            warnings.simplefilter("ignore", RuntimeWarning)
            scaler.partial_fit(block)
    _check_any(found, rows)
    return np.asarray(scaler.mean_)


def learned_scale(rows: RowSource, kind: Scale) -> tuple[FloatArray, FloatArray]:
    """Return what to take off each column, and by what to divide it then; a constant column is divided by 1.

    "standard" is the mean and the standard deviation, in one pass over blocks; "robust" the median and the distance of
    the quartiles, exact for tables of up to 1 GiB as float64.
    """
    from sklearn.preprocessing import RobustScaler, StandardScaler  # slow to load, and seldom needed

    if kind == "robust":
        robust = RobustScaler().fit(_sample(rows.blocks(), rows))
        return np.asarray(robust.center_), np.asarray(robust.scale_)
    scaler = StandardScaler()
    for _, block in rows.blocks():
        scaler.partial_fit(np.asarray(block, dtype=np.float64))
    return np.asarray(scaler.mean_), np.asarray(scaler.scale_)


def _blocks_with_missing(rows: RowSource) -> Iterator[tuple[int, FloatArray]]:
    """Yield all rows in float64; infinities are an error."""
    for start, block in rows.unchecked_blocks():
        if np.isinf(block).any():
            check_finite(np.where(np.isnan(block), 0, block), start)
        yield start, np.asarray(block, dtype=np.float64)


def _sample(blocks: Iterable[tuple[int, FloatArray]], rows: RowSource) -> FloatArray:
    """Return all rows in float64, or some in equal distances where these are too many, a column in one piece."""
    n_rows, n_columns = rows.shape
    step = -(-n_rows * n_columns * 8 // _HELD_BYTES)
    if step > 1:
        warnings.warn(
            f"Medians and quartiles are those of every {step}th row: all {n_rows:,} would take more than "
            f"{_HELD_BYTES >> 30} GiB.",
            stacklevel=2,
        )
    sample = np.empty((-(-n_rows // step), n_columns), order="F")
    for start, block in blocks:
        first = -(-start // step)
        taken = block[first * step - start :: step]
        sample[first : first + len(taken)] = taken
    return sample


def _check_any(found: BoolArray, rows: RowSource) -> None:
    empty = np.flatnonzero(~found)
    if not len(empty):
        return
    names = [i if rows.column_names is None else rows.column_names[i] for i in empty.tolist()]
    raise ValueError(
        f"Nothing can be filled in for columns that have no value at all: {', '.join(map(repr, names[:8]))}"
        f"{', ...' * (len(names) > 8)}. Leave them out: exclude={names[:8]!r} (--exclude)."
    )
