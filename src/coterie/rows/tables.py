"""Data frames and streams as tables."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from typing import Any

import numpy as np

from coterie.rows.checks import TableError, check_shape
from coterie.rows.formats.format import Table

# Rows of a data frame that become Arrow columns at a time.
_BATCH_ROWS = 1 << 16


def table_of_arrow(table: Any, description: str = "pyarrow Table") -> Table:
    """Return a `pyarrow.Table` as a table."""
    return Table(table.schema, partial(_batches_of_arrow, table), description, table.num_rows)


def _batches_of_arrow(table: Any, features: Sequence[int], others: Sequence[int]) -> Iterator[Any]:
    yield from table.select([*features, *others]).to_batches()


def table_of_stream(schema: Any, batches: Iterator[Any], description: str) -> Table:
    """Return batches that can be read once as a table, which holds those that were read before the last reading."""
    held: list[Any] = []

    def read(features: Sequence[int], others: Sequence[int]) -> Iterator[Any]:
        positions = [*features, *others]
        for batch in chain(list(held), _held(batches, held, table)):
            yield batch.select(positions)

    table = Table(schema, read, description)
    return table


def _held(batches: Iterable[Any], held: list[Any], table: Table) -> Iterator[Any]:
    for batch in batches:
        if not table.is_last:
            held.append(batch)
        yield batch


def table_of_dask_frame(frame: Any) -> Table:
    """Return a `dask.dataframe.DataFrame` as a table, whose partitions are computed one after the other, once."""
    frame = frame.optimize()  # which may drop partitions
    parts = (frame.partitions[number].compute() for number in range(frame.npartitions))
    tables = (
        table_of_pandas(part) for part in parts if len(part)
    )  # the columns of empty partitions have no kind
    first = next(tables, None)
    if first is None:
        check_shape((0, len(frame.columns)))
    assert first is not None
    positions = range(len(first.schema))
    batches = (batch for table in chain([first], tables) for batch in table.batches((), positions))
    table = table_of_stream(first.schema, batches, "Dask DataFrame")
    table.index = first.index
    return table


def table_of_pandas(frame: Any) -> Table:
    """Return a `pandas.DataFrame` as a table; its index is a column at the end unless it is the row number."""
    import pyarrow

    n_rows, _ = check_shape(frame.shape)
    names = ["_".join(map(str, name)) if isinstance(name, tuple) else str(name) for name in frame.columns]
    columns = [frame.iloc[:, i] for i in range(frame.shape[1])]
    if not isinstance(frame.index, sys.modules["pandas"].RangeIndex):
        names += [
            f"__index_level_{level}__" if name is None else str(name)
            for level, name in enumerate(frame.index.names)
        ]
        columns += [frame.index.get_level_values(i).to_series() for i in range(frame.index.nlevels)]
    # Cells of objects have a type only as a whole.
    columns = [
        _arrow_cells(column, names[i]) if column.dtype == object else column
        for i, column in enumerate(columns)
    ]
    schema = pyarrow.schema(
        [(name, _arrow_cells(column[:0], name).type) for name, column in zip(names, columns)]
    )
    index = frozenset(range(frame.shape[1], len(names)))
    batches = partial(_batches_of_pandas, columns, schema, n_rows)
    return Table(schema, batches, "pandas DataFrame", n_rows, index=index)


def _batches_of_pandas(
    columns: Sequence[Any], schema: Any, n_rows: int, features: Sequence[int], others: Sequence[int]
) -> Iterator[Any]:
    import pyarrow

    positions = [*features, *others]
    for low in range(0, n_rows, _BATCH_ROWS):
        cells = [_arrow_cells(columns[i][low : low + _BATCH_ROWS], schema.names[i]) for i in positions]
        yield pyarrow.record_batch(cells, schema=pyarrow.schema([schema.field(i) for i in positions]))


def _arrow_cells(cells: Any, name: str) -> Any:
    """Return cells of a Series as an Arrow array; objects of several types become text."""
    import pyarrow

    if isinstance(cells, (pyarrow.Array, pyarrow.ChunkedArray)):
        return cells.combine_chunks() if isinstance(cells, pyarrow.ChunkedArray) else cells
    kind = cells.dtype
    if getattr(kind, "kind", "") == "c":
        raise TableError(f"Complex data not supported: the column {name!r} has dtype {kind}.", "exclude")
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
