"""Where real data sets are, and what reads their rows and classes.

The folder is ``$COTERIE_DATA``, by default ``../shared/data`` beside the repository if that exists.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

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
    import scipy.sparse as sp

    with np.load(needed_file(file)) as arrays:
        parts = (
            arrays["data"].astype(dtype),
            *(arrays[name].astype(np.int32) for name in ("indices", "indptr")),
        )
        classes = arrays["y"].astype(np.int64) if "y" in arrays else np.zeros(0, dtype=np.int64)
        return sp.csr_array(parts, shape=tuple(arrays["shape"])), classes


def documents_of(file: str) -> Rows:
    """Return terms weighted by log(1 + count) log(n / documents), rows of length 1; without empty documents."""
    import scipy.sparse as sp
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
