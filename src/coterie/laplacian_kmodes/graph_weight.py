"""Choose the weight of the graph in Laplacian K-modes: fits with several weights on one graph."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.utils import check_consistent_length, column_or_1d

from coterie.arrays import Array, IntArray
from coterie.graphs.cuts import modularity
from coterie.laplacian_kmodes.estimator import FittedProblem, LaplacianKModes
from coterie.laplacian_kmodes.solver import KModesProblem, KModesResult
from coterie.metrics import clustering_accuracy

# Ziko, Granger and Ben Ayed choose between 1 and 4.
GRAPH_WEIGHTS = (1.0, 1.3, 1.6, 2.0, 3.0, 4.0)

_FIELDS = np.dtype([
    ("graph_weight", float), ("objective", float), ("modularity", float), ("smallest", int), ("largest", int),
    ("n_empty", int), ("nmi", float), ("accuracy", float),
])  # fmt: skip


def select_graph_weight(
    estimator: LaplacianKModes,
    X: Any,
    graph_weights: Sequence[float] = GRAPH_WEIGHTS,
    *,
    y: npt.ArrayLike | None = None,
) -> tuple[LaplacianKModes, Any]:
    """Fit Laplacian K-modes with several weights of the graph, which is constructed once, and select one.

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
    best : LaplacianKModes
        The model with the fewest empty clusters and, of these, the highest accuracy on the rows with known labels, then
        the highest modularity.
    fits : record array
        A row for each weight, ascending: `graph_weight`, `objective`, `modularity` of the labels on the graph,
        `smallest` and `largest` cluster, `n_empty` clusters, and `nmi` and `accuracy` on the rows with known labels,
        NaN without any.

    Raises
    ------
    ValueError
        If `graph_weights` is empty or has duplicates, or `y` does not have one value per row or no known label; and as
        `LaplacianKModes.fit`.

    Notes
    -----
    The objective grows with the weight, so it cannot compare weights. The modularity of the labels on the graph (Newman
    and Girvan 2004) can: on eleven data sets its rank correlation with the agreement with known classes was the highest
    of the criteria tried (balanced and normalized cut, stability, objective at a common weight).

    With labels each weight costs `n_init` runs on the same graph.

    References
    ----------
    Ziko, Granger and Ben Ayed, Scalable Laplacian K-modes, NeurIPS 2018, section 4.

    Examples
    --------
    >>> from coterie import LaplacianKModes, select_graph_weight
    >>> from coterie.datasets import load_digits
    >>> X, y = load_digits()
    >>> best, fits = select_graph_weight(LaplacianKModes(10, metric="cosine", random_state=0), X, [1.3, 2, 4])
    >>> best.graph_weight in fits.graph_weight
    True
    """
    from sklearn.metrics import normalized_mutual_info_score  # slow to load

    values = sorted(float(weight) for weight in graph_weights)
    if not values or len(set(values)) < len(values):
        raise ValueError(f"graph_weights must be different numbers, got {list(graph_weights)!r}.")
    labels = None if y is None else _checked_labels(y, X)
    known = np.zeros(0, dtype=np.intp) if labels is None else np.flatnonzero(labels != -1)

    def rank(problem: KModesProblem, result: KModesResult, of_rows: IntArray) -> tuple[float, ...]:
        assert labels is not None
        accuracy = clustering_accuracy(labels[known], of_rows[known])
        return result.n_empty, -accuracy, -modularity(problem.graph, result.labels), result.objective

    fitted: list[tuple[Any, ...]] = []
    models: list[LaplacianKModes] = []
    earlier: FittedProblem | None = None
    for weight in reversed(values):
        model = clone(estimator).set_params(graph_weight=weight)
        found = model._fit(X, earlier, None if labels is None else rank)
        earlier = found if labels is not None else replace(found, ends=[found.best])
        sizes = np.bincount(model.labels_, minlength=model.n_clusters)
        of_labels = [np.nan, np.nan]
        if labels is not None:
            pair = labels[known], model.labels_[known]
            of_labels = [normalized_mutual_info_score(*pair), clustering_accuracy(*pair)]
        quality = modularity(model.affinity_matrix_, model.labels_[model.vertex_rows_])
        counts = sizes.min(), sizes.max(), np.count_nonzero(sizes == 0)
        fitted.append((weight, model.objective_, quality, *counts, *of_labels))
        models.append(model)
    fits = np.rec.fromrecords(fitted[::-1], dtype=_FIELDS)
    order = np.lexsort((fits.objective, -fits.modularity, -fits.accuracy, fits.n_empty))
    return models[::-1][int(order[0])], fits


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
