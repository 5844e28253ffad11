"""Data frames and streams as tables."""

from __future__ import annotations

import sys
from itertools import chain
from typing import Any

import numpy as np

from coterie.rows.checks import Setting, TableError, check_shape
from coterie.rows.tables import Table, table_of_arrow


def table_of_frame(X: Any) -> Table | None:
    """Return a data frame, Series, Arrow table or array, or a stream as a table; None if X is none."""
    kind = next((one for one in _KINDS if is_a(X, *one.split(":"))), None)
    if kind is None and not (hasattr(X, "__arrow_c_stream__") or hasattr(X, "__arrow_c_array__")):
        return None
    try:
        import pyarrow
    except ImportError as error:
        if hasattr(X, "__array__") and kind is None:
            return None
        raise ImportError("Reading tables needs pyarrow: pip install 'coterie[io]'") from error
    if kind is None:
        return _table_of_stream(X)
    if kind == "polars:LazyFrame":
        raise TypeError("X is a polars LazyFrame, which has no rows yet: pass X.collect().")
    if kind == "pandas:DataFrame":
        return table_of_pandas(X)
    if kind == "pandas:Series":
        return table_of_pandas(X.to_frame("vector" if X.name is None else X.name), "pandas Series")
    if kind == "dask.dataframe:DataFrame":
        return _table_of_dask_frame(X)
    if kind.startswith("polars"):
        frame = X.to_frame() if kind == "polars:Series" else X
        return table_of_arrow(frame.to_arrow(), kind.replace(":", " "))
    if kind == "pyarrow:RecordBatch":
        X = pyarrow.Table.from_batches([X])
    elif kind != "pyarrow:Table":
        X = pyarrow.table({"vector": X})
    return table_of_arrow(
        X, "pyarrow Table" if kind in ("pyarrow:Table", "pyarrow:RecordBatch") else "pyarrow Array"
    )


# Libraries and their classes. A single column must have vectors.
_COLUMNS = ("pandas:Series", "polars:Series", "pyarrow:Array", "pyarrow:ChunkedArray")
_KINDS = (
    "pandas:DataFrame", "dask.dataframe:DataFrame", "polars:DataFrame", "polars:LazyFrame", "pyarrow:Table",
    "pyarrow:RecordBatch", *_COLUMNS,
)  # fmt: skip


def is_a(X: Any, module: str, name: str) -> bool:
    """Return whether X is of a class of a library; one that is not imported cannot have made X, and is not imported."""
    library = sys.modules.get(module)
    return library is not None and isinstance(X, getattr(library, name, ()))


def is_column(X: Any) -> bool:
    """Return whether X is a single column."""
    return any(is_a(X, *kind.split(":")) for kind in _COLUMNS)


def is_frame(X: Any) -> bool:
    """Return whether X is a table, or a stream of one, without reading it."""
    return not is_column(X) and (
        any(is_a(X, *kind.split(":")) for kind in _KINDS) or hasattr(X, "__arrow_c_stream__")
    )


def table_of_pandas(frame: Any, description: str = "pandas DataFrame") -> Table:
    """Return a `pandas.DataFrame` as a table; its index is a column at the end unless it is the row number."""
    import pyarrow

    check_shape(frame.shape)
    names = ["_".join(map(str, name)) if isinstance(name, tuple) else str(name) for name in frame.columns]
    columns = [frame.iloc[:, i] for i in range(frame.shape[1])]
    if not isinstance(frame.index, sys.modules["pandas"].RangeIndex):
        names += [
            f"__index_level_{level}__" if name is None else str(name)
            for level, name in enumerate(frame.index.names)
        ]
        columns += [frame.index.get_level_values(i).to_series() for i in range(frame.index.nlevels)]
    table = pyarrow.table([_arrow_cells(column, name) for column, name in zip(columns, names)], names)
    return table_of_arrow(table, description, range(frame.shape[1], len(names)))


def _table_of_dask_frame(frame: Any) -> Table:
    """Return a `dask.dataframe.DataFrame` as a table, whose partitions are computed one after the other."""
    frame = frame.optimize()  # which may drop partitions
    parts = (frame.partitions[number].compute() for number in range(frame.npartitions))
    tables = (
        table_of_pandas(part) for part in parts if len(part)
    )  # columns of empty partitions have no type
    first = next(tables, None)
    if first is None:
        check_shape((0, len(frame.columns)))
    assert first is not None
    batches = (batch for table in chain([first], tables) for batch in table.read({}))
    return Table(first.schema, lambda _: batches, "Dask DataFrame", index=first.index)


def _table_of_stream(X: Any) -> Table | None:
    """Return a stream or an array of Arrow's C interface as a table; None if it is a single column of numbers."""
    import pyarrow

    try:
        if hasattr(X, "__arrow_c_stream__"):
            reader = pyarrow.RecordBatchReader.from_stream(X)
        else:
            batch = pyarrow.record_batch(X)
            reader = pyarrow.RecordBatchReader.from_batches(batch.schema, [batch])
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
    return Table(reader.schema, lambda _: chain([first], batches), "Arrow stream")


def _arrow_cells(cells: Any, name: str) -> Any:
    """Return cells of a Series as an Arrow array; objects of several types become text."""
    import pyarrow

    kind = cells.dtype
    if getattr(kind, "kind", "") == "c":
        problem = f"Complex data not supported: the column {name!r} has dtype {kind}. "
        raise TableError(problem, advice=["Leave it out: ", Setting("exclude", [name]), "."])
    if isinstance(kind, np.dtype) and kind.kind in "fiub":
        return pyarrow.array(cells.to_numpy())
    if isinstance(kind, sys.modules["pandas"].SparseDtype):
        return pyarrow.array(cells.sparse.to_dense().to_numpy())
    try:
        found = pyarrow.array(cells, from_pandas=True)
    except (pyarrow.ArrowInvalid, pyarrow.ArrowTypeError, pyarrow.ArrowNotImplementedError):
        texts = [None if one else str(cell) for cell, one in zip(cells, cells.isna())]
        found = pyarrow.array(texts, pyarrow.large_string())
    return found.combine_chunks() if isinstance(found, pyarrow.ChunkedArray) else found
