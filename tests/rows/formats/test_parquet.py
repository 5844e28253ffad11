"""Parquet: row groups."""

import numpy as np
from pyarrow import parquet

from coterie.rows import open_rows
from tests.rows.formats import numbers, table


def test_take_reads_only_the_row_groups_needed(tmp_path, monkeypatch):
    X = numbers(1000)
    parquet.write_table(table(X), tmp_path / "x.parquet", row_group_size=100)
    source = open_rows(tmp_path / "x.parquet")
    groups = []
    read = parquet.ParquetFile.iter_batches

    def noted(self, *args, row_groups, **options):
        groups.append(list(row_groups))
        return read(self, *args, row_groups=row_groups, **options)

    monkeypatch.setattr(parquet.ParquetFile, "iter_batches", noted)
    rows = [101, 199, 200, 650]
    np.testing.assert_array_equal(source.take(rows), X[rows])
    assert groups == [[1, 2], [6]]
