"""svmlight files of sparse rows: .svm, .libsvm."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import scipy.sparse as sp

from coterie.rows.formats.format import Format
from coterie.rows.landing import Matrix


def _read(path: Path, n_columns: int | None) -> Matrix:
    """Read sparse rows; labels are ignored. Indices count from 1 unless there is a 0."""
    from sklearn.datasets import load_svmlight_file

    matrix = load_svmlight_file(str(path), zero_based=True)[0]
    base = 0 if np.any(matrix.indices == 0) else 1
    found = max(int(matrix.indices.max(initial=-1)) + 1 - base, 0)
    if n_columns is not None and n_columns < found:
        raise ValueError(f"it has {found} columns, more than n_columns={n_columns}.")
    arrays = (matrix.data, matrix.indices - base, matrix.indptr)
    shape = (matrix.shape[0], found if n_columns is None else n_columns)
    return Matrix(shape, matrix.dtype, [sp.csr_array(arrays, shape=shape)], "svm", is_sparse=True)


SVMLIGHT = Format("svmlight", (".svm", ".libsvm"), _read, ("n_columns",))
