"""Excel workbooks: the first sheet of .xlsx, or the one after `::`."""

from __future__ import annotations

from pathlib import Path

from coterie.rows.checks import FileError
from coterie.rows.formats.format import Format
from coterie.rows.formats.tabular import check_unique, listed
from coterie.rows.frames import table_of_pandas
from coterie.rows.tables import Table


def _read(path: Path, key: str | None) -> Table:
    import pandas

    with pandas.ExcelFile(path, engine="openpyxl") as book:
        if key is not None and key not in book.sheet_names:
            raise FileError(f"{path} has no sheet {key!r}. It has {listed(book.sheet_names)}.")
        frame = book.parse(0 if key is None else key)
    check_unique([str(name) for name in frame.columns])
    return table_of_pandas(frame, "xlsx")


EXCEL = Format("excel", (".xlsx",), _read, ("key",), library="openpyxl", install="coterie[io]")
