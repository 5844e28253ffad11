"""A small Parquet file of repeated values takes far more memory (https://github.com/pola-rs/polars/issues/4393)."""

import numpy as np
import pyarrow
from pyarrow import parquet

from coterie import KMeans, open_rows
from tests.support.bits import same_bits


def test_a_small_file_of_many_equal_rows_goes_to_disk(tmp_path, monkeypatch):
    """What takes more than a quarter of the free memory is mapped from a temporary file."""
    monkeypatch.setattr("coterie.rows.landing._SMALL_BYTES", 0)
    monkeypatch.setattr("coterie.rows.landing.available_memory", lambda: 1e6)
    X = np.zeros((200_000, 2), dtype=np.float32)
    X[100_000:] = 1
    table = pyarrow.table({"a": X[:, 0], "b": X[:, 1]})
    parquet.write_table(table, tmp_path / "x.parquet", compression="zstd")
    assert (tmp_path / "x.parquet").stat().st_size < 20_000
    rows = open_rows(tmp_path / "x.parquet")
    assert isinstance(rows.read().base, np.memmap)
    same_bits(rows.read(), X)
    same_bits(KMeans(2, random_state=0).fit(rows).labels_, KMeans(2, random_state=0).fit(X).labels_)
