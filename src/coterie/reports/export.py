"""The points of a map for other programs."""

from __future__ import annotations

from typing import Any

from coterie.reports.projection import Projection
from coterie.reports.subject import Subject

__all__ = ["points_table"]


def points_table(subject: Subject, projection: Projection) -> Any:
    """Return the points of a map as an Arrow table: places, rows, clusters as numbers and as names, ids, texts."""
    import pyarrow

    sample = subject.sample
    columns: dict[str, Any] = {
        "x": projection.points[:, 0].astype("float32"),
        "y": projection.points[:, 1].astype("float32"),
        "row": sample.rows,
        "cluster": sample.labels,
        # DataMapPlot leaves rows without a label unnamed where they are called so.
        "label": ["Unlabeled" if label < 0 else f"cluster {label}" for label in sample.labels],
        "id": sample.ids,
    }
    if sample.texts is not None:
        columns["text"] = sample.texts
    return pyarrow.table(columns)
