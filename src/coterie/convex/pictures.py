"""Pictures of the paths of convex clustering. matplotlib is imported only when a picture is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from coterie.arrays import Array, IndexArray
from coterie.figures import axes_or_new, counted, require_matplotlib, style_of, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["longest_lived", "plot_path", "plot_path_dendrogram"]


_MOST_PATHS = 2000
_MOST_NAMED = 80
_MOST_LEAVES = 60
_MOST_CHOSEN = 10
_GREY = "#999999"


def longest_lived(path: Any) -> int:
    """Return the number of clusters, from 2 to 10, that lasts for the longest factor of gamma.

    Parameters
    ----------
    path : ConvexClusterPath
        Fitted.

    Returns
    -------
    int
        That at the last gamma if the path has no such number.

    Examples
    --------
    >>> import numpy as np
    >>> from coterie import ConvexClusterPath
    >>> from coterie.convex.pictures import longest_lived
    >>> X = np.array([[0.0], [0.1], [9.0], [9.1]])
    >>> longest_lived(ConvexClusterPath(n_gammas=40, weights="dense", phi=0.0).fit(X))
    2
    """
    counts, gammas = path.n_clusters_path_[:-1], path.gammas_
    spans = np.diff(np.log(np.maximum(gammas, gammas[gammas > 0].min(initial=1.0))))
    lives = {int(count): spans[counts == count].sum() for count in counts if 2 <= count <= _MOST_CHOSEN}
    return max(lives, key=lambda count: (lives[count], count)) if lives else int(path.n_clusters_path_[-1])


def plot_path(path: Any, *, n_clusters: int | None = None, ax: Axes | None = None) -> Axes:
    """Draw where the centroids go as gamma grows, over the first two principal components of the rows.

    Of more than 2,000 rows, 2,000 random ones are drawn.

    Parameters
    ----------
    path : ConvexClusterPath
        Fitted.
    n_clusters : int, optional
        The first gamma with at most so many clusters gives the colours; its centroids are marked. None: the number
        that lasts longest, see `longest_lived`.
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
    >>> ax = ConvexClusterPath(n_gammas=20, phi=4.0).fit(load_iris()[0]).plot(n_clusters=3)
    >>> ax.figure.savefig("path.png")  # doctest: +SKIP
    """
    check_is_fitted(path, "centroids_path_")
    require_matplotlib()
    from matplotlib.collections import LineCollection

    chosen = path.index_at(longest_lived(path) if n_clusters is None else n_clusters)
    labels = path.labels_path_[chosen]
    drawn = _drawn_rows(len(labels))
    curves, shares = _projected(path.centroids_path_[:, drawn])
    n_shown = int(labels.max()) + 1
    colours = np.array([style_of(label, n_shown)[0] for label in range(n_shown)])[labels[drawn]]
    ax = axes_or_new(ax, (7.0, 5.6))
    ax.add_collection(
        LineCollection(list(curves.transpose(1, 0, 2)), colors=colours, linewidths=0.7, alpha=0.45)
    )
    size = float(np.clip(6000 / len(drawn), 4, 22))
    ax.scatter(curves[0, :, 0], curves[0, :, 1], s=size, c=colours, linewidths=0, zorder=2)
    first = np.unique(labels[drawn], return_index=True)[1]
    marks = curves[chosen, first]
    ax.scatter(marks[:, 0], marks[:, 1], s=90, c="white", edgecolors=colours[first], linewidths=2, zorder=3)
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
    """Draw the tree of a path: at which gamma clusters become one.

    Of more than 80 rows the last 60 clusters are drawn, with their numbers of rows.

    Parameters
    ----------
    path : ConvexClusterPath
        Fitted.
    names : sequence of shape (n,), optional
        What to call the rows; by default their numbers.
    n_clusters : int, optional
        Colours as in `plot_path`.
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
    >>> path = ConvexClusterPath(n_gammas=40, phi=0.5).fit(mammals.data)
    >>> ax = path.plot_dendrogram(names=mammals.row_names)
    >>> ax.figure.savefig("dendrogram.png")  # doctest: +SKIP
    """
    check_is_fitted(path, "linkage_")
    require_matplotlib()
    from matplotlib.ticker import LogLocator, NullFormatter
    from scipy.cluster.hierarchy import dendrogram

    n_rows = path.labels_path_.shape[1]
    if names is not None and len(names) != n_rows:
        raise ValueError(f"names must have one entry for each of the {n_rows} rows, got {len(names)}.")
    labels_path = path.labels_path_
    n_rows = labels_path.shape[1]
    if n_rows == 1:
        raise ValueError("A single row has no tree.")
    chosen = path.index_at(longest_lived(path) if n_clusters is None else n_clusters)
    cut = float(path.gammas_[chosen])
    is_whole = n_rows <= _MOST_NAMED
    ax = axes_or_new(ax, (max(7.0, 0.16 * min(n_rows, _MOST_LEAVES)), 4.6))
    dendrogram(
        path.linkage_,
        ax=ax,
        labels=[str(name) for name in names] if names is not None and is_whole else None,
        link_color_func=_link_colours(path.linkage_, cut, labels_path[chosen]),
        leaf_rotation=90,
        leaf_font_size=8,
        **({} if is_whole else {"truncate_mode": "lastp", "p": _MOST_LEAVES}),
    )
    collections: list[Any] = list(ax.collections)
    heights = [segment[1, 1] for links in collections for segment in links.get_segments()]
    lowest = min((height for height in heights if height > 0), default=1.0)
    ax.set(yscale="log", ylim=(lowest / 1.5, path.linkage_[-1, 2] * 1.3), ylabel="gamma")
    ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    ax.yaxis.set_major_formatter("{x:g}")
    ax.yaxis.set_minor_formatter(NullFormatter())
    for links in ax.collections:
        links.set_linewidth(1.3)
    ax.axhline(max(cut, lowest / 1.5), color=_GREY, linewidth=0.8, linestyle=":")
    ax.set_title(f"convex clustering: {counted(n_rows, 'row')}; colours: clusters at gamma = {cut:.3g}")
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
    from sklearn.decomposition import PCA  # takes a tenth of a second, for those who draw no path

    n_components = min(2, curves.shape[1], curves.shape[2])
    with np.errstate(invalid="ignore", divide="ignore"):
        pca = PCA(n_components, random_state=0).fit(curves[0])
    flat = pca.transform(curves.reshape(-1, curves.shape[2])).reshape(*curves.shape[:2], n_components)
    shares = [float(share) if np.isfinite(share) else 0.0 for share in pca.explained_variance_ratio_]
    return np.concatenate([flat, np.zeros((*curves.shape[:2], 2 - n_components))], axis=2), shares


def _link_colours(linkage: Array, cut: float, labels: Array) -> Any:
    """Return the colour of each node of the tree: below the cut that of its cluster in `plot_path`, grey above."""
    n_rows, n_clusters = len(labels), int(labels.max()) + 1

    def colour(node: int) -> str:
        if linkage[node - n_rows, 2] > cut:
            return _GREY
        while node >= n_rows:
            node = int(linkage[node - n_rows, 0])
        return style_of(int(labels[node]), n_clusters)[0]

    return colour
