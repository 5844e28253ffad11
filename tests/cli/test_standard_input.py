"""Rows that are piped into a command."""

import io
import json
import os
import signal
import sys
import time

import h5py
import numpy as np
import pytest

from coterie.cli import main
from tests.cli.running import begun, failed
from tests.rows.formats import WRITERS, numbers
from tests.support.processes import ended, forks

PIPED = {"npy": "npy", "npz": "npz", "csv": "csv", "tsv": "tsv", "jsonl": "jsonl", "parquet": "parquet"}
PIPED |= {"arrow": "arrow stream", "feather": "feather", "ndjson": "ndjson", "hdf5": "h5", "svmlight": "svm"}


@pytest.fixture(autouse=True)
def spool(tmp_path, monkeypatch):
    """Where the standard input is copied."""
    spool = tmp_path / "spool"
    spool.mkdir()
    monkeypatch.setenv("TMPDIR", str(spool))
    yield spool
    assert os.listdir(spool) == []


@pytest.fixture
def pipe(monkeypatch):
    """A function: run a command with bytes, or a file, piped into it."""

    def piped(content, *arguments):
        if isinstance(content, str):
            with open(content, "rb") as file:
                content = file.read()
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
        return main(list(arguments))

    return piped


def summary(folder="coterie-out"):
    with open(os.path.join(folder, "summary.json")) as file:
        return json.load(file)


@pytest.mark.parametrize("format", PIPED)
def test_every_format(format, folder, pipe):
    extension, write, _ = WRITERS[PIPED[format]]
    file = f"x{extension}"
    write(folder / file, numbers(300))
    if format == "hdf5":  # of several arrays one is chosen by a name, which a pipe has not
        with h5py.File(file, "a") as store:
            del store["labels"], store["names"]
    assert main(["fit", file, "-k", "3", "-q", "--out", "of-file"]) == 0
    assert pipe(file, "fit", "-", "--format", format, "-k", "3", "-q") == 0
    assert summary()["hashes"] == summary("of-file")["hashes"]
    assert summary()["input"]["file"] == "standard input"
    assert summary()["input"]["format"] == format
    assert summary()["input"]["source"] == summary("of-file")["input"]["source"]


def test_predict(folder, rows, table, X, pipe, capsys):
    assert main(["fit", rows, "-k", "3", "-q"]) == 0
    assert (
        pipe(rows, "predict", "coterie-out/model.coterie", "-", "--format", "npy", "--out", "p.npy", "--json")
        == 0
    )
    assert json.loads(capsys.readouterr().out)["input"]["file"] == "standard input"
    np.testing.assert_array_equal(np.load("p.npy"), np.load("coterie-out/labels.npy"))


def test_verify(folder, rows, X, pipe, capsys):
    assert pipe(rows, "fit", "-", "--format", "npy", "-k", "3", "-q") == 0
    message = failed(capsys, 1, "verify", "coterie-out")
    assert "came through the standard input" in message
    assert message.endswith("Pipe the same into coterie verify coterie-out -")
    assert main(["verify", "coterie-out", rows]) == 0
    assert pipe(rows, "verify", "coterie-out", "-") == 0
    assert capsys.readouterr().out.count("bit-identical") == 2
    np.save("other.npy", X + 1)
    assert pipe("other.npy", "verify", "coterie-out", "-") == 1


def test_a_file_is_verified_by_a_pipe(folder, rows, pipe):
    assert main(["fit", rows, "-k", "3", "-q"]) == 0
    assert pipe(rows, "verify", "coterie-out", "-", "-q") == 0


def test_a_terminal_is_not_waited_for(rows, monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdin", None)
    assert "Nothing is piped into" in failed(capsys, 2, "fit", "-", "-k", "3", "--format", "npy")


@pytest.mark.parametrize(
    ("content", "format", "message"),
    [
        (b"", "csv", "The standard input is empty."),
        (b"1,2\n3\n", "csv", "Cannot read standard input: "),
        (b'{"v": [1, 2]}\n{"v": [3', "jsonl", "Cannot read standard input: line 2: "),
        (b'{"v": [1, 2]}\n{"v": [3]}\n', "jsonl", "First bad row: 1."),
        (b'{"v": 1, "t": "x"}\n', "jsonl", "standard input: The table has no columns of numbers"),
        (b"nonsense", "npy", "Cannot read standard input: "),
    ],
)
def test_bad_input_is_named(content, format, message, folder, pipe, capsys, spool):
    assert pipe(content, "fit", "-", "-k", "1", "--format", format) == 1
    told = capsys.readouterr().err
    assert message in told
    assert str(spool) not in told
    assert told.count("\n") == 1
    assert sorted(os.listdir(folder)) == ["spool"]


def test_full_disk(rows, pipe, monkeypatch, capsys, spool):
    monkeypatch.setattr("coterie.rows.landing._LEFT_BYTES", 1 << 60)
    assert pipe(rows, "fit", "-", "-k", "3", "--format", "npy") == 1
    told = capsys.readouterr().err
    assert f"{spool}: No space for the standard input after 0.0 GB" in told
    assert "TMPDIR" in told


@forks
def test_interruption_removes_temporary_files(folder, spool):
    reading, writing = os.pipe()
    child, err = begun("fit", "-", "--format", "npy", "-k", "3", stdin=os.fdopen(reading))
    os.write(writing, b"some bytes, and never an end")
    until = time.monotonic() + 60
    while not os.listdir(spool) and time.monotonic() < until:
        time.sleep(0.02)
    assert len(os.listdir(spool)) == 1
    os.kill(child, signal.SIGTERM)
    assert ended(child) == 143
    os.close(writing)
    err.close()


def test_files_of_a_killed_run_are_removed_after_a_day(rows, spool, pipe):
    left = spool / "coterie-input-0"
    left.mkdir()
    os.utime(left, (0, 0))
    assert pipe(rows, "fit", "-", "--format", "npy", "-k", "3", "-q") == 0
    assert not left.exists()
