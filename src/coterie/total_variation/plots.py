"""A picture of memberships. matplotlib is imported only when a picture is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from coterie.figures import axes_or_new, counted, style_of, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_memberships"]

# Height of the strip of a cluster, from 0 to 1; the next strip begins 1 below.
_STRIP = 0.82


def plot_memberships(model: Any, clusters: Sequence[int] | None = None, *, ax: Axes | None = None) -> Axes:
    """Draw the memberships of clusters, each in descending order: steps where they are close to indicators.

    Each cluster has a separate strip from 0 to 1, since steps of clusters of similar size would overlap.
    After Figure 2 of Bresson, Laurent, Uminsky and von Brecht, Multiclass total variation clustering, NeurIPS 2013.

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
        If a cluster does not exist.
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
    sizes = np.bincount(model.labels_, minlength=n_clusters)[shown]
    ax = axes_or_new(ax, (6.4, 1.4 + 0.45 * len(shown)))
    places = -np.arange(len(shown), dtype=float)
    ranks = np.arange(1, n_rows + 1)
    for place, cluster in zip(places, shown):
        curve = place + _STRIP * np.sort(model.memberships_[:, cluster])[::-1]
        color, _ = style_of(cluster, n_clusters)
        ax.plot(ranks, curve, color=color, linewidth=1.4, label=f"cluster {cluster}")
        ax.fill_between(ranks, place, curve, color=color, alpha=0.25, linewidth=0)
    # Until all of them have come down.
    last = int(np.sum(model.memberships_[:, shown] > 0.02, axis=0).max(initial=1))
    ax.set(
        xlabel="rows, in the order of their memberships",
        title=f"total-variation: {counted(n_rows, 'row')}, memberships in {counted(len(shown), 'cluster')}",
        xlim=(0, min(n_rows, 1.15 * last)),
        ylim=(places[-1] - 0.1, 1.0),
    )
    names = [f"cluster {cluster}: {counted(size, 'row')}" for cluster, size in zip(shown, sizes)]
    ax.set_yticks(places + _STRIP / 2, names)
    ax.hlines([*places, *(places + _STRIP)], 0, n_rows, color="#DDDDDD", linewidth=0.6, zorder=0)
    tidy(ax)
    ax.spines["left"].set_visible(False)
    ax.tick_params(axis="y", length=0)
    return ax
