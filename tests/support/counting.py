"""`CountingSource`: how often rows are read."""

from coterie.rows import Rows


class CountingSource(Rows):
    """The rows of another source, never in memory, with a count of those that were read."""

    def __init__(self, rows):
        super().__init__(rows.shape, rows.dtype, is_sparse=rows.is_sparse, description=rows.description)
        self.column_names, self.is_table = rows.column_names, rows.is_table
        self._rows = rows
        self._n_read = [0]  # shared by copies of another dtype

    @property
    def n_passes(self):
        """Rows read so far, over those that there are."""
        return self._n_read[0] / self.shape[0]

    def block(self, start, stop):
        self._n_read[0] += stop - start
        return self._rows.with_dtype(self.dtype).block(start, stop)

    def take_rows(self, indices):
        self._n_read[0] += len(indices)
        return self._rows.with_dtype(self.dtype).take_rows(indices)

    def row_bytes(self):
        return self._rows.row_bytes()
