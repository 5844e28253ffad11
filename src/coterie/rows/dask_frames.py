"""Rows of Dask data frames, a partition at a time.

Dask is imported by whoever made the frame, never here.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from coterie.arrays import IndexArray
from coterie.rows.carried import Carried
from coterie.rows.checks import check_shape
from coterie.rows.columns import NO_COLUMNS, Columns
from coterie.rows.source import RowSource
from coterie.rows.tables import PandasSource

__all__ = ["DaskFrameSource"]


class DaskFrameSource(RowSource):
    """Rows of a `dask.dataframe.DataFrame`; its partitions are counted at once, and computed anew in each pass.

    What holds of its first rows, such as the length of vectors, must hold of all.
    """

    is_parsed = True

    def __init__(self, frame: Any, columns: Columns | None = None, exclude: Columns | None = None) -> None:
        frame = frame.optimize()  # which may leave out partitions, so they are counted after it
        lengths = np.asarray(frame.map_partitions(len).compute(), dtype=np.intp)
        check_shape((int(lengths.sum()), len(frame.columns)))
        # Partitions without rows cannot tell what their columns hold.
        self._partitions = [frame.partitions[int(i)] for i in np.flatnonzero(lengths)]
        self._starts = np.concatenate([[0], np.cumsum(lengths[lengths > 0])])
        first = PandasSource(self._partitions[0].compute(), columns, exclude)
        super().__init__(
            (int(lengths.sum()), first.shape[1]),
            first.dtype,
            column_names=first.column_names,
            is_table=True,
            description="Dask DataFrame",
            carried=Carried(first.carried.names, self._carried_batches) if first.carried else None,
            chosen=first.chosen,
        )

    def unit_starts(self) -> IndexArray:
        return self._starts[:-1]

    def pieces(self, start: int, stop: int, rows: int) -> Iterator[Any]:
        for number, first in enumerate(self._starts[:-1].tolist()):
            low, high = max(start - first, 0), min(stop, int(self._starts[number + 1])) - first
            if low < high:
                yield from self._partition(number).pieces(low, high, rows)

    def _partition(self, number: int) -> PandasSource:
        frame = self._partitions[number].compute()
        return PandasSource(frame, self.chosen or NO_COLUMNS, first_row=int(self._starts[number]))

    def _carried_batches(self, positions: list[int]) -> Iterator[Any]:
        for number in range(len(self._partitions)):
            carried = self._partition(number).carried
            if carried is not None:
                yield from carried.batches(positions)
