"""Rows in two dimensions, colored by cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.decomposition import PCA
from sklearn.utils.validation import check_is_fitted

from coterie.blocks.kernel_rows import dense
from coterie.estimators import Estimator
from coterie.estimators.base import rows_for
from coterie.figures import MOST_NUMBERED, axes_or_new, counted, style_of, tidy
from coterie.methods import name_of
from coterie.rows import RowSource, as_rows
from coterie.rows.derived import part_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_ROWS = 20_000
_MOST_DENSE = 2e7

# Color of noise.
_NOWHERE = "#777777"


def plot_clusters(
    X: Any,
    model: Any = None,
    *,
    labels: npt.ArrayLike | None = None,
    ax: Axes | None = None,
    random_state: int = 0,
) -> Axes:
    """Draw rows on their first two principal components, colored by cluster, with the centers marked.

    Rows are drawn in the columns of the fit, and at length 1 with the cosine distance. Noise is gray. Of more than
    20,000 rows, 20,000 random ones are drawn, and the components are computed from these.

    Without a model, `X` holds two columns of coordinates, such as a UMAP or t-SNE embedding, and `labels` the clusters.

    Parameters
    ----------
    X : array-like, sparse matrix, table or RowSource of shape (n, d)
        The rows; without a model and with two columns, coordinates.
    model : estimator, optional
        Fitted. `labels_` is used if X has as many rows, else `predict`.
    labels : array-like of shape (n,), optional
        Other labels to color the rows by, such as the column `cluster` of `coterie.results_table`; -1: noise.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.
    random_state : int, default=0
        Seed of the random sample.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    ImportError
        If matplotlib is missing.
    sklearn.exceptions.NotFittedError
        If the model is not fitted.
    ValueError
        If the numbers of labels and rows differ, a label exceeds the model's clusters, or there is neither a model nor
        labels.

    Examples
    --------
    >>> from coterie import KMeans
    >>> from coterie.datasets import load_iris
    >>> from coterie.plotting import plot_clusters
    >>> X, _ = load_iris()
    >>> ax = plot_clusters(X, KMeans(n_clusters=3, random_state=0).fit(X))
    >>> ax.figure.savefig("clusters.png")  # doctest: +SKIP
    """
    if model is not None:
        check_is_fitted(model)
    elif labels is None:
        raise ValueError("plot_clusters needs a fitted model, or labels.")
    rows = as_rows(X) if model is None else rows_for(model, X)
    sample, found = _sampled(rows, model, labels, random_state)
    centers = getattr(model, "cluster_centers_", None)
    n_clusters = len(centers) if centers is not None else int(found.max(initial=0)) + 1
    if found.min(initial=-1) < -1 or found.max(initial=0) >= n_clusters:
        raise ValueError(f"labels must be from -1 to {n_clusters - 1}.")
    is_map = model is None and rows.shape[1] == 2
    points, center_points, shares = (
        (dense(sample).astype(np.float64), None, [0.0, 0.0]) if is_map else _projected(sample, centers)
    )
    ax = axes_or_new(ax, (7.0, 5.6))

    size = float(np.clip(25_000 / max(len(points), 1), 5, 36))
    outside = points[found < 0]
    if len(outside):
        ax.scatter(outside[:, 0], outside[:, 1], s=size, c=_NOWHERE, marker="x", linewidths=0.8, alpha=0.8)
    styles = [style_of(cluster, n_clusters) for cluster in range(n_clusters)]
    for cluster, (color, shape) in enumerate(styles):
        chosen = points[found == cluster]
        ax.scatter(chosen[:, 0], chosen[:, 1], s=size, c=color, marker=shape, linewidths=0, alpha=0.6)
    if center_points is not None:
        _mark_centers(ax, center_points, [color for color, _ in styles])

    names = [
        f"principal component {i + 1}" + (f" ({share:.0%})" if share else "")
        for i, share in enumerate(shares)
    ]
    if is_map:
        names = list(rows.column_names or ("", ""))
    whose = "" if model is None else f"{name_of(model)}: "
    drawn = "" if len(points) == rows.shape[0] else f", {len(points):,} drawn"
    drawn += f", {len(outside):,} of them in none" if len(outside) else ""
    ax.set(
        xlabel=names[0],
        ylabel=names[1],
        title=f"{whose}{counted(rows.shape[0], 'row')} in {counted(n_clusters, 'cluster')}{drawn}",
    )
    ax.margins(0.05)
    tidy(ax)
    if min(sample.shape) == 1:  # only one component: the other axis is empty
        ax.set(yticks=[], ylabel="")
    return ax


def _sampled(
    rows: RowSource, model: Any, labels: npt.ArrayLike | None, random_state: int
) -> tuple[Any, np.ndarray]:
    """Return at most `_MOST_ROWS` rows and their labels."""
    n_rows = rows.shape[0]
    if labels is not None and np.shape(labels) != (n_rows,):
        raise ValueError(f"labels must have one number for each of {n_rows} rows, got {np.shape(labels)}.")
    if n_rows > _MOST_ROWS:
        generator = np.random.default_rng(random_state)
        chosen = np.sort(generator.choice(n_rows, _MOST_ROWS, replace=False))
    else:
        chosen = np.arange(n_rows)
    sample = rows.take(chosen)
    known = getattr(model, "labels_", None) if labels is None else np.asarray(labels)
    if known is None or len(known) != n_rows:
        # Estimators of other libraries take arrays, not row sources.
        data = part_of(rows, sample) if isinstance(model, Estimator) else sample
        return sample, np.asarray(model.predict(data))
    return sample, np.asarray(known)[chosen]


def _projected(sample, centers) -> tuple[np.ndarray, np.ndarray | None, list[float]]:
    """Project points and centers on two principal components; return them and the components' shares of variance."""
    n_components = min(2, *sample.shape)
    solver = "auto"
    if sp.issparse(sample):
        if np.prod(sample.shape, dtype=float) <= _MOST_DENSE:
            sample = sample.toarray()
        else:
            solver = "arpack"  # needs neither a dense copy nor the covariance matrix
    with np.errstate(invalid="ignore", divide="ignore"):  # equal rows have no variance
        pca = PCA(n_components, svd_solver=solver, random_state=0).fit(sample)
    shares = [float(share) if np.isfinite(share) else 0.0 for share in pca.explained_variance_ratio_]

    def project(values) -> np.ndarray:
        flat = pca.transform(values)
        return np.column_stack([flat, np.zeros((len(flat), 2 - n_components))])

    return project(sample), None if centers is None else project(centers), (shares + [0.0])[:2]


def _mark_centers(ax: Axes, points: np.ndarray, colors: list[str]) -> None:
    """Draw numbered discs, or small crosses for many centers."""
    if len(points) > MOST_NUMBERED:
        ax.scatter(points[:, 0], points[:, 1], s=14, c="black", marker="x", linewidths=0.8, zorder=3)
        return
    for cluster, (point, color) in enumerate(zip(points, colors)):
        ax.scatter(point[0], point[1], s=190, c="white", edgecolors=color, linewidths=2, zorder=3)
        ax.annotate(
            str(cluster), point, ha="center", va="center_baseline", fontsize=8, color="black", zorder=4
        )
