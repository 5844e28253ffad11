"""Rows that differ."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from coterie.arrays import Array, IndexArray

__all__ = ["RepeatedRows", "distinct_rows"]


def distinct_rows(rows: Array) -> tuple[Array, IndexArray]:
    """Return the rows that differ, in an order that depends on nothing but them, and which of them each row is.

    Examples
    --------
    >>> import numpy as np
    >>> from coterie.convex.distinct import distinct_rows
    >>> distinct, places = distinct_rows(np.array([[2.0], [0.0], [2.0], [-0.0]]))
    >>> len(distinct), bool(np.all(distinct[places] == [[2.0], [0.0], [2.0], [0.0]]))
    (2, True)
    """
    whole = np.ascontiguousarray(rows + rows.dtype.type(0))  # -0 and 0 have the same bytes then
    as_bytes = whole.view(np.dtype((np.void, whole.dtype.itemsize * whole.shape[1]))).ravel()
    _, first, places = np.unique(as_bytes, return_index=True, return_inverse=True)
    return whole[first], places


@dataclass(frozen=True)
class RepeatedRows:
    """Rows of which many are equal, each kept once.

    Attributes
    ----------
    distinct : ndarray of shape (m, p)
        Those that differ.
    places : ndarray of shape (n,)
        Which of them each row is.
    """

    distinct: Array
    places: IndexArray

    @classmethod
    def of(cls, rows: Array) -> RepeatedRows:
        """Return rows, as a copy."""
        return cls(*distinct_rows(rows))

    def whole(self, out: Array | None = None) -> Array:
        """Return, or write, all rows."""
        # Checked places would be written to a copy first.
        return np.take(self.distinct, self.places, axis=0, out=out, mode="clip")
