"""Damage to .npz files."""

import zipfile

import numpy as np
import pytest

from coterie.rows import open_rows
from tests.rows.formats import numbers


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
