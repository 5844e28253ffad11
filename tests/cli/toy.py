"""Methods of another package: one that knows coterie, one that knows scikit-learn only."""

from typing import Annotated, Literal

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.validation import validate_data

from coterie.estimators import Estimator, Method, Objective
from coterie.estimators.parameters import Clusters, Param

__all__ = ["PLAIN", "TOY", "PlainSlices", "Slices"]


class Slices(ClusterMixin, Estimator):
    """Cuts the range of one column into equal parts."""

    def __init__(
        self,
        n_slices: Clusters = 8,
        *,
        column: Annotated[int, Param("The column that is cut.", least=0, flag="--slice-column")] = 0,
        ends: Annotated[
            Literal["all", "most"], Param("What is cut: all values, or without outliers.")
        ] = "all",
        # It has a namesake among the options of the command, which means something else.
        normed: Annotated[bool, Param("A switch.", flag="--slice-normalize")] = False,
    ):
        self.n_slices = n_slices
        self.column = column
        self.ends = ends
        self.normed = normed

    def fit(self, X, y=None):
        self.check_parameters()
        rows, columns = self._rows_to_fit(X)
        values = rows.read()[:, self.column]
        kept = [0, 1] if self.ends == "all" else [0.01, 0.99]
        edges = np.linspace(*np.quantile(values, kept), self.n_slices + 1)
        found = {"labels_": _slice(values, edges), "spread_": float(np.std(values)) / self.n_slices}
        self._store_fitted(columns | found | {"edges_": edges})
        return self

    def predict(self, X):
        return _slice(self._rows_of(X).read()[:, self.column], self.edges_)


def _slice(values, edges):
    return np.searchsorted(edges[1:-1], values, side="right").astype(np.int32)


class PlainSlices(ClusterMixin, BaseEstimator):
    """The same without coterie, without an objective and without iterations."""

    def __init__(self, n_clusters=8, random_state=None):
        self.n_clusters = n_clusters
        self.random_state = random_state

    def fit(self, X, y=None):
        values = validate_data(self, X)[:, 0]
        self.edges_ = np.linspace(values.min(), values.max(), self.n_clusters + 1)
        self.labels_ = np.searchsorted(self.edges_[1:-1], values, side="right")
        return self

    def predict(self, X):
        return np.searchsorted(self.edges_[1:-1], validate_data(self, X, reset=False)[:, 0], side="right")


TOY = Method(
    name="toy",
    estimator=Slices,
    summary="equal slices of one column",
    objective=Objective("spread_", "spread of a slice", higher_is_better=True),
    clusters="n_slices",
)

PLAIN = Method(name="plain", estimator=PlainSlices, summary="slices of the first column")
