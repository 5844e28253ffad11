"""Rows in two dimensions, coloured by cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from sklearn.decomposition import PCA
from sklearn.utils.validation import check_is_fitted

from coterie.estimators import Estimator
from coterie.figures import MOST_NUMBERED, axes_or_new, counted, style_of, tidy
from coterie.rows import RowSource, as_rows
from coterie.rows.part import part_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_clusters"]

_MOST_ROWS = 20_000
_MOST_DENSE = 2e7


def plot_clusters(X, model: Any, *, ax: Axes | None = None, random_state: int = 0) -> Axes:
    """Rows on their first two principal components, coloured by cluster, with the centres marked.

    Of more than 20,000 rows, 20,000 random ones are drawn; the components are those of the rows drawn.

    Parameters
    ----------
    X : array-like, sparse matrix, table or RowSource of shape (n, d)
        The rows.
    model : estimator
        Fitted. `labels_` is used where it belongs to as many rows as X has, else `predict`.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.
    random_state : int, default=0
        Seed of the choice of rows.

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
    >>> from coterie.plotting import plot_clusters
    >>> X, _ = load_iris()
    >>> ax = plot_clusters(X, KMeans(n_clusters=3, random_state=0).fit(X))
    >>> ax.figure.savefig("clusters.png")  # doctest: +SKIP
    """
    check_is_fitted(model)
    rows = as_rows(X)
    sample, labels = _sampled(rows, model, random_state)
    centers = getattr(model, "cluster_centers_", None)
    points, center_points, shares = _projected(sample, centers)
    ax = axes_or_new(ax, (7.0, 5.6))

    size = float(np.clip(25_000 / max(len(points), 1), 5, 36))
    n_clusters = len(centers) if centers is not None else int(labels.max(initial=0)) + 1
    styles = [style_of(cluster, n_clusters) for cluster in range(n_clusters)]
    for cluster, (colour, shape) in enumerate(styles):
        chosen = points[labels == cluster]
        ax.scatter(chosen[:, 0], chosen[:, 1], s=size, c=colour, marker=shape, linewidths=0, alpha=0.6)
    if center_points is not None:
        _mark_centers(ax, center_points, [colour for colour, _ in styles])

    names = [
        f"principal component {i + 1}" + (f" ({share:.0%})" if share else "")
        for i, share in enumerate(shares)
    ]
    drawn = "" if len(points) == rows.shape[0] else f", {len(points):,} drawn"
    ax.set(
        xlabel=names[0],
        ylabel=names[1],
        title=f"{counted(rows.shape[0], 'row')} in {counted(n_clusters, 'cluster')}{drawn}",
    )
    ax.margins(0.05)
    tidy(ax)
    if min(sample.shape) == 1:  # one component only: nothing is measured along the other axis
        ax.set(yticks=[], ylabel="")
    return ax


def _sampled(rows: RowSource, model: Any, random_state: int) -> tuple[Any, np.ndarray]:
    """At most `_MOST_ROWS` rows and their labels."""
    n_rows = rows.shape[0]
    if n_rows > _MOST_ROWS:
        generator = np.random.default_rng(random_state)
        chosen = np.sort(generator.choice(n_rows, _MOST_ROWS, replace=False))
    else:
        chosen = np.arange(n_rows)
    sample = rows.take(chosen)
    labels = getattr(model, "labels_", None)
    if labels is None or len(labels) != n_rows:
        # Estimators of other libraries know arrays, not sources of rows.
        data = part_of(rows, sample) if isinstance(model, Estimator) else sample
        return sample, np.asarray(model.predict(data))
    return sample, np.asarray(labels)[chosen]


def _projected(sample, centers) -> tuple[np.ndarray, np.ndarray | None, list[float]]:
    """Points and centres on two principal components, and the share of variance of each component."""
    n_components = min(2, *sample.shape)
    solver = "auto"
    if sp.issparse(sample):
        if np.prod(sample.shape, dtype=float) <= _MOST_DENSE:
            sample = sample.toarray()
        else:
            solver = "arpack"  # the one that neither fills in the zeros nor needs the covariance matrix
    with np.errstate(invalid="ignore", divide="ignore"):  # equal rows have no variance to share out
        pca = PCA(n_components, svd_solver=solver, random_state=0).fit(sample)
    shares = [float(share) if np.isfinite(share) else 0.0 for share in pca.explained_variance_ratio_]

    def project(values) -> np.ndarray:
        flat = pca.transform(values)
        return np.column_stack([flat, np.zeros((len(flat), 2 - n_components))])

    return project(sample), None if centers is None else project(centers), (shares + [0.0])[:2]


def _mark_centers(ax: Axes, points: np.ndarray, colours: list[str]) -> None:
    """Numbered discs for a legible number of centres, small crosses for more."""
    if len(points) > MOST_NUMBERED:
        ax.scatter(points[:, 0], points[:, 1], s=14, c="black", marker="x", linewidths=0.8, zorder=3)
        return
    for cluster, (point, colour) in enumerate(zip(points, colours)):
        ax.scatter(point[0], point[1], s=190, c="white", edgecolors=colour, linewidths=2, zorder=3)
        ax.annotate(
            str(cluster), point, ha="center", va="center_baseline", fontsize=8, color="black", zorder=4
        )
