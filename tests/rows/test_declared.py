"""Files that declare more than they hold are refused before memory is allocated."""

import io
import zipfile

import h5py
import numpy as np
import pyarrow as pa
import pytest
import zarr

from coterie import MiniBatchKMeans
from coterie.rows import open_rows
from tests.support.errors import tried
from tests.support.limited import run_measured
from tests.support.memory import limited_memory
from tests.support.processes import forks

HUGE = (10**9, 4)


def header(shape=HUGE):
    buffer = io.BytesIO()
    described = {"descr": "<f8", "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(buffer, described)
    return buffer.getvalue()


def npz(path, content):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("X.npy", content)


def sparse_npz(path):
    arrays = {
        "format.npy": np.array(b"csr"),
        "shape.npy": np.array(HUGE),
        "indices.npy": np.zeros(3, np.int32),
    }
    arrays["indptr.npy"] = np.array([0, 3], np.int32)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, array in arrays.items():
            with archive.open(name, "w") as member:
                np.save(member, array)
        archive.writestr("data.npy", header((4 * 10**9,)) + bytes(24))


def arrow(path):
    """The length of the batch and of its column is another one than that of the numbers."""
    table = pa.table({"a": np.arange(1003.0)})
    with pa.ipc.new_file(path, table.schema) as writer:
        writer.write_table(table)
    content = path.read_bytes()
    length = (1003).to_bytes(8, "little")
    assert content.count(length) == 2
    path.write_bytes(content.replace(length, (10**9).to_bytes(8, "little")))


def h5(path, **options):
    with h5py.File(path, "w") as file:
        file.create_dataset("X", shape=HUGE, dtype="f8", **options)


# name -> writer, what its error says
BOMBS = {
    "rows.npz": (lambda path: npz(path, header() + bytes(1000)), "declares an array of 32 GB"),
    "sparse.npz": (sparse_npz, "declares an array of 32 GB, but has 24 bytes"),
    "rows.npy": (lambda path: path.write_bytes(header() + bytes(1000)), "mmap length is greater"),
    "length.arrow": (arrow, "expected at least 8000000000 byte(s), got 8024"),
    "chunks.h5": (lambda path: h5(path, chunks=(10**6, 4)), "its numbers are missing"),
    "whole.h5": (h5, "its numbers are missing"),
    "chunks.zarr": (
        lambda path: zarr.create_array(path, shape=HUGE, chunks=(10**6, 4), dtype="f8"),
        "its numbers are missing",
    ),
}


@forks
def test_bombs_are_refused_and_take_no_memory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, (write, _) in BOMBS.items():
        write(tmp_path / name)
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) < 5e6
    messages, grown = run_measured(lambda: [tried(open_and_fit, name)[1] for name in BOMBS])
    for (name, (_, said)), message in zip(BOMBS.items(), messages):
        assert message.startswith(f"Cannot read {name}: "), message
        assert said in message
        assert "\n" not in message
        assert len(message) < 700
    assert grown < 100e6


def open_and_fit(name):
    MiniBatchKMeans(2, max_iter=1).fit(open_rows(name))


def test_one_chunk_of_all_rows_is_no_more_than_there_is_memory_for(tmp_path):
    with h5py.File(tmp_path / "x.h5", "w") as file:
        options = {"chunks": (2_000_000, 4), "compression": "gzip"}
        file.create_dataset("X", shape=(2_000_000, 4), dtype="f8", **options)[:3] = 1.0
    with limited_memory(1000), pytest.raises(MemoryError, match=r"single chunk.*64 MB .*smaller chunks"):
        open_rows(tmp_path / "x.h5")
    assert open_rows(tmp_path / "x.h5").take([0]).tolist() == [[1.0] * 4]
