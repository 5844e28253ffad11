"""Data of the map for the script of the page: positions, labels, texts, columns, clusters."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
import scipy.sparse as sp

from coterie.arrays import Array, IndexArray, IntArray
from coterie.blocks.kernel_rows import dense
from coterie.figures import short
from coterie.plotting.layout import Layout
from coterie.reports.describe import Clusters, Matter, category_codes, numbers_of, original_units
from coterie.reports.quality import Quality
from coterie.reports.subject import Subject

# Characters of all texts on the page, and of one text.
_TEXT_CHARACTERS, _MOST_OF_TEXT, _MOST_OF_ID = 1_600_000, 300, 60

# Columns of the page: clustered ones, and others.
_MOST_CLUSTERED, _MOST_KEPT = 20, 12

_MOST_CLUSTERS, _MOST_NAMED_LAYERS = 2_000, 20


def explorer_data(subject: Subject, layout: Layout, clusters: Clusters, quality: Quality) -> dict[str, Any]:
    """Return what `page.js` reads, ready for JSON; arrays are base64 of little-endian numbers."""
    sample = subject.sample
    low = layout.points.min(axis=0)
    extent = max(float(np.ptp(layout.points, axis=0).max()), 1e-300)
    places = np.round((layout.points - low) / extent * 65_535)
    length = int(np.clip(_TEXT_CHARACTERS / max(len(sample.rows), 1), 20, _MOST_OF_TEXT))
    layers, start = _layers(subject)
    return {
        "rows": _packed(sample.rows, "<f8"),
        "nRows": subject.rows.shape[0],
        "x": _packed(places[:, 0], "<u2"),
        "y": _packed(places[:, 1], "<u2"),
        "idName": "id" if (subject.id_name or "").startswith("__index_level") else subject.id_name or "row",
        "ids": None if subject.id_name is None else [short(name, _MOST_OF_ID) for name in sample.ids],
        "textName": subject.text_name,
        "texts": None if sample.texts is None else [short(text, length) for text in sample.texts],
        "layers": layers,
        "start": start,
        "columns": _columns(subject, clusters),
        "clusters": [
            {
                "name": clusters.names[cluster],
                "size": int(subject.sizes[cluster]),
                **{
                    name: round(float(values[cluster]), 3)
                    for name, values in quality.measures.items()
                    if np.isfinite(values[cluster])
                },
                "terms": clusters.terms[cluster],
                "exemplars": clusters.exemplars[cluster],
                "borderline": clusters.borderline[cluster],
            }
            for cluster in range(min(subject.n_clusters, _MOST_CLUSTERS))
        ],
    }


def _layers(subject: Subject) -> tuple[list[dict[str, Any]], int]:
    """Return the labels of the sample in each layer of the model, and which layer the report is of."""
    sample, model = subject.sample, subject.model
    n_rows = len(subject.labels)
    own = {"title": "", "labels": _packed(sample.labels, "<i4"), "clusters": None}
    gammas, layers = getattr(model, "gammas_", None), getattr(model, "layers_", None)
    if gammas is not None and np.shape(model.labels_path_)[1] == n_rows:
        found: Any = model.labels_path_
        titles = [
            f"gamma {gamma:.4g}: {count:,} clusters, duality gap {gap:.3g}"
            for gamma, count, gap in zip(gammas, model.n_clusters_path_, model.dual_gaps_)
        ]
    elif layers is not None and len(layers) > 1 and np.shape(layers)[1] == n_rows:
        found = layers
        titles = [
            f"minimum cluster size {size:,}: {int(labels.max()) + 1:,} clusters"
            for size, labels in zip(model.layer_sizes_, layers)
        ]
    else:
        return [own], 0
    matter = Matter.of(subject) if len(found) <= _MOST_NAMED_LAYERS else None
    at = [place for place, labels in enumerate(found) if np.array_equal(labels, subject.labels)]
    made = [
        own | {"title": title}
        if at[:1] == [place]
        else {
            "title": title,
            "labels": _packed(labels[sample.rows], "<i4"),
            "clusters": None if matter is None else _clusters_of_layer(matter, labels, sample.rows),
        }
        for place, (title, labels) in enumerate(zip(titles, found))
    ]
    return (made, at[0]) if at else ([own | {"title": "clusters of this report"}, *made], 0)


def _clusters_of_layer(matter: Matter, labels: IntArray, rows: IndexArray) -> list[dict[str, Any]]:
    sizes = np.bincount(labels[labels >= 0], minlength=1)
    own = labels[rows]
    names = matter.names(matter.terms(own, len(sizes)), matter.traits(own, sizes), len(sizes))
    return [{"name": name, "size": int(size)} for name, size in zip(names, sizes)]


def _columns(subject: Subject, clusters: Clusters) -> list[dict[str, Any]]:
    """Return measures, kept columns and the most distinctive clustered ones."""
    sample = subject.sample
    found = [
        {"name": name.replace("_", " "), "kind": "measure", "values": _packed(values[sample.rows], "<f4")}
        for name, values in subject.placement.measures.items()
    ]
    kept = [name for name in sample.metadata if name not in (subject.id_name, subject.text_name)]
    for name in kept[:_MOST_KEPT]:
        values = _values(sample.metadata[name])
        if values is not None:
            found.append({"name": name, "kind": "kept", **values})
    if clusters.traits:
        strength = np.array([np.abs(trait.effects).max() for trait in clusters.traits])
        order = np.sort(np.argsort(-strength, kind="stable")[:_MOST_CLUSTERED])
        block = sample.block
        if not sp.issparse(block):  # sparse rows are not scaled
            original = original_units(block, subject.rows.preparation)
            block = block if original is None else original
        for i in order.tolist():
            trait = clusters.traits[i]
            packed = _packed(dense(block[:, [trait.column]])[:, 0], "<f4")
            found.append({"name": trait.name, "kind": "clustered", "values": packed})
    return found


def _values(column: Any) -> dict[str, Any] | None:
    """Return a column as numbers or as codes of few categories; None where it has neither."""
    values = numbers_of(column)
    if values is not None:
        return {"values": _packed(values, "<f4")}
    codes = category_codes(column)
    return None if codes is None else {"categories": codes[0], "values": _packed(codes[1], "<f4")}


def _packed(values: Array, dtype: str) -> str:
    return base64.b64encode(np.ascontiguousarray(values.astype(dtype)).tobytes()).decode("ascii")
