"""Curves of one fit over time, and of several fits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from coterie.estimators import OBJECTIVE, Progress
from coterie.figures import FEW_COLORS, axes_or_new, counted, require_matplotlib, tidy
from coterie.methods import method_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_history(model: Any, *, ax: Axes | None = None) -> Axes:
    """Draw the objective of a fit, or another field of its history, against seconds.

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
    method = method_of(model)
    watched = method.watched if method else OBJECTIVE
    reports = method.progress if method else Progress()
    ax.plot(
        seconds,
        objective,
        color=FEW_COLORS[0],
        linewidth=1.8,
        marker="o" if len(seconds) <= 60 else None,
        markersize=4,
    )
    ax.set(
        xlabel="seconds",
        ylabel=f"{watched.name} {watched.unit}".rstrip(),
        title=f"{type(model).__name__}: {counted(len(seconds), reports.step)}",
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
    """Draw curves of several fits on logarithmic axes.

    Parameters
    ----------
    curves : mapping of str to (x, y)
        A name and the points of its curve, such as seconds and relative excess of the objective; non-positive ones are
        left out.
    xlabel, ylabel, title : str
        Labels of the axes, and the title.
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
        color = FEW_COLORS[number % len(FEW_COLORS)]
        ax.plot(x[shown], y[shown], color=color, linewidth=1.8, marker="o", markersize=2.5, label=name)
    ax.set(xscale="log", yscale="log", xlabel=xlabel, ylabel=ylabel, title=title)
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axis.set_major_formatter("{x:g}")
        axis.set_minor_formatter(NullFormatter())
    ax.grid(color="#DDDDDD", linewidth=0.8)
    ax.legend(frameon=False, fontsize=9)
    tidy(ax)
    return ax
