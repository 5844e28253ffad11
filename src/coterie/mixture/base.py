"""What a fitted mixture can tell of any rows: labels, posteriors, densities; and rows of its own."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import logsumexp
from sklearn.base import ClusterMixin
from sklearn.utils.validation import check_is_fitted

from coterie.arrays import Array, FloatArray, IntArray
from coterie.centers.pace import seconds_of_pass
from coterie.estimators.declared import Absent, Count, Declared, History, Numbers, One
from coterie.estimators.outliers import SCALES, OutlierScoring, OwnDistances
from coterie.estimators.seeded import SeededEstimator
from coterie.fitting.checks import check_positive_integer
from coterie.fitting.monitor import FitMonitor
from coterie.fitting.randomness import random_stream
from coterie.fitting.threads import effective_n_threads
from coterie.mixture.component_search import ComponentSearch
from coterie.mixture.parameters import MixtureParameters, count_parameters
from coterie.rows import RowSource

__all__ = ["MixtureModel"]

# "auto" compares rows with all components up to this number of them.
_EXACT_COMPONENTS = 1000


class MixtureModel(ClusterMixin, OutlierScoring, SeededEstimator):
    """A model that is a Gaussian mixture. A subclass has `fit`, which calls `_store`."""

    covariance_type: str
    n_candidates: int
    assignment: str
    n_threads: int | None
    means_: Array
    covariances_: float | FloatArray
    weights_: FloatArray
    n_components_: int
    _count_name = "n_components"
    _WITHOUT_SCALES = "it has not labelled the rows of its fit. Fit it with compute_labels=True."

    def __getstate__(self) -> Any:
        # The search is made again from the parameters.
        return {name: value for name, value in super().__getstate__().items() if name != "_search"}

    @property
    def cluster_centers_(self) -> Array:
        """The means, under the name that clusterings use."""
        check_is_fitted(self, "means_")
        return self.means_

    @cached_property
    def _search(self) -> ComponentSearch:
        parameters = MixtureParameters(self.means_, np.array(self.covariances_), self.weights_)
        return ComponentSearch(parameters, effective_n_threads(self.n_threads))

    def predict(self, X: Any, *, return_distance: bool = False) -> Any:
        """Return the component with the highest posterior probability for each row of X.

        Parameters
        ----------
        X : array-like, table, Dask array or RowSource of shape (n, d)
            Any rows.
        return_distance : bool
            Whether to return how far the rows are from their components, too, in the same pass.

        Returns
        -------
        labels : ndarray of shape (n,), int32
            Found as `assignment` says.
        distances : ndarray of shape (n,), float32
            Only with `return_distance`: the distance of each row to its component in standard deviations
            (Mahalanobis'), over the scale of the component, see `cluster_scales_`; for the rows of the fit,
            `outlier_scores_`. How unlikely a row is under all components together says `score_samples`.
        """
        rows = self._fitted_rows(X)
        if not return_distance:
            return self._search.labels(rows, exact=self._is_exact())
        self._check_scales()
        labels, distances = self._labels_and_distances(rows)
        return labels, self._relative(distances, labels)

    def responsibilities(self, X: Any) -> sp.csr_array:
        """Return the truncated posterior probabilities of the components given each row of X.

        Parameters
        ----------
        X : array-like, table, Dask array or RowSource of shape (n, d)
            Any rows.

        Returns
        -------
        csr_array of shape (n, C), float64
            C' entries in each row, in the order of the components, which sum to 1.
        """
        rows = self._fitted_rows(X)
        n_kept = int(min(self.n_candidates, self.n_components_))
        shape = (rows.shape[0], self.n_components_)
        ids, shares = np.empty((shape[0], n_kept), dtype=np.int32), np.empty((shape[0], n_kept))
        for part, found, energies in self._search.best(rows, n_kept, exact=self._is_exact()):
            ascending = np.argsort(found, axis=1)
            kept = np.exp(energies[:, :1] - energies)
            kept /= kept.sum(axis=1, keepdims=True)
            ids[part] = np.take_along_axis(found, ascending, axis=1)
            shares[part] = np.take_along_axis(kept, ascending, axis=1)
        starts = np.arange(0, ids.size + 1, n_kept)
        return sp.csr_array((shares.ravel(), ids.ravel(), starts), shape=shape)

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the posterior probabilities of all components given each row of X: n x C numbers.

        Parameters
        ----------
        X : array-like, table, Dask array or RowSource of shape (n, d)
            Any rows.

        Returns
        -------
        ndarray of shape (n, C), float64
            Each row sums to 1.
        """
        rows = self._fitted_rows(X)
        out = np.empty((rows.shape[0], self.n_components_))
        for part, energies in self._search.energies(rows):
            np.exp(-energies - logsumexp(-energies, axis=1, keepdims=True), out=out[part])
        return out

    def score_samples(self, X: Any) -> FloatArray:
        """Return the log-likelihood of each row of X under the whole mixture.

        Parameters
        ----------
        X : array-like, table, Dask array or RowSource of shape (n, d)
            Any rows.

        Returns
        -------
        ndarray of shape (n,), float64
            Natural logarithms of the densities.
        """
        rows = self._fitted_rows(X)
        out = np.empty(rows.shape[0])
        for part, energies in self._search.energies(rows):
            out[part] = logsumexp(-energies, axis=1)
        return out

    def score(self, X: Any, y: Any = None) -> float:
        """Return the mean log-likelihood of the rows of X; see `score_samples`."""
        return float(self.score_samples(X).mean())

    def bic(self, X: Any) -> float:
        """Return the Bayesian information criterion of the model on X: the lower, the better."""
        log_likelihoods = self.score_samples(X)
        return float(-2 * log_likelihoods.sum() + self._n_parameters() * np.log(len(log_likelihoods)))

    def aic(self, X: Any) -> float:
        """Return the Akaike information criterion of the model on X: the lower, the better."""
        return float(-2 * self.score_samples(X).sum() + 2 * self._n_parameters())

    def sample(self, n_samples: int = 1) -> tuple[Array, IntArray]:
        """Draw rows from the mixture.

        Parameters
        ----------
        n_samples : int
            How many.

        Returns
        -------
        X : ndarray of shape (n_samples, d)
            The rows, component by component.
        y : ndarray of shape (n_samples,), int32
            Which component each of them is from.
        """
        check_is_fitted(self)
        check_positive_integer("n_samples", n_samples)
        random = random_stream(self.random_state)
        counts = random.multinomial(n_samples, self.weights_ / self.weights_.sum())
        y = np.repeat(np.arange(self.n_components_, dtype=np.int32), counts)
        deviations = np.sqrt(self.covariances_)
        if self.covariance_type != "tied_spherical":
            deviations = deviations[y].reshape(n_samples, -1)
        X = self.means_[y] + deviations * random.standard_normal((n_samples, self.means_.shape[1]))
        return X.astype(self.means_.dtype), y

    def _fitted_attributes(self) -> dict[str, Declared]:
        smallest = float(np.finfo(np.float64).tiny)
        shapes = {"spherical": ("k",), "diag": ("k", "d")}
        shape = shapes.get(self.covariance_type)
        return {
            **super()._fitted_attributes(),
            "n_features_in_": Count("d"),
            "n_components_": Count("k"),
            "means_": Numbers(("k", "d")),
            "weights_": Numbers(("k",), least=0, are_shares=True),
            "covariances_": One(least=smallest) if shape is None else Numbers(shape, least=smallest),
            "neighbors_": Numbers(("k", "g"), "integer", least=0, below="k", needed=False),
            "labels_": Numbers(("n",), "integer", least=0, below="k", needed=False),
            "lower_bound_": One(needed=False),
            "lower_bounds_": Numbers(("t",), needed=False),
            "history_": History(needed=False),
            # Runs that were not kept may have ended anywhere.
            "runs_": History(needed=False, finite=False),
            "converged_": One("boolean", needed=False),
            "n_iter_": One("integer", 0, needed=False),
            **SCALES,
            "_search": Absent(),
        }

    def _n_parameters(self) -> int:
        return count_parameters(self.covariance_type, *self.means_.shape)

    def _fitted_rows(self, X: Any) -> RowSource:
        check_is_fitted(self, "means_")
        return self._rows_of(X, reset=False)

    def _store_labels(self, rows: RowSource, weights: Array | None) -> None:
        """Label the rows of a fit and measure them: one pass."""
        self.labels_, distances = self._labels_and_distances(rows)
        self._note_distances(OwnDistances(self.labels_, distances, self._search.rounding, weights))

    def _labels_and_distances(self, rows: RowSource) -> tuple[IntArray, FloatArray]:
        return self._search.labels_and_distances(rows, exact=self._is_exact())

    def _distances_to(self, X: Any, labels: IntArray, to_centers: FloatArray | None) -> FloatArray:
        return self._search.distances(self._fitted_rows(X), labels)

    def _seconds_of_labels(self, rows: RowSource, monitor: FitMonitor) -> float:
        """Return about how long the labels of all rows will take; 0 where there is no hurry."""
        if not (self.compute_labels and monitor.deadline.is_set):
            return 0.0
        # By products in float64 of the rows and their squares.
        reading = 0.0 if rows.in_memory else monitor.seconds
        n_compared = (
            self.n_components if self._compares_all(self.n_components) else int(8 * self.n_components**0.5)
        )
        return reading + 3 * seconds_of_pass(rows, n_compared, effective_n_threads(self.n_threads))

    def _is_exact(self) -> bool:
        return self._compares_all(self.n_components_)

    def _compares_all(self, n_components: int) -> bool:
        """Whether rows are compared with all of so many components to be labelled."""
        if self.assignment == "auto":
            return n_components <= _EXACT_COMPONENTS
        return self.assignment == "exact"

    def _rows_of(self, X: Any, reset: bool) -> RowSource:
        rows = super()._rows_of(X, reset)
        if rows.is_sparse:
            raise TypeError(
                "Sparse rows are not supported here: a Gaussian mixture needs dense rows. Use X.toarray(), or "
                "k-means, which takes sparse rows as they are."
            )
        return rows
