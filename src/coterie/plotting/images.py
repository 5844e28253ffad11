"""Plots of images: centroids, and modes with their nearest rows."""

from __future__ import annotations

from collections.abc import Iterator
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
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MOST_IMAGES = 400
_MOST_LINES = 100

# Sizes in `plot_modes`, in inches: names, headings and the title, gaps, and the maximum width of a figure.
_NAMES, _HEADINGS, _TITLE = 1.0, 0.3, 0.35
_GAP, _WIDE_GAP, _CELL = 0.06, 0.16, 0.85
_NARROWEST, _WIDEST = 5.5, 11.0


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
    figure = new_figure((max(n_columns * cell, 3.0), height))
    title = counted(len(images), "centroid") + ("" if sizes is None else "; above each its number of rows")
    figure.suptitle(title, fontsize=10, color=INK)
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
            ax.set_title(f"{int(sizes[cluster]):,}", fontsize=8 if cell > 0.9 else 6, color=INK, pad=3)
    return figure


def plot_modes(
    X: Any, model: Any, image_shape: tuple[int, ...], n_neighbors: int = 8, *, data_name: str | None = None
) -> Figure:
    """Draw a row of images for each cluster: its mode, the mean of its rows, and the rows nearest to the mode.

    A mode is typical of the images of its cluster, a mean is often blurred (Fig. 1 of the paper). If the centers are
    the means, as in k-means, they are drawn once. Each image has its own gray scale. Nearest rows in another cluster,
    or noise, are framed. Names have the colors of `plot_clusters`. Of more than 100 clusters the largest 100 are drawn.

    Parameters
    ----------
    X : array-like, sparse matrix, table or RowSource of shape (n, d)
        The rows of the fit, or others; they are held in memory.
    model : estimator
        Fitted, with `cluster_centers_`: without modes, the centers are used.
        `labels_` is used if X has as many rows, else `predict`.
    image_shape : tuple of int
        (height, width) of gray images or (height, width, 3) of color images; the product is d.
    n_neighbors : int
        Number of nearest rows, without the mode itself.
    data_name : str, optional
        Name of the data set in the title.

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
    labels = _labels_of(model, X, rows.shape[0])
    data = rows.read()
    sizes = np.bincount(labels[labels >= 0], minlength=len(centers))
    drawn = np.sort(np.argsort(-sizes, kind="stable")[:_MOST_LINES])
    nearest = _rows_around(data, centers[drawn], n_neighbors)
    means = {
        cluster: np.asarray(data[labels == cluster].mean(axis=0, dtype=np.float64)).ravel()
        for cluster in drawn
        if sizes[cluster]
    }
    names = ["mode" if hasattr(model, "modes_") else "center"]
    if any(not _look_alike(mean, centers[cluster]) for cluster, mean in means.items()):
        names.append("mean")
    sheet = _Sheet(image_shape, (*names, *_ordinals(nearest.shape[1])), len(drawn), n_apart=len(names))
    n_others = 0
    for line, cluster in enumerate(drawn):
        color, _ = style_of(int(cluster), len(centers))
        sheet.name(line, f"cluster {cluster}\n{counted(sizes[cluster], 'row')}", color)
        sheet.draw(line, 0, centers[cluster])
        if "mean" in names and sizes[cluster]:
            sheet.draw(line, 1, means[cluster])
        for column, row in enumerate(nearest[line], start=len(names)):
            is_other = labels[row] != cluster
            n_others += is_other
            sheet.draw(line, column, dense(data[[row]]), framed=is_other)
    left_out = "" if len(drawn) == len(centers) else f", the largest of {len(centers):,}"
    framed = "; framed: nearest rows of other clusters" if n_others else ""
    whose = name_of(model) + ("" if data_name is None else f" of {data_name}")
    return sheet.finish(f"{whose}: {counted(len(drawn), 'cluster')}{left_out}{framed}")


class _Sheet:
    """Rows of images with a heading above each column. Coordinates are inches from the upper left corner."""

    def __init__(
        self, image_shape: tuple[int, ...], headings: tuple[str, ...], n_lines: int, *, n_apart: int
    ) -> None:
        self._shape, self._n_apart = image_shape, n_apart
        room = (_WIDEST - _NAMES) / len(headings) - _GAP
        self._cell_width = min(_CELL, room)
        self._cell_height = self._cell_width * image_shape[0] / image_shape[1]
        left, top = self._corner(n_lines - 1, len(headings) - 1)
        self._size = (max(left + self._cell_width + _GAP, _NARROWEST), top + self._cell_height + _GAP)
        self._figure = new_figure(self._size, layout=None)
        self._ax: Axes = self._figure.add_axes((0, 0, 1, 1))
        self._ax.set_axis_off()
        for column, heading in enumerate(headings):
            left, top = self._corner(0, column)
            middle = left + self._cell_width / 2
            self._ax.text(middle, top - 0.08, heading, ha="center", va="bottom", fontsize=8, color=INK)

    def name(self, line: int, text: str, color: str) -> None:
        """Write the name of a row."""
        left, top = self._corner(line, 0)
        middle = top + self._cell_height / 2
        self._ax.text(left - 0.1, middle, text, ha="right", va="center", fontsize=8, color=color)

    def draw(self, line: int, column: int, values: Array, *, framed: bool = False) -> None:
        """Draw a row as an image."""
        from matplotlib.patches import Rectangle

        left, top = self._corner(line, column)
        picture = values.reshape(self._shape).astype(np.float64)
        low, high = picture.min(), picture.max()
        edges = (left, left + self._cell_width, top + self._cell_height, top)
        self._ax.imshow(
            (picture - low) / (high - low or 1.0),
            cmap="gray_r", vmin=0, vmax=1, interpolation="nearest", extent=edges, aspect="auto",
        )  # fmt: skip
        color, width = (FEW_COLORS[1], 2.0) if framed else ("#CCCCCC", 0.8)
        size = (self._cell_width, self._cell_height)
        self._ax.add_patch(Rectangle((left, top), *size, fill=False, edgecolor=color, linewidth=width))

    def finish(self, title: str) -> Figure:
        """Return the figure with a title."""
        width, height = self._size
        self._ax.text(0.1, 0.12, title, ha="left", va="top", fontsize=10, color=INK)
        self._ax.set(xlim=(0, width), ylim=(height, 0))
        return self._figure

    def _corner(self, line: int, column: int) -> tuple[float, float]:
        """Return the left and upper edge of an image; a gap separates the first columns."""
        left = _NAMES + column * (self._cell_width + _GAP) + min(column, self._n_apart) * (_WIDE_GAP - _GAP)
        top = _TITLE + _HEADINGS + line * (self._cell_height + _GAP)
        return left, top


def _labels_of(model: Any, X: Any, n_rows: int) -> Array:
    labels = getattr(model, "labels_", None)
    return np.asarray(model.predict(X) if labels is None or len(labels) != n_rows else labels)


def _rows_around(data: Any, points: Array, n_neighbors: int) -> Array:
    """Return the numbers of the rows nearest to each point, without the point itself."""
    queries = sp.csr_array(points) if sp.issparse(data) else points
    ids, squares = nearest_neighbors(data, min(n_neighbors + 1, data.shape[0]), queries=queries)
    return np.where(squares[:, :1] == 0, ids[:, 1:], ids[:, :-1])


def _look_alike(one: Array, other: Array) -> bool:
    """Whether two images look equal: they differ by less than one of 50 steps of gray."""
    return bool(np.abs(one - other).max() <= 0.02 * max(np.ptp(one), np.ptp(other)))


def _ordinals(number: int) -> Iterator[str]:
    """Yield "nearest", "2nd", "3rd", ..."""
    for rank in range(1, number + 1):
        ending = {1: "st", 2: "nd", 3: "rd"}.get(rank % 10 if rank // 10 % 10 != 1 else 0, "th")
        yield "nearest" if rank == 1 else f"{rank}{ending}"


def check_image_shape(image_shape: tuple[int, ...], n_columns: int) -> None:
    """Raise an error if rows of this width cannot be drawn as images of this shape.

    Parameters
    ----------
    image_shape : tuple of int
        (height, width), or (height, width, 3).
    n_columns : int
        Columns of the rows.

    Raises
    ------
    ValueError
        If the sizes do not match.
    """
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
