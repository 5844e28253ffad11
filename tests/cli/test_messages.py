"""Lines of error that were too long, or said neither the file nor the way out."""

import gzip
import os
import warnings

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from coterie.cli import main
from tests.cli.running import failed


def test_labels_that_are_compressed_by_their_name_only(folder, rows, capsys):
    with open("known.csv.gz", "w") as file:
        file.write("no")
    line = f"fit {rows} -k 3 --method total-variation --labels known.csv.gz"
    assert failed(capsys, 1, *line.split()) == (
        "known.csv.gz must have one integer on each line, -1 where a class is not known. Number the names of classes "
        "from 0."
    )
    with gzip.open("known.csv.gz", "wt") as file:
        file.write("0\n" * 10)
    assert "known.csv.gz must have 300 labels" in failed(capsys, 1, *line.split())


@pytest.mark.parametrize("command", ["fit", "info", "path"])
def test_headers_are_not_repeated(folder, capsys, command):
    text = b"{'descr': '" + b"x" * 8000 + b"'}\n"
    content = b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + bytes(80)
    with open("x.npy", "wb") as file:
        file.write(content)
    message = failed(capsys, 1, command, "x.npy", *(["-k", "2"] if command == "fit" else []))
    assert message.startswith("Cannot read x.npy: Cannot parse header: ")
    assert message.endswith("The file is damaged or was cut short: copy or write it again.")
    assert len(message) < 300


def test_negative_number_of_rows(folder, capsys):
    np.save("x.npy", np.zeros((3, 2)))
    with open("x.npy", "rb") as file:
        content = file.read()
    with open("x.npy", "wb") as file:
        file.write(content.replace(b"(3, 2), ", b"(-3, 2),"))
    message = failed(capsys, 1, "fit", "x.npy", "-k", "2")
    assert message == (
        "Cannot read x.npy: Cannot parse header: its shape is (-3, 2). The file is damaged or was cut "
        "short: copy or write it again."
    )


def test_names_of_any_length_do_not_fill_the_screen(folder, capsys):
    with open("x.csv", "w") as file:
        file.write(f"a,{'b' * 20_000}\n1,2\n3,x\n" + "5,6\n" * 20)
    message = failed(capsys, 1, "fit", "x.csv", "-k", "2")
    assert message.startswith("x.csv: Column ")
    assert len(message) < 600


def test_footers_that_contradict_themselves(folder, capsys, monkeypatch):
    class Metadata:
        num_rows, num_row_groups = -3, 1

        def row_group(self, number):
            return self

    class File:
        metadata = Metadata()
        schema_arrow = pa.schema([("x", pa.float64())])

        def __enter__(self):
            return self

        def __exit__(self, *error):
            pass

    parquet.write_table(pa.table({"x": [1.0, 2.0]}), "x.parquet")
    monkeypatch.setattr(parquet, "ParquetFile", lambda *_, **__: File())
    message = failed(capsys, 1, "fit", "x.parquet", "-k", "2")
    assert "the file is damaged: it declares -3 rows" in message
    assert os.listdir() == ["x.parquet"]


def test_warnings_do_not_show_source_lines(rows, monkeypatch, capsys):
    def describe(file):
        warnings.warn("Something  is odd.", UserWarning, stacklevel=1)
        return {"file": file}

    monkeypatch.setattr("coterie.cli.info.describe", describe)
    assert main(["info", rows]) == 0
    assert capsys.readouterr().err == "coterie: warning: Something is odd.\n"
