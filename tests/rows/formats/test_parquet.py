"""Parquet: row groups."""

import re

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from coterie.rows import open_rows
from coterie.rows.formats import format_of
from tests.support.errors import tried
from tests.support.limited import run_measured
from tests.support.processes import forks


@pytest.mark.parametrize("kind", [pa.list_(pa.float32()), pa.list_(pa.float32(), 64)])
def test_row_groups_are_not_held(tmp_path, monkeypatch, kind):
    """Batches that were read are let go, also those of earlier row groups."""
    vectors = pa.FixedSizeListArray.from_arrays(
        np.random.default_rng(0).normal(size=2**21).astype(np.float32), 64
    )
    options = {"row_group_size": 2**11, "use_dictionary": False}
    parquet.write_table(pa.table({"v": vectors.cast(kind)}), tmp_path / "x.parquet", **options)
    monkeypatch.setattr("coterie.rows.formats.parquet._BATCH_NUMBERS", 2**14)
    monkeypatch.setattr("coterie.rows.tables._SEEN_BYTES", 2**16)
    before = pa.total_allocated_bytes()
    batches = format_of("x.parquet").read(tmp_path / "x.parquet").batches({})
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
    monkeypatch.setattr("coterie.rows.formats.parquet._BUFFER_BYTES", 2**17)
    message, grown = run_measured(lambda: tried(lambda: open_rows(path).read())[1])
    assert message.startswith(f"Cannot read {path}: Unexpected end of stream")
    assert grown < 50e6
