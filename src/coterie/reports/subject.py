"""Subject of a report: a model, its rows, their clusters, and a sample of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from coterie.arrays import FloatArray, IndexArray, IntArray
from coterie.blocks.kernel_rows import dense
from coterie.estimators.base import rows_for
from coterie.methods import Method, method_of
from coterie.plotting.layout import clusters_of, sample_by_cluster
from coterie.results import Placement, place_rows
from coterie.rows import Rows
from coterie.rows.roles import id_among, profile_columns

MOST_DRAWN = 10_000
_MOST_NUMBERS = 5e7

# More different values of a column are no categories.
MOST_CATEGORIES = 40

# Representative rows of each cluster, and as many borderline ones, that are in the sample.
EXAMPLES = 6


@dataclass(frozen=True, slots=True)
class Sample:
    """Some rows, by ascending numbers, with their values, clusters, metadata columns, ids (or numbers) and texts."""

    rows: IndexArray
    block: Any
    labels: IntArray
    metadata: dict[str, Any]
    ids: list[str]
    texts: list[str] | None


@dataclass(frozen=True, slots=True)
class Subject:
    """A model, its rows and their clusters, and a sample with the representative and borderline rows of each."""

    model: Any
    method: Method | None
    rows: Rows
    labels: IntArray
    n_clusters: int
    sizes: IndexArray
    placement: Placement
    sample: Sample
    id_name: str | None = None
    text_name: str | None = None

    @property
    def name_of_method(self) -> str:
        """The name of the method."""
        return type(self.model).__name__ if self.method is None else self.method.name

    @property
    def is_graph(self) -> bool:
        """Whether the rows are those of a graph's matrix, which are no points."""
        return getattr(self.model, "affinity", None) == "precomputed"


def read_subject(
    model: Any,
    X: Any,
    *,
    labels: npt.ArrayLike | None = None,
    n_clusters: int | None = None,
    id: str | None = None,
    text: str | None = None,
    placement: Placement | None = None,
) -> Subject:
    """Read the rows for a report: a pass for distances if they are not known, one for texts, and a sample."""
    rows = rows_for(model, X)
    found = clusters_of(model, rows, labels, n_clusters)
    names = [] if rows.metadata_columns is None else rows.metadata_columns.column_names
    id_name = id_among(names, id)
    centers = getattr(model, "cluster_centers_", None)
    count = max(int(found.max(initial=-1)) + 1, 0 if centers is None else np.shape(centers)[0], 1)
    placement = placement or place_rows(model, rows, found)
    ranks, borderline = placement.ranks, placement.borderline
    examples = ((ranks > 0) & (ranks <= EXAMPLES)) | ((borderline > 0) & (borderline <= EXAMPLES))
    most = MOST_DRAWN if rows.is_sparse else int(np.clip(_MOST_NUMBERS / rows.shape[1], 200, MOST_DRAWN))
    chosen = sample_by_cluster(found, most, examples)
    table = rows.metadata_columns.take(chosen) if names else None
    metadata = {} if table is None else dict(zip(names, table.columns))
    if text is not None and text not in metadata:
        known = ", ".join(map(repr, metadata)) or "none"
        raise ValueError(f"There is no column {text!r} among those that are not clustered: {known}.")
    found_id, found_text = (None, None) if table is None else _ids_and_texts(table.slice(0, 1000))
    id_name, text_name = id_name or found_id, text or found_text
    ids = [str(row) for row in chosen] if id_name is None else _words(metadata[id_name])
    texts = None if text_name is None else _words(metadata[text_name])
    sample = Sample(chosen, rows.take(chosen), found[chosen], metadata, ids, texts)
    return Subject(
        model=model,
        method=method_of(model),
        rows=rows,
        labels=found,
        n_clusters=count,
        sizes=np.bincount(found[found >= 0], minlength=count),
        placement=placement,
        sample=sample,
        id_name=id_name,
        text_name=text_name,
    )


def cluster_sums(labels: IntArray, n_clusters: int, block: Any) -> FloatArray:
    """Return the sums of the rows of each cluster, as a dense array of shape (k, d)."""
    inside = np.flatnonzero(labels >= 0)
    ones = np.ones(len(inside))
    sums = sp.csr_array((ones, (labels[inside], inside)), shape=(n_clusters, len(labels))) @ block
    return dense(sums).astype(np.float64, copy=False)


def _ids_and_texts(table: Any) -> tuple[str | None, str | None]:
    """Return the first column of ids of a table, and the one with the longest texts, else one of names, not codes."""
    profiles = profile_columns(table, is_whole=False)
    keys, texts = ([one.name for one in profiles if one.looks_like == role] for role in ("id", "text"))
    cells = {name: "".join(_words(table[name])) for name in (*keys, *texts)}
    texts = texts or [name for name in keys if not any(map(str.isdigit, cells[name]))]
    text = max(texts, key=lambda name: len(cells[name]), default=None)
    return next((name for name in keys if name != text), None), text


def _words(column: Any) -> list[str]:
    return ["" if value is None else str(value) for value in column.to_pylist()]
