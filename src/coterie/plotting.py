"""Pictures of fitted models. matplotlib is imported only when a picture is drawn.

Every function returns the matplotlib `Axes` or `Figure`, so that the caller can change, show or save it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.decomposition import PCA
from sklearn.utils.validation import check_is_fitted

from coterie.rows import RowSource, as_rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "plot_cluster_images",
    "plot_clusters",
    "plot_curves",
    "plot_history",
    "plot_memberships",
    "require_matplotlib",
]

# Colours that people with any kind of colour vision tell apart: for few clusters Okabe and Ito's without the
# yellow (too pale on white), for more Tol's muted ones with a grey. Where they run out, points change shape.
_FEW_COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#4D4D4D")
_MANY_COLOURS = (
    *("#332288", "#DDCC77", "#117733", "#88CCEE", "#CC6677"),
    *("#999933", "#882255", "#44AA99", "#AA4499", "#777777"),
)
_SHAPES = ("o", "^", "s", "D", "v", "P", "X")
_INK = "#333333"
_MOST_ROWS = 20_000
_MOST_NUMBERED = 50
_MOST_DENSE = 2e7
_MOST_IMAGES = 400


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
    ax = _axes(ax, (6.4, 4.0))
    seconds, objective = model.history_["seconds"], model.history_["objective"]
    ax.plot(
        seconds,
        objective,
        color=_FEW_COLOURS[0],
        linewidth=1.8,
        marker="o" if len(seconds) <= 60 else None,
        markersize=4,
    )
    ax.set(
        xlabel="seconds",
        ylabel="free energy per row" if hasattr(model, "lower_bound_") else "objective",
        title=f"{type(model).__name__}: {_count(len(seconds), 'iteration')}",
    )
    ax.set_xlim(left=0)
    ax.margins(y=0.08)
    ax.grid(axis="y", color="#DDDDDD", linewidth=0.8)
    _tidy(ax)
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

    ax = _axes(ax, (6.4, 4.0))
    for number, (name, (x, y)) in enumerate(curves.items()):
        x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
        shown = (x > 0) & (y > 0)
        colour = _FEW_COLOURS[number % len(_FEW_COLOURS)]
        ax.plot(x[shown], y[shown], color=colour, linewidth=1.8, marker="o", markersize=2.5, label=name)
    ax.set(xscale="log", yscale="log", xlabel=xlabel, ylabel=ylabel, title=title)
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axis.set_major_formatter("{x:g}")
        axis.set_minor_formatter(NullFormatter())
    ax.grid(color="#DDDDDD", linewidth=0.8)
    ax.legend(frameon=False, fontsize=9)
    _tidy(ax)
    return ax


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
    ax = _axes(ax, (7.0, 5.6))

    size = float(np.clip(25_000 / max(len(points), 1), 5, 36))
    n_clusters = len(centers) if centers is not None else int(labels.max(initial=0)) + 1
    styles = [_style(cluster, n_clusters) for cluster in range(n_clusters)]
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
        title=f"{_count(rows.shape[0], 'row')} in {_count(n_clusters, 'cluster')}{drawn}",
    )
    ax.margins(0.05)
    _tidy(ax)
    if min(sample.shape) == 1:  # one component only: nothing is measured along the other axis
        ax.set(yticks=[], ylabel="")
    return ax


def plot_cluster_images(
    centers: npt.ArrayLike,
    image_shape: tuple[int, ...],
    counts: npt.ArrayLike | None = None,
) -> Figure:
    """A grid of centroids, each drawn as the image that it is.

    Parameters
    ----------
    centers : array-like of shape (k, d)
        Centroids, modes or means. At most 400 are drawn, the first ones.
    image_shape : tuple of int
        (height, width) of grey images or (height, width, 3) of colour images; the product is d.
    counts : array-like of shape (k,), optional
        Rows of each cluster, written above its image.

    Returns
    -------
    matplotlib Figure

    Raises
    ------
    ImportError
        If matplotlib is missing.
    ValueError
        If the shapes do not match.

    Examples
    --------
    >>> from coterie import KMeans
    >>> from coterie.datasets import load_digits
    >>> from coterie.plotting import plot_cluster_images
    >>> X, _ = load_digits()
    >>> figure = plot_cluster_images(KMeans(n_clusters=10, random_state=0).fit(X).cluster_centers_, (8, 8))
    >>> figure.savefig("centroids.png")  # doctest: +SKIP
    """
    images = _as_images(centers, image_shape)
    sizes = None if counts is None else np.asarray(counts)
    if sizes is not None and sizes.shape != (len(images),):
        raise ValueError(f"counts must have shape ({len(images)},), got {sizes.shape}.")
    images = images[:_MOST_IMAGES]
    n_columns = _grid_columns(len(images))
    n_lines = -(-len(images) // n_columns)
    cell = min(1.15, 12 / n_columns)
    height = n_lines * (cell * image_shape[0] / image_shape[1] + 0.2) + 0.4
    figure = _new_figure((max(n_columns * cell, 3.0), height))
    title = _count(len(images), "centroid") + ("" if sizes is None else "; above each its number of rows")
    figure.suptitle(title, fontsize=10, color=_INK)
    axes = np.atleast_1d(figure.subplots(n_lines, n_columns)).ravel()
    low, high = float(images.min()), float(images.max())
    for cluster, ax in enumerate(axes):
        if cluster >= len(images):
            ax.set_axis_off()
            continue
        ax.set(xticks=[], yticks=[])
        for spine in ax.spines.values():
            spine.set_color("#CCCCCC")
        picture = (images[cluster] - low) / (high - low or 1.0)
        ax.imshow(picture, cmap="gray_r", vmin=0, vmax=1, interpolation="nearest")
        if sizes is not None:
            ax.set_title(f"{int(sizes[cluster]):,}", fontsize=8 if cell > 0.9 else 6, color=_INK, pad=3)
    return figure


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
    ax = _axes(ax, (6.4, 4.0))
    colours = _FEW_COLOURS if len(shown) <= len(_FEW_COLOURS) else _MANY_COLOURS
    for number, cluster in enumerate(shown):
        column = np.sort(model.memberships_[:, cluster])[::-1]
        colour = colours[number % len(colours)]
        ax.plot(np.arange(1, n_rows + 1), column, color=colour, linewidth=1.6, label=f"cluster {cluster}")
    sizes = np.bincount(model.labels_, minlength=n_clusters)[shown]
    ax.set(
        xlabel="rows, in the order of their memberships",
        ylabel="membership",
        title=f"{_count(n_rows, 'row')}, memberships in {_count(len(shown), 'cluster')}",
        xlim=(0, min(n_rows, 2.5 * sizes.max(initial=1))),
        ylim=(-0.03, 1.03),
    )
    ax.grid(axis="y", color="#DDDDDD", linewidth=0.8)
    ax.legend(frameon=False, fontsize=8, ncols=2 if len(shown) > 5 else 1)
    _tidy(ax)
    return ax


def require_matplotlib() -> None:
    """Fail now if nothing can be drawn later.

    Raises
    ------
    ImportError
        If matplotlib is missing; the message names the extra that brings it.
    """
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError as error:
        raise ImportError("Drawing needs matplotlib: pip install 'coterie[plot]'") from error


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
        return sample, np.asarray(model.predict(sample))
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
    if len(points) > _MOST_NUMBERED:
        ax.scatter(points[:, 0], points[:, 1], s=14, c="black", marker="x", linewidths=0.8, zorder=3)
        return
    for cluster, (point, colour) in enumerate(zip(points, colours)):
        ax.scatter(point[0], point[1], s=190, c="white", edgecolors=colour, linewidths=2, zorder=3)
        ax.annotate(
            str(cluster), point, ha="center", va="center_baseline", fontsize=8, color="black", zorder=4
        )


def _style(cluster: int, n_clusters: int) -> tuple[str, str]:
    """Colour and shape of a cluster's points; the shape changes where the colours run out."""
    colours = _FEW_COLOURS if n_clusters <= len(_FEW_COLOURS) else _MANY_COLOURS
    shape = (cluster // len(colours)) % len(_SHAPES) if n_clusters <= _MOST_NUMBERED else 0
    return colours[cluster % len(colours)], _SHAPES[shape]


def _as_images(centers: npt.ArrayLike, image_shape: tuple[int, ...]) -> np.ndarray:
    flat = np.asarray(centers, dtype=np.float64)
    if len(image_shape) not in (2, 3) or (len(image_shape) == 3 and image_shape[2] not in (3, 4)):
        raise ValueError(f"image_shape must be (height, width) or (height, width, 3), got {image_shape}.")
    if flat.ndim != 2 or len(flat) == 0 or flat.shape[1] != np.prod(image_shape):
        raise ValueError(
            f"centers must have shape (k, {np.prod(image_shape)}) for images of {image_shape}, "
            f"got {flat.shape}."
        )
    return flat.reshape(-1, *image_shape)


def _grid_columns(n_images: int) -> int:
    """A grid somewhat wider than high, its last line as full as can be."""
    widest = int(np.ceil(np.sqrt(2 * n_images)))
    candidates = range(max(1, int(np.sqrt(n_images))), max(widest, 1) + 1)
    return min(candidates, key=lambda columns: (-n_images % columns, -columns))


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _axes(ax: Axes | None, size: tuple[float, float]) -> Axes:
    return _new_figure(size).subplots() if ax is None else ax


def _new_figure(size: tuple[float, float]) -> Figure:
    """A figure that no global list keeps alive and that needs no display."""
    require_matplotlib()
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, dpi=150, layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def _tidy(ax: Axes) -> None:
    """No box, quiet axes, a title that starts with the picture."""
    ax.set_axisbelow(True)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        ax.spines[side].set_color("#999999")
    ax.tick_params(colors=_INK, labelsize=9)
    ax.title.set_fontsize(11)
    ax.title.set_color(_INK)
