"""Excel workbooks: the first sheet of .xlsx, or the one after `::`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from coterie.rows.checks import FileError
from coterie.rows.formats.format import Format, Table
from coterie.rows.formats.tabular import check_unique, listed


def _read(path: Path, key: str | None) -> Table:
    import pandas
    import pyarrow

    with pandas.ExcelFile(path, engine="openpyxl") as book:
        if key is not None and key not in book.sheet_names:
            raise FileError(f"{path} has no sheet {key!r}. It has {listed(book.sheet_names)}.")
        frame = book.parse(0 if key is None else key)
    names = [str(name) for name in frame.columns]
    check_unique(names)
    columns = []
    for i in range(frame.shape[1]):
        cells = frame.iloc[:, i]
        try:
            columns.append(pyarrow.array(cells, from_pandas=True))
        except (pyarrow.ArrowInvalid, pyarrow.ArrowTypeError):  # numbers beside texts
            columns.append(
                pyarrow.array([None if cell is None or cell != cell else str(cell) for cell in cells])
            )
    table = pyarrow.table(columns, names)

    def batches(features: Sequence[int], others: Sequence[int]) -> Iterator[Any]:
        yield from table.select([*features, *others]).to_batches()

    return Table(table.schema, batches, "xlsx", table.num_rows)


EXCEL = Format("excel", (".xlsx",), _read, ("key",), library="openpyxl", install="coterie[io]")
