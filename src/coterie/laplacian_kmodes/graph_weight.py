"""Choose the weight of the graph in Laplacian K-modes: fits with several weights on one graph."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.utils import check_consistent_length, column_or_1d

from coterie.arrays import Array, FloatArray, IndexArray, IntArray
from coterie.figures import FEW_COLORS, new_figure, tidy
from coterie.graphs.cuts import modularity
from coterie.laplacian_kmodes.estimator import FittedProblem, LaplacianKModes
from coterie.laplacian_kmodes.solver import KModesProblem, KModesResult
from coterie.metrics import clustering_accuracy

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Ziko, Granger and Ben Ayed choose between 1 and 4.
GRAPH_WEIGHTS = (1.0, 1.3, 1.6, 2.0, 3.0, 4.0)


@dataclass(frozen=True)
class GraphWeightScan:
    """Fits to the same rows with several weights of the graph. `print` shows a table.

    Attributes
    ----------
    models : tuple of LaplacianKModes
        Fitted models, by ascending weight.
    labels : ndarray of shape (n,) or None
        The known labels, -1 for unknown.
    """

    models: tuple[LaplacianKModes, ...]
    labels: Array | None = None

    @property
    def graph_weights(self) -> FloatArray:
        """The weights, ascending."""
        return np.array([model.graph_weight for model in self.models], dtype=np.float64)

    @property
    def objectives(self) -> FloatArray:
        """The discrete objective of each; not comparable between weights, as E grows with the weight."""
        return np.array([model.objective_ for model in self.models])

    @property
    def modularities(self) -> FloatArray:
        """The modularity of the labels on the graph, comparable between weights; higher is better."""
        return np.array(
            [modularity(model.affinity_matrix_, model.labels_[model.vertex_rows_]) for model in self.models]
        )

    @property
    def sizes(self) -> IndexArray:
        """Rows of each cluster, descending; of shape (n_weights, L)."""
        counts = [np.bincount(model.labels_, minlength=model.n_clusters) for model in self.models]
        return -np.sort(-np.array(counts), axis=1)

    @property
    def normalized_mutual_information(self) -> FloatArray | None:
        """NMI of the rows with known labels, None without."""
        from sklearn.metrics import normalized_mutual_info_score  # slow to load

        return self._scores(normalized_mutual_info_score)

    @property
    def accuracy(self) -> FloatArray | None:
        """Accuracy of the rows with known labels under the best matching of clusters and classes, None without."""
        return self._scores(clustering_accuracy)

    @property
    def best_model(self) -> LaplacianKModes:
        """The model with the fewest empty clusters and, of these, the highest accuracy; without labels, modularity.

        Ties are broken by modularity, then by the objective.
        """
        n_empty = np.sum(self.sizes == 0, axis=1)
        accuracy = self.accuracy
        unlike = np.zeros(len(self.models)) if accuracy is None else -accuracy
        return self.models[int(np.lexsort((self.objectives, -self.modularities, unlike, n_empty))[0])]

    @property
    def best_graph_weight(self) -> float:
        """The weight of the best model."""
        return float(self.best_model.graph_weight)

    def __str__(self) -> str:
        columns = {
            "graph weight": [f"{weight:g}" for weight in self.graph_weights],
            "objective": [f"{objective:,.1f}" for objective in self.objectives],
            "modularity": [f"{value:.3f}" for value in self.modularities],
            "smallest": [f"{row[-1]:,}" for row in self.sizes],
            "largest": [f"{row[0]:,}" for row in self.sizes],
            "empty": [str(int(np.sum(row == 0))) for row in self.sizes],
        }
        scores = {"NMI": self.normalized_mutual_information, "accuracy": self.accuracy}
        columns |= {
            name: [f"{value:.3f}" for value in values]
            for name, values in scores.items()
            if values is not None
        }
        widths = {name: max(len(name), *map(len, cells)) for name, cells in columns.items()}
        lines = ["  ".join(name.rjust(widths[name]) for name in columns)]
        best = self.best_model
        for i, model in enumerate(self.models):
            line = "  ".join(cells[i].rjust(widths[name]) for name, cells in columns.items())
            lines.append(line + (" *" if model is best else ""))
        return "\n".join(lines)

    def plot(self) -> Figure:
        """Draw the objective, the sizes, and the scores (without labels the modularity) over the weight.

        Returns
        -------
        matplotlib Figure

        Raises
        ------
        ImportError
            If matplotlib is missing.
        """
        return plot_graph_weights(self)

    def _scores(self, score: Any) -> FloatArray | None:
        if self.labels is None:
            return None
        known = self.labels != -1
        return np.array([score(self.labels[known], model.labels_[known]) for model in self.models])


def select_graph_weight(
    estimator: LaplacianKModes,
    X: Any,
    graph_weights: Sequence[float] = GRAPH_WEIGHTS,
    *,
    y: npt.ArrayLike | None = None,
) -> GraphWeightScan:
    """Fit Laplacian K-modes with several weights of the graph, which is constructed once.

    The largest weight is initialized as the estimator says, each other one from the modes of the next larger one: those
    of its best run, or with known labels of all runs, from which the labels choose as in the paper.

    Parameters
    ----------
    estimator : LaplacianKModes
        The estimator with all other parameters; it is not modified.
    X : array-like, sparse matrix, table, Dask array or Rows of shape (n, d)
        The data.
    graph_weights : sequence of float
        Weights to try.
    y : array-like of shape (n,), optional
        Labels of some rows (a tenth in the paper), -1 for the others, which only choose among the fits.

    Returns
    -------
    GraphWeightScan

    Raises
    ------
    ValueError
        If `graph_weights` is empty or has duplicates, or `y` does not have one value per row or no known label; and as
        `LaplacianKModes.fit`.

    Notes
    -----
    The objective grows with the weight, so it cannot compare weights. The modularity of the labels on the graph (Newman
    and Girvan 2004) can: on eleven data sets its rank correlation with the agreement with known classes was the highest
    of the criteria tried (balanced and normalized cut, stability, objective at a common weight). A fit with an empty
    cluster is only chosen if all have one.

    With labels each weight costs `n_init` runs on the same graph.

    References
    ----------
    Ziko, Granger and Ben Ayed, Scalable Laplacian K-modes, NeurIPS 2018, section 4.

    Examples
    --------
    >>> from coterie import LaplacianKModes, select_graph_weight
    >>> from coterie.datasets import load_digits
    >>> X, y = load_digits()
    >>> scan = select_graph_weight(LaplacianKModes(10, metric="cosine", random_state=0), X, [1.3, 2, 4])
    >>> scan.best_graph_weight in scan.graph_weights
    True
    """
    values = sorted(float(weight) for weight in graph_weights)
    if not values or len(set(values)) < len(values):
        raise ValueError(f"graph_weights must be different numbers, got {list(graph_weights)!r}.")
    labels = None if y is None else _checked_labels(y, X)
    models: list[LaplacianKModes] = []
    earlier: FittedProblem | None = None
    rank = None if labels is None else partial(_rank_by_labels, labels)
    for weight in reversed(values):
        model = clone(estimator).set_params(graph_weight=weight)
        fitted = model._fit(X, earlier, rank)
        earlier = fitted if labels is not None else replace(fitted, ends=[fitted.best])
        models.append(model)
    return GraphWeightScan(tuple(reversed(models)), labels)


def _checked_labels(y: npt.ArrayLike, X: Any) -> Array:
    labels = column_or_1d(y)
    if labels.dtype.kind == "f" and np.isnan(labels).any():
        raise ValueError("y contains NaN: use -1 for unknown labels.")
    if labels.dtype.kind in "OU":  # NumPy converts -1 among names to text
        unknown = np.array([name is None or name in (-1, "-1") for name in labels.tolist()])
        labels = labels.astype(object)
        labels[unknown] = -1
    check_consistent_length(X, labels)
    if np.all(labels == -1):
        raise ValueError("y must contain a known label: all of them are -1.")
    return labels


def _rank_by_labels(
    labels: Array, problem: KModesProblem, result: KModesResult, of_rows: IntArray
) -> tuple[int, float, float, float]:
    known = labels != -1
    accuracy = clustering_accuracy(labels[known], of_rows[known])
    return result.n_empty, -accuracy, -modularity(problem.graph, result.labels), result.objective


def plot_graph_weights(scan: GraphWeightScan) -> Figure:
    """Draw the objective, the cluster sizes, and the scores (without labels the modularity); the best weight is marked.

    Parameters
    ----------
    scan : GraphWeightScan
        Result of `coterie.select_graph_weight`.

    Returns
    -------
    matplotlib Figure

    Raises
    ------
    ImportError
        If matplotlib is missing.

    Examples
    --------
    >>> from coterie import LaplacianKModes, select_graph_weight
    >>> from coterie.datasets import load_iris
    >>> from coterie.plotting import plot_graph_weights
    >>> X, y = load_iris()
    >>> figure = plot_graph_weights(select_graph_weight(LaplacianKModes(3, random_state=0), X, [1, 2, 4], y=y))
    >>> figure.savefig("graph_weight.png")  # doctest: +SKIP
    """
    scores = {"NMI": scan.normalized_mutual_information, "accuracy": scan.accuracy}
    known = {name: values for name, values in scores.items() if values is not None}
    figure = new_figure((10.2, 3.1))
    axes = figure.subplots(1, 3)
    line = {"marker": "o", "markersize": 4, "linewidth": 1.8}
    axes[0].plot(scan.graph_weights, scan.objectives, color=FEW_COLORS[0], **line)
    axes[0].set(title="discrete objective")
    # Clusters by rank: their numbers change between weights.
    axes[1].plot(
        scan.graph_weights,
        scan.sizes,
        color=FEW_COLORS[0],
        alpha=0.6,
        linewidth=1.0,
        marker="o",
        markersize=3,
    )
    axes[1].set(title="rows of each cluster")
    axes[1].set_ylim(bottom=0)
    for (name, values), color in zip(known.items(), FEW_COLORS):
        axes[2].plot(scan.graph_weights, values, color=color, label=name, **line)
    if not known:
        axes[2].plot(scan.graph_weights, scan.modularities, color=FEW_COLORS[0], **line)
        axes[2].set(title="modularity on the graph")
    else:
        axes[2].set(title="scores of rows with known labels")
        axes[2].legend(frameon=False, fontsize=9)
    for ax in axes:
        ax.axvline(scan.best_graph_weight, color="#999999", linewidth=1.0, linestyle=":", zorder=0)
        ax.set(xlabel="graph weight")
        tidy(ax, has_grid=True)
    return figure
