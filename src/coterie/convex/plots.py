"""Plots of convex clustering paths. matplotlib is imported on use only."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from coterie.arrays import Array, IndexArray
from coterie.figures import axes_or_new, counted, plain_ticks, require_matplotlib, style_of, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_MOST_PATHS = 2000
_MOST_NAMED = 80
_MOST_LEAVES = 60
_GRAY = "#999999"


def plot_path(path: Any, *, n_clusters: int | None = None, ax: Axes | None = None) -> Axes:
    """Draw the paths of the centroids with growing gamma, over the first two principal components of the rows.

    Of more than 2,000 rows, 2,000 random ones are drawn.

    Parameters
    ----------
    path : ConvexClusterPath
        Fitted.
    n_clusters : int, optional
        Colors are the clusters of the first gamma with at most this number of clusters; its centroids are marked. None:
        `n_clusters_`.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    ImportError
        If matplotlib is missing.
    sklearn.exceptions.NotFittedError
        If the path is not fitted.

    References
    ----------
    Chi and Lange 2015, Figures 2 to 4.

    Examples
    --------
    >>> from coterie import ConvexClusterPath
    >>> from coterie.datasets import load_iris
    >>> ax = ConvexClusterPath(n_gammas=20, distance_decay=4.0).fit(load_iris()[0]).plot(n_clusters=3)
    >>> ax.figure.savefig("path.png")  # doctest: +SKIP
    """
    check_is_fitted(path, "labels_path_")
    require_matplotlib()
    from matplotlib.collections import LineCollection

    chosen = path.index_at(path.n_clusters_ if n_clusters is None else n_clusters)
    labels = path.labels_path_[chosen]
    drawn = _drawn_rows(len(labels))
    curves, shares = _projected(path.centroids_of(drawn))
    n_shown = int(labels.max()) + 1
    colors = np.array([style_of(label, n_shown)[0] for label in range(n_shown)])[labels[drawn]]
    ax = axes_or_new(ax, (7.0, 5.6))
    ax.add_collection(
        LineCollection(list(curves.transpose(1, 0, 2)), colors=colors, linewidths=0.7, alpha=0.45)
    )
    size = float(np.clip(6000 / len(drawn), 4, 22))
    ax.scatter(curves[0, :, 0], curves[0, :, 1], s=size, c=colors, linewidths=0, zorder=2)
    first = np.unique(labels[drawn], return_index=True)[1]
    marks = curves[chosen, first]
    ax.scatter(marks[:, 0], marks[:, 1], s=90, c="white", edgecolors=colors[first], linewidths=2, zorder=3)
    names = [f"principal component {i + 1} ({share:.0%})" for i, share in enumerate(shares)]
    ax.set(
        xlabel=names[0],
        ylabel=names[1] if len(names) > 1 else "",
        title=f"convex clustering: {counted(len(labels), 'row')}, {counted(n_shown, 'cluster')} at gamma = "
        f"{path.gammas_[chosen]:.3g}",
    )
    if len(names) == 1:
        ax.set_yticks([])
    ax.margins(0.05)
    ax.autoscale_view()
    tidy(ax)
    return ax


def plot_path_dendrogram(
    path: Any, *, names: Sequence[Any] | None = None, n_clusters: int | None = None, ax: Axes | None = None
) -> Axes:
    """Draw the tree of a path: the gamma at which clusters fuse.

    Of more than 80 rows the last 60 clusters are drawn, with their numbers of rows.

    Parameters
    ----------
    path : ConvexClusterPath
        Fitted.
    names : sequence of shape (n,), optional
        Names of the rows. Default: their numbers.
    n_clusters : int, optional
        Colors as in `plot_path`.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    ImportError
        If matplotlib is missing.
    ValueError
        If there is not one name per row, or only one row.

    Examples
    --------
    >>> from coterie import ConvexClusterPath
    >>> from coterie.datasets import load_mammals
    >>> mammals = load_mammals()
    >>> path = ConvexClusterPath(n_gammas=40, distance_decay=0.5).fit(mammals.data)
    >>> ax = path.plot_dendrogram(names=mammals.row_names)
    >>> ax.figure.savefig("dendrogram.png")  # doctest: +SKIP
    """
    check_is_fitted(path, "linkage_")
    require_matplotlib()
    from scipy.cluster.hierarchy import dendrogram

    n_rows = path.labels_path_.shape[1]
    if names is not None and len(names) != n_rows:
        raise ValueError(f"names must have one entry for each of the {n_rows} rows, got {len(names)}.")
    if n_rows == 1:
        raise ValueError("A single row has no tree.")
    chosen = path.index_at(path.n_clusters_ if n_clusters is None else n_clusters)
    cut = float(path.gammas_[chosen])
    is_whole = n_rows <= _MOST_NAMED
    ax = axes_or_new(ax, (max(7.0, 0.16 * min(n_rows, _MOST_LEAVES)), 4.6))
    with warnings.catch_warnings():
        # Equal rows are merged at 0, which is no range of an axis; the range is set below.
        warnings.filterwarnings("ignore", "Attempting to set identical")
        dendrogram(
            path.linkage_,
            ax=ax,
            labels=[str(name) for name in names] if names is not None and is_whole else None,
            link_color_func=_link_colors(path.linkage_, cut, path.labels_path_[chosen]),
            leaf_rotation=90,
            leaf_font_size=8,
            **({} if is_whole else {"truncate_mode": "lastp", "p": _MOST_LEAVES}),
        )
    collections: list[Any] = list(ax.collections)
    heights = [segment[1, 1] for links in collections for segment in links.get_segments()]
    lowest = min((height for height in heights if height > 0), default=1.0)
    ax.set(yscale="log", ylim=(lowest / 1.5, path.linkage_[-1, 2] * 1.3 or 1.0), ylabel="gamma")
    plain_ticks(ax.yaxis)
    for links in ax.collections:
        links.set_linewidth(1.3)
    ax.axhline(max(cut, lowest / 1.5), color=_GRAY, linewidth=0.8, linestyle=":")
    ax.set_title(f"convex clustering: {counted(n_rows, 'row')}; colors: clusters at gamma = {cut:.3g}")
    tidy(ax)
    ax.spines["bottom"].set_visible(False)
    ax.tick_params(axis="x", length=0)
    return ax


def _drawn_rows(n_rows: int) -> IndexArray:
    if n_rows <= _MOST_PATHS:
        return np.arange(n_rows)
    return np.sort(np.random.default_rng(0).choice(n_rows, _MOST_PATHS, replace=False))


def _projected(curves: Array) -> tuple[Array, list[float]]:
    """Return the curves on the components of their first points, and the share of variance of each component."""
    from sklearn.decomposition import PCA  # imported here because it takes a tenth of a second

    n_components = min(2, curves.shape[1], curves.shape[2])
    with np.errstate(invalid="ignore", divide="ignore"):
        pca = PCA(n_components, random_state=0).fit(curves[0])
    flat = pca.transform(curves.reshape(-1, curves.shape[2])).reshape(*curves.shape[:2], n_components)
    shares = [float(share) if np.isfinite(share) else 0.0 for share in pca.explained_variance_ratio_]
    return np.concatenate([flat, np.zeros((*curves.shape[:2], 2 - n_components))], axis=2), shares


def _link_colors(linkage: Array, cut: float, labels: Array) -> Any:
    """Return the color of each node of the tree: below the cut that of its cluster in `plot_path`, gray above."""
    n_rows, n_clusters = len(labels), int(labels.max()) + 1

    def color(node: int) -> str:
        if linkage[node - n_rows, 2] > cut:
            return _GRAY
        while node >= n_rows:
            node = int(linkage[node - n_rows, 0])
        return style_of(int(labels[node]), n_clusters)[0]

    return color
