"""A picture of memberships. matplotlib is imported only when a picture is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from coterie.figures import FEW_COLOURS, MANY_COLOURS, axes_or_new, counted, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_memberships"]


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
    ax = axes_or_new(ax, (6.4, 4.0))
    colours = FEW_COLOURS if len(shown) <= len(FEW_COLOURS) else MANY_COLOURS
    for number, cluster in enumerate(shown):
        column = np.sort(model.memberships_[:, cluster])[::-1]
        colour = colours[number % len(colours)]
        ax.plot(np.arange(1, n_rows + 1), column, color=colour, linewidth=1.6, label=f"cluster {cluster}")
    sizes = np.bincount(model.labels_, minlength=n_clusters)[shown]
    ax.set(
        xlabel="rows, in the order of their memberships",
        ylabel="membership",
        title=f"{counted(n_rows, 'row')}, memberships in {counted(len(shown), 'cluster')}",
        xlim=(0, min(n_rows, 2.5 * sizes.max(initial=1))),
        ylim=(-0.03, 1.03),
    )
    ax.grid(axis="y", color="#DDDDDD", linewidth=0.8)
    ax.legend(frameon=False, fontsize=8, ncols=2 if len(shown) > 5 else 1)
    tidy(ax)
    return ax
