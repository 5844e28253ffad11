"""Damage that checksums of formats find: one line that names the file, whichever byte of the numbers is another."""

import h5py
import numpy as np
import pytest
import scipy.sparse as sp
import zarr
from pyarrow import feather, parquet
from zarr.codecs import Crc32cCodec, ZstdCodec

from coterie import open_rows
from tests.rows.formats import dense, table

# Bytes of these numbers are found in files that are not compressed.
X = np.random.default_rng(0).normal(size=(200, 5))


def write_h5(path, **options):
    with h5py.File(path, "w") as file:
        file.create_dataset("X", data=X, chunks=(50, 5), **options)


def write_zarr(path, **options):
    array = zarr.create_array(path, shape=X.shape, chunks=(50, 5), dtype=X.dtype, **options)
    array[:] = X


def write_parquet(path, **options):
    parquet.write_table(table(X), path, use_dictionary=False, **options)


CHECKED = {
    "npz": (".npz", lambda path: np.savez(path, X)),
    "npz, fortran": (".npz", lambda path: np.savez(path, np.asfortranarray(X))),
    "npz, compressed": (".npz", lambda path: np.savez_compressed(path, X)),
    "npz, sparse": (".npz", lambda path: sp.save_npz(path, sp.csr_array(X))),
    "npz, sparse and not compressed": (
        ".npz",
        lambda path: sp.save_npz(path, sp.csr_array(X), compressed=False),
    ),
    "parquet": (".parquet", lambda path: write_parquet(path, compression="none", write_page_checksum=True)),
    "parquet, zstd": (
        ".parquet",
        lambda path: write_parquet(path, compression="zstd", write_page_checksum=True),
    ),
    "h5, fletcher32": (".h5", lambda path: write_h5(path, fletcher32=True)),
    "h5, gzip and fletcher32": (".h5", lambda path: write_h5(path, fletcher32=True, compression="gzip")),
    "zarr, crc32c": (".zarr", lambda path: write_zarr(path, compressors=[Crc32cCodec()])),
    "zarr, zstd with checksums": (
        ".zarr",
        lambda path: write_zarr(path, compressors=[ZstdCodec(checksum=True)]),
    ),
}

UNCHECKED = {
    "npy": (".npy", lambda path: np.save(path, X)),
    "parquet": (".parquet", lambda path: write_parquet(path, compression="none")),
    "feather": (
        ".feather",
        lambda path: feather.write_feather(table(X), str(path), compression="uncompressed"),
    ),
    "h5": (".h5", write_h5),
    "zarr": (".zarr", lambda path: write_zarr(path, compressors=None)),
}


def flip_a_bit(path):
    """Change a bit in the middle of the numbers of a file, or of a chunk of a folder."""
    file = (
        next(part for part in sorted(path.rglob("*")) if part.name == "0" and part.is_file())
        if path.is_dir()
        else path
    )
    content = bytearray(file.read_bytes())
    # Of a number in the middle of those that are stored as they are, else of the middle of the file.
    place = content.find(X[120].tobytes() if X[120].tobytes() in content else X[120:121, 2].tobytes())
    place = place + 3 if place >= 0 else len(content) // 2
    content[place] ^= 1
    file.write_bytes(content)


@pytest.mark.parametrize("name", CHECKED)
def test_a_bit_that_flipped_is_found(name, tmp_path):
    extension, write = CHECKED[name]
    path = tmp_path / f"x{extension}"
    write(path)
    np.testing.assert_array_equal(dense(open_rows(path).read()), X)
    flip_a_bit(path)
    with pytest.raises(ValueError, match=rf"^Cannot read {path}: ") as error:
        open_rows(path).read()
    assert "\n" not in str(error.value)
    with pytest.raises(ValueError, match=rf"^Cannot read {path}: "):
        for _ in open_rows(path).blocks(7):
            pass


@pytest.mark.parametrize("name", UNCHECKED)
def test_formats_without_checksums_do_not_detect_damage(name, tmp_path):
    extension, write = UNCHECKED[name]
    path = tmp_path / f"x{extension}"
    write(path)
    flip_a_bit(path)
    assert (open_rows(path).read() != X).sum() == 1
