"""Excel workbooks."""

import numpy as np
import pandas as pd
import pytest

from coterie.rows import open_rows

pytest.importorskip("openpyxl")


@pytest.fixture
def book(tmp_path):
    """A workbook of two sheets, and its first as a data frame."""
    first = pd.DataFrame({"name": ["Ada", None, "Cy"], "size": [1.5, 2.25, None], "count": [3, 4, 5]})
    with pd.ExcelWriter(tmp_path / "x.xlsx") as writer:
        first.to_excel(writer, sheet_name="people", index=False)
        pd.DataFrame({"a": [1, 2], "b": [0.5, -1.0]}).to_excel(writer, sheet_name="more", index=False)
    return tmp_path / "x.xlsx", first


def test_the_first_sheet(book):
    path, first = book
    rows = open_rows(path, columns=["count", "size"])
    assert rows.column_names == ["count", "size"]
    np.testing.assert_array_equal(rows.take([0, 1]), first[["count", "size"]].to_numpy()[:2])
    assert rows.metadata_columns.read("name")["name"].to_pylist() == ["Ada", None, "Cy"]
    with pytest.raises(ValueError, match="NaN"):
        rows.read()


def test_another_sheet(book):
    assert open_rows(f"{book[0]}::more").read().tolist() == [[1, 0.5], [2, -1]]
    with pytest.raises(ValueError, match=r"no sheet 'other'\. It has 'people', 'more'"):
        open_rows(f"{book[0]}::other")


def test_cells_of_several_kinds_are_texts(tmp_path):
    pd.DataFrame({"a": [1, "two", None], "b": [1, 2, 3]}).to_excel(tmp_path / "x.xlsx", index=False)
    rows = open_rows(tmp_path / "x.xlsx", columns="b")
    assert rows.metadata_columns.read("a")["a"].to_pylist() == ["1", "two", None]


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 nonsense", b"a,b\n1,2\n"])
def test_damaged_books(tmp_path, content):
    (tmp_path / "x.xlsx").write_bytes(content)
    with pytest.raises(ValueError, match=r"Cannot read .*x\.xlsx: "):
        open_rows(tmp_path / "x.xlsx")
