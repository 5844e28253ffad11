"""`open_rows`: paths, folders and globs of shards, options; pipes, sockets and devices in the place of files."""

import os
import socket

import numpy as np
import pytest

from coterie.rows import open_rows
from tests.rows.formats import write_text


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
    with pytest.raises(ValueError, match=r"2\.npy: its columns are not those of .*1\.npy"):
        open_rows(tmp_path)
    (tmp_path / "2.npy").unlink()
    write_text(tmp_path / "2.csv", np.eye(3))
    with pytest.raises(ValueError, match=r"one format, found .*1\.npy, .*2\.csv"):
        open_rows(tmp_path)
    write_text(tmp_path / "1.csv", np.eye(3), header="a,b,c")
    with pytest.raises(ValueError, match=r"2\.csv: no column 'a'"):
        open_rows(tmp_path / "*.csv")


@pytest.mark.parametrize(
    ("path", "options", "option"),
    [
        ("x.npy::a", {}, "::a"),
        ("x.npy", {"columns": ["a"]}, "columns"),
        ("x.npy", {"exclude": ["a"]}, "exclude"),
        ("x.npy", {"header": True}, "header"),
        ("x.npy", {"sep": ";"}, "sep"),
        ("x.npy", {"decimal": ","}, "decimal"),
    ],
)
def test_options_without_meaning(path, options, option, tmp_path):
    np.save(tmp_path / "x.npy", np.ones((2, 2)))
    with pytest.raises(ValueError, match=rf"^{option} has no meaning for .*x\.npy"):
        open_rows(tmp_path / path, **options)


unix = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="such files are those of Unix")


@unix
@pytest.mark.parametrize("place", ["x.npy", "", "*.npy"])
def test_pipe(tmp_path, place):
    os.mkfifo(tmp_path / "x.npy")
    np.save(tmp_path / "a.npy", np.eye(3))
    with pytest.raises(ValueError, match=r"x\.npy is a pipe or a device, not a file"):
        open_rows(tmp_path / place)


@unix
def test_devices_sockets_and_streams(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # paths of sockets are short
    devices = [f"x.{ending}" for ending in ("npy", "npz", "csv", "jsonl", "parquet", "h5", "svm")]
    for name in devices:
        os.symlink("/dev/zero", name)  # which has no end
    with socket.socket(socket.AF_UNIX) as opened:
        opened.bind("socket.csv")
        for name in (*devices, "socket.csv", "/dev/stdin", "/dev/fd/0"):
            with pytest.raises(ValueError, match=rf"{name} is a pipe or a device, not a file"):
                open_rows(name)


def test_folders_and_links(tmp_path):
    (tmp_path / "x.parquet").mkdir()
    np.save(tmp_path / "x.parquet" / "a.npy", np.eye(3))
    assert open_rows(tmp_path / "x.parquet").shape == (3, 3)
    (tmp_path / "b.npy").symlink_to("x.parquet/a.npy")
    assert open_rows(tmp_path / "b.npy").shape == (3, 3)
    (tmp_path / "c.npy").mkdir()
    with pytest.raises(ValueError, match=r"c\.npy is a folder, not a file"):
        open_rows(tmp_path / "*.npy")


def test_texts_beside_files_of_rows(tmp_path):
    np.savetxt(tmp_path / "x.txt", np.eye(3))
    assert open_rows(tmp_path).read().tolist() == np.eye(3).tolist()
    (tmp_path / "README.txt").write_text("about")
    np.save(tmp_path / "y.npy", np.ones((2, 3)))
    assert open_rows(tmp_path).shape == (2, 3)
