"""How much the graph should count in Laplacian K-modes: one graph, several lambdas, each from the last one's modes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.utils import check_consistent_length, column_or_1d

from coterie.arrays import Array, FloatArray, IndexArray
from coterie.graphs.cuts import modularity
from coterie.laplacian_kmodes.estimator import LaplacianKModes
from coterie.laplacian_kmodes.pairs import is_pair
from coterie.laplacian_kmodes.problem import GraphModes, Run
from coterie.laplacian_kmodes.starts import Fitted
from coterie.metrics import clustering_accuracy

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["LambdaScan", "select_lambda"]

# Around what Ziko, Granger and Ben Ayed choose from, 1 to 4.
LAMBDAS = (1.0, 1.3, 1.6, 2.0, 3.0, 4.0)


@dataclass(frozen=True)
class LambdaScan:
    """Clusterings of the same rows with several weights of the graph. Printed, it is a table.

    Attributes
    ----------
    models : tuple of LaplacianKModes
        Fitted, by ascending lambda.
    labels : ndarray of shape (n,) or None
        The labels given, -1 for none.
    """

    models: tuple[LaplacianKModes, ...]
    labels: Array | None = None

    @property
    def lambdas(self) -> FloatArray:
        """The lambdas, ascending."""
        return np.array([model.lam for model in self.models], dtype=np.float64)

    @property
    def objectives(self) -> FloatArray:
        """The discrete objective of each; those of different lambdas do not compare, for E grows with lambda."""
        return np.array([model.objective_ for model in self.models])

    @property
    def modularities(self) -> FloatArray:
        """The modularity of the labels of each on the graph, which compares over lambda; the higher the better."""
        return np.array([modularity(model.affinity_matrix_, model.labels_) for model in self.models])

    @property
    def sizes(self) -> IndexArray:
        """Rows of each cluster, descending; of shape (n_lambdas, L)."""
        counts = [np.bincount(model.labels_, minlength=model.n_clusters) for model in self.models]
        return -np.sort(-np.array(counts), axis=1)

    @property
    def normalized_mutual_information(self) -> FloatArray | None:
        """That of the rows with labels, if there are any."""
        from sklearn.metrics import normalized_mutual_info_score  # slow to load, and only for those who scan

        return self._scores(normalized_mutual_info_score)

    @property
    def accuracy(self) -> FloatArray | None:
        """That of the rows with labels, under the best matching of clusters with classes, if there are any."""
        return self._scores(clustering_accuracy)

    @property
    def best_model(self) -> LaplacianKModes:
        """Of the models with the fewest empty clusters, the most accurate one; without labels the most modular one.

        Modularity also decides between models of the same accuracy, the objective between those of the same modularity.
        """
        n_empty = np.sum(self.sizes == 0, axis=1)
        accuracy = self.accuracy
        unlike = np.zeros(len(self.models)) if accuracy is None else -accuracy
        return self.models[int(np.lexsort((self.objectives, -self.modularities, unlike, n_empty))[0])]

    @property
    def best_lambda(self) -> float:
        """That of the best model."""
        return float(self.best_model.lam)

    def __str__(self) -> str:
        columns = {
            "lambda": [f"{lam:g}" for lam in self.lambdas],
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
        """Draw objective, sizes and, over lambda, the scores, or without labels the modularity.

        Returns
        -------
        matplotlib Figure

        Raises
        ------
        ImportError
            If matplotlib is missing.
        """
        from coterie.laplacian_kmodes.pictures import plot_lambda_scan

        return plot_lambda_scan(self)

    def _scores(self, score: Any) -> FloatArray | None:
        if self.labels is None:
            return None
        known = self.labels != -1
        return np.array([score(self.labels[known], model.labels_[known]) for model in self.models])


def select_lambda(
    estimator: LaplacianKModes, X: Any, lambdas: Sequence[float] = LAMBDAS, *, y: npt.ArrayLike | None = None
) -> LambdaScan:
    """Fit Laplacian K-modes for several weights of the graph, which is made once.

    The largest lambda starts as the estimator says, each other one from the modes of the next larger: of the best start
    only, or with labels of every start, which choose among all starts and lambdas as the paper does.

    Parameters
    ----------
    estimator : LaplacianKModes
        What to fit; it stays as it is, and its `lam` does not count.
    X : array-like, sparse matrix, table, Dask array or RowSource of shape (n, d)
        The data.
    lambdas : sequence of float
        What to try.
    y : array-like of shape (n,), optional
        Labels of some rows (the paper takes a tenth), -1 for the others. They only choose between the fits.

    Returns
    -------
    LambdaScan

    Raises
    ------
    ValueError
        If `lambdas` is empty or has repeats, `y` has not one value per row, or knows none of them; and as
        `LaplacianKModes.fit`.

    Notes
    -----
    A lambda can be too small for the graph to decide anything: memberships stay mixed and the objective is high. As
    lambda grows the objective rises with the weight of the edges that are cut, so it chooses between the starts of one
    lambda, not between lambdas. What does compare is the modularity of the labels on the graph (Newman and Girvan
    2004): over lambdas and starts of eleven data sets its ranks went along best with those of the agreement with the
    known classes, before balanced and normalised cuts, stability over starts, and objectives at one common lambda;
    docs/benchmarks/laplacian_kmodes.md has the table. No fit with an empty cluster is taken while there is one without.

    With labels each lambda costs as many runs as there are starts, on one graph.

    References
    ----------
    Ziko, Granger and Ben Ayed, Scalable Laplacian K-modes, NeurIPS 2018, section 4.

    Examples
    --------
    >>> from coterie import LaplacianKModes, select_lambda
    >>> from coterie.datasets import load_digits
    >>> X, y = load_digits()
    >>> scan = select_lambda(LaplacianKModes(10, normalize=True, random_state=0), X, [1.3, 2, 4])
    >>> scan.best_lambda in scan.lambdas
    True
    """
    values = sorted(float(lam) for lam in lambdas)
    if not values or len(set(values)) < len(values):
        raise ValueError(f"lambdas must be different numbers, got {list(lambdas)!r}.")
    labels = None if y is None else _checked_labels(y, X)
    models: list[LaplacianKModes] = []
    earlier: Fitted | None = None
    rank = None if labels is None else _ByLabels(labels)
    for lam in reversed(values):
        model = clone(estimator).set_params(lam=lam)
        fitted = model._fit(X, earlier, rank)
        model.check_finite()
        earlier = fitted if labels is not None else replace(fitted, ends=[fitted.best])
        models.append(model)
    return LambdaScan(tuple(reversed(models)), labels)


def _checked_labels(y: npt.ArrayLike, X: Any) -> Array:
    labels = column_or_1d(y)
    if labels.dtype.kind == "f" and np.isnan(labels).any():
        raise ValueError("y holds NaN: a label that is not known is -1.")
    if labels.dtype.kind in "OU":  # NumPy makes texts of -1 among names
        unknown = np.array([name is None or name in (-1, "-1") for name in labels.tolist()])
        labels = labels.astype(object)
        labels[unknown] = -1
    check_consistent_length(X[0] if is_pair(X) else X, labels)
    if np.all(labels == -1):
        raise ValueError("y must know the label of a row: all of them are -1.")
    return labels


class _ByLabels:
    """What makes one start better than another where labels of some rows are known."""

    def __init__(self, labels: Array) -> None:
        self._labels = labels
        self.known = np.flatnonzero(labels != -1)

    def among(self, rows: IndexArray) -> _ByLabels:
        """Return the same of a problem that has these rows only."""
        return _ByLabels(self._labels[rows])

    def __call__(self, problem: GraphModes, run: Run) -> tuple[int, float, float, float]:
        accuracy = clustering_accuracy(self._labels[self.known], run.labels[self.known])
        return run.n_empty, -accuracy, -modularity(problem.graph, run.labels), run.discrete
