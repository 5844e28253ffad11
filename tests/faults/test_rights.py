"""Files and folders that this user may not read or write."""

import ctypes
import os
import struct
from pathlib import Path

import numpy as np
import pytest

import coterie
from tests.cli.running import everything
from tests.faults.children import failed_in_one_line, in_child


def as_anybody():
    """Give up what root may do beyond the rights of files; another user could not import Python's own modules."""
    header = struct.pack("Ii", 0x20080522, 0)  # version 3 of the interface; this process
    if ctypes.CDLL(None, use_errno=True).capset(header, bytes(24)) != 0:
        raise OSError(ctypes.get_errno(), "the privileges of root stay")


@pytest.fixture
def closed(folder, rows):
    """A folder that nobody may write to."""
    (folder / "closed").mkdir()
    os.chmod(folder / "closed", 0o555)
    yield "closed"
    os.chmod(folder / "closed", 0o755)


@pytest.mark.parametrize("command", ["fit rows.npy -k 3", "path few.npy -p n_gammas=2", "demo"])
@pytest.mark.parametrize("out", ["closed", "closed/deeper/out"])
def test_a_folder_to_write_to(folder, rows, closed, command, out):
    np.save("few.npy", np.load(rows)[:50])
    before = everything(folder)
    failed_in_one_line(in_child(f"{command} --quiet --out {out}", as_anybody), "closed", "ermission denied")
    assert everything(folder) == before


@pytest.mark.parametrize("name", ["t.npy", "t.csv", "t.parquet", "t.svm", "shards", "shards/0.npy"])
def test_rows(folder, name):
    if name.startswith("shards"):
        Path("shards").mkdir()
        np.save("shards/0.npy", np.eye(4))
    else:
        Path(name).write_text("1,2\n3,4\n")
    os.chmod(name, 0)
    try:
        file = name.partition("/")[0]
        failed_in_one_line(
            in_child(f"fit {file} -k 2 --quiet --out out", as_anybody), name, "ermission denied"
        )
    finally:
        os.chmod(name, 0o755)


@pytest.mark.parametrize("command", ["predict m.coterie rows.npy", "info m.coterie"])
def test_a_model(folder, rows, command):
    coterie.KMeans(3, random_state=0).fit(np.load(rows)).save("m.coterie")
    os.chmod("m.coterie", 0)
    failed_in_one_line(in_child(command, as_anybody), "m.coterie", "ermission denied")
