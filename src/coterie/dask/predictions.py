"""Methods of fitted models on rows of workers: chunk by chunk, as Dask arrays, or as one score."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from coterie.arrays import FloatArray
from coterie.dask.chunks import Chunk, Chunks
from coterie.rows.derived import part_of


def by_chunk(model: Any, method: str, chunks: Chunks) -> Any:
    """Return the results of a method of a model for all rows, as a Dask array that is computed chunk by chunk."""
    check_is_fitted(model)
    import dask
    import dask.array as da

    first = part_of(chunks.rows, chunks.rows.block(0, 1))
    empty = getattr(model, method)(first)[:0]
    sent = dask.delayed(model, pure=False, traverse=False)
    apply, lazy = dask.delayed(_apply, pure=False), chunks.lazy or [None] * len(chunks)
    parts = [
        da.from_delayed(apply(sent, method, chunk, data), (chunk.n_rows, *empty.shape[1:]), meta=empty)
        for chunk, data in zip(chunks.chunks, lazy)
    ]
    return da.concatenate(parts)


def score_of(model: Any, chunks: Chunks) -> float:
    """Return the score of all rows: of k-means minus the inertia, of a mixture the mean log-likelihood."""
    check_is_fitted(model)
    import dask

    sent = dask.delayed(model, pure=False, traverse=False)
    apply, lazy = dask.delayed(_apply_score, pure=False), chunks.lazy or [None] * len(chunks)
    found = dask.compute(*(apply(sent, chunk, data) for chunk, data in zip(chunks.chunks, lazy)))
    scores, sizes = zip(*found)
    total = float(np.sum(scores))
    return total / sum(sizes) if hasattr(model, "score_samples") else total


def _apply(model: Any, method: str, chunk: Chunk, data: Any) -> Any:
    return getattr(model, method)(chunk.open(data))


def _apply_score(model: Any, chunk: Chunk, data: Any) -> tuple[float, int]:
    rows = chunk.open(data)
    if hasattr(model, "score_samples"):
        found: FloatArray = model.score_samples(rows)
        return float(found.sum()), len(found)
    return float(model.score(rows)), int(rows.shape[0])
