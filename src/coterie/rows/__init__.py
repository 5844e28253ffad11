"""Anything with rows, in memory or not, read block by block in the order of its rows.

`as_rows` takes data (arrays, sparse matrices, tables, Dask arrays), `open_rows` takes the path of a file;
both give a `RowSource`, which the estimators read in blocks of floats.
"""

from coterie.rows.adapt import as_rows
from coterie.rows.files import open_rows
from coterie.rows.source import Block, RowSource

__all__ = ["Block", "RowSource", "as_rows", "open_rows"]
