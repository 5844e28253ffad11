"""Number of passes: a file is not parsed to open it, and no more often than needed."""

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from coterie import NestedMiniBatchKMeans
from coterie.rows import as_rows, open_rows
from tests.rows.formats import WRITERS, numbers, table
from tests.support.counting import CountingSource


@pytest.fixture
def n_parsed(monkeypatch):
    """Number of rows of each batch that was parsed of Parquet files."""
    sizes = []
    read = parquet.ParquetFile.iter_batches

    def counted(self, *args, **options):
        for batch in read(self, *args, **options):
            sizes.append(batch.num_rows)
            yield batch

    monkeypatch.setattr(parquet.ParquetFile, "iter_batches", counted)
    return sizes


@pytest.fixture
def parquet_file(tmp_path):
    parquet.write_table(table(numbers(20_000)), tmp_path / "x.parquet", row_group_size=3000)
    return tmp_path / "x.parquet"


def test_parquet_files_are_not_parsed_to_be_opened(parquet_file, n_parsed):
    rows = open_rows(parquet_file)
    assert rows.shape == (20_000, 5)
    assert rows.with_dtype(np.float32).dtype == np.float32
    assert not n_parsed
    rows.read()
    assert sum(n_parsed) == 20_000


@pytest.mark.parametrize("name", ["npy", "npz, compressed", "csv", "parquet", "arrow", "zarr", "h5", "svm"])
def test_reading_takes_one_pass(name, tmp_path):
    extension, write, _ = WRITERS[name]
    write(tmp_path / f"x{extension}", numbers(100))
    rows = CountingSource(open_rows(tmp_path / f"x{extension}"))
    rows.read()
    assert rows.n_passes == 1
    list(rows.blocks(7))
    assert rows.n_passes == 2


def test_counts_continue_in_another_dtype():
    rows = CountingSource(as_rows(numbers(10)))
    single = as_rows(rows, dtype=np.float32)
    assert single.read().dtype == np.float32
    single.take([2, 6])
    assert rows.n_passes == single.n_passes == 1.5


@pytest.mark.parametrize("compute_labels", [True, False])
def test_nested_mini_batches_parse_a_file_once(compute_labels, parquet_file):
    rows = CountingSource(open_rows(parquet_file))
    model = NestedMiniBatchKMeans(
        n_clusters=3, batch_size=1000, compute_labels=compute_labels, random_state=0
    )
    model.fit(rows)
    assert rows.n_passes == 1


def test_one_number_of_parquet_is_read_to_open_it(tmp_path, n_parsed):
    """The first row says how long vectors are; of the others nothing is read."""
    parquet.write_table(pa.table({"v": list(numbers(1000))}), tmp_path / "x.parquet")
    assert open_rows(tmp_path / "x.parquet").shape == (1000, 5)
    assert sum(n_parsed) == 1
