"""Anything with rows, in memory or not, read block by block in the order of its rows.

`as_rows` takes data (arrays, sparse matrices, tables, Dask arrays), `open_rows` takes the path or address of a file;
both give a `RowSource`, which the estimators read in blocks of floats. Of a table they take the columns that are
asked for, or its one column of vectors; `RowSource.carried`, a `Carried`, reads the others. `register_format` adds a
format of files.

What a source promises
----------------------
Estimators know nothing of a source but these promises, and "same seed, same bits" rests on them.

Shape
    `shape` is known before any row is read, has no 0 in it, and stays as it is. A source that ends early or late
    raises a ValueError, and so does a file that changes: `open_rows` compares each with what it was at every pass.
Order
    Row 5 is the same row in each pass. A source can be read any number of times, also by a reader that begins
    before another has ended, and by another thread than the one that made it.
Blocks
    `blocks(n)` yields n rows at a time, the last block excepted, wherever the storage has its own cuts.
Type
    `dtype` is float32 (for float32, float16 and integers of up to 16 bits) or float64 (for all else), the same for
    all blocks. The numbers of a row do not depend on the block in which it is read, nor on how it is stored.
Layout
    Dense blocks are C-contiguous and aligned; sparse ones are `scipy.sparse.csr_array` with sorted int32 indices
    and no duplicates. They may be views of the data, so readers do not write to them.
Finite numbers
    A row with a NaN or an infinity, be it that a number is too large for `dtype`, raises a ValueError with the
    row's number when it is first read. Later passes do not look again.
Rows by number
    `take` returns the rows that blocks would, for ascending row numbers, each as often as it is asked for.
No loose ends
    Files are open only while they are read. A source can be pickled, and a copy `with_dtype` leaves it alone.

How to write one
----------------
A subclass calls ``super().__init__`` with its shape and the type of its numbers, and implements `pieces`: rows from
`start` to `stop`, in whatever portions are cheap, in any real type, missing values as NaN. `RowSource` cuts them
into blocks, converts and checks them. What else it may define:

- `take_rows`, if it can read rows by number better than in runs of pieces;
- `unit_starts`, if such runs should begin and end where row groups, chunks or pages do;
- `row_bytes`, if rows are not `n_columns` floats each;
- `in_memory`, if `pieces` of all rows yields memory of the caller's that is a block as it stands;
- `is_parsed`, if each pass costs more than to read as many floats from a disk: fits then make a copy;
- `with_dtype`, if it reads from other sources, which must be told the type, too;
- `place_of`, if it knows which row of which file a row is, for errors.

Of a table it can tell, by ``super().__init__``, which columns are `chosen`, and how the others are `carried` along.

To open its files by `open_rows` and by the command line, describe them by a `Format` and register that. A file
elsewhere comes as a `RemoteFile` to formats that say so.

Examples
--------
Lines of words, each a row of its length and its number of spaces:

>>> import itertools
>>> import pathlib
>>> import numpy as np
>>> from coterie.rows import Format, RowSource, open_rows, register_format
>>> class WordSource(RowSource):
...     def __init__(self, path):
...         with open(path) as file:
...             n_rows = sum(1 for line in file)
...         super().__init__((n_rows, 2), "int64", description="words")
...         self._path = path
...
...     def pieces(self, start, stop, rows):
...         with open(self._path) as file:
...             for line in itertools.islice(file, start, stop):
...                 yield np.array([[len(line.strip()), line.count(" ")]])
>>> register_format(Format("words", (".words",), WordSource))
>>> _ = pathlib.Path("some.words").write_text("to be\\nor not\\nto be\\n")
>>> open_rows("some.words").read()
array([[5., 1.],
       [6., 1.],
       [5., 1.]])
"""

from coterie.rows.adapt import as_rows
from coterie.rows.files import open_rows
from coterie.rows.formats import Format, register_format
from coterie.rows.prepare import prepare_rows, table_roles
from coterie.rows.remote import RemoteFile
from coterie.rows.roles import TableRoles
from coterie.rows.source import Block, Carried, RowSource

__all__ = [
    "Block",
    "Carried",
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
