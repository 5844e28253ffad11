"""`open_rows`: real files of every format, as single files and as shards."""

import pickle
import sys
import zipfile
from pathlib import Path

import h5py
import numpy as np
import pytest
import zarr

from coterie.rows import open_rows
from coterie.rows.formats import csv as csv_module, npz
from tests.rows.formats import N_COLUMNS, WRITERS, assert_same_rows, numbers, write_text, write_zarr


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
    assert source.is_table == (extension in (".csv", ".tsv", ".parquet", ".feather", ".arrow"))
    assert source.is_sparse == ("svm" in extension or "sparse" in description)
    assert_same_rows(open_rows(path).with_dtype(np.float32), X.astype(np.float32))


def test_every_format_in_shards(storage, tmp_path):
    extension, write, description = storage
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
    X = (10 * abs(numbers(30))).astype(dtype)
    path = tmp_path / f"x{extension}"
    write(path, X)
    expected = np.float64 if dtype in (np.int64, np.bool_) else np.float32
    assert_same_rows(open_rows(path), X.astype(expected))


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_bad_numbers_are_named_by_row(storage, value, tmp_path):
    extension, write, _ = storage
    X = numbers(40)
    for number, part in enumerate(np.split(X, [17])):
        if number == 1:
            part[3, 2] = value
        write(tmp_path / f"part-{number}{extension}", part)
    source = open_rows(tmp_path)
    with pytest.raises(ValueError, match=r"^Input X contains (NaN|infinity .*)\. First bad row: 20\."):
        list(source.blocks(11))
    with pytest.raises(ValueError, match=r"First bad row: 20\."):
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


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("content", [b"", b"\x00\xff\xfe nonsense \x01" * 9])
def test_files_of_something_else(name, content, tmp_path):
    path = tmp_path / f"bad{WRITERS[name][0]}"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=rf"Cannot read .*bad{WRITERS[name][0]}: "):
        open_rows(path)


@pytest.mark.parametrize("content", ["1 1:0.5 7", "1 1:0.5 2:", "1 2:1 1:2\n", "one two\n", "1 -1:3\n"])
def test_damaged_svm_files(content, tmp_path):
    good, bad = tmp_path / "1.svm", tmp_path / "2.svm"
    good.write_text("1 1:0.5 2:3\n")
    bad.write_text(content)
    with pytest.raises(ValueError, match=r"Cannot read .*2\.svm: "):
        open_rows(tmp_path)


def test_svm_columns(tmp_path):
    (tmp_path / "1.svm").write_text("1 1:0.5 2:3 # note\n0\n")
    (tmp_path / "2.svm").write_text("-1 4:1\n")
    X = np.array([[0.5, 3, 0, 0], [0, 0, 0, 0], [0, 0, 0, 1]])
    np.testing.assert_array_equal(open_rows(tmp_path).read().toarray(), X)
    np.testing.assert_array_equal(open_rows(tmp_path / "1.svm").read().toarray(), X[:2, :2])
    np.testing.assert_array_equal(open_rows(tmp_path / "1.svm", n_columns=4).read().toarray(), X[:2])
    with pytest.raises(ValueError, match="has 4 columns, more than the 3 asked for"):
        open_rows(tmp_path, n_columns=3)
    (tmp_path / "2.svm").write_text("-1 0:1\n")  # now all indices count from 0
    assert open_rows(tmp_path).shape == (3, 3)


EXTRAS = {
    "pyarrow": [".csv", ".tsv", ".parquet", ".feather", ".arrow"],
    "h5py": [".h5", ".hdf5"],
    "zarr": [".zarr"],
}


@pytest.mark.parametrize(
    ("library", "extension"), [(library, e) for library, endings in EXTRAS.items() for e in endings]
)
def test_missing_extras_are_named(library, extension, tmp_path, monkeypatch):
    write = next(write for ending, write, _ in WRITERS.values() if ending == extension)
    write(tmp_path / f"x{extension}", numbers(3))
    monkeypatch.setitem(sys.modules, library, None)
    message = rf"^Reading {extension} files needs {library}: pip install 'coterie\[io\]'$"
    with pytest.raises(ImportError, match=message):
        open_rows(tmp_path / f"x{extension}")


def test_unknown_paths(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"There is no file .*nothing\.npy"):
        open_rows(tmp_path / "nothing.npy")
    with pytest.raises(FileNotFoundError, match=r"No file matches .*\*\.npy"):
        open_rows(tmp_path / "*.npy")
    (tmp_path / "notes.docx").touch()
    with pytest.raises(
        ValueError, match=r"format of .*notes\.docx\. Known extensions are \.npy, \.npz, .*svm"
    ):
        open_rows(tmp_path / "notes.docx")
    with pytest.raises(ValueError, match=r"format of .*notes\.docx"):
        open_rows(tmp_path / "notes.*")
    with pytest.raises(ValueError, match=r"has no files of rows\. Known extensions are"):
        open_rows(tmp_path)


def test_shards_must_be_alike(tmp_path):
    np.save(tmp_path / "1.npy", np.ones((2, 3)))
    np.save(tmp_path / "2.npy", np.ones((2, 4)))
    with pytest.raises(ValueError, match=r"same columns: .*1\.npy has 3, .*2\.npy has 4"):
        open_rows(tmp_path)
    (tmp_path / "2.npy").unlink()
    write_text(tmp_path / "2.csv", np.ones((2, 3)))
    with pytest.raises(ValueError, match=r"one format, found .*1\.npy, .*2\.csv"):
        open_rows(tmp_path)
    write_text(tmp_path / "1.csv", np.ones((2, 3)), header="a,b,c")
    with pytest.raises(ValueError, match=r"same column names in order: .*1\.csv and .*2\.csv differ"):
        open_rows(tmp_path / "*.csv")


@pytest.mark.filterwarnings("ignore:Stored array in format 3.0")
@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.ones(5), "Expected 2D array, got 1D array instead"),
        (np.ones((2, 2, 2)), "Found array with dim 3"),
        (np.empty((0, 3)), r"0 sample\(s\) \(shape=\(0, 3\)\)"),
        (np.empty((3, 0)), r"0 feature\(s\) \(shape=\(3, 0\)\)"),
        (np.ones((2, 2)) * 1j, "Complex data not supported"),
        (np.array([["a"]]), "must hold numbers, got dtype <U1"),
        (np.array([[None]]), "must hold numbers, got dtype object"),
        (np.zeros((2, 2), [("a", "f8"), ("列", "f8")]), "structured array"),
    ],
)
def test_unfit_npy_files(X, message, tmp_path):
    np.save(tmp_path / "x.npy", X)
    with pytest.raises(ValueError, match=rf"Cannot read .*x\.npy: .*{message}"):
        open_rows(tmp_path / "x.npy")


def test_choice_among_arrays(tmp_path):
    a, b = numbers(4), numbers(6)
    arrays = {"a": a, "X": b, "names": np.array(["x"]), "flat": a[0]}
    np.savez(tmp_path / "x.npz", **arrays)
    np.savez_compressed(tmp_path / "y.npz", **arrays)
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["group/a"], file["X"], file["flat"] = a, b, a[0]
    group = zarr.open_group(tmp_path / "x.zarr", mode="w")
    for name in ("group/a", "X", "flat"):
        group.create_array(name, data={"group/a": a, "X": b, "flat": a[0]}[name])
    for name, key in (("x.npz", "a"), ("y.npz", "a"), ("x.h5", "group/a"), ("x.zarr", "group/a")):
        path = tmp_path / name
        np.testing.assert_array_equal(open_rows(path).read(), b)
        np.testing.assert_array_equal(open_rows(f"{path}::{key}").read(), a)
        np.testing.assert_array_equal(open_rows(f"{tmp_path}/{name[0]}*{path.suffix}::{key}").read(), a)
        with pytest.raises(ValueError, match=r"has no array 'b'\. It has "):
            open_rows(f"{path}::b")
        with pytest.raises(ValueError, match="Expected 2D array, got 1D array"):
            open_rows(f"{path}::flat")
    np.savez(tmp_path / "x.npz", a=a, b=b)
    with pytest.raises(ValueError, match=r"several arrays .* choose one by .*x\.npz::name of 'a', 'b'"):
        open_rows(tmp_path / "x.npz")
    np.savez(tmp_path / "x.npz", a=a[0])
    with pytest.raises(ValueError, match=r"no array of numbers with two dimensions\. It has 'a'"):
        open_rows(tmp_path / "x.npz")


def test_a_single_zarr_array_has_no_key(tmp_path):
    write_zarr(tmp_path / "x.zarr", numbers(4))
    with pytest.raises(ValueError, match="is a single array: drop ::a"):
        open_rows(f"{tmp_path}/x.zarr::a")


@pytest.mark.parametrize(
    ("path", "options", "option"),
    [
        ("x.npy::a", {}, "::a"),
        ("x.npy", {"columns": ["a"]}, "columns"),
        ("x.npy", {"header": True}, "header"),
        ("x.npy", {"n_columns": 3}, "n_columns"),
    ],
)
def test_options_without_meaning(path, options, option, tmp_path):
    np.save(tmp_path / "x.npy", np.ones((2, 2)))
    with pytest.raises(ValueError, match=rf"^{option} has no meaning for .*x\.npy"):
        open_rows(tmp_path / path, **options)


# Sparse files are held in memory, and compressed columns must all be read before the first row is complete.
STREAMED = [
    name for name in WRITERS if name not in ("npz, sparse", "npz, compressed fortran", "svm", "svm, from 0")
]


@pytest.mark.parametrize("name", STREAMED)
def test_files_are_read_in_pieces(name, tmp_path, monkeypatch):
    """No piece has more rows than a block or one of the file's own units, however large the file is."""
    extension, write, _ = WRITERS[name]
    monkeypatch.setattr(csv_module, "_BLOCK_BYTES", 2000)
    X = numbers(1000)
    path = tmp_path / f"x{extension}"
    write(path, X)
    source = open_rows(path)
    unit = int(np.diff([*source.unit_starts(), 1000]).max()) if extension in (".zarr", ".h5", ".hdf5") else 0
    monkeypatch.setattr(npz, "_read_exactly", small_reads(npz._read_exactly))
    sizes = [piece.shape[0] for piece in source.pieces(0, 1000, 50)]
    assert sum(sizes) == 1000
    assert max(sizes) <= max(50, unit)
    sizes = [piece.shape[0] for piece in source.pieces(333, 777, 50)]
    assert sum(sizes) == 777 - 333


def small_reads(read):
    def checked(stream, n_bytes):
        assert n_bytes <= 50 * N_COLUMNS * 8
        return read(stream, n_bytes)

    return checked


def test_chunks_are_read_once(tmp_path):
    write_zarr(tmp_path / "x.zarr", numbers(100, np.float32), chunks=(9, 5))
    source = open_rows(tmp_path / "x.zarr")
    source._starts = np.arange(0, 100, 9)  # as for chunks of many columns
    pieces = list(source.pieces(0, 100, 20))
    assert [len(piece) for piece in pieces] == [18] * 5 + [10]
    assert [len(piece) for piece in source.pieces(5, 100, 4)] == [4, *[9] * 10, 1]


def test_damage_behind_the_directory_of_a_zip_file_is_found(tmp_path):
    path = tmp_path / "x.npz"
    np.savez_compressed(path, numbers(500))
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"Cannot read .*x\.npz"):
        open_rows(path).read()
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("note.txt", "no array")
    with pytest.raises(ValueError, match=r"Cannot read .*x\.npz"):
        open_rows(path)


def test_many_files_leave_no_file_open(tmp_path):
    descriptors = Path("/proc/self/fd")
    if not descriptors.exists():
        pytest.skip("counts open files under /proc")
    for i in range(30):
        np.save(tmp_path / f"{i}.npy", numbers(3))
    source = open_rows(tmp_path)
    before = len(list(descriptors.iterdir()))
    source.read()
    assert len(list(descriptors.iterdir())) <= before + 1
