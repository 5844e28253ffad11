"""HTML of a fitted estimator in notebooks: sizes of clusters, a map of their centers."""

from __future__ import annotations

import html
from typing import Any

import numpy as np

from coterie.arrays import FloatArray
from coterie.figures import style_of

_MOST_SIZES, _MOST_CENTERS, _MOST_NUMBERED = 12, 300, 30
_WIDTH, _HEIGHT = 260, 180


def fitted_html(model: Any) -> str:
    """Return HTML with the sizes of the clusters and their centers on two principal components; "" before a
    fit.
    """
    labels = getattr(model, "labels_", None)
    if labels is None or np.ndim(labels) != 1 or not len(labels):
        return ""
    sizes = np.bincount(labels[labels >= 0])
    shown = ", ".join(f"{size:,}" for size in sizes[:_MOST_SIZES])
    more = f", and {len(sizes) - _MOST_SIZES:,} more" if len(sizes) > _MOST_SIZES else ""
    noise = int(np.count_nonzero(labels < 0))
    text = f"{len(sizes):,} clusters of {len(labels):,} rows: {shown}{more}" + (
        f"; {noise:,} in none" if noise else ""
    )
    centers = getattr(model, "cluster_centers_", None)
    has_map = isinstance(centers, np.ndarray) and centers.ndim == 2 and len(centers) == len(sizes) > 1
    picture = _map(np.asarray(centers, np.float64), sizes) if has_map and len(sizes) <= _MOST_CENTERS else ""
    caption = f"<figcaption>{html.escape(text)}</figcaption>"
    return f'<figure style="margin: 0.5em 0; font-size: 13px">{caption}{picture}</figure>'


def _map(centers: FloatArray, sizes: Any) -> str:
    """Return an SVG with a disc for each center, its area proportional to the size of the cluster."""
    around = centers - centers.mean(axis=0)
    _, _, axes = np.linalg.svd(around, full_matrices=False)
    points = np.zeros((len(centers), 2))
    points[:, : min(2, len(axes))] = around @ axes[:2].T
    radii = np.maximum(22 * np.sqrt(sizes / sizes.max()), 3)
    extent = np.maximum(np.ptp(points, axis=0), 1e-300)
    scale = min((_WIDTH - 56) / extent[0], (_HEIGHT - 56) / extent[1])
    places = (points - points.min(axis=0) - extent / 2) * scale + (_WIDTH / 2, _HEIGHT / 2)
    discs = []
    for cluster in np.argsort(-sizes, kind="stable").tolist():
        (x, y), color = places[cluster], style_of(cluster, len(sizes))[0]
        discs.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radii[cluster]:.1f}" fill="{color}" fill-opacity="0.6"/>'
        )
        if len(sizes) <= _MOST_NUMBERED:
            discs.append(
                f'<text x="{x:.1f}" y="{y + 4:.1f}" text-anchor="middle" fill="currentColor">{cluster}</text>'
            )
    return (
        f'<svg width="{_WIDTH}" height="{_HEIGHT}" viewBox="0 0 {_WIDTH} {_HEIGHT}" font-size="11" role="img" '
        f'aria-label="Cluster centers on two principal components">{"".join(discs)}</svg>'
    )
