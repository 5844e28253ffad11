"""Sources of rows, in memory or larger than memory, read block by block.

`as_rows` takes data (arrays, sparse matrices, tables, Dask arrays), `open_rows` takes the path or address of a file;
both give a `RowSource`, which the estimators read in blocks of floats. Of a table the chosen columns are clustered, or
its one column of vectors; `RowSource.metadata_columns` reads the other columns. `register_format` adds a file format.

Contract of a source
----------------------
Estimators use only these properties, and bit-identical results depend on them.

Shape
    `shape` is known before any row is read, has no 0, and does not change. A source with fewer or more rows raises a
    ValueError, and so does a file that changes: `open_rows` compares each file with its first state in every pass.
Order
    Row 5 is the same row in each pass. A source can be read any number of times, also by a reader that begins
    before another has ended, and by another thread than the one that made it.
Blocks
    `blocks(n)` yields n rows at a time, except in the last block, for any chunks of the storage.
Type
    `dtype` is float32 (for float32, float16 and integers of up to 16 bits) or float64 (for all else), the same for
    all blocks. The numbers of a row do not depend on the block in which it is read, nor on how it is stored.
Layout
    Dense blocks are C-contiguous and aligned; sparse ones are `scipy.sparse.csr_array` with sorted int32 indices
    and no duplicates. They may be views of the data, and must not be written to.
Finite numbers
    A row with a NaN or an infinity, including a number too large for `dtype`, raises a ValueError with the row's number
    when it is first read. Later passes do not check again.
Rows by number
    `take` returns the rows that blocks would, for ascending row numbers, each as often as it is asked for.
Files and copies
    Files are open only while they are read. A source can be pickled, and `with_dtype` returns a copy.

Writing a source
----------------
A subclass calls ``super().__init__`` with its shape and the type of its numbers, and implements `pieces`: rows from
`start` to `stop`, in pieces of any size and real type, with missing values as NaN. `RowSource` cuts them into blocks,
converts and checks them. Optional:

- `take_rows`, if it can read rows by number better than in runs of pieces;
- `unit_starts`, if such runs should begin and end where row groups, chunks or pages do;
- `row_bytes`, if rows are not `n_columns` floats each;
- `in_memory`, if `pieces` of all rows yields the caller's memory, which is a valid block;
- `is_parsed`, if a pass costs more than reading the same floats from a disk: fits then make a copy;
- `with_dtype`, if it reads from other sources, which need the same type;
- `place_of`, if it knows the file and row number of a row, for errors.

A table passes the `chosen` columns, and a reader of the others (`metadata_columns`), to ``super().__init__``.

To open its files by `open_rows` and on the command line, register a `Format`. Formats with `elsewhere=True` get remote
files as `RemoteFile`. The page "Extending" of the documentation has examples.
"""

from coterie.rows.adapt import as_rows
from coterie.rows.files import open_rows
from coterie.rows.formats import Format, register_format
from coterie.rows.prepare import prepare_rows, table_roles
from coterie.rows.remote import RemoteFile
from coterie.rows.roles import TableRoles
from coterie.rows.source import Block, MetadataColumns, RowSource

__all__ = [
    "Block",
    "MetadataColumns",
    "Format",
    "RemoteFile",
    "RowSource",
    "as_rows",
    "open_rows",
    "prepare_rows",
    "register_format",
    "TableRoles",
    "table_roles",
]
