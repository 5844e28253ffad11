"""What a fitted model says of rows that are elsewhere: chunk by chunk, where they are."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from coterie.arrays import Array, FloatArray
from coterie.dask.chunks import Chunk, chunks_of
from coterie.dask.extra import distributed

__all__ = [
    "by_chunk",
    "is_elsewhere",
    "predict",
    "predict_proba",
    "responsibilities",
    "score",
    "score_of",
    "score_samples",
    "totals_of",
    "transform",
]


def predict(model: Any, X: Any, *, open_options: Mapping[str, Any] | None = None) -> Any:
    """Return the cluster of each row of X as a lazy Dask array, for any fitted model that has `predict`.

    Parameters
    ----------
    model : estimator
        Fitted, here or on a cluster, or loaded; it travels once to each worker.
    X : Dask array, Dask DataFrame, or path
        The rows. A path is one that the workers see, too.
    open_options : dict, optional
        Options of `coterie.open_rows` for a path; `columns` and `exclude` for a Dask DataFrame.

    Returns
    -------
    Dask array of shape (n,), int32

    Examples
    --------
    >>> import coterie
    >>> from coterie.dask import predict
    >>> labels = predict(coterie.load("model.coterie"), "s3://bucket/*.parquet")  # doctest: +SKIP
    """
    return by_chunk(model, "predict", X, open_options)


def transform(model: Any, X: Any, *, open_options: Mapping[str, Any] | None = None) -> Any:
    """Return the distance of each row of X to every centroid as a lazy Dask array, n x k; see `predict`."""
    return by_chunk(model, "transform", X, open_options)


def responsibilities(model: Any, X: Any, *, open_options: Mapping[str, Any] | None = None) -> Any:
    """Return the truncated posteriors that a mixture gives each row of X; see `predict`.

    The Dask array has chunks of `scipy.sparse.csr_array`, n x C; computed, it is one of these.
    """
    return by_chunk(model, "responsibilities", X, open_options)


def predict_proba(model: Any, X: Any, *, open_options: Mapping[str, Any] | None = None) -> Any:
    """Return the posteriors that a mixture gives each row of X as a lazy Dask array, n x C; see `predict`."""
    return by_chunk(model, "predict_proba", X, open_options)


def score_samples(model: Any, X: Any, *, open_options: Mapping[str, Any] | None = None) -> Any:
    """Return the log-likelihood of each row of X under a mixture as a lazy Dask array; see `predict`."""
    return by_chunk(model, "score_samples", X, open_options)


def score(model: Any, X: Any, *, open_options: Mapping[str, Any] | None = None) -> float:
    """Return the `score` that a model gives the rows of X, computed where they are; see `predict`.

    Of k-means minus the inertia, of a mixture the mean log-likelihood.
    """
    return score_of(model, X, open_options)


def by_chunk(model: Any, method: str, X: Any, options: Any = None) -> Any:
    """Return what a method of a model says of all rows, as a Dask array that is computed chunk by chunk.

    Parameters
    ----------
    model : estimator
        A fitted one of this process; it travels once.
    method : str
        Such as "predict".
    X : Dask array, Dask DataFrame, or path
        The rows.
    options : dict, optional
        See `coterie.dask.chunks.chunks_of`.
    """
    _check_method(model, method)
    distributed()
    import dask
    import dask.array as da

    chunks, empty = chunks_of(X, options), _nothing_of(model, method)
    sent = dask.delayed(model, pure=False, traverse=False)
    ask = dask.delayed(_ask, pure=False)
    lazy = chunks.lazy or [None] * len(chunks)
    parts = []
    for chunk, data in zip(chunks.chunks, lazy):
        n_rows = chunk.n_rows if chunk.n_rows is not None else np.nan
        shape = (n_rows, *empty.shape[1:])
        parts.append(da.from_delayed(ask(sent, method, chunk, data), shape, meta=empty))
    return da.concatenate(parts)


def _check_method(model: Any, method: str) -> None:
    check_is_fitted(model)
    if not hasattr(model, method):
        raise TypeError(
            f"{type(model).__name__} has no {method}: of rows of a cluster it says no more than here."
        )


def _nothing_of(model: Any, method: str) -> Any:
    """Return what a method returns for no rows."""
    if method == "predict":
        return np.empty(0, dtype=np.int32)
    if method == "score_samples":
        return np.empty(0)
    centers = model.cluster_centers_
    if method == "responsibilities":
        return sp.csr_array((0, len(centers)), dtype=np.float64)
    dtype = centers.dtype if method == "transform" else np.float64
    return np.empty((0, len(centers)), dtype=dtype)


def score_of(model: Any, X: Any, options: Any = None) -> float:
    """Return the score of all chunks: see `score`."""
    total, n_rows = totals_of(model, X, options)
    return total / n_rows if hasattr(model, "score_samples") else total


def totals_of(model: Any, X: Any, options: Any = None) -> tuple[float, int]:
    """Return the sum of the scores of all rows, chunks in their order, and the number of rows."""
    _check_method(model, "score")
    distributed()
    import dask

    chunks = chunks_of(X, options)
    sent, ask = dask.delayed(model, pure=False, traverse=False), dask.delayed(_ask_score, pure=False)
    lazy = chunks.lazy or [None] * len(chunks)
    found = dask.compute(*(ask(sent, chunk, data) for chunk, data in zip(chunks.chunks, lazy)))
    scores, sizes = zip(*found)
    return float(np.sum(scores)), int(np.sum(sizes))


def _ask(model: Any, method: str, chunk: Chunk, data: Any) -> Array:
    found: Array = getattr(model, method)(chunk.open(data).rows())
    return found


def _ask_score(model: Any, chunk: Chunk, data: Any) -> tuple[float, int]:
    rows = chunk.open(data).rows()
    if hasattr(model, "score_samples"):
        found: FloatArray = model.score_samples(rows)
        return float(found.sum()), len(found)
    return float(model.score(rows)), int(rows.shape[0])


def is_elsewhere(X: Any) -> bool:
    """Tell whether rows are those of a cluster: a Dask collection, or files by their path."""
    return isinstance(X, str | os.PathLike) or type(X).__module__.partition(".")[0].startswith("dask")
