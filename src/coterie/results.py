"""Tables of results: id, cluster, distance and rank of each row.

All of it is computed block by block; only a few numbers for each row are held.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from coterie.arrays import Array, BoolArray, FloatArray, IntArray
from coterie.blocks.dataset import SquareDistances
from coterie.blocks.kernel_rows import kernel_rows
from coterie.estimators import Estimator
from coterie.estimators.base import membership_of, rows_for
from coterie.estimators.outliers import OutlierScoring, relative_to_scales
from coterie.fitting.threads import effective_n_threads
from coterie.graphs import NeighborIndex
from coterie.names import merge_labels, read_merges, read_names, relabel
from coterie.rows import RowSource
from coterie.rows.roles import ID_NAMES

_EXAMPLES = 10
_BATCH_ROWS = 1 << 16

# Columns of the results; a column of the data that is called so is renamed.
_OWN_NAMES = (
    "cluster", "cluster_name", "distance", "membership", "posterior", "outlier_score", "rank", "example", "place",
    "row", "lasting_id",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Placement:
    """Positions of rows in their clusters.

    `labels` are their clusters, -1 for rows in none; `measures` how well they belong there, by names of columns:
    "distance" to the center, what the method has besides, and "outlier_score", by which nothing is ranked. `ranks`
    count from 1 for the row that belongs best to its cluster, `borderline` for the row that could best be in another
    one; both are 0 for rows that are in none.
    """

    labels: IntArray
    measures: dict[str, FloatArray]
    ranks: IntArray
    borderline: IntArray


@dataclass(frozen=True, slots=True)
class Outliers:
    """The rows with larger outlier scores than a threshold."""

    threshold: float
    marks: BoolArray

    def marked(self, labels: IntArray) -> IntArray:
        """Return labels that are -1 for outliers."""
        return np.where(self.marks, np.int32(-1), labels)


def results_table(
    model: Any,
    X: Any,
    *,
    labels: npt.ArrayLike | None = None,
    id: str | None = None,
    keep: Sequence[str] | None = None,
    outliers: float | str | None = None,
    names: str | Path | Mapping[int, str] | Sequence[str | None] | None = None,
    merges: str | Path | Mapping[int, int] | None = None,
) -> Any:
    """Return a row for each row of X: its id, columns that were not clustered, its cluster and its rank there.

    Parameters
    ----------
    model : estimator
        A fitted one.
    X : array-like, table, Dask array or RowSource of shape (n, d)
        The rows, those of the fit or others.
    labels : array-like of shape (n,), optional
        The clusters of the rows; for those of the fit, `model.labels_`. By default what `model.predict` says.
    id : str, optional
        The column of X that says which row is which. By default one that is not clustered and is called id, _id or
        uuid, or is the index of a data frame.
    keep : sequence of str, optional
        Other columns of X to keep. By default all that are not clustered.
    outliers : float or str, optional
        The share of the rows, such as 0.01 or "1%", that are marked as outliers: those with the largest scores. Rows of
        equal score are marked together, so that fewer may be marked. In the table their cluster is -1; the model and
        other columns do not change.
    names, merges : path or mapping, optional
        Names of clusters and clusters to merge, as for `coterie.relabel`. Distances, scores and ranks are those of the
        clusters before they are merged.

    Returns
    -------
    pyarrow.Table
        The columns: the id, those kept, and

        - ``cluster``: the label, -1 for rows in none and for outliers;
        - ``cluster_name``: the name of the cluster, with `names` only;
        - ``distance``: to the center, where clusters have centers;
        - ``membership`` or ``posterior``: in the own cluster, where the method has these (memberships of graph methods
          for the rows of the fit only: other rows have no membership, and their table has no such column);
        - ``outlier_score``: how far from its cluster the row is, relative to the scale of the cluster, where the model
          knows it; see `outlier_scores_` of the estimators;
        - ``rank``: 1 for the row of the cluster with the largest membership or posterior, else the least distance.

    Raises
    ------
    ValueError
        If the model cannot label other rows than its own and no labels are given, X has no such column that is not
        clustered, or outliers are wanted of a model without scores.
    ImportError
        If pyarrow is missing.

    Examples
    --------
    >>> import coterie
    >>> X = [[0.0], [1.0], [5.0], [20.0], [22.0]]
    >>> model = coterie.KMeans(n_clusters=2, random_state=0).fit(X)
    >>> table = coterie.results_table(model, X)
    >>> table.column_names
    ['cluster', 'distance', 'outlier_score', 'rank']
    >>> table["rank"].to_pylist()
    [2, 1, 3, 1, 2]
    >>> table["outlier_score"].to_pylist()
    [1.0, 0.5, 1.5, 1.0, 1.0]
    >>> coterie.results_table(model, X, outliers="20%")["cluster"].to_pylist()
    [0, 0, -1, 1, 1]
    """
    share = None if outliers is None else outlier_share(outliers)
    rows = rows_for(model, X)  # once: X may be a stream
    found, scores = _labels_of(model, rows) if labels is None else (np.asarray(labels, dtype=np.int32), None)
    if found.shape != (rows.shape[0],):
        raise ValueError(f"labels must have one number for each of {rows.shape[0]} rows, got {found.shape}.")
    kept = metadata_names(rows, id, keep)
    given = Renaming(
        {} if merges is None else read_merges(merges), None if names is None else read_names(names)
    )
    placement = place_rows(model, rows, found, scores)
    far = None
    if share is not None:
        if "outlier_score" not in placement.measures:
            raise ValueError(f"This {type(model).__name__} has no outlier scores of these rows.")
        far = find_outliers(placement.measures["outlier_score"], share)
    return _pyarrow().Table.from_batches(list(result_batches(placement, rows, kept, far, given)))


def outlier_share(given: float | str) -> float:
    """Return a share of rows, from 0 to less than 1, that was given as such or in percent.

    Examples
    --------
    >>> from coterie.results import outlier_share
    >>> outlier_share("2.5%"), outlier_share("0.01"), outlier_share(0.01)
    (0.025, 0.01, 0.01)
    """
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


def find_outliers(scores: Array, share: float) -> Outliers:
    """Return the rows with the largest scores: at most this share of those that have one.

    Examples
    --------
    >>> import numpy as np
    >>> from coterie.results import find_outliers
    >>> found = find_outliers(np.array([1, np.nan, 7, 2, 7, 3]), 0.4)
    >>> found.threshold, np.flatnonzero(found.marks)
    (3.0, array([2, 4]))
    """
    known = scores[~np.isnan(scores)]
    # A whole number up to rounding.
    n_inside = len(known) - int(share * len(known) + 1e-9)
    threshold = float(np.partition(known, n_inside - 1)[n_inside - 1]) if len(known) else np.inf
    return Outliers(threshold, scores > threshold)


def place_rows(model: Any, X: Any, labels: IntArray, scores: Array | None = None) -> Placement:
    """Measure how well rows belong to their clusters, and rank them; see `results_table`.

    Outlier scores that are known already, for these labels, need not be measured once more.
    """
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
    if scores is None and _has_scales(model):
        scores = model.outlier_scores(X, labels, distances=measures.get("distance"))
    if scores is not None:
        measures["outlier_score"] = scores
    return Placement(labels, measures, ranks, _ranks(labels, [*(-near for near in nearness), -closeness]))


def metadata_names(rows: RowSource, id: str | None, keep: Sequence[str] | None) -> list[str]:
    """Return the names of the metadata columns in the results, the id first."""
    names = [] if rows.metadata_columns is None else list(rows.metadata_columns.names)
    for name in [*([] if id is None else [id]), *(keep or [])]:
        if name not in names:
            known = ", ".join(map(repr, names[:12])) or "none"
            clustered = f" {name!r} is clustered." if name in (rows.column_names or []) else ""
            raise ValueError(
                f"There is no column {name!r} among those that are not clustered: {known}.{clustered}"
            )
    first = id if id is not None else next((name for name in names if name.lower() in ID_NAMES), None)
    others = [name for name in (names if keep is None else keep) if name != first]
    return others if first is None else [first, *others]


@dataclass(frozen=True, slots=True)
class Renaming:
    """Names and merges of clusters in the results.

    `merges` are those of `coterie.names.read_merges`; without `names` the results have no column of names; `lasting`
    ids of the clusters are for the column `lasting_id`.
    """

    merges: Mapping[int, int] = field(default_factory=dict)
    names: Mapping[int, str] | None = None
    lasting: IntArray | None = None

    def labels(self, labels: IntArray) -> IntArray:
        """Return labels with clusters merged."""
        return merge_labels(labels, self.merges) if self.merges else labels


def result_batches(
    placement: Placement,
    rows: RowSource,
    names: Sequence[str],
    outliers: Outliers | None = None,
    renaming: Renaming = Renaming(),
) -> Iterator[Any]:
    """Yield the results of all rows in their order, as `pyarrow.RecordBatch`es, with these columns of the table."""
    labels = placement.labels if outliers is None else outliers.marked(placement.labels)
    labels = renaming.labels(labels)
    start = 0
    for batch in _metadata_batches(rows, names):
        part = slice(start, start + batch.num_rows)
        yield _with_results(batch, placement, labels, part, renaming)
        start = part.stop


class Examples:
    """Representative rows of each cluster, nearest to its center, and borderline rows."""

    def __init__(self, placement: Placement, renaming: Renaming = Renaming()) -> None:
        self._labels = renaming.labels(placement.labels)
        chosen = []
        for kind, places in (("nearest", placement.ranks), ("borderline", placement.borderline)):
            rows = np.flatnonzero((places > 0) & (places <= _EXAMPLES))
            order = np.lexsort((places[rows], placement.labels[rows]))
            chosen.append((np.full(len(rows), kind), places[rows][order], rows[order]))
        kinds, places, rows = (np.concatenate(parts) for parts in zip(*chosen))
        # The nearest rows of a cluster come before its borderline rows.
        order = np.argsort(placement.labels[rows], kind="stable")
        self._kinds, self._places, self._rows = kinds[order], places[order], rows[order]
        self._sorted = np.unique(self._rows)
        self._found: list[Any] = []
        self._start = 0

    def look_at(self, batch: Any) -> None:
        """Add the next batch of results."""
        stop = self._start + batch.num_rows
        low, high = np.searchsorted(self._sorted, [self._start, stop])
        self._found.append(batch.take(_pyarrow().array(self._sorted[low:high] - self._start)))
        self._start = stop

    def table(self) -> Any:
        """Return the examples once all batches were seen: their kind, place and row number, and their results."""
        pyarrow = _pyarrow()
        found = pyarrow.Table.from_batches(self._found)
        found = found.take(pyarrow.array(np.searchsorted(self._sorted, self._rows)))
        # An example of a cluster stays one if it is marked as an outlier.
        clusters = pyarrow.array(self._labels[self._rows])
        found = found.set_column(found.column_names.index("cluster"), "cluster", clusters)
        columns = {"example": self._kinds, "place": self._places, "row": self._rows}
        for position, (name, values) in enumerate(columns.items()):
            found = found.add_column(position, name, pyarrow.array(values))
        return found


def _labels_of(model: Any, rows: RowSource) -> tuple[IntArray, Array | None]:
    """Return the clusters of rows, and in the same pass their outlier scores where the model has such."""
    if hasattr(model, "predict"):
        if _has_scales(model):
            labels, distances = model.predict(rows, return_distance=True)
            return labels, relative_to_scales(distances, labels, model.cluster_scales_)
        # Estimators of other libraries know arrays, not sources of rows.
        labels = model.predict(rows if isinstance(model, Estimator) else rows.read())
        return np.asarray(labels, dtype=np.int32), None
    labels = getattr(model, "labels_", None)
    if labels is None or len(labels) != rows.shape[0]:
        raise ValueError(
            f"This {type(model).__name__} has clusters for the rows of its fit only, and cannot predict others."
        )
    return np.asarray(labels, dtype=np.int32), None


def _has_scales(model: Any) -> bool:
    return isinstance(model, OutlierScoring) and hasattr(model, "cluster_scales_")


def _distances(
    rows: RowSource, centers: Array, labels: IntArray, model: Any
) -> tuple[FloatArray, FloatArray]:
    """Return the distance of each row to its own center, and how nearly another one is as near, from 0 to 1."""
    n_threads = effective_n_threads(getattr(model, "n_threads", None))
    own, other = np.full(len(labels), np.nan), np.full(len(labels), np.inf)
    measure = SquareDistances(centers, n_threads)
    among = sp.csr_array(centers) if rows.is_sparse else centers
    index = NeighborIndex(among, min(2, len(centers)), method="exact", n_threads=n_threads)
    for start, block in rows.blocks():
        part = slice(start, start + block.shape[0])
        measure.write(kernel_rows(block), np.maximum(labels[part], 0), own[part])
        if len(centers) > 1:
            ids, squares = index.query(block)
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


def _metadata_batches(rows: RowSource, names: Sequence[str]) -> Iterator[Any]:
    if rows.metadata_columns is not None and names:
        yield from rows.metadata_columns.batches(list(names))
        return
    pyarrow = _pyarrow()
    for start in range(0, rows.shape[0], _BATCH_ROWS):
        n_rows = min(_BATCH_ROWS, rows.shape[0] - start)
        yield pyarrow.RecordBatch.from_struct_array(pyarrow.array([{}] * n_rows, pyarrow.struct([])))


def _with_results(batch: Any, placement: Placement, labels: IntArray, part: slice, renaming: Renaming) -> Any:
    pyarrow = _pyarrow()
    nowhere = placement.labels[part] < 0
    ours: dict[str, Any] = {"cluster": pyarrow.array(labels[part])}
    if renaming.names is not None:
        texts = relabel(labels[part], names=renaming.names)
        ours["cluster_name"] = pyarrow.array(texts, "string", mask=labels[part] < 0)
    measures: dict[str, Array] = {**placement.measures, "rank": placement.ranks}
    for name, values in measures.items():
        ours[name] = pyarrow.array(values[part], mask=nowhere)
    if renaming.lasting is not None:
        ours["lasting_id"] = pyarrow.array(np.append(renaming.lasting, np.int32(-1))[labels[part]])
    kept = [f"{name}_kept" if name in _OWN_NAMES else name for name in batch.schema.names]
    return pyarrow.RecordBatch.from_arrays([*batch.columns, *ours.values()], names=[*kept, *ours])


def _pyarrow() -> Any:
    try:
        import pyarrow
    except ImportError as error:
        raise ImportError("Tables of results need pyarrow: pip install 'coterie[io]'") from error
    return pyarrow
