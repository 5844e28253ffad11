"""The same numbers in data frames, of Dask and in files."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from coterie import open_rows

_ROW_GROUP = 333


def stored(X: np.ndarray, storage: str, folder: Path) -> Any:
    """Return rows as another thing that `fit` takes: "pandas", "dask", or a file, "npy" or "parquet"."""
    if storage == "dask":
        return pytest.importorskip("dask.array").from_array(X, chunks=(_ROW_GROUP, 3))
    path = folder / f"rows.{'parquet' if storage == 'parquet' else 'npy'}"
    if storage in ("pandas", "parquet"):
        names = [f"c{j}" for j in range(X.shape[1])]
        frame = pytest.importorskip("pandas").DataFrame(X, columns=names)
        if storage == "pandas":
            return frame
        frame.to_parquet(path, row_group_size=_ROW_GROUP)
    else:
        np.save(path, X)
    return open_rows(path)
