"""Plot of images: modes or centers, and their nearest rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from coterie.arrays import Array
from coterie.blocks.kernel_rows import dense
from coterie.estimators.base import rows_for
from coterie.figures import FEW_COLORS, INK, counted, new_figure, style_of
from coterie.fitting.checks import check_positive_integer
from coterie.graphs import nearest_neighbors
from coterie.methods import name_of
from coterie.plotting.layout import clusters_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MOST_LINES = 100

# Width of an image in `plot_modes`, in inches, and of a figure at most.
_CELL, _WIDEST = 0.85, 11.0


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
    is_image = len(image_shape) == 2 or (len(image_shape) == 3 and image_shape[2] in (3, 4))
    if not is_image or min(image_shape) < 1 or np.prod(image_shape) != centers.shape[1]:
        raise ValueError(
            f"image_shape must be (height, width) or (height, width, 3) with the product {centers.shape[1]}, the "
            f"number of columns, got {image_shape}."
        )
    # With the cosine distance centers have length 1, and rows must have it too.
    rows = rows_for(model, X)
    labels, data = clusters_of(model, rows), rows.read()
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


def _rows_around(data: Any, points: Array, n_neighbors: int) -> Array:
    """Return the numbers of the rows nearest to each point, without the point itself."""
    queries = sp.csr_array(points) if sp.issparse(data) else points
    ids, squares = nearest_neighbors(data, min(n_neighbors + 1, data.shape[0]), queries=queries)
    return np.where(squares[:, :1] == 0, ids[:, 1:], ids[:, :-1])
