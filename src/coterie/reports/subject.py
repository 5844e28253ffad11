"""What a report is of: a model, its rows, their clusters, and a sample of them that is small enough to look at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from coterie.arrays import FloatArray, IndexArray, IntArray
from coterie.estimators import Estimator, Method, method_of
from coterie.estimators.base import rows_for
from coterie.plotting import check_image_shape
from coterie.results import Examples, Placement, carried_names, place_rows, result_batches
from coterie.rows import RowSource

__all__ = ["Sample", "Subject", "clusters_of", "read_subject", "sampled_by_cluster", "seconds_of"]

MOST_DRAWN = 20_000
_MOST_NUMBERS = 5e7

# Rows of each cluster in a sample, however small its share.
_FEWEST = 30


@dataclass(frozen=True, slots=True)
class Sample:
    """Some rows.

    Attributes
    ----------
    rows : ndarray of shape (m,), int64
        Their numbers, ascending.
    block : ndarray or csr_array of shape (m, d)
        What they hold.
    labels : ndarray of shape (m,), int32
        Their clusters.
    ids : list of str
        What to call them.
    texts : list of str or None
        What they say, where the table has a column of texts.
    """

    rows: IndexArray
    block: Any
    labels: IntArray
    ids: list[str]
    texts: list[str] | None


@dataclass(frozen=True, slots=True)
class Subject:
    """What a report is of.

    Attributes
    ----------
    model : estimator
        Fitted.
    method : Method or None
        Its record.
    rows : RowSource
        The rows as the model sees them.
    labels : ndarray of shape (n,), int32
        Their clusters, -1 for none.
    n_clusters : int
        How many clusters there are.
    sizes : ndarray of shape (k,), int64
        Rows of each.
    placement : Placement
        How well rows belong there.
    examples : pyarrow.Table
        The rows nearest to each center and the most doubtful ones, as `coterie fit` writes them.
    sample : Sample
        At most 20,000 rows.
    id_name, text_name : str or None
        The columns that say which row is which, and what it says.
    image_shape : tuple of int or None
        Rows are images of this shape.
    """

    model: Any
    method: Method | None
    rows: RowSource
    labels: IntArray
    n_clusters: int
    sizes: IndexArray
    placement: Placement
    examples: Any
    sample: Sample
    id_name: str | None = None
    text_name: str | None = None
    image_shape: tuple[int, ...] | None = None
    centers: FloatArray | None = field(default=None)

    @property
    def name_of_method(self) -> str:
        """What the method is called."""
        return type(self.model).__name__ if self.method is None else self.method.name

    @property
    def is_graph(self) -> bool:
        """Whether the rows are those of a graph's matrix, which are no points."""
        return getattr(self.model, "affinity", None) == "precomputed"

    @property
    def column_names(self) -> list[str]:
        """What the columns are called."""
        return self.rows.column_names or [f"column {i}" for i in range(self.rows.shape[1])]


def read_subject(
    model: Any,
    X: Any,
    *,
    labels: npt.ArrayLike | None = None,
    n_clusters: int | None = None,
    id: str | None = None,
    keep: Sequence[str] | None = None,
    text: str | None = None,
    image_shape: tuple[int, ...] | None = None,
) -> Subject:
    """Read what a report needs of the rows: a pass for their places, one for their texts, and a sample.

    Raises
    ------
    ValueError
        If the labels are not those of these rows, there is no such column, or rows are no images of this shape.
    """
    rows = rows_for(model, X)
    found = clusters_of(model, rows, labels, n_clusters)
    if image_shape is not None:
        check_image_shape(image_shape, rows.shape[1])
    names = carried_names(rows, id, keep)
    centers = _centers_of(model, rows)
    count = max(int(found.max(initial=-1)) + 1, 0 if centers is None else len(centers), 1)
    placement = place_rows(model, rows, found)
    chosen = sampled_by_cluster(found, _most_rows(rows))
    id_name = _id_among(rows, id, names)
    examples, carried = _read_results(placement, rows, names, chosen)
    text_name = _text_among(carried, text, id_name)
    ids = [str(row) for row in chosen] if id_name is None else _words(carried[id_name])
    texts = None if text_name is None else _words(carried[text_name])
    sample = Sample(chosen, rows.take(chosen), found[chosen], ids, texts)
    return Subject(
        model=model,
        method=method_of(model),
        rows=rows,
        labels=found,
        n_clusters=count,
        sizes=np.bincount(found[found >= 0], minlength=count),
        placement=placement,
        examples=examples,
        sample=sample,
        id_name=id_name,
        text_name=text_name,
        image_shape=image_shape,
        centers=_means_of(sample, count) if centers is None else centers,
    )


def clusters_of(
    model: Any, rows: RowSource, labels: npt.ArrayLike | None = None, n_clusters: int | None = None
) -> IntArray:
    """Return the clusters of rows: those given, those of the fit, of a path those that last longest, or predicted ones.

    Raises
    ------
    ValueError
        If they are not as many as rows, or the model knows the clusters of its own rows only.
    """
    n_rows = rows.shape[0]
    found = labels if labels is not None else getattr(model, "labels_", None)
    if labels is None and n_clusters is not None and hasattr(model, "labels_path_"):
        found = model.labels_at(n_clusters)
    if (
        found is not None
        and len(np.asarray(found)) != n_rows
        and labels is None
        and hasattr(model, "predict")
    ):
        found = None
    if found is None and hasattr(model, "predict"):
        found = model.predict(rows if isinstance(model, Estimator) else rows.read())
    if found is None or np.shape(found) != (n_rows,):
        have = "none" if found is None else f"{len(np.asarray(found)):,}"
        raise ValueError(
            f"This {type(model).__name__} has labels of {have} rows, and here are {n_rows:,}: give the rows of its "
            "fit, or labels= of these."
        )
    clusters = np.asarray(found)
    if clusters.dtype.kind not in "iu" or clusters.min(initial=0) < -1:
        raise ValueError("labels must be whole numbers from 0, and -1 for rows in no cluster.")
    return clusters.astype(np.int32)


def seconds_of(model: Any) -> float:
    """Return how long the iterations of a fit took; 0 where the model does not say."""
    history = getattr(model, "history_", None)
    return float(history["seconds"][-1]) if history is not None and len(history) else 0.0


def sampled_by_cluster(labels: IntArray, most: int) -> IndexArray:
    """Return at most so many rows, in proportion to the sizes of the clusters, but some of each.

    Examples
    --------
    >>> import numpy as np
    >>> from coterie.reports.subject import sampled_by_cluster
    >>> labels = np.repeat(np.arange(3, dtype=np.int32), [5000, 900, 3])
    >>> np.bincount(labels[sampled_by_cluster(labels, 100)])
    array([81, 16,  3])
    """
    n_rows = len(labels)
    if n_rows <= most:
        return np.arange(n_rows)
    groups = labels.astype(np.int64) + 1
    sizes = np.bincount(groups)
    fewest = min(_FEWEST, max(1, most // (2 * int(np.count_nonzero(sizes)))))
    wanted = np.minimum(sizes, np.maximum(sizes * most // n_rows, fewest))
    # What small clusters take beyond their share, large ones give.
    spare = wanted - np.minimum(sizes, fewest)
    excess = max(int(wanted.sum()) - most, 0)
    if excess and spare.sum():
        wanted = wanted - np.minimum(spare, -(-spare * excess // spare.sum()))
    shuffled = np.random.default_rng(0).permutation(n_rows)
    order = shuffled[np.argsort(groups[shuffled], kind="stable")]
    starts = np.cumsum(sizes) - sizes
    place = np.arange(n_rows) - np.repeat(starts, sizes)
    chosen = order[place < np.repeat(wanted, sizes)]
    return np.sort(chosen)


def _most_rows(rows: RowSource) -> int:
    """Rows of a sample that memory and seconds are enough for."""
    if rows.is_sparse:
        return MOST_DRAWN
    return int(np.clip(_MOST_NUMBERS / rows.shape[1], 200, MOST_DRAWN))


def _centers_of(model: Any, rows: RowSource) -> FloatArray | None:
    centers = getattr(model, "cluster_centers_", None)
    if centers is None or sp.issparse(centers) or np.shape(centers)[1:] != rows.shape[1:]:
        return None
    return np.asarray(centers, dtype=np.float64)


def _means_of(sample: Sample, n_clusters: int) -> FloatArray:
    inside = sample.labels >= 0
    members = sp.csr_array(
        (np.ones(inside.sum()), (sample.labels[inside], np.flatnonzero(inside))),
        shape=(n_clusters, len(sample.labels)),
    )
    sums = members @ sample.block
    sums = sums.toarray() if sp.issparse(sums) else np.asarray(sums)
    return sums / np.maximum(members.sum(axis=1), 1)[:, None]


def _id_among(rows: RowSource, id: str | None, names: Sequence[str]) -> str | None:
    if id is not None:
        return id
    # The id stands first.
    from coterie.rows.roles import ID_NAMES

    return names[0] if names and names[0].lower() in ID_NAMES else None


def _read_results(
    placement: Placement, rows: RowSource, names: list[str], chosen: IndexArray
) -> tuple[Any, Any]:
    """Return the table of examples, and what the chosen rows carry."""
    import pyarrow

    examples = Examples(placement)
    parts, start = [], 0
    for batch in result_batches(placement, rows, names):
        examples.look_at(batch)
        low, high = np.searchsorted(chosen, [start, start + batch.num_rows])
        # Columns of the data stand before those of the results.
        carried = pyarrow.Table.from_batches([batch.select(list(range(len(names))))]) if names else None
        if carried is not None:
            parts.append(carried.rename_columns(names).take(pyarrow.array(chosen[low:high] - start)))
        start += batch.num_rows
    table = pyarrow.concat_tables(parts, promote_options="permissive") if parts else pyarrow.table({})
    return examples.table(), table


def _text_among(carried: Any, text: str | None, id_name: str | None) -> str | None:
    """The column of texts that says most of a row: that asked for, or the one with the longest texts."""
    import pyarrow

    if text is not None:
        if text not in carried.column_names:
            known = ", ".join(map(repr, carried.column_names)) or "none"
            raise ValueError(f"No column {text!r} beside those that are clustered. There are {known}.")
        return text
    lengths = {}
    for field_ in carried.schema:
        kind = field_.type.value_type if pyarrow.types.is_dictionary(field_.type) else field_.type
        if field_.name != id_name and (pyarrow.types.is_string(kind) or pyarrow.types.is_large_string(kind)):
            words = carried[field_.name].slice(0, 200).to_pylist()
            lengths[field_.name] = sum(len(word or "") for word in words)
    return max(lengths, key=lambda name: lengths[name]) if lengths else None


def _words(column: Any) -> list[str]:
    return ["" if value is None else str(value) for value in column.to_pylist()]
