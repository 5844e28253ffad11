"""Plots of images: centroids, and modes with their nearest rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from coterie.arrays import Array
from coterie.blocks.kernel_rows import dense
from coterie.estimators.base import rows_for
from coterie.figures import FEW_COLORS, INK, counted, new_figure, style_of
from coterie.fitting.checks import check_positive_integer
from coterie.graphs import nearest_neighbors
from coterie.methods import name_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MOST_IMAGES, _MOST_LINES = 400, 100

# Width of an image in `plot_modes`, in inches, and of a figure at most.
_CELL, _WIDEST = 0.85, 11.0


def plot_cluster_images(
    centers: npt.ArrayLike,
    image_shape: tuple[int, ...],
    counts: npt.ArrayLike | None = None,
) -> Figure:
    """Draw a grid of centroids as images.

    Parameters
    ----------
    centers : array-like of shape (k, d)
        Centroids, modes or means. At most 400 are drawn, the first ones.
    image_shape : tuple of int
        (height, width) of gray images or (height, width, 3) of color images; the product is d.
    counts : array-like of shape (k,), optional
        Rows of each cluster, written into its image.

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
    low, high = float(images.min()), float(images.max())
    blank = np.full((n_lines * n_columns - len(images), *image_shape), float(images.ndim == 4))
    shades = np.concatenate([(images - low) / (high - low or 1.0), blank])
    figure = _sheet(shades.reshape(n_lines, n_columns, *image_shape), [], [], np.zeros((0, 2)))
    for cluster, size in enumerate([] if sizes is None else sizes[:_MOST_IMAGES].tolist()):
        line, column = divmod(cluster, n_columns)
        figure.axes[0].text(
            column + 0.5, line + 0.02, f"{int(size):,}", fontsize=6, color=INK, ha="center", va="top"
        )
    title = counted(len(images), "centroid") + ("" if sizes is None else "; in each its number of rows")
    figure.suptitle(title, fontsize=10, color=INK)
    return figure


def plot_modes(X: Any, model: Any, image_shape: tuple[int, ...], n_neighbors: int = 8) -> Figure:
    """Draw a row of images for each cluster: its mode and the mean of its rows, or its center, and the nearest rows.

    A mode is typical of the images of its cluster, a mean is often blurred (Fig. 1 of the paper). Images have their own
    gray scales. Nearest rows in another cluster, or noise, are framed. Of more than 100 clusters the largest 100 are
    drawn.

    Parameters
    ----------
    X : array-like, sparse matrix, table or Rows of shape (n, d)
        The rows of the fit, or others; they are held in memory.
    model : estimator
        Fitted, with `cluster_centers_`. `labels_` is used if X has as many rows, else `predict`.
    image_shape : tuple of int
        (height, width) of gray images or (height, width, 3) of color images; the product is d.
    n_neighbors : int
        Number of nearest rows, without the mode itself.

    Returns
    -------
    matplotlib Figure

    Raises
    ------
    ImportError
        If matplotlib is missing.
    sklearn.exceptions.NotFittedError
        If the model is not fitted.
    ValueError
        If the shapes do not match, or the centers have no coordinates.

    Notes
    -----
    O(n L d) time.

    References
    ----------
    Ziko, Granger and Ben Ayed, Scalable Laplacian K-modes, NeurIPS 2018, Figure 1.

    Examples
    --------
    >>> from coterie import LaplacianKModes
    >>> from coterie.datasets import load_digits
    >>> from coterie.plotting import plot_modes
    >>> X, _ = load_digits()
    >>> figure = plot_modes(X, LaplacianKModes(10, n_init=1, random_state=0).fit(X), (8, 8))
    >>> figure.savefig("modes.png")  # doctest: +SKIP
    """
    check_is_fitted(model)
    check_positive_integer("n_neighbors", n_neighbors)
    centers = getattr(model, "cluster_centers_", None)
    if centers is None:
        raise ValueError(f"This {type(model).__name__} has no centers with coordinates to draw.")
    check_image_shape(image_shape, centers.shape[1])
    # With the cosine distance centers have length 1, and rows must have it too.
    rows = rows_for(model, X)
    labels, data = _labels_of(model, X, rows.shape[0]), rows.read()
    sizes = np.bincount(labels[labels >= 0], minlength=len(centers))
    drawn = np.sort(np.argsort(-sizes, kind="stable")[:_MOST_LINES])
    nearest = _rows_around(data, centers[drawn], n_neighbors)
    headings = ["mode", "mean"] if hasattr(model, "modes_") else ["center"]
    n_own = len(headings)
    headings += ["nearest", *map(str, range(2, nearest.shape[1] + 1))][: nearest.shape[1]]
    images = np.zeros((len(drawn), len(headings), *image_shape))
    for line, cluster in enumerate(drawn):
        own = [dense(centers[[cluster]])[0]]
        if n_own > 1:  # an empty cluster has no mean
            found = data[labels == cluster].mean(axis=0) if sizes[cluster] else np.zeros(centers.shape[1])
            own.append(np.asarray(found).ravel())
        images[line] = [_shaded(image.reshape(image_shape)) for image in (*own, *dense(data[nearest[line]]))]
    names = [f"cluster {cluster}\n{counted(sizes[cluster], 'row')}" for cluster in drawn]
    are_others = labels[nearest] != drawn[:, None]
    figure = _sheet(images, headings, names, np.pad(are_others, ((0, 0), (n_own, 0))))
    (ax,) = figure.axes
    for text, cluster in zip(ax.get_yticklabels(), drawn):
        text.set_color(style_of(int(cluster), len(centers))[0])
    left_out = "" if len(drawn) == len(centers) else f", the largest of {len(centers):,}"
    framed = "; framed: nearest rows of other clusters" if are_others.any() else ""
    title = f"{name_of(model)}: {counted(len(drawn), 'cluster')}{left_out}{framed}"
    figure.suptitle(title, fontsize=10, color=INK)
    return figure


def _sheet(images: Array, headings: list[str], names: list[str], framed: Array) -> Figure:
    """Draw lines of images, of shape (lines, columns, height, width) or with colors last, as one picture."""
    from matplotlib.patches import Rectangle

    n_lines, n_columns, height, width = images.shape[:4]
    n_colors = images.ndim - 4
    padding = ((0, 0), (0, 0), (1, 1), (1, 1), *[(0, 0)] * n_colors)
    cells = np.pad(images, padding, constant_values=1.0 if n_colors else 0.0)
    high, wide = height + 2, width + 2
    sheet = np.moveaxis(cells, 2, 1).reshape(n_lines * high, n_columns * wide, *images.shape[4:])
    cell = min(_CELL, (_WIDEST - 1) / n_columns)
    figure = new_figure((max(n_columns * cell + 1.2, 5.5), n_lines * cell * high / wide + 0.8))
    ax = figure.subplots()
    edges = (0.0, n_columns, n_lines, 0.0)
    ax.imshow(sheet, cmap="gray_r", vmin=0, vmax=1, interpolation="nearest", extent=edges, aspect=high / wide)
    ax.set_xticks(np.arange(len(headings)) + 0.5, headings)
    ax.set_yticks(np.arange(len(names)) + 0.5, names)
    ax.tick_params(length=0, labelsize=8, labelcolor=INK, labeltop=True, labelbottom=False)
    for spine in ax.spines.values():
        spine.set_visible(False)
    for line, column in np.argwhere(framed):
        ax.add_patch(Rectangle((column, line), 1, 1, fill=False, edgecolor=FEW_COLORS[1], linewidth=2))
    return figure


def _shaded(image: Array) -> Array:
    """Return an image from 0 to 1."""
    low, high = image.min(), image.max()
    return (image - low) / ((high - low) or 1.0)


def _labels_of(model: Any, X: Any, n_rows: int) -> Array:
    labels = getattr(model, "labels_", None)
    return np.asarray(model.predict(X) if labels is None or len(labels) != n_rows else labels)


def _rows_around(data: Any, points: Array, n_neighbors: int) -> Array:
    """Return the numbers of the rows nearest to each point, without the point itself."""
    queries = sp.csr_array(points) if sp.issparse(data) else points
    ids, squares = nearest_neighbors(data, min(n_neighbors + 1, data.shape[0]), queries=queries)
    return np.where(squares[:, :1] == 0, ids[:, 1:], ids[:, :-1])


def check_image_shape(image_shape: tuple[int, ...], n_columns: int) -> None:
    """Raise a ValueError if rows of this width cannot be drawn as images of this shape."""
    _check_axes(image_shape)
    if n_columns != np.prod(image_shape):
        raise ValueError(
            f"Images of {'x'.join(map(str, image_shape))} have {np.prod(image_shape):,} numbers, "
            f"but the rows have {n_columns:,} columns."
        )


def _as_images(centers: npt.ArrayLike, image_shape: tuple[int, ...]) -> np.ndarray:
    flat = np.asarray(centers, dtype=np.float64)
    _check_axes(image_shape)
    if flat.ndim != 2 or len(flat) == 0 or flat.shape[1] != np.prod(image_shape):
        raise ValueError(
            f"centers must have shape (k, {np.prod(image_shape)}) for images of {image_shape}, "
            f"got {flat.shape}."
        )
    return flat.reshape(-1, *image_shape)


def _check_axes(image_shape: tuple[int, ...]) -> None:
    is_image = len(image_shape) == 2 or (len(image_shape) == 3 and image_shape[2] in (3, 4))
    if not is_image or min(image_shape) < 1:
        raise ValueError(f"image_shape must be (height, width) or (height, width, 3), got {image_shape}.")


def _grid_columns(n_images: int) -> int:
    """Return the columns and rows of a grid that is wider than high, with a full last line if possible."""
    widest = int(np.ceil(np.sqrt(2 * n_images)))
    candidates = range(max(1, int(np.sqrt(n_images))), max(widest, 1) + 1)
    return min(candidates, key=lambda columns: (-n_images % columns, -columns))
