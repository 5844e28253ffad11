"""Contents of .npy files."""

import numpy as np
import pytest

from coterie.rows import open_rows


@pytest.mark.filterwarnings("ignore:Stored array in format 3.0")
@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.ones(5), "Expected 2D array, got 1D array instead"),
        (np.ones((2, 2, 2)), "Found array with dim 3"),
        (np.empty((0, 3)), r"0 sample\(s\) \(shape=\(0, 3\)\)"),
        (np.empty((3, 0)), r"0 feature\(s\) \(shape=\(3, 0\)\)"),
        (np.ones((2, 2)) * 1j, "Complex data not supported"),
        (np.array([["a"]]), "must hold numbers, got dtype <U1"),
        (np.array([[None]]), "must hold numbers, got dtype object"),
        (np.zeros((2, 2), [("a", "f8"), ("列", "f8")]), "structured array"),
    ],
)
def test_unfit_npy_files(X, message, tmp_path):
    np.save(tmp_path / "x.npy", X)
    with pytest.raises(ValueError, match=rf"Cannot read .*x\.npy: .*{message}"):
        open_rows(tmp_path / "x.npy")
