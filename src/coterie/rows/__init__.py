"""Rows of data sets, in memory or larger than memory.

`as_rows` takes data (arrays, sparse matrices, tables, Dask arrays), `open_rows` the path or address of a file; both
read once, and give a `Rows`: a dense array or memory map, or a CSR matrix, with the chosen columns of a table, or its
one column of vectors. `Rows.metadata_columns` is the table of the others. `register_format` adds a file format.
"""

from coterie.rows.adapt import as_rows
from coterie.rows.files import open_rows
from coterie.rows.formats import register_format
from coterie.rows.prepare import prepare_rows, table_roles
from coterie.rows.roles import TableRoles
from coterie.rows.source import Block, Rows

__all__ = [
    "Block",
    "Rows",
    "as_rows",
    "open_rows",
    "prepare_rows",
    "register_format",
    "TableRoles",
    "table_roles",
]
