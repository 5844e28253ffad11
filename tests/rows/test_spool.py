"""Copies of rows on disk."""

import errno
import os
import pickle
import threading
import time

import h5py
import numpy as np
import pyarrow
import pytest
from pyarrow import parquet

from coterie import KMeans, NestedMiniBatchKMeans, open_rows
from coterie.blocks.kernel_rows import kept_rows
from coterie.rows import RowSource, as_rows
from coterie.rows.derived import NormalizedRows, SelectedColumns
from coterie.rows.spool import SpooledRows, _portions, spool_folder
from tests.rows.formats import numbers
from tests.support.bits import same_bits, same_fits

N_ROWS, GROUP = 6000, 500


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Where copies go."""
    folder = tmp_path / "spool"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    return folder


@pytest.fixture
def small_pieces(monkeypatch):
    """Rows are copied in many pieces, by several threads."""
    monkeypatch.setattr("coterie.rows.spool._PIECE_BYTES", 1 << 12)


def vectors(n_rows=N_ROWS):
    return pyarrow.array(list(numbers(n_rows).astype(np.float32)), pyarrow.list_(pyarrow.float32()))


def write(path, column=None, group=GROUP):
    column = vectors() if column is None else column
    names = [f"r{i}" for i in range(len(column))]
    parquet.write_table(pyarrow.table({"id": names, "embedding": column}), path, row_group_size=group)
    return open_rows(path)


@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("group", [GROUP, N_ROWS])
def test_copies_have_the_same_bits(group, n_threads, tmp_path, small_pieces):
    rows = write(tmp_path / "x.parquet", group=group)
    copy = SpooledRows(rows, n_threads)
    same_bits(copy.read(), numbers(N_ROWS).astype(np.float32))
    same_bits(copy.take([0, 3, 5999]), rows.take([0, 3, 5999]))
    same_bits(copy.with_dtype(np.float64).read(), rows.with_dtype(np.float64).read())
    assert copy.column_names == rows.column_names
    assert copy.metadata_columns.read("id")["id"][7].as_py() == "r7"
    assert not copy.in_memory
    assert not copy.is_parsed


def test_portions_are_row_groups_of_at_least_a_piece(tmp_path, monkeypatch):
    rows = write(tmp_path / "x.parquet")
    monkeypatch.setattr("coterie.rows.spool._PIECE_BYTES", 1000 * rows.shape[1] * rows.dtype.itemsize)
    assert list(_portions(rows)) == [(0, 1500), (1500, 3000), (3000, 4500), (4500, 6000)]


def test_copies_of_derived_rows(tmp_path, small_pieces):
    shards = tmp_path / "shards"
    shards.mkdir()
    for i in range(3):
        write(shards / f"{i}.parquet", group=700)
    rows = open_rows(shards)
    assert rows.unit_starts().tolist()[8:11] == [5600, 6000, 6700]
    for made in (rows, NormalizedRows(rows), SelectedColumns(rows, [2, 0]), rows.with_dtype(np.float64)):
        assert made.is_parsed
        same_bits(SpooledRows(made, 2).read(), made.read())


def test_only_parsed_rows_are_copied(tmp_path, kept_bytes):
    kept_bytes(0)
    np.save(tmp_path / "x.npy", numbers(100))
    for rows in (
        open_rows(tmp_path / "x.npy"),
        as_rows(numbers(100)),
        as_rows(numbers(100).astype(np.uint8)),
    ):
        assert kept_rows(rows) is rows
    assert isinstance(kept_rows(write(tmp_path / "x.parquet")), SpooledRows)


@pytest.mark.parametrize("chunks", [None, (10, 2)])
def test_contiguous_datasets_are_not_parsed(chunks, tmp_path):
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file.create_dataset("x", data=numbers(100), chunks=chunks)
    assert open_rows(tmp_path / "x.h5").is_parsed == (chunks is not None)


@pytest.mark.parametrize(
    "model", [NestedMiniBatchKMeans(4, random_state=0), KMeans(4, n_init=1, random_state=0)]
)
def test_a_fit_parses_a_large_file_once(model, tmp_path, kept_bytes, monkeypatch, folder):
    parsed = []
    read = parquet.ParquetFile.iter_batches

    def counted(self, *args, **options):
        for batch in read(self, *args, **options):
            parsed.append(batch.num_rows)
            yield batch

    kept_bytes(0)
    rows = write(tmp_path / "x.parquet")
    monkeypatch.setattr(parquet.ParquetFile, "iter_batches", counted)
    model.fit(rows)
    assert sum(parsed) == N_ROWS
    assert os.listdir(folder) == []
    np.save(tmp_path / "x.npy", numbers(N_ROWS).astype(np.float32))
    same_fits(
        model, type(model)(**model.get_params()).fit(open_rows(tmp_path / "x.npy")), but=["feature_names_in_"]
    )


def test_copies_are_removed(tmp_path, folder):
    copy = SpooledRows(write(tmp_path / "x.parquet"))
    assert os.listdir(folder) == []  # it has no name
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(copy)


@pytest.mark.parametrize("n_threads", [1, 4])
def test_the_first_bad_row_is_named_and_no_thread_left(n_threads, tmp_path, small_pieces, folder):
    cells = numbers(N_ROWS).tolist()
    cells[2345] = cells[4567] = [1.0]
    rows = write(tmp_path / "x.parquet", pyarrow.array(cells))
    n_before = threading.active_count()
    with pytest.raises(ValueError, match=r"First bad row: 2345\."):
        SpooledRows(rows, n_threads)
    assert threading.active_count() == n_before
    assert os.listdir(folder) == []


class _Pieces(RowSource):
    """Rows of ones that are parsed; `act(start)` happens before each piece."""

    is_parsed = True

    def __init__(self, act):
        super().__init__((1000, 4), np.float64)
        self._act = act

    def unit_starts(self):
        return np.arange(0, 1000, 150)

    def pieces(self, start, stop, rows):
        for low in range(start, stop, rows):
            self._act(low)
            yield np.ones((min(rows, stop - low), 4))


def test_interrupted(small_pieces):
    seen = []

    def act(start):
        seen.append(start)
        if start == 0:
            raise KeyboardInterrupt
        time.sleep(0.3)  # until the main thread has heard of it

    n_before = threading.active_count()
    with pytest.raises(KeyboardInterrupt):
        SpooledRows(_Pieces(act), 1)
    assert len(seen) <= 2  # of fourteen pieces the one at which it was, and one that had begun
    assert threading.active_count() == n_before


def test_rows_that_end_early(small_pieces):
    class Short(_Pieces):
        def pieces(self, start, stop, rows):
            yield np.ones((stop - start - 1, 4))

    with pytest.raises(ValueError, match="ends at row 149 instead of 150"):
        SpooledRows(Short(print), 2)


@pytest.mark.parametrize("found", ["before", "meanwhile"])
def test_copy_on_a_full_disk(found, tmp_path, kept_bytes, monkeypatch, folder):
    def full(self, start, buffer):
        raise OSError(errno.ENOSPC, "No space left on device")

    kept_bytes(0)
    rows = write(tmp_path / "x.parquet")
    if found == "before":
        monkeypatch.setattr("coterie.rows.spool._LEFT_BYTES", 1 << 60)
    else:
        monkeypatch.setattr("coterie.rows.spool._CopyFile.write", full)
    with pytest.warns(UserWarning, match=r"has no space for a copy of the rows .* TMPDIR") as caught:
        assert kept_rows(rows) is rows
    assert str(folder) in str(caught[0].message)
    assert os.listdir(folder) == []


def test_the_folder(monkeypatch, folder):
    assert spool_folder() == str(folder)
    monkeypatch.delenv("TMPDIR")
    assert os.path.isdir(spool_folder())
