"""A picture of the tree of density-based clustering. matplotlib is imported only when it is drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from coterie.figures import axes_or_new, counted, plain_ticks, style_of, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_GRAY = "#BBBBBB"

# Corners of a cluster in the tree.
_MOST_CORNERS = 400


def plot_condensed_tree(model: Any, *, ax: Axes | None = None) -> Axes:
    """Draw the condensed tree: the clusters of at least `min_cluster_size_` rows, as wide as they have rows.

    From the top down the distance falls: rows leave clusters, and clusters split. Those of `labels_` are in color.

    Parameters
    ----------
    model : DensityClustering
        Fitted.
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
        If the model is not fitted.

    Examples
    --------
    >>> import coterie
    >>> model = coterie.DensityClustering().fit(coterie.datasets.load_digits()[0])
    >>> ax = model.plot_tree()
    >>> ax.figure.savefig("tree.png")  # doctest: +SKIP
    """
    tree, found = model.condensed_tree_, model._result()
    ax = axes_or_new(ax, (7.0, 4.6))
    n_rows, root = len(model.labels_), len(model.labels_)
    with np.errstate(divide="ignore"):
        distances = np.where(np.isinf(tree.lambda_val), 0.0, 1 / tree.lambda_val)
    lowest = distances[distances > 0].min(initial=np.inf)
    lowest, highest = (lowest, float(distances.max())) if np.isfinite(lowest) else (1.0, 1.0)
    distances = np.maximum(distances, lowest)
    firsts = np.searchsorted(tree.parent, np.arange(root, tree.parent.max() + 2))
    tops = np.flatnonzero(found.leaves.tree.condensed(found.size).is_top)[::-1]
    selected = {
        root + int(np.flatnonzero(tops == node)[0]): label for label, node in enumerate(found.cut.nodes)
    }
    begin, top = {root: 0.0}, {root: highest * 1.1}
    for cluster in range(root, root + len(firsts) - 1):
        own = slice(firsts[cluster - root], firsts[cluster - root + 1])
        children, sizes, at = tree.child[own], tree.child_size[own], distances[own]
        size, inner = int(sizes.sum()), children >= root
        place = begin[cluster] + (size - sizes[inner].sum()) / 2
        for child, width, height in zip(children[inner].tolist(), sizes[inner].tolist(), at[inner].tolist()):
            begin[child], top[child] = place, height
            place += width
        heights, places = np.unique(at, return_inverse=True)
        widths = np.cumsum(np.bincount(places, sizes))
        drawn = np.unique(np.linspace(0, len(heights) - 1, _MOST_CORNERS).astype(int))
        heights, widths = np.append(heights[drawn], top[cluster]), np.append(widths[drawn], size)
        middle = begin[cluster] + size / 2
        color = style_of(selected[cluster], len(selected))[0] if cluster in selected else _GRAY
        ax.fill_betweenx(
            heights, middle - widths / 2, middle + widths / 2, step="pre", color=color, linewidth=0.2
        )
    ax.set(
        yscale="log", ylim=(lowest, highest * 1.1), xlim=(0, n_rows), xticks=[], ylabel="mutual reachability distance",
        xlabel=f"widths: numbers of rows, of {n_rows:,}",
        title=f"Condensed tree at a minimum cluster size of {model.min_cluster_size_:,}: "
        f"{counted(len(selected), 'cluster')}",
    )  # fmt: skip
    plain_ticks(ax.yaxis)
    tidy(ax)
    return ax
