"""Rows of data sets, in memory or larger than memory.

`as_rows` takes data (arrays, sparse matrices, tables, Dask arrays), `open_rows` takes the path or address of a file;
both give a `Rows`, which the estimators read in blocks of floats. Of a table the chosen columns are clustered, or
its one column of vectors; `Rows.metadata_columns` are the other columns. `register_format` adds a file format.

Data are read once. Behind that, rows are a dense array or memory map, a CSR matrix, or derived from such rows block by
block:

- ``shape`` has no 0; ``dtype`` is float32 or float64, the same for all blocks;
- ``blocks(n)`` yields n rows at a time, except in the last block; dense blocks are C-contiguous, sparse ones are
  `scipy.sparse.csr_array` with sorted int32 indices and no duplicates; they may be views, and must not be written to;
- a row with a NaN or an infinity is a ValueError with its number, when it is first read by ``blocks`` or ``take``;
- the numbers of a row do not depend on blocks, threads, or how the row is stored.
"""

from coterie.rows.adapt import as_rows
from coterie.rows.files import open_rows
from coterie.rows.formats import register_format
from coterie.rows.prepare import prepare_rows, table_roles
from coterie.rows.roles import TableRoles
from coterie.rows.source import Block, MetadataColumns, Rows

__all__ = [
    "Block",
    "MetadataColumns",
    "Rows",
    "as_rows",
    "open_rows",
    "prepare_rows",
    "register_format",
    "TableRoles",
    "table_roles",
]
