"""`Carried`: the columns of a table that are not clustered, for whoever wants them beside the labels."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from coterie.rows.columns import Columns, column_positions

__all__ = ["Carried", "carried_of_shards"]


class Carried:
    """Columns of a table that are not clustered; their values are read when they are asked for.

    `RowSource.carried` holds one where there are such columns: texts, numbers and the index of pandas, too.

    Parameters
    ----------
    names : sequence of str
        What the columns are called.
    open_batches : callable
        ``open_batches(positions)`` reads those of the columns, in that order, as `pyarrow.RecordBatch`\\ es with all
        rows in their order.

    Attributes
    ----------
    names : list of str
        What the columns are called.

    Examples
    --------
    >>> import pyarrow
    >>> from coterie.rows import as_rows
    >>> table = pyarrow.table({"id": ["a", "b"], "x": [1.5, 2.5], "place": ["Rome", "Oslo"]})
    >>> rows = as_rows(table, columns="x")
    >>> rows.carried.names
    ['id', 'place']
    >>> rows.carried.read("place")["place"].to_pylist()
    ['Rome', 'Oslo']
    """

    def __init__(self, names: Sequence[str], open_batches: Callable[[list[int]], Iterable[Any]]) -> None:
        self.names = list(names)
        self._open_batches = open_batches

    def __repr__(self) -> str:
        return f"<Carried: {', '.join(self.names)}>"

    def batches(self, columns: Columns | None = None) -> Iterator[Any]:
        """Read the columns piece by piece.

        Parameters
        ----------
        columns : columns, optional
            Which of `names`, as for `coterie.open_rows`; all by default.

        Yields
        ------
        pyarrow.RecordBatch
            The next rows. A file's memory is needed for one batch at a time.
        """
        import pyarrow

        chosen = range(len(self.names)) if columns is None else column_positions(self.names, columns)
        names = [self.names[i] for i in chosen]
        for batch in self._open_batches(list(chosen)):
            yield pyarrow.RecordBatch.from_arrays(_known_columns(batch, names), names=names)

    def read(self, columns: Columns | None = None) -> Any:
        """Return the columns as one `pyarrow.Table`, with a row for each row that is clustered.

        Parameters
        ----------
        columns : columns, optional
            Which of `names`, as for `coterie.open_rows`; all by default.
        """
        import pyarrow

        tables = [pyarrow.Table.from_batches([batch]) for batch in self.batches(columns)]
        # Shards may differ in what they call a text: string, large_string, a dictionary of strings.
        return pyarrow.concat_tables(tables, promote_options="permissive")


def _known_columns(batch: Any, names: Sequence[str]) -> list[Any]:
    columns = []
    for i, name in enumerate(names):
        try:
            columns.append(batch.column(i))
        except KeyError:  # Arrow has types that pyarrow has no class for
            kind = batch.schema.field(i).type
            raise ValueError(f"column {name!r} is of type {kind}, which pyarrow cannot read") from None
    return columns


def carried_of_shards(parts: Sequence[Carried | None]) -> Carried | None:
    """Return what all parts carry, one after the other; None where they have no such column in common."""
    carried = [part for part in parts if part is not None]
    names = (
        [name for name in parts[0].names if all(name in part.names for part in carried)] if parts[0] else []
    )
    if len(carried) < len(parts) or not names:
        return None
    return Carried(names, _Shards(carried, names))


class _Shards:
    """Reads the batches of all parts. A class, so that sources can be pickled."""

    def __init__(self, parts: Sequence[Carried], names: Sequence[str]) -> None:
        self._parts = parts
        self._names = names

    def __call__(self, positions: list[int]) -> Iterator[Any]:
        for part in self._parts:
            yield from part.batches([self._names[i] for i in positions])
