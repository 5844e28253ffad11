"""The map of a clustering: rows in two dimensions with the names of their clusters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from coterie.arrays import FloatArray, IntArray
from coterie.estimators.base import rows_for
from coterie.figures import INK, axes_or_new, short, style_of
from coterie.names import read_names
from coterie.plotting.layout import clusters_of, label_places, lay_out, sample_by_cluster
from coterie.rows import as_rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_ROWS, _MOST_NAMES, _MOST_LETTERS = 10_000, 60, 32

# The color of rows in no cluster.
_NOISE = "#777777"


def cluster_map(
    model: Any,
    X: Any,
    *,
    labels: npt.ArrayLike | None = None,
    names: str | Path | Mapping[int, str] | Sequence[str | None] | None = None,
    projection: Literal["auto", "tsne", "pca"] | npt.ArrayLike = "auto",
    ax: Axes | None = None,
) -> Axes:
    """Draw the rows of a fit in two dimensions with the names of their clusters, as a report does.

    Parameters
    ----------
    model : estimator, or None
        A fitted one; with `labels` there may be none.
    X : array-like, sparse matrix, table or Rows of shape (n, d)
        Rows; of more than 10,000, as many are drawn, some of each cluster.
    labels : array-like of shape (n,), optional
        Clusters of the rows, -1 for none. By default `model.labels_` if X has as many rows, else `model.predict(X)`.
    names : path, mapping or sequence of str, optional
        Names of clusters, such as the `names` of a report, or its file names.csv.
    projection : {"auto", "tsne", "pca"} or array-like of shape (n, 2)
        t-SNE (openTSNE, which "auto" takes if it is installed), principal components, or coordinates of the rows, such
        as those of UMAP.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    ImportError
        If matplotlib, or openTSNE that is asked for, is missing.
    sklearn.exceptions.NotFittedError
        If the model is not fitted.
    ValueError
        If labels or coordinates are not those of the rows.

    Examples
    --------
    >>> import coterie
    >>> X, _ = coterie.datasets.load_iris()
    >>> model = coterie.KMeans(3, random_state=0).fit(X)
    >>> ax = coterie.plotting.cluster_map(model, X, names={0: "setosa"}, projection="pca")
    >>> ax.figure.savefig("map.png")  # doctest: +SKIP
    """
    if model is not None:
        check_is_fitted(model)
    rows = as_rows(X) if model is None else rows_for(model, X)
    clusters = clusters_of(model, rows, labels)
    chosen = sample_by_cluster(clusters, _MOST_ROWS)
    if isinstance(projection, str):
        block, is_graph = rows.take(chosen), getattr(model, "affinity", None) == "precomputed"
        metric = str(getattr(model, "metric", "euclidean"))
        points = lay_out(
            block[:, chosen] if is_graph else block, projection, metric=metric, is_graph=is_graph
        ).points
    else:
        points = np.asarray(projection, dtype=np.float64)
        if points.shape != (rows.shape[0], 2):
            raise ValueError(f"projection must have shape ({rows.shape[0]}, 2), got {points.shape}.")
        points = points[chosen]
    known = {} if names is None else read_names(names)
    count = int(clusters.max(initial=-1)) + 1
    return draw_map(
        axes_or_new(ax, (7.0, 5.6)), points, clusters[chosen],
        [known.get(cluster, str(cluster)) for cluster in range(count)],
    )  # fmt: skip


def draw_map(ax: Axes, points: FloatArray, labels: IntArray, names: list[str]) -> Axes:
    """Draw points with the names of their clusters, the largest first, as far as they cover no other name."""
    size, count = float(np.clip(20_000 / max(len(points), 1), 3, 30)), len(names)
    noise = points[labels < 0]
    ax.scatter(noise[:, 0], noise[:, 1], s=size, c=_NOISE, marker="x", linewidths=0.7)
    # Many clusters have the same style; a call for each would take seconds.
    styles = [style_of(cluster, count) for cluster in range(count)]
    kinds = {style: number for number, style in enumerate(dict.fromkeys(styles))}
    kind_of = np.array([*(kinds[style] for style in styles), -1])[labels]
    for (color, shape), number in kinds.items():
        own = points[kind_of == number]
        ax.scatter(own[:, 0], own[:, 1], s=size, c=color, marker=shape, linewidths=0, alpha=0.65)
    ax.set(xticks=[], yticks=[])
    for spine in ax.spines.values():
        spine.set_visible(False)
    counts = np.bincount(labels[labels >= 0], minlength=count)
    named = [int(i) for i in np.argsort(-counts, kind="stable")[:_MOST_NAMES] if counts[i]]
    if not named:
        return ax
    figure: Any = ax.figure
    figure.draw_without_rendering()
    corner = ax.get_window_extent()
    middles = [np.median(points[labels == cluster], axis=0) for cluster in named]
    anchors = ax.transData.transform(middles) - (corner.x0, corner.y0)
    texts = [
        ax.text(
            0, 0, short(names[cluster], _MOST_LETTERS), transform=None, ha="center", va="center", fontsize=8, color=INK,
            bbox={"boxstyle": "round,pad=0.2", "facecolor": "white", "edgecolor": "none", "alpha": 0.8},
        )
        for cluster in named
    ]  # fmt: skip
    boxes = [text.get_window_extent() for text in texts]
    sizes = np.array([(box.width + 8, box.height + 8) for box in boxes])
    places = label_places(anchors, sizes, (corner.width, corner.height))
    for text, place in zip(texts, places):
        if place is None:
            text.remove()
        else:
            text.set_transform(ax.transAxes)
            text.set_position((place[0] / corner.width, place[1] / corner.height))
    return ax
