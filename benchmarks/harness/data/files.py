"""Where real data sets are, and what reads their rows and classes.

The folder is ``$COTERIE_DATA``, by default ``../shared/data`` beside the repository if that exists.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

Rows = tuple[Any, np.ndarray]


def real_file(name: str) -> Path | None:
    """Return a file of the folder of real data sets, or None."""
    named = os.environ.get("COTERIE_DATA")
    path = (Path(named) if named else Path(__file__).parents[4] / "shared" / "data") / name
    return path if path.is_file() else None


def needed_file(name: str) -> Path:
    """Return a file of the folder of real data sets, or fail."""
    path = real_file(name)
    if path is None:
        raise FileNotFoundError(f"{name} is not in COTERIE_DATA")
    return path


def sampled(rows: Any, classes: np.ndarray, n_rows: int) -> Rows:
    """Return so many rows at random, all where there are no more."""
    if n_rows >= len(classes):
        return rows, classes
    chosen = np.sort(np.random.default_rng(0).choice(len(classes), n_rows, replace=False))
    return rows[chosen], classes[chosen]


def arrays_of(file: str) -> Rows:
    """Return rows (float32) and classes of an .npz file with X and y."""
    with np.load(needed_file(file)) as arrays:
        return arrays["X"].astype(np.float32), arrays["y"].astype(np.int64)


def csr_of(file: str, dtype: type = np.float32) -> Rows:
    """Return the CSR matrix and the classes, if there are any, of an .npz file."""
    with np.load(needed_file(file)) as arrays:
        parts = (
            arrays["data"].astype(dtype),
            *(arrays[name].astype(np.int32) for name in ("indices", "indptr")),
        )
        classes = arrays["y"].astype(np.int64) if "y" in arrays else np.zeros(0, dtype=np.int64)
        return sp.csr_array(parts, shape=tuple(arrays["shape"])), classes


def documents_of(file: str) -> Rows:
    """Return terms weighted by log(1 + count) log(n / documents), rows of length 1; without empty documents."""
    from sklearn.feature_extraction.text import TfidfTransformer

    counts, classes = csr_of(file)
    has_terms = np.diff(counts.indptr) > 0
    weighted = TfidfTransformer(sublinear_tf=True).fit_transform(counts[has_terms])
    return sp.csr_array(weighted), classes[has_terms]


def snippets() -> Rows:
    """Return the embeddings of search snippets and their topics."""
    import pyarrow.parquet as pq

    table = pq.read_table(needed_file("searchsnippets.parquet"), columns=["embedding", "topic"])
    rows = np.stack(table["embedding"].to_numpy())
    return rows.astype(np.float32), table["topic"].to_numpy().astype(np.int64)


def labeled(name: str) -> Rows:
    """Return the rows (float32) and the classes of a data set that has them; digits are scikit-learn's."""
    if name == "digits":
        from sklearn.datasets import load_digits

        X, y = load_digits(return_X_y=True)
        return X.astype(np.float32), y
    return arrays_of(f"{name}.npz")


def _divided(rows: np.ndarray, divisors: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(rows / np.where(divisors == 0, 1, divisors), dtype=np.float32)


SCALINGS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "rows of length 1": lambda X: _divided(X, np.linalg.norm(X.astype(np.float64), axis=1, keepdims=True)),
    "standardized columns": lambda X: _divided(
        X - X.mean(axis=0, dtype=np.float64), X.std(axis=0, dtype=np.float64)
    ),
    "columns in 0..1": lambda X: _divided(X - X.min(axis=0), np.ptp(X, axis=0)),
}
