"""What a fitted model says of rows that are elsewhere: block by block, as a lazy Dask array."""

from __future__ import annotations

from typing import Any

import numpy as np

from coterie.arrays import Array
from coterie.dask.chunks import Chunk, chunks_of
from coterie.dask.extra import distributed

__all__ = ["by_chunk", "score_of"]


def by_chunk(model: Any, method: str, X: Any, dtype: Any, n_columns: int | None, options: Any = None) -> Any:
    """Return what a method of a model says of all rows, as a Dask array that is computed chunk by chunk.

    Parameters
    ----------
    model : estimator
        A fitted one of this process; it travels once.
    method : str
        Such as "predict".
    X : Dask array, Dask DataFrame, or path
        The rows.
    dtype : dtype
        Of what the method returns.
    n_columns : int or None
        Columns of it; None for one number a row.
    options : dict, optional
        See `coterie.dask.chunks.chunks_of`.
    """
    distributed()
    import dask
    import dask.array as da

    chunks = chunks_of(X, options)
    sent = dask.delayed(model, pure=False, traverse=False)
    ask = dask.delayed(_ask, pure=False)
    lazy = chunks.lazy or [None] * len(chunks)
    parts = []
    for chunk, data in zip(chunks.chunks, lazy):
        n_rows = chunk.n_rows if chunk.n_rows is not None else np.nan
        shape = (n_rows,) if n_columns is None else (n_rows, n_columns)
        parts.append(da.from_delayed(ask(sent, method, chunk, data), shape, dtype=dtype))
    return da.concatenate(parts)


def score_of(model: Any, X: Any, options: Any = None) -> float:
    """Return the sum of the scores of all chunks, in their order."""
    distributed()
    import dask

    chunks = chunks_of(X, options)
    sent, ask = dask.delayed(model, pure=False, traverse=False), dask.delayed(_ask, pure=False)
    lazy = chunks.lazy or [None] * len(chunks)
    scores = dask.compute(*(ask(sent, "score", chunk, data) for chunk, data in zip(chunks.chunks, lazy)))
    return float(np.sum(scores))


def _ask(model: Any, method: str, chunk: Chunk, data: Any) -> Array:
    found: Array = getattr(model, method)(chunk.open(data).rows())
    return found
