"""Tables in files: missing values, row groups of Parquet, sheets of Excel."""

import re

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

from coterie.rows import as_rows, open_rows
from coterie.rows.formats import format_of
from tests.rows.formats import numbers
from tests.support.errors import tried
from tests.support.limited import run_measured
from tests.support.processes import forks


def test_missing_values_are_counted_by_column(tmp_path, monkeypatch):
    frame = pd.DataFrame(numbers(100), columns=["age", "size", "income", "b", "c"])
    frame["count"] = pd.array([*[1, 2] * 25, None, *[3, 1, 2] * 16, 1], dtype="Int64")
    frame.loc[20:31, "age"] = np.nan
    frame.loc[30:34, "income"] = np.inf
    frame.to_parquet(tmp_path / "x.parquet", row_group_size=13)
    frame[:50].to_csv(tmp_path / "1.csv", index=False, na_rep="n/a")
    frame[50:].to_csv(tmp_path / "2.csv", index=False, na_rep="n/a")
    message = (
        r"^Input X contains NaN\. First bad row: 20( of \S+)?\. "
        r"Of 100 rows 16 have such values: 'age' in 12, 'income' in 5, 'count' in 1\. "
        r"Fill in .*missing='median'.*missing='drop'.*exclude"
    )
    for rows in (as_rows(frame), open_rows(tmp_path / "x.parquet"), open_rows(tmp_path / "*.csv")):
        for read in (rows.read, lambda rows=rows: rows.take([0, 20]), lambda rows=rows: list(rows.blocks(7))):
            with pytest.raises(ValueError, match=message):
                read()
    monkeypatch.setattr("coterie.rows.source._COUNTED_BYTES", 25 * 6 * 8)
    with pytest.raises(ValueError, match=r"Of 25 rows 5 have such values: 'age' in 5\."):
        list(open_rows(tmp_path / "x.parquet").blocks(7))
    with pytest.raises(ValueError, match=r"'7' in 3, and 2 more columns\. Fill in numbers .*missing='drop'"):
        as_rows(pd.DataFrame(np.full((3, 10), np.nan)), columns=["*"]).read()


@pytest.mark.parametrize("kind", [pa.list_(pa.float32()), pa.list_(pa.float32(), 64)])
def test_row_groups_are_not_held(tmp_path, monkeypatch, kind):
    """Batches that were read are let go, also those of earlier row groups."""
    vectors = pa.FixedSizeListArray.from_arrays(
        np.random.default_rng(0).normal(size=2**21).astype(np.float32), 64
    )
    options = {"row_group_size": 2**11, "use_dictionary": False}
    parquet.write_table(pa.table({"v": vectors.cast(kind)}), tmp_path / "x.parquet", **options)
    monkeypatch.setattr("coterie.rows.formats.arrow._BATCH_NUMBERS", 2**14)
    monkeypatch.setattr("coterie.rows.tables._SEEN_BYTES", 2**16)
    before = pa.total_allocated_bytes()
    batches = format_of("x.parquet").read(tmp_path / "x.parquet").batches()
    held = [pa.total_allocated_bytes() - before for batch in batches]
    assert max(held) < 4 * 2**20


@forks
def test_a_page_that_declares_2_gb_takes_no_more_than_its_row_group(tmp_path, monkeypatch):
    """The file is larger than what is read at once; its row groups are not."""
    path = tmp_path / "x.parquet"
    values = np.random.default_rng(0).normal(size=50_000)
    parquet.write_table(pa.table({"a": values}), path, row_group_size=5_000, use_dictionary=False)
    content = bytearray(path.read_bytes())
    start = parquet.read_metadata(path).row_group(3).column(0).data_page_offset
    # The kind of page, then its size and its compressed size as zigzag varints.
    sizes = re.match(rb"\x15\x00\x15[\x80-\xff]*[\x00-\x7f]\x15()[\x80-\xff]*[\x00-\x7f]", content[start:])
    header = content[start : start + sizes.start(1)] + b"\xfe\xff\xff\xff\x0f"
    header += content[start + sizes.end() : start + 40]
    content[start : start + len(header)] = header
    path.write_bytes(content)
    monkeypatch.setattr("coterie.rows.formats.arrow._BUFFER_BYTES", 2**17)
    message, grown = run_measured(lambda: tried(lambda: open_rows(path).read())[1])
    assert message.startswith(f"Cannot read {path}: Unexpected end of stream")
    assert grown < 50e6


def test_sheets_of_a_workbook(tmp_path):
    pytest.importorskip("openpyxl")
    first = pd.DataFrame({"name": ["Ada", 7, None], "size": [1.5, 2.25, None], "count": [3, 4, 5]})
    path = tmp_path / "x.xlsx"
    with pd.ExcelWriter(path) as writer:
        first.to_excel(writer, sheet_name="people", index=False)
        pd.DataFrame({"a": [1, 2], "b": [0.5, -1.0]}).to_excel(writer, sheet_name="more", index=False)
    rows = open_rows(path, columns=["count", "size"])
    np.testing.assert_array_equal(rows.take([0, 1]), first[["count", "size"]].to_numpy()[:2])
    assert rows.metadata_columns["name"].to_pylist() == ["Ada", "7", None]
    with pytest.raises(ValueError, match="NaN"):
        rows.read()
    assert open_rows(f"{path}::more").read().tolist() == [[1, 0.5], [2, -1]]
    with pytest.raises(ValueError, match=r"no sheet 'other'\. It has 'people', 'more'"):
        open_rows(f"{path}::other")
    for content in (b"", b"PK\x03\x04 nonsense", b"a,b\n1,2\n"):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=r"Cannot read .*x\.xlsx: "):
            open_rows(path)
