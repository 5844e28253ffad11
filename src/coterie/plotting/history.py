"""The curve of a fit over time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sklearn.utils.validation import check_is_fitted

from coterie.estimators import OBJECTIVE
from coterie.figures import FEW_COLORS, axes_or_new, counted, tidy
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
    step = draw_objective(ax, model, "seconds")
    ax.set(title=f"{type(model).__name__}: {counted(len(model.history_), step)}")
    ax.set_xlim(left=0)
    ax.margins(y=0.08)
    return ax


def draw_objective(ax: Axes, model: Any, against: str = "") -> str:
    """Draw the objective of a fit against a field of its history, by default its steps, whose name is returned."""
    method, history = method_of(model), model.history_
    watched, step = (method.watched, method.progress.step) if method else (OBJECTIVE, "iteration")
    marker = "o" if len(history) <= 60 else None
    x = history[against or "iteration"]
    ax.plot(x, history["objective"], color=FEW_COLORS[0], linewidth=1.8, marker=marker, markersize=4)
    ax.set(xlabel=against or step, ylabel=f"{watched.name} {watched.unit}".rstrip())
    if not against:
        ax.locator_params(axis="x", integer=True)
    tidy(ax, has_grid=True)
    return step
