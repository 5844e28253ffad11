"""Curves: a fit against its seconds, several fits against each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from coterie.figures import (
    FEW_COLOURS,
    MANY_COLOURS,
    axes_or_new,
    counted,
    require_matplotlib,
    tidy,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes


__all__ = ["plot_curves", "plot_history", "plot_memberships"]


def plot_history(model: Any, *, ax: Axes | None = None) -> Axes:
    """Objective against seconds of a fit.

    Parameters
    ----------
    model : estimator
        Fitted, with `history_`.
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
    >>> from coterie import KMeans
    >>> from coterie.datasets import load_iris
    >>> from coterie.plotting import plot_history
    >>> X, _ = load_iris()
    >>> ax = plot_history(KMeans(n_clusters=3, random_state=0).fit(X))
    >>> ax.figure.savefig("history.png")  # doctest: +SKIP
    """
    check_is_fitted(model, "history_")
    ax = axes_or_new(ax, (6.4, 4.0))
    seconds, objective = model.history_["seconds"], model.history_["objective"]
    ax.plot(
        seconds,
        objective,
        color=FEW_COLOURS[0],
        linewidth=1.8,
        marker="o" if len(seconds) <= 60 else None,
        markersize=4,
    )
    ax.set(
        xlabel="seconds",
        ylabel="free energy per row" if hasattr(model, "lower_bound_") else "objective",
        title=f"{type(model).__name__}: {counted(len(seconds), 'iteration')}",
    )
    ax.set_xlim(left=0)
    ax.margins(y=0.08)
    ax.grid(axis="y", color="#DDDDDD", linewidth=0.8)
    tidy(ax)
    return ax


def plot_curves(
    curves: Mapping[str, tuple[npt.ArrayLike, npt.ArrayLike]],
    *,
    xlabel: str,
    ylabel: str,
    title: str = "",
    ax: Axes | None = None,
) -> Axes:
    """Draw several fits against each other, on logarithmic axes.

    Parameters
    ----------
    curves : mapping of str to (x, y)
        A name and the points of its curve, such as seconds and what is left to gain by then; not positive ones are
        left out.
    xlabel, ylabel, title : str
        What is drawn.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    ImportError
        If matplotlib is missing.

    Examples
    --------
    >>> from coterie.plotting import plot_curves
    >>> curves = {"slow": ([0.1, 1, 10], [0.3, 0.1, 0.01]), "fast": ([0.1, 1], [0.1, 0.01])}
    >>> ax = plot_curves(curves, xlabel="seconds", ylabel="relative excess")
    >>> ax.get_xscale()
    'log'
    """
    require_matplotlib()
    from matplotlib.ticker import LogLocator, NullFormatter

    ax = axes_or_new(ax, (6.4, 4.0))
    for number, (name, (x, y)) in enumerate(curves.items()):
        x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
        shown = (x > 0) & (y > 0)
        colour = FEW_COLOURS[number % len(FEW_COLOURS)]
        ax.plot(x[shown], y[shown], color=colour, linewidth=1.8, marker="o", markersize=2.5, label=name)
    ax.set(xscale="log", yscale="log", xlabel=xlabel, ylabel=ylabel, title=title)
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axis.set_major_formatter("{x:g}")
        axis.set_minor_formatter(NullFormatter())
    ax.grid(color="#DDDDDD", linewidth=0.8)
    ax.legend(frameon=False, fontsize=9)
    tidy(ax)
    return ax


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
