"""A picture of memberships. matplotlib is imported only when a picture is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from coterie.arrays import Array
from coterie.estimators.method import name_of
from coterie.figures import axes_or_new, counted, style_of, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_memberships"]

# Of the numbers on the curves: those of clusters of about the same size stand one above the other.
_HEIGHTS = (0.86, 0.68, 0.5, 0.32, 0.14)


def plot_memberships(model: Any, clusters: Sequence[int] | None = None, *, ax: Axes | None = None) -> Axes:
    """Memberships of some clusters, each in descending order: sharp steps where they are near indicators.

    As Figure 2 of Bresson, Laurent, Uminsky and von Brecht, Multiclass total variation clustering, NeurIPS 2013.

    Parameters
    ----------
    model : estimator
        Fitted, with `memberships_` of shape (n, R).
    clusters : sequence of int, optional
        Which ones; by default the first ten.
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
        If there is no such cluster.
    sklearn.exceptions.NotFittedError
        If the model is not fitted.

    Examples
    --------
    >>> from coterie import TotalVariationClustering
    >>> from coterie.datasets import load_iris
    >>> from coterie.plotting import plot_memberships
    >>> X, _ = load_iris()
    >>> ax = plot_memberships(TotalVariationClustering(3, n_init=2, random_state=0).fit(X))
    >>> ax.figure.savefig("memberships.png")  # doctest: +SKIP
    """
    check_is_fitted(model, "memberships_")
    n_rows, n_clusters = model.memberships_.shape
    shown = list(range(min(n_clusters, 10))) if clusters is None else list(clusters)
    if any(not 0 <= cluster < n_clusters for cluster in shown):
        raise ValueError(f"clusters must be from 0 to {n_clusters - 1}, got {shown}.")
    ax = axes_or_new(ax, (7.6, 4.0))
    sizes = np.bincount(model.labels_, minlength=n_clusters)[shown]
    for cluster, size in zip(shown, sizes):
        column = np.sort(model.memberships_[:, cluster])[::-1]
        colour, _ = style_of(cluster, n_clusters)
        label = f"cluster {cluster}: {counted(size, 'row')}"
        ax.plot(np.arange(1, n_rows + 1), column, color=colour, linewidth=1.6, label=label)
    _number_steps(ax, model.memberships_, shown)
    ax.set(
        xlabel="rows, in the order of their memberships",
        ylabel="membership",
        title=f"{name_of(model)}: {counted(n_rows, 'row')}, memberships in {counted(len(shown), 'cluster')}",
        xlim=(0, min(n_rows, 2.5 * sizes.max(initial=1))),
        ylim=(-0.03, 1.03),
    )
    ax.grid(axis="y", color="#DDDDDD", linewidth=0.8)
    # Beside the curves, which fill the axes.
    ax.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
    tidy(ax)
    return ax


def _number_steps(ax: Axes, memberships: Array, shown: Sequence[int]) -> None:
    """Write the number of each cluster at its step, at heights of their own where steps are near each other."""
    n_clusters = memberships.shape[1]
    for place, cluster in enumerate(sorted(shown, key=lambda cluster: np.sum(memberships[:, cluster] > 0.5))):
        column = np.sort(memberships[:, cluster])[::-1]
        height = _HEIGHTS[place % len(_HEIGHTS)]
        step = int(np.sum(column > height))
        ax.annotate(
            str(cluster),
            (step, height),
            ha="center",
            va="center",
            fontsize=8,
            color=style_of(cluster, n_clusters)[0],
            bbox={"boxstyle": "circle,pad=0.15", "facecolor": "white", "edgecolor": "none"},
        )
