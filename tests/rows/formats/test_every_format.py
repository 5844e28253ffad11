"""Contract of every format: the same rows, errors that name the file and the row, reads in pieces."""

import pickle
import sys

import numpy as np
import pytest

from coterie.rows import open_rows
from tests.rows.formats import WRITERS, assert_same_rows, numbers

TEXTS = (".csv", ".tsv", ".jsonl", ".ndjson", ".csv.gz", ".csv.zst", ".jsonl.gz")
TABLES = (*TEXTS, ".parquet", ".feather", ".arrow", ".h5ad")


@pytest.fixture(params=WRITERS, ids=lambda name: name.replace(", ", "-"))
def storage(request):
    return WRITERS[request.param]


def test_every_format(storage, tmp_path):
    extension, write, description = storage
    X = numbers(61)
    path = tmp_path / f"vectors{extension}"
    write(path, X)
    for source in (open_rows(path), open_rows(str(path)), pickle.loads(pickle.dumps(open_rows(path)))):
        assert_same_rows(source, X)
    assert source.description == description
    assert source.is_table == (extension.lower() in TABLES)
    assert source.is_sparse == ("svm" in extension or "sparse" in description)
    assert_same_rows(open_rows(path).with_dtype(np.float32), X.astype(np.float32))


@pytest.mark.parametrize("name", ["npy", "csv, gzip", "parquet", "zarr", "h5ad", "npz, sparse"])
def test_every_kind_of_shards(name, tmp_path):
    extension, write, description = WRITERS[name]
    X = numbers(90)
    folder = tmp_path / "shards"
    folder.mkdir()
    for number, part in zip((1, 2, 10, 11), np.split(X, [30, 31, 64])):
        write(folder / f"part-{number}{extension}", part)
    (folder / "_SUCCESS").touch()
    (folder / f".hidden{extension}").touch()
    (folder / "README.txt").write_text("about")
    assert_same_rows(open_rows(folder), X)
    source = open_rows(folder / f"part-*{extension}")
    assert_same_rows(source, X)
    assert source.description == f"{description}, 4 shards"
    assert open_rows(tmp_path / "*" / f"part-11{extension}").description == f"{description}, 1 shard"


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.uint8, np.int64, np.bool_])
@pytest.mark.parametrize("name", ["npy", "npz", "npz, compressed", "parquet", "feather", "zarr", "h5"])
def test_small_dtypes(name, dtype, tmp_path):
    extension, write, _ = WRITERS[name]
    X = (10 * abs(numbers(30)) * (numbers(30) > 0)).astype(dtype)
    path = tmp_path / f"x{extension}"
    write(path, X)
    expected = np.float64 if dtype in (np.int64, np.bool_) else np.float32
    assert_same_rows(open_rows(path), X.astype(expected))


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("name", ["npy", "csv", "jsonl", "parquet", "zarr", "h5ad, csr", "npz, sparse"])
def test_bad_numbers_are_named_by_row(name, value, tmp_path):
    extension, write, _ = WRITERS[name]
    X = numbers(40)
    for number, part in enumerate(np.split(X, [17])):
        if number == 1:
            part[3, 2] = value
        write(tmp_path / f"part-{number}{extension}", part)
    source = open_rows(tmp_path)
    with pytest.raises(
        ValueError, match=r"^Input X contains (NaN|infinity .*)\. First bad row: 20, row 3 of \S+\."
    ):
        list(source.blocks(11))
    with pytest.raises(ValueError, match=r"First bad row: 20, row 3 of \S+\."):
        source.take([19, 20])


# Where half of a text file ends must not look like the end of a row.
UNEVEN = np.array([[1.5, 2.5, 3.5]] * 10 + [[0.25, 12345678.5, 4.0]] + [[1.5, 2.5, 3.5]] * 10)


@pytest.mark.parametrize("name", [name for name in WRITERS if "svm" not in name])
def test_truncated_files(name, tmp_path):
    extension, write, _ = WRITERS[name]
    path = tmp_path / f"cut{extension}"
    write(path, UNEVEN)
    cut = path
    if path.is_dir():  # one of the array's chunks
        cut = max((p for p in path.rglob("*") if p.is_file() and "json" not in p.name), key=file_size)
    cut.write_bytes(cut.read_bytes()[: file_size(cut) // 2])
    with pytest.raises(ValueError, match=rf"Cannot read .*cut{extension}: "):
        open_rows(path).read()


def file_size(path):
    return path.stat().st_size


@pytest.mark.parametrize("extension", sorted({extension for extension, _, _ in WRITERS.values()}))
@pytest.mark.parametrize("content", [b"", b"\x00\xff\xfe nonsense \x01" * 9])
def test_files_of_something_else(extension, content, tmp_path):
    path = tmp_path / f"bad{extension}"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=rf"Cannot read .*bad{extension}: "):
        open_rows(path)


@pytest.mark.parametrize(
    ("library", "extension"),
    [*(("pyarrow", ending) for ending in TABLES[:-1]), ("h5py", ".h5"), ("h5py", ".hdf5"), ("zarr", ".zarr")],
)
def test_missing_extras_are_named(library, extension, tmp_path, monkeypatch):
    write = next(write for ending, write, _ in WRITERS.values() if ending == extension)
    write(tmp_path / f"x{extension}", numbers(3))
    monkeypatch.setitem(sys.modules, library, None)
    plain = extension.removesuffix(".gz").removesuffix(".zst")
    message = rf"^Reading {plain} files needs {library}: pip install 'coterie\[io\]'$"
    with pytest.raises(ImportError, match=message):
        open_rows(tmp_path / f"x{extension}")
