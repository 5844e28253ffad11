"""Pipes, sockets, devices and folders in the place of files."""

import os
import socket

import numpy as np
import pytest

from coterie.rows import open_rows

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="such files are those of Unix")


@pytest.fixture
def fifo(tmp_path):
    os.mkfifo(tmp_path / "x.npy")
    return tmp_path / "x.npy"


def test_pipe(fifo):
    with pytest.raises(ValueError, match=r"x\.npy is a pipe, not a file"):
        open_rows(fifo)


@pytest.mark.parametrize(
    "name", ["x.npy", "x.npz", "x.csv", "x.jsonl", "x.parquet", "x.h5", "x.svm", "x.arrow"]
)
def test_link_to_a_device_without_an_end(tmp_path, name):
    (tmp_path / name).symlink_to("/dev/zero")
    with pytest.raises(ValueError, match=r"is a device, not a file"):
        open_rows(tmp_path / name)


def test_socket(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # paths of sockets are short
    with socket.socket(socket.AF_UNIX) as opened:
        opened.bind("x.csv")
        with pytest.raises(ValueError, match=r"x\.csv is a socket"):
            open_rows("x.csv")


@pytest.mark.parametrize("pattern", ["", "*.npy"])
def test_pipe_among_shards(tmp_path, fifo, pattern):
    np.save(tmp_path / "a.npy", np.eye(3))
    with pytest.raises(ValueError, match=r"x\.npy is a pipe"):
        open_rows(tmp_path / pattern if pattern else tmp_path)


def test_folder_among_shards(tmp_path):
    np.save(tmp_path / "a.npy", np.eye(3))
    (tmp_path / "b.npy").mkdir()
    with pytest.raises(ValueError, match=r"b\.npy is a folder, not a file"):
        open_rows(tmp_path)


def test_a_folder_of_shards_may_be_called_as_a_file(tmp_path):
    (tmp_path / "x.parquet").mkdir()
    np.save(tmp_path / "x.parquet" / "a.npy", np.eye(3))
    assert open_rows(tmp_path / "x.parquet").shape == (3, 3)


def test_process_substitution_is_refused():
    reading, writing = os.pipe()
    try:
        with pytest.raises(ValueError, match=r"/dev/fd/\d+ is a stream, not a file"):
            open_rows(f"/dev/fd/{reading}")
    finally:
        os.close(reading)
        os.close(writing)


def test_standard_input_by_its_path():
    with pytest.raises(ValueError, match=r"/dev/stdin is a stream, not a file"):
        open_rows("/dev/stdin")


def test_links_to_files_are_followed(tmp_path):
    np.save(tmp_path / "a.npy", np.eye(3))
    (tmp_path / "b.npy").symlink_to("a.npy")
    assert open_rows(tmp_path / "b.npy").shape == (3, 3)
