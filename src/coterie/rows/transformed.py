"""Rows whose columns are filled in and scaled as they are read: `ImputedRows`, `ScaledRows`.

The numbers are those of scikit-learn's `SimpleImputer`, `StandardScaler` and `RobustScaler`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from coterie.arrays import FloatArray, IndexArray
from coterie.rows.source import RowSource

__all__ = ["ImputedRows", "ScaledRows", "TransformedRows"]


class TransformedRows(RowSource):
    """The rows of another source, each number changed by what is known of its column; a subclass says how.

    Parameters
    ----------
    rows : RowSource
        What to change; it stays as it is.
    step : tuple
        What is done, for `RowSource.preparation`.
    n_columns, column_names, chosen
        Of the result, where they differ.

    Attributes
    ----------
    source : RowSource
        The rows as they were.
    """

    def __init__(
        self,
        rows: RowSource,
        step: tuple[Any, ...],
        *,
        n_columns: int | None = None,
        column_names: list[str] | None = None,
        chosen: list[str | int] | None = None,
    ) -> None:
        super().__init__(
            (rows.shape[0], rows.shape[1] if n_columns is None else n_columns),
            rows.dtype,
            column_names=rows.column_names if column_names is None else column_names,
            is_table=rows.is_table,
            description=rows.description,
            carried=rows.carried,
            chosen=rows.chosen if chosen is None else chosen,
        )
        self.preparation = (*rows.preparation, step)
        self.source = rows

    def with_dtype(self, dtype: npt.DTypeLike) -> Self:
        other = super().with_dtype(dtype)
        other.source = self.source.with_dtype(dtype)
        return other

    def pieces(self, start: int, stop: int, rows: int) -> Iterator[Any]:
        for piece in self.source.pieces(start, stop, rows):
            yield self.changed(piece, slice(start, start + piece.shape[0]))
            start += piece.shape[0]

    def take_rows(self, indices: IndexArray) -> Any:
        return self.changed(self.source.take_rows(indices), indices)

    def unit_starts(self) -> IndexArray:
        return self.source.unit_starts()

    def place_of(self, row: int) -> tuple[int, str] | None:
        return self.source.place_of(row)

    def changed(self, piece: Any, numbers: slice | IndexArray) -> FloatArray:
        """Return what becomes of some rows; a subclass implements this.

        Parameters
        ----------
        piece : ndarray
            The rows as they were, of any real dtype.
        numbers : slice or ndarray of intp
            Which rows they are.
        """
        raise NotImplementedError


class ImputedRows(TransformedRows):
    """The rows of another source with a value of its own for what is missing in each column.

    Parameters
    ----------
    rows : RowSource
        Dense rows.
    strategy : str
        What the values are, such as "median".
    values : ndarray of shape (n_columns,)
        What is filled in.

    Examples
    --------
    >>> import numpy as np
    >>> from coterie.rows import as_rows
    >>> from coterie.rows.transformed import ImputedRows
    >>> ImputedRows(as_rows([[1, np.nan], [2, 5]]), "mean", np.array([1.5, 5.0])).read()
    array([[1., 5.],
           [2., 5.]])
    """

    def __init__(self, rows: RowSource, strategy: str, values: FloatArray) -> None:
        super().__init__(rows, ("impute", strategy, values))
        self._values = values

    def changed(self, piece: Any, numbers: slice | IndexArray) -> FloatArray:
        block = np.array(piece, dtype=np.float64)
        missing = np.isnan(block)
        if missing.any():
            np.copyto(block, self._values, where=missing)
        return block


class ScaledRows(TransformedRows):
    """The rows of another source, each column less its centre and divided by its scale, in float64.

    Parameters
    ----------
    rows : RowSource
        Dense rows.
    kind : str
        What the numbers are: "standard" or "robust".
    centers, scales : ndarray of shape (n_columns,)
        What is taken off each column, and by what it is then divided.

    Examples
    --------
    >>> import numpy as np
    >>> from coterie.rows import as_rows
    >>> from coterie.rows.transformed import ScaledRows
    >>> ScaledRows(as_rows([[1, 30], [3, 10]]), "standard", np.array([2, 20]), np.array([1, 10])).read()
    array([[-1.,  1.],
           [ 1., -1.]])
    """

    def __init__(self, rows: RowSource, kind: str, centers: FloatArray, scales: FloatArray) -> None:
        super().__init__(rows, ("scale", kind, centers, scales))
        self._centers = centers
        self._scales = scales

    def changed(self, piece: Any, numbers: slice | IndexArray) -> FloatArray:
        block = np.array(piece, dtype=np.float64)
        with np.errstate(over="ignore", invalid="ignore"):
            block -= self._centers
            block /= self._scales
        return block
