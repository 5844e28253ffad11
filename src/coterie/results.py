"""Tables of results: the columns of the input, then cluster, name, probability or distance, and outlier score."""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from coterie.arrays import Array, BoolArray, FloatArray, IntArray
from coterie.blocks.dataset import own_squares
from coterie.blocks.kernel_rows import kernel_rows
from coterie.estimators import Estimator
from coterie.estimators.base import membership_of, rows_for
from coterie.estimators.preparation import opened_rows
from coterie.fitting.threads import effective_n_threads
from coterie.graphs import nearest_neighbors
from coterie.names import read_names, relabel
from coterie.rows import Rows
from coterie.rows.derived import complete_rows
from coterie.rows.frames import is_a, names_of_frame


@dataclass(frozen=True, slots=True)
class Placement:
    """Positions of rows in their `labels` (-1: none), with columns of `measures` such as "distance" and
    "outlier_score". `ranks` count from 1 for the row that belongs best to its cluster, `borderline` from 1 for the
    row nearest to another cluster; both are 0 for rows in none.
    """

    labels: IntArray
    measures: dict[str, FloatArray]
    ranks: IntArray
    borderline: IntArray


def results_table(
    model: Any,
    X: Any,
    *,
    labels: npt.ArrayLike | None = None,
    outliers: float | str | None = None,
    names: str | Path | Mapping[int, str] | Sequence[str | None] | None = None,
) -> Any:
    """Return the table X with the results of each row: cluster, name, probability or distance, outlier score.

    Parameters
    ----------
    model : estimator
        A fitted one.
    X : table, path, array-like or Rows of shape (n, d)
        The rows, those of the fit or others.
    labels : array-like of shape (n,), optional
        The clusters of the rows that are not dropped. By default what `model.predict` returns; of a model that cannot
        predict, those of the fit.
    outliers : float or str, optional
        The share of the rows, such as 0.01 or "1%", that are marked as outliers: those with the largest scores. Rows of
        equal score are marked together, so that fewer may be marked. Their cluster is -1; the model does not change.
    names : path, mapping or list, optional
        Names of clusters, as for `coterie.relabel`.

    Returns
    -------
    pandas.DataFrame, polars.DataFrame or pyarrow.Table
        A data frame for a data frame, else an Arrow table, with as many rows as X in the same order. The columns of X
        but vectors, then ``cluster`` (-1 for rows in no cluster and outliers, missing for rows that were dropped for
        missing numbers); ``name``, with `names`; ``probability`` where the method has such, else ``distance`` to the
        center where clusters have centers; and ``outlier_score``, if the model knows the scale of its clusters. A
        column whose name X has already gets the prefix ``cluster_``.

    Raises
    ------
    ValueError
        If the model cannot label other rows than its own and no labels are given, or outliers are wanted of a model
        without scores.
    ImportError
        If pyarrow is missing.

    Examples
    --------
    >>> import coterie
    >>> import pandas as pd
    >>> X = pd.DataFrame({"x": [0.0, 1.0, 5.0, 20.0, 22.0]}, index=list("abcde"))
    >>> model = coterie.KMeans(n_clusters=2, random_state=0).fit(X)
    >>> coterie.results_table(model, X, names=["few", "many"])
          x  cluster  name  distance  outlier_score
    a   0.0        0   few       2.0            1.0
    b   1.0        0   few       1.0            0.5
    c   5.0        0   few       3.0            1.5
    d  20.0        1  many       1.0            1.0
    e  22.0        1  many       1.0            1.0
    """
    share = None if outliers is None else outlier_share(outliers)
    is_frame = any(is_a(X, library, "DataFrame") for library in ("pandas", "polars"))
    rows = model_rows(model, X, keep_columns=True)
    found = labels_of(model, rows) if labels is None else np.asarray(labels, dtype=np.int32)
    if found.shape != (rows.shape[0],):
        raise ValueError(f"labels must have one number for each of {rows.shape[0]} rows, got {found.shape}.")
    placement = place_rows(model, rows, found)
    if share is not None:
        if "outlier_score" not in placement.measures:
            raise ValueError(f"This {type(model).__name__} has no outlier scores of these rows.")
        scores = placement.measures["outlier_score"]
        found = mark_outliers(found, scores, outlier_threshold(scores, share))
    known = None if names is None else read_names(names)
    taken = [] if rows.all_columns is None else rows.all_columns.column_names
    if is_frame:  # its index is no column
        taken = [name for name in names_of_frame(X) if name in set(taken)]
    added = result_columns(placement, found, known, rows.kept, taken)
    if is_frame:
        return _beside_frame(X, added, taken)
    return result_table(rows.all_columns, added)


def model_rows(model: Any, X: Any, **options: Any) -> Rows:
    """Return rows in the columns of the fit, prepared as its rows, and as complete; `keep_columns` keeps all columns in
    `Rows.all_columns`."""
    rows, done = opened_rows(model, X, **options), ("drop_missing",)
    is_whole = done in getattr(model, "preparation_", ()) and done not in rows.preparation
    return rows_for(model, complete_rows(rows) if is_whole else rows)


def labels_of(model: Any, rows: Rows) -> IntArray:
    """Return the clusters that the model predicts; of a model that cannot, those of the rows of its fit."""
    if hasattr(model, "predict"):
        # Estimators of other libraries know arrays, not sources of rows.
        return np.asarray(
            model.predict(rows if isinstance(model, Estimator) else rows.read()), dtype=np.int32
        )
    own = getattr(model, "labels_", None)
    if own is None or len(own) != rows.shape[0]:
        raise ValueError(
            f"This {type(model).__name__} has clusters for the rows of its fit only, and cannot predict others."
        )
    return np.asarray(own, dtype=np.int32)


def outlier_share(given: float | str) -> float:
    """Return a share of rows, from 0 to less than 1, that was given as such or in percent, such as "2.5%"."""
    text = str(given).strip()
    try:
        share = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        share = np.nan
    if not 0 <= share < 1:
        raise ValueError(
            f"outliers must be a share of the rows from 0 to less than 1, or such as '1%', got {given!r}."
        )
    return share


def outlier_threshold(scores: Array, share: float) -> float:
    """Return the score that at most this share of the rows with a score exceed."""
    known = scores[~np.isnan(scores)]
    n_inside = len(known) - int(share * len(known) + 1e-9)  # a whole number up to rounding
    return float(np.partition(known, n_inside - 1)[n_inside - 1]) if len(known) else np.inf


def mark_outliers(labels: IntArray, scores: Any, threshold: float | None) -> IntArray:
    """Return labels that are -1 where the outlier score is larger than a threshold, if there is one."""
    return labels if threshold is None else np.where(scores > threshold, np.int32(-1), labels)


def place_rows(model: Any, X: Any, labels: IntArray, scores: Array | None = None) -> Placement:
    """Measure how well rows belong to their clusters, and rank them; `scores` are known outlier scores."""
    rows = rows_for(model, X)
    measures: dict[str, FloatArray] = {}
    closeness = np.zeros(len(labels))
    centers = getattr(model, "cluster_centers_", None)
    if centers is not None and np.shape(centers)[1:] == rows.shape[1:]:
        distances, closeness = _distances(rows, np.asarray(centers), labels, model)
        measures["distance"] = distances
    membership = membership_of(model, rows, labels)
    if membership is not None:
        measures[membership[0]] = membership[1]
        closeness = -membership[1]
    nearness = [-values if name != "distance" else values for name, values in measures.items()]
    ranks = _ranks(labels, nearness)
    if scores is None and isinstance(model, Estimator) and hasattr(model, "cluster_scales_"):
        scores = model.outlier_scores(X, labels, distances=measures.get("distance"))
    if scores is not None:
        measures["outlier_score"] = scores
    return Placement(labels, measures, ranks, _ranks(labels, [*(-near for near in nearness), -closeness]))


# --- the columns of the input and of the results ---------------------------------------------------------------------


def result_columns(
    placement: Placement,
    clusters: IntArray,
    names: Mapping[int, str] | None,
    kept: BoolArray | None,
    taken: Collection[str],
) -> dict[str, Any]:
    """Return the results of all rows of the input as Arrow arrays by their names, null for dropped rows."""
    import pyarrow

    nowhere = placement.labels < 0
    found: dict[str, tuple[Array, BoolArray]] = {"cluster": (clusters, np.zeros_like(nowhere))}
    if names is not None:
        found["name"] = relabel(clusters, names=names), clusters < 0
    measures = dict(placement.measures)
    score, distance = measures.pop("outlier_score", None), measures.pop("distance", None)
    shown = {"probability": next(iter(measures.values()))} if measures else {"distance": distance}
    for name, values in {**shown, "outlier_score": score}.items():
        if values is not None:
            found[name] = values, nowhere
    columns = {}
    for name, (values, is_null) in found.items():
        while name in taken:
            name = f"cluster_{name}"
        if kept is not None:
            places = np.maximum(np.cumsum(kept) - 1, 0)
            values, is_null = values[places], is_null[places] | ~kept
        columns[name] = pyarrow.array(values, "string" if values.dtype == object else None, mask=is_null)
    return columns


def result_table(table: Any, added: Mapping[str, Any]) -> Any:
    """Return columns that are kept with those of the results, as a `pyarrow.Table`."""
    import pyarrow

    if table is None or not table.num_columns:
        return pyarrow.table(dict(added))
    for name, column in added.items():
        table = table.append_column(name, column)
    return table


def _beside_frame(X: Any, added: Mapping[str, Any], kept: Collection[str]) -> Any:
    """Return a data frame of pandas or polars with the results; its index and its types are kept."""
    positions = [i for i, name in enumerate(names_of_frame(X)) if name in kept]
    if is_a(X, "polars", "DataFrame"):
        polars = sys.modules["polars"]
        columns = [polars.from_arrow(column).alias(name) for name, column in added.items()]
        return X[:, positions].with_columns(columns)
    pandas, frame = sys.modules["pandas"], X.iloc[:, positions].copy()
    for name, column in added.items():
        is_nullable = column.null_count and name.endswith("cluster")
        types = {column.type: pandas.Int32Dtype()} if is_nullable else {}
        frame[name] = column.to_pandas(types_mapper=types.get).array
    return frame


def _distances(rows: Rows, centers: Array, labels: IntArray, model: Any) -> tuple[FloatArray, FloatArray]:
    """Return the distance of each row to its own center, and how nearly another one is as near, from 0 to 1."""
    n_threads = effective_n_threads(getattr(model, "n_threads", None))
    own, other = np.full(len(labels), np.nan), np.full(len(labels), np.inf)
    among = sp.csr_array(centers) if rows.is_sparse else centers
    for start, block in rows.blocks():
        part = slice(start, start + block.shape[0])
        own[part] = own_squares(kernel_rows(block), np.maximum(labels[part], 0), centers, n_threads)
        if len(centers) > 1:
            ids, squares = nearest_neighbors(among, 2, queries=block, method="exact", n_threads=n_threads)
            other[part] = np.where(ids[:, 0] == labels[part], squares[:, 1], squares[:, 0])
    own[labels < 0] = np.nan
    with np.errstate(invalid="ignore", divide="ignore"):
        closeness = np.where(other > 0, own / other, 1.0)
    by_angle = getattr(model, "metric", "euclidean") == "cosine"
    return own / 2 if by_angle else np.sqrt(own), closeness


def _ranks(labels: IntArray, keys: Sequence[FloatArray]) -> IntArray:
    """Return places from 1 in each cluster, ascending by the last key, then by those before it, then by row."""
    most_important_last: list[Array] = [*keys, labels]
    order = np.lexsort(most_important_last)
    sizes = np.bincount(labels[labels >= 0])
    places = np.concatenate(
        [np.zeros(np.count_nonzero(labels < 0)), *(np.arange(1, size + 1) for size in sizes)]
    )
    ranks = np.empty(len(labels), dtype=np.int32)
    ranks[order] = places
    return ranks
