"""svmlight files of sparse rows: .svm, .libsvm."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from coterie.rows.checks import FileError, check_shape, reading
from coterie.rows.formats.format import Format
from coterie.rows.memory import SparseSource


def _open(path: Path, n_columns: int | None) -> SparseSource:
    return _open_shards([path], n_columns)[0]


def _open_shards(paths: Sequence[Path], n_columns: int | None) -> list[SparseSource]:
    """Read svmlight files into memory as sparse rows with the same number of columns; labels are ignored.

    The format contains neither the number of columns, which is `n_columns` or the largest index of all files,
    nor whether indices count from 0 or 1: they count from 1 unless one of the files has a 0.
    """
    from sklearn.datasets import load_svmlight_file

    matrices = []
    for path in paths:
        with reading(path):
            matrices.append(load_svmlight_file(str(path), zero_based=True)[0])
    base = 0 if any(np.any(matrix.indices == 0) for matrix in matrices) else 1
    found = max(int(matrix.indices.max(initial=-1)) for matrix in matrices) + 1 - base
    if n_columns is None:
        n_columns = max(found, 0)
    elif n_columns < found:
        raise FileError(f"{paths[0]} has {found} columns, more than the {n_columns} asked for.")
    sources = []
    for path, matrix in zip(paths, matrices):
        with reading(path):
            arrays = (matrix.data, matrix.indices - base, matrix.indptr)
            shape = (matrix.shape[0], n_columns)
            check_shape(shape)
            sources.append(SparseSource(sp.csr_array(arrays, shape=shape), "svm"))
    return sources


SVMLIGHT = Format("svmlight", (".svm", ".libsvm"), _open, ("n_columns",), open_shards=_open_shards)
