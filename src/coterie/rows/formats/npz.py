"""NumPy and SciPy archives: .npz."""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from coterie.limits.files import check_archive, read_array_header
from coterie.rows.formats.format import Format
from coterie.rows.formats.npy import check_numbers
from coterie.rows.formats.tabular import choose_array
from coterie.rows.landing import Matrix


def _read(path: Path, key: str | None) -> Matrix:
    """Read the array `key` of a .npz file, else its only two-dimensional array, else X, or that of `save_npz`."""
    with zipfile.ZipFile(path) as archive:
        members = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
        check_archive(archive, path)
        if key is None and members.keys() >= {"format", "shape", "data"}:
            matrix = sp.load_npz(path)
            return Matrix(matrix.shape, matrix.dtype, [matrix], "npz, sparse", is_sparse=True)
        headers = {}
        for name, info in members.items():
            with archive.open(info) as stream:
                headers[name] = read_array_header(stream)
    shapes = {name: shape if dtype.kind in "fiubc" else () for name, (shape, _, dtype) in headers.items()}
    name = choose_array(shapes, key, path)
    check_numbers(headers[name][0], headers[name][2])
    with np.load(path, allow_pickle=False) as arrays:
        array = arrays[name]
    return Matrix(array.shape, array.dtype, [array], "npz", array=array)


NPZ = Format("npz", (".npz",), _read, ("key",))
