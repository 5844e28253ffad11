"""Methods of fitted models on rows of workers: chunk by chunk, as Dask arrays, or as one score."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from coterie.dask.chunks import Chunk, Chunks
from coterie.rows.derived import part_of


def by_chunk(model: Any, method: str, chunks: Chunks) -> Any:
    """Return the results of a method of a model for all rows, as a Dask array that is computed chunk by chunk."""
    check_is_fitted(model)
    import dask.array as da

    first = part_of(chunks.rows, chunks.rows.block(0, 1))
    empty = getattr(model, method)(first)[:0]
    parts = [
        da.from_delayed(part, (chunk.n_rows, *empty.shape[1:]), meta=empty)
        for part, chunk in zip(_delayed(model, method, chunks), chunks.chunks)
    ]
    return da.concatenate(parts)


def score_of(model: Any, chunks: Chunks, client: Any) -> float:
    """Return the score of all rows: of k-means minus the inertia, of a mixture the mean log-likelihood."""
    if hasattr(model, "score_samples"):
        return float(client.compute(by_chunk(model, "score_samples", chunks).mean()).result())
    check_is_fitted(model)
    return float(np.sum(client.gather(client.compute(_delayed(model, "score", chunks)))))


def _delayed(model: Any, method: str, chunks: Chunks) -> list[Any]:
    import dask

    sent, apply = dask.delayed(model, pure=False, traverse=False), dask.delayed(_apply, pure=False)
    lazy = chunks.lazy or [None] * len(chunks)
    return [apply(sent, method, chunk, data) for chunk, data in zip(chunks.chunks, lazy)]


def _apply(model: Any, method: str, chunk: Chunk, data: Any) -> Any:
    return getattr(model, method)(chunk.open(data))
