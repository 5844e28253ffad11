"""Rows that count how often they are read."""

from coterie.rows import RowSource


class CountedRows(RowSource):
    """Rows of an array that every pass has to read anew, as those of a file."""

    def __init__(self, array):
        super().__init__(array.shape, array.dtype)
        self._array = array
        self.n_passes = 0

    def _pieces(self, start, stop, rows):
        self.n_passes += 1
        for low in range(start, stop, rows):
            yield self._array[low : min(low + rows, stop)]
