"""`CountingSource`: how often rows are read."""

import numpy as np

from coterie.rows import RowSource


class CountingSource(RowSource):
    """The rows of another source, never in memory, with a count of those that were read.

    To read rows by number counts as it costs for files: from the first to the last of each run of units.

    Parameters
    ----------
    rows : RowSource
        What to read.
    """

    def __init__(self, rows):
        super().__init__(
            rows.shape,
            rows.dtype,
            is_sparse=rows.is_sparse,
            column_names=rows.column_names,
            is_table=rows.is_table,
            description=rows.description,
        )
        self._rows = rows
        self._n_read = [0]  # shared by copies of another dtype

    @property
    def n_passes(self):
        """Rows read so far, over those that there are."""
        return self._n_read[0] / self.shape[0]

    def pieces(self, start, stop, rows):
        for piece in self._rows.pieces(start, stop, rows):
            self._n_read[0] += piece.shape[0]
            yield piece

    def unit_starts(self):
        return self._rows.unit_starts()

    def row_bytes(self):
        return self._rows.row_bytes()

    def with_dtype(self, dtype):
        other = super().with_dtype(dtype)
        other._rows = self._rows.with_dtype(np.dtype(dtype))
        return other
