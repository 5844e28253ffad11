"""Pictures of the tree of density-based clustering. matplotlib is imported only when a picture is drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from coterie.figures import INK, axes_or_new, counted, plain_ticks, style_of, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_GRAY = "#BBBBBB"

# Leaves of the largest persistence that are drawn, and corners of a cluster in the tree.
_MOST_BARS, _MOST_CORNERS = 200, 400


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


def plot_barcode(model: Any, *, ax: Axes | None = None) -> Axes:
    """Draw for which minimum cluster sizes leaves of the tree exist, and the persistence of the partition at each size.

    Of more than 200 leaves those of the largest persistence are drawn. Leaves of `labels_` are in color, dotted lines
    are the layers.

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
    >>> ax = model.plot_barcode()
    >>> ax.figure.savefig("barcode.png")  # doctest: +SKIP
    """
    found = model._result()
    leaves = found.leaves
    births, deaths = leaves.births.astype(np.int64), leaves.deaths.astype(np.int64)
    weights = leaves.weights()
    kept = np.argsort(-weights, kind="stable")[: min(_MOST_BARS, int(np.sum(deaths > births)))]
    kept = kept[np.lexsort((kept, deaths[kept], births[kept]))]
    numbers = {int(node): label for label, node in enumerate(found.cut.nodes)}
    ax = axes_or_new(ax, (7.0, 4.6))
    colors = [
        style_of(numbers[node], len(numbers))[0] if node in numbers else _GRAY for node in kept.tolist()
    ]
    width = max(0.8, min(6, 200 / max(1, len(kept))))
    ax.hlines(np.arange(len(kept)), births[kept] + 0.5, deaths[kept] + 0.5, colors=colors, linewidth=width)
    sizes = np.append(leaves.least_sizes, deaths.max(initial=1) + 1) - 0.5
    curve = ax.twinx()
    curve.stairs(leaves.persistences, sizes, baseline=None, color=INK, linewidth=1.2)
    curve.set(ylim=(0, None), ylabel="persistence of the partition (line)")
    for size in model.layer_sizes_.tolist():
        ax.axvline(size, color=INK, linewidth=0.8, linestyle=":")
    ax.set(
        xscale="log", yticks=[], xlabel="minimum cluster size", ylabel="leaves of the tree (bars)",
        title=f"{counted(len(model.layers_), 'layer')}; colors: {counted(len(numbers), 'cluster')} "
        f"at a minimum cluster size of {found.size:,}",
    )  # fmt: skip
    plain_ticks(ax.xaxis)
    tidy(ax)
    tidy(curve)
    curve.spines["right"].set(visible=True, color="#999999")
    return ax
