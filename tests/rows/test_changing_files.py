"""Files that change while they are read: an error that names the file, never rows of two files."""

import os
import pickle
import shutil

import numpy as np
import pyarrow as pa
import pytest
import zarr
from pyarrow import parquet

from coterie import KMeans, open_rows
from coterie.blocks import kernel_rows
from coterie.cli import main
from coterie.rows.derived import NormalizedRows
from coterie.rows.formats.arrow import ArrowFileSource
from coterie.rows.formats.csv import Dialect
from coterie.rows.formats.npy import RawSource
from coterie.rows.spool import SpooledRows
from tests.rows.formats import WRITERS, dense, numbers, write_zarr, write_zarr_group
from tests.support.processes import ended, forks, started

N_ROWS = 60
# Their rows are read to memory when they are opened.
HELD = {"npz, sparse", "h5ad, csc", "svm", "svm, from 0"}


def remove(path):
    shutil.rmtree(path) if path.is_dir() else path.unlink()


def write_anew(path, write, X):
    """Write a file again in its place, at another time."""
    if path.is_dir():
        shutil.rmtree(path)
        write(path, X)
    else:
        beside = path.with_name(f"beside{path.suffix}")
        write(beside, X)
        path.write_bytes(beside.read_bytes())
        beside.unlink()
    make_later(path)


def make_later(path):
    """Put the times of a file on: clocks of file systems tick some hundred times a second."""
    for file in [path, *path.rglob("*")] if path.is_dir() else [path]:
        found = file.stat()
        os.utime(file, ns=(found.st_atime_ns, found.st_mtime_ns + 10**9))


def replace(path, write, X):
    """Put another file in its place that has the same times."""
    beside = path.with_name(f"beside{path.suffix}")
    write(beside, X)
    found = path.stat()
    if path.is_dir():
        shutil.rmtree(path)
    os.replace(beside, path)
    os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns))


def cut(path, write, X):
    for file in path.rglob("[0-9]*") if path.is_dir() else [path]:
        if file.is_file():
            os.truncate(file, file.stat().st_size // 2)


def with_nan(X):
    X = X.copy()
    X[N_ROWS - 1, 2] = np.nan
    return X


CHANGES = {
    "other numbers": lambda path, write, X: write_anew(path, write, X[::-1]),
    "more rows": lambda path, write, X: write_anew(path, write, np.concatenate([X, X])),
    "fewer rows": lambda path, write, X: write_anew(path, write, X[: N_ROWS // 2]),
    "NaN": lambda path, write, X: write_anew(path, write, with_nan(X)),
    "other columns": lambda path, write, X: write_anew(path, write, X[:, ::-1][:, :3]),
    "deleted": lambda path, write, X: remove(path),
    "replaced": lambda path, write, X: replace(path, write, X[::-1]),
    "cut": cut,
}

# One place compares files of all formats, so that each format needs two changes only; a folder has its own.
PAIRS = [
    (name, change)
    for name in WRITERS
    for change in CHANGES
    if name in ("npy", "csv", "parquet", "zarr") or change in ("replaced", "cut")
]


@pytest.mark.parametrize(("name", "change"), PAIRS)
def test_changes_between_passes_are_found(name, change, tmp_path):
    extension, write, _ = WRITERS[name]
    X, path = numbers(N_ROWS), tmp_path / f"x{extension}"
    write(path, X)
    rows = open_rows(path)
    copy = pickle.loads(pickle.dumps(rows))
    list(rows.blocks(20))
    CHANGES[change](path, write, X)
    if name in HELD:
        np.testing.assert_array_equal(dense(rows.read()), X)
        return
    for read in (
        lambda: list(rows.blocks(20)),
        rows.read,
        lambda: rows.take([0, N_ROWS - 1]),
        lambda: list(rows.unchecked_blocks()),
        lambda: rows.with_dtype(np.float32).read(),
        lambda: NormalizedRows(rows).read(),
        lambda: SpooledRows(rows, 2),
        copy.read,
    ):
        with pytest.raises(ValueError, match=rf"^{path}\S* changed while it was read \(.*\)\. Run again"):
            read()


@pytest.mark.parametrize(("name", "change"), PAIRS)
def test_changes_within_a_pass_are_found(name, change, tmp_path):
    extension, write, _ = WRITERS[name]
    X, path = numbers(N_ROWS), tmp_path / f"x{extension}"
    write(path, X)
    rows = open_rows(path)
    blocks = rows.blocks(10)
    read = [next(blocks)]
    CHANGES[change](path, write, X)
    if name in HELD or extension == ".zarr":  # all of it was read by now
        read += list(blocks)
        np.testing.assert_array_equal(np.concatenate([dense(block) for _, block in read]), X)
        return
    with pytest.raises(ValueError, match=rf"^{path} changed while it was read \("):
        list(blocks)


def test_error_names_the_change(tmp_path):
    path = tmp_path / "x.npy"
    np.save(path, numbers(40))
    rows = open_rows(path)
    rows.read()
    os.truncate(path, 1000)
    with pytest.raises(ValueError) as error:
        rows.read()
    assert str(error.value) == (
        f"{path} changed while it was read (size 1728 -> 1000). Run again, on a file that does not change."
    )
    path.unlink()
    with pytest.raises(ValueError, match=r"\(it is gone\)"):
        rows.read()


def test_a_file_that_changes_while_it_is_opened(tmp_path, monkeypatch):
    path = tmp_path / "x.csv"
    path.write_text("1,2\n3,4\n")
    first_lines = Dialect.first_lines

    def changing(self, file):
        path.write_text("1;2;3\n")
        return first_lines(self, file)

    monkeypatch.setattr(Dialect, "first_lines", changing)
    with pytest.raises(ValueError, match=r"x\.csv changed while it was read \(size 8 -> 6\)"):
        open_rows(path)


def test_the_shard_that_changes_is_named(tmp_path):
    for part in range(3):
        np.save(tmp_path / f"part-{part}.npy", numbers(20, seed=part))
    rows = open_rows(tmp_path)
    rows.read()
    np.save(tmp_path / "part-3.npy", numbers(20))  # which is none of them
    rows.read()
    write_anew(tmp_path / "part-1.npy", np.save, numbers(20))
    assert rows.take([3, 50]).shape == (2, 5)
    for read in (rows.read, lambda: rows.take([3, 30])):
        with pytest.raises(ValueError, match=r"part-1\.npy changed while it was read \(written again at"):
            read()


@pytest.mark.parametrize("name", ["npy", "csv", "svm", "zarr"])
def test_bad_rows_of_shards_are_named_by_file(name, tmp_path):
    extension, write, _ = WRITERS[name]
    write(tmp_path / f"0{extension}", numbers(N_ROWS))
    write(tmp_path / f"1{extension}", with_nan(numbers(N_ROWS)))
    rows = open_rows(tmp_path)
    row, message = (
        2 * N_ROWS - 1,
        rf"First bad row: {2 * N_ROWS - 1}, row {N_ROWS - 1} of .*1\{extension}\.",
    )
    spooled = () if name == "svm" else (lambda: SpooledRows(rows).read(),)
    for read in (rows.read, lambda: rows.take([row]), lambda: NormalizedRows(rows).read(), *spooled):
        with pytest.raises(ValueError, match=message):
            read()


@pytest.mark.parametrize("extension", [".csv", ".parquet", ".arrow", ".jsonl"])
def test_metadata_columns_are_compared_with_the_file(extension, tmp_path):
    path = tmp_path / f"x{extension}"

    def write(path, ids):
        table = pa.table({"id": ids, "a": [1.0, 2.0], "b": [3.0, 4.0]})
        if extension == ".parquet":
            parquet.write_table(table, path)
        elif extension == ".arrow":
            with pa.ipc.new_file(str(path), table.schema) as writer:
                writer.write_table(table)
        else:
            table.to_pandas().to_csv(path, index=False) if extension == ".csv" else table.to_pandas().to_json(
                path, orient="records", lines=True
            )

    write(path, ["u", "v"])
    rows = open_rows(path, columns=["a", "b"])
    assert rows.metadata_columns.read("id")["id"].to_pylist() == ["u", "v"]
    write(path, ["v", "u"])
    make_later(path)
    with pytest.raises(ValueError, match="changed while it was read"):
        rows.metadata_columns.read("id")


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_missing_chunks_are_an_error(zarr_format, tmp_path):
    path = tmp_path / "x.zarr"
    write_zarr(path, numbers(N_ROWS), zarr_format=zarr_format)
    rows = open_rows(path)
    rows.read()
    chunk = max((file for file in path.rglob("*") if file.name.isdigit() or file.name[0].isdigit()), key=str)
    chunk.unlink()
    for read in (rows.read, pickle.loads(pickle.dumps(rows)).read):
        with pytest.raises(ValueError, match=rf"^{chunk} changed while it was read \(it is gone\)"):
            read()
    assert not open_rows(path).read()[-1, -1]  # which is what Zarr makes of it
    (path / "other").write_text("a file that is never read")
    chunk.mkdir()  # nor is a folder in its place
    with pytest.raises(ValueError, match=rf"^{chunk} changed while it was read \(it is a folder\)"):
        open_rows(path).read()


def test_missing_chunks_must_stay_missing(tmp_path):
    array = zarr.create_array(tmp_path / "x.zarr", shape=(20, 2), chunks=(5, 2), dtype="f8")
    array[:5] = 1
    rows = open_rows(tmp_path / "x.zarr")
    assert rows.read().sum() == 10
    array[5:10] = 2
    with pytest.raises(ValueError, match=r"changed while it was read \(it was not there\)"):
        rows.read()


def test_other_arrays_of_a_group_may_change(tmp_path):
    X = numbers(N_ROWS)
    write_zarr_group(tmp_path / "x.zarr", X)
    rows = open_rows(tmp_path / "x.zarr")
    group = zarr.open_group(tmp_path / "x.zarr", mode="a")
    group["labels"][:] = 1
    group.create_array("clusters", data=np.zeros(N_ROWS))
    np.testing.assert_array_equal(rows.read(), X)
    group["vectors"][0, 0] = 7
    with pytest.raises(ValueError, match=r"x\.zarr/vectors/\S+ changed"):
        rows.read()


@pytest.mark.filterwarnings("ignore:.* has no space for a copy")
@pytest.mark.parametrize(
    "name", ["npy", "npz", "npy, fortran", "npz, compressed", "csv", "parquet", "zarr", "h5", "arrow"]
)
def test_fit_stops_if_a_file_changes(name, tmp_path, monkeypatch):
    monkeypatch.setattr(kernel_rows, "KEPT_BYTES", 0)
    monkeypatch.setattr(kernel_rows, "has_space", lambda n_bytes: False)  # so that each pass reads the file
    extension, write, _ = WRITERS[name]
    X, path = numbers(600), tmp_path / f"x{extension}"
    write(path, X)
    model = KMeans(
        5, random_state=0, algorithm="lloyd", callback=lambda step: write_anew(path, write, X[::-1] * 2)
    )
    with pytest.raises(ValueError, match=rf"^{path}\S* changed while it was read"):
        model.fit(open_rows(path))
    assert not hasattr(model, "labels_")


@pytest.mark.usefixtures("options_declared_once")
def test_command_line_writes_no_results_of_changed_files(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(kernel_rows, "KEPT_BYTES", 0)
    X, path = numbers(600), tmp_path / "x.npy"
    np.save(path, X)
    fill, n_reads = RawSource._fill, 0

    def changing(self, *arguments):
        nonlocal n_reads
        n_reads += 1
        if n_reads == 5:
            write_anew(path, np.save, with_nan(X[::-1]))
        fill(self, *arguments)

    monkeypatch.setattr(RawSource, "_fill", changing)
    assert main(["fit", str(path), "-k", "5", "--out", str(tmp_path / "out")]) == 1
    message = capsys.readouterr().err
    assert message.startswith(f"coterie: error: {path} changed while it was read (written again at ")
    assert message.count("\n") == 1
    assert not (tmp_path / "out" / "model.coterie").exists()


# Cuts each file to half its size after the first piece that a fit reads of it. With a map the process would end by
# SIGBUS.
@forks
@pytest.mark.parametrize("name", ["npy", "arrow", "arrow stream"])
def test_cutting_a_file_short_does_not_kill_a_fit(name, tmp_path, monkeypatch):
    extension, write, _ = WRITERS[name]
    path, cuts = tmp_path / f"x{extension}", []
    write(path, numbers(20_000))
    size = path.stat().st_size

    def cutting(pieces):
        def cut_later(self, start, stop, rows):
            for piece in pieces(self, start, stop, min(rows, 1000)):
                yield piece
                if not cuts:
                    cuts.append(os.truncate(path, size // 2))

        return cut_later

    def fit():
        with pytest.raises(
            ValueError, match=rf"^{path} changed while it was read \(size {size} -> {size // 2}\)"
        ):
            KMeans(3).fit(open_rows(path))

    monkeypatch.setattr(kernel_rows, "KEPT_BYTES", 0)
    for kind in (RawSource, ArrowFileSource):
        monkeypatch.setattr(kind, "pieces", cutting(kind.pieces))
    assert ended(started(fit)) == 0
