"""Data frames and streams as tables."""

from __future__ import annotations

import sys
from itertools import chain
from typing import Any

import numpy as np

from coterie.rows.cells import arrow_kind
from coterie.rows.checks import check_shape, leave_out
from coterie.rows.tables import Table, table_of_arrow

_KINDS = (
    "pandas:Series", "pandas:DataFrame", "polars:Series", "polars:DataFrame", "polars:LazyFrame",
    "dask.dataframe:DataFrame",
)  # fmt: skip


def is_a(X: Any, module: str, name: str) -> bool:
    """Return whether X is of a class of a library; one that is not imported cannot have made X, and is not imported."""
    library = sys.modules.get(module)
    return library is not None and isinstance(X, getattr(library, name, ()))


def table_of_frame(X: Any) -> Table | None:
    """Return a data frame, a stream, or a single column of vectors as a table; None if X is none."""
    kind = next((one for one in _KINDS if is_a(X, *one.split(":"))), "")
    if not kind and not hasattr(X, "__arrow_c_stream__") and not hasattr(X, "__arrow_c_array__"):
        return None
    try:
        import pyarrow
    except ImportError as error:
        if hasattr(X, "__array__") and not kind:
            return None
        raise ImportError("Reading tables needs pyarrow: pip install 'coterie[io]'") from error
    if kind == "polars:LazyFrame":
        raise TypeError("X is a polars LazyFrame, which has no rows yet: pass X.collect().")
    if kind.startswith("dask"):
        return _table_of_dask_frame(X)
    is_column = kind.endswith("Series") or isinstance(X, (pyarrow.Array, pyarrow.ChunkedArray))
    if kind.endswith("Series"):
        X = X.to_frame("vector" if X.name is None else X.name)
    elif is_column:
        X = pyarrow.table({"vector": X})
    if kind.startswith("pandas"):
        table = table_of_pandas(X)
    elif kind:
        table = table_of_arrow(X.to_arrow(), "polars DataFrame")
    elif isinstance(X, pyarrow.Table):
        table = table_of_arrow(X)
    else:
        return _table_of_stream(X)
    if is_column and arrow_kind(table.schema.types[0]) == "number":
        check_shape((len(X),))
    return table


def names_of_frame(frame: Any) -> list[str]:
    """Return the names of the columns of a data frame as texts."""
    return ["_".join(map(str, name)) if isinstance(name, tuple) else str(name) for name in frame.columns]


def table_of_pandas(frame: Any, description: str = "pandas DataFrame") -> Table:
    """Return a `pandas.DataFrame` as a table; its index is a column at the end unless it is the row number."""
    import pyarrow

    check_shape(frame.shape)
    names = names_of_frame(frame)
    columns = [frame.iloc[:, i] for i in range(frame.shape[1])]
    if not isinstance(frame.index, sys.modules["pandas"].RangeIndex):
        levels = enumerate(frame.index.names)
        names += [f"__index_level_{i}__" if name is None else str(name) for i, name in levels]
        columns += [frame.index.get_level_values(i).to_series() for i in range(frame.index.nlevels)]
    table = pyarrow.table([_arrow_cells(column, name) for column, name in zip(columns, names)], names)
    return table_of_arrow(table, description, range(frame.shape[1], len(names)))


def _table_of_dask_frame(frame: Any) -> Table:
    """Return a `dask.dataframe.DataFrame` as a table, whose partitions are computed one after the other."""
    frame = frame.optimize()  # which may drop partitions
    parts = (frame.partitions[number].compute() for number in range(frame.npartitions))
    tables = (table_of_pandas(part) for part in parts if len(part))  # empty partitions have no types
    first = next(tables, None) or table_of_pandas(frame.partitions[0].compute())
    batches = (batch for table in chain([first], tables) for batch in table.batches())
    return Table(first.schema, batches, "Dask DataFrame", index=first.index)


def _table_of_stream(X: Any) -> Table | None:
    """Return a stream or an array of Arrow's C interface as a table; None if it is a single column of numbers."""
    import pyarrow

    try:
        is_stream = hasattr(X, "__arrow_c_stream__")
        reader = pyarrow.RecordBatchReader.from_stream(X if is_stream else pyarrow.table(X))
    except (pyarrow.ArrowInvalid, TypeError) as error:
        if hasattr(X, "__array__"):
            return None
        raise ValueError(f"X ({type(X).__name__}) cannot be read as an Arrow table: {error}") from error
    batches = (batch for batch in reader if batch.num_rows)
    first = next(batches, None)
    if first is None:
        raise ValueError(
            f"X ({type(X).__name__}) has no rows. A stream can be read only once: coterie.as_rows(X) keeps it."
        )
    return Table(reader.schema, chain([first], batches), "Arrow stream")


def _arrow_cells(cells: Any, name: str) -> Any:
    """Return cells of a Series as an Arrow array; objects of several types become text."""
    import pyarrow

    kind = cells.dtype
    if getattr(kind, "kind", "") == "c":
        raise leave_out(f"Complex data not supported: the column {name!r} has dtype {kind}.", [name])
    if isinstance(kind, (np.dtype, sys.modules["pandas"].SparseDtype)) and kind.kind in "fiub":
        return pyarrow.array(np.asarray(cells))
    try:
        found = pyarrow.array(cells, from_pandas=True)
    except (pyarrow.ArrowInvalid, pyarrow.ArrowTypeError, pyarrow.ArrowNotImplementedError):
        texts = [None if one else str(cell) for cell, one in zip(cells, cells.isna())]
        found = pyarrow.array(texts, pyarrow.large_string())
    return found.combine_chunks() if isinstance(found, pyarrow.ChunkedArray) else found
