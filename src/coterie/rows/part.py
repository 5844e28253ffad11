"""`part_of`: rows that were read already, as a source that remembers whose they are."""

from __future__ import annotations

from coterie.rows.adapt import as_rows
from coterie.rows.source import Block, RowSource

__all__ = ["part_of"]


def part_of(rows: RowSource, block: Block) -> RowSource:
    """Return some rows of a source, read already, with the names of its columns and its preparation.

    A model would prepare the bare block once more.

    Parameters
    ----------
    rows : RowSource
        Where the block is from.
    block : ndarray or csr_array
        What `blocks` or `take` gave.

    Examples
    --------
    >>> from coterie.rows import as_rows
    >>> from coterie.rows.normalized import NormalizedRows
    >>> from coterie.rows.part import part_of
    >>> rows = NormalizedRows(as_rows([[3, 4], [0, 1]]))
    >>> part_of(rows, rows.take([0])).preparation
    (('normalize',),)
    """
    part = as_rows(block)
    part.column_names = rows.column_names
    part.chosen, part.is_table = rows.chosen, rows.is_table
    part.preparation = rows.preparation
    return part
