"""Base class of all estimators: scikit-learn interface, checks, reports and saving."""

from __future__ import annotations

import copy
import functools
import os
from collections.abc import Callable, Mapping
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from coterie.arrays import FloatArray, IntArray
from coterie.estimators.outliers import measure_scales
from coterie.estimators.parameters import validate
from coterie.estimators.persistence import first_non_finite, save
from coterie.estimators.preparation import columns_of, prepared_rows
from coterie.fitting.checks import TOO_LARGE, warn
from coterie.fitting.report import CallbackSupportMixin
from coterie.limits.memory import check_allocation
from coterie.passes import are_on_workers
from coterie.rows import Rows
from coterie.rows.derived import normalized
from coterie.rows.prepare import rows_to_fit

# Attributes of every fit.
_ATTRIBUTES = {"n_features_in_": "size d?", "feature_names_in_": "names d?", "preparation_": "any?"}


class Estimator(CallbackSupportMixin, BaseEstimator):
    """A model that is fitted to rows.

    Attributes
    ----------
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of str
        Names of the columns, where all have one: those of a table or of a `Rows`. Other rows with names are put
        in this order; missing columns are an error, others are left out.
    preparation_ : tuple of tuple
        What was done to the rows before the fit, where something was (`Rows.preparation`); other rows are prepared
        in the same way, unless they are already.
    """

    # Link of scikit-learn's HTML representation.
    _doc_link_module = "coterie"
    _doc_link_template = (
        "https://coterie-clustering.github.io/coterie/reference/made/coterie.{estimator_name}.html"
    )

    # Attributes that belong to the rows of the fit, and that no other rows need.
    _of_rows: tuple[str, ...] = ()

    # Whether sparse rows are clustered.
    _takes_sparse = False

    def __sklearn_clone__(self) -> Any:
        # scikit-learn clones parameters that are estimators, so that a fitted model as `init` would lose its fit.
        other = super().__sklearn_clone__()  # type: ignore[misc]
        if hasattr(getattr(self, "init", None), "cluster_centers_"):
            other.init = self.init  # type: ignore[attr-defined]
        return other

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._takes_sparse
        return tags

    def __getstate__(self) -> Any:
        if "_own_distances" in vars(self):
            measure_scales(self)
        return super().__getstate__()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write this model to a file for `coterie.load`; see `coterie.save`.

        Parameters
        ----------
        path : str or path-like
            The file; an older one of that name is replaced once the new one is complete.
        """
        save(self, path)

    def check_parameters(self) -> None:
        """Raise a ValueError or TypeError for an invalid parameter, independent of the rows; `fit` begins with this."""
        validate(self)

    def _fitted_attributes(self) -> dict[str, str]:
        """Return types and shapes of the fitted attributes; see `coterie.estimators.persistence.check_fitted`."""
        return dict(_ATTRIBUTES)

    def _membership(self, rows: Rows, labels: IntArray) -> tuple[str, FloatArray] | None:
        """Return the name and values of a measure of how well prepared rows belong to their clusters, or None."""
        return None

    def _rows_to_fit(self, X: Any) -> tuple[Rows, dict[str, Any]]:
        """Return the rows of X and the fitted attributes of their columns; the model does not change."""
        rows = rows_to_fit(X, warn)
        columns = columns_of(X, rows)
        self._check_sparse(rows)
        self._check_memory(rows)
        return self._normalized(rows), columns

    def _check_sparse(self, rows: Rows) -> None:
        if rows.is_sparse and not self._takes_sparse:
            raise TypeError(
                f"Sparse rows were passed, but {type(self).__name__} takes dense ones: use X.toarray(), reduce the "
                "columns, such as by TruncatedSVD, or cluster by k-means, which takes sparse rows as they are."
            )

    def _check_memory(self, rows: Rows) -> None:
        """Raise a MemoryError if labels and distances of all rows, and centers, are larger than the free memory."""
        n_rows, n_columns = rows.shape
        n_clusters = min(getattr(self, "n_clusters", getattr(self, "n_components", 0)) or 0, n_rows)
        check_allocation(
            (24.0 + 4 * rows.dtype.itemsize) * (n_rows + n_clusters * n_columns),
            "labels and distances of all rows, and the centers,",
            "fit a sample of the rows, fewer clusters or fewer columns",
        )

    def _known_columns(self) -> dict[str, Any]:
        """Return the fitted attributes that describe the columns of the last fit."""
        return {name: value for name, value in vars(self).items() if name in _ATTRIBUTES}

    def _store_fitted(self, fitted: Mapping[str, Any]) -> None:
        """Replace the attributes of an earlier fit; the last step. A number that is not finite is a ValueError, and the
        model stays as it was.
        """
        declared = self._fitted_attributes()
        found = first_non_finite(fitted, declared)
        if found is not None:
            name, number = found
            raise ValueError(
                f"{type(self).__name__} ended with {number} in its {name.strip('_')}, which is no result: {TOO_LARGE}"
            )
        for name in declared.keys() & vars(self).keys():
            delattr(self, name)
        for name, value in fitted.items():
            setattr(self, name, value)

    def _rows_of(self, X: Any) -> Rows:
        """Return the rows of X in the columns of the fit, prepared as its rows were, without reading any."""
        rows = prepared_rows(self, X)
        self._check_sparse(rows)
        if rows.shape[1] != self.n_features_in_:
            raise FeatureCountError(type(self).__name__, rows.shape[1], self.n_features_in_)
        return self._normalized(rows)

    def _normalized(self, rows: Rows) -> Rows:
        """Return the rows, divided by their lengths if `metric` is "cosine"; rows of zeros stay as they are."""
        is_cosine = getattr(self, "metric", "euclidean") == "cosine"
        return normalized(rows, refuse_zeros=are_on_workers(rows)) if is_cosine else rows


class FeatureCountError(ValueError):
    """The rows have another number of columns than those of the fit, in the words of scikit-learn."""

    def __init__(self, estimator: str, n_columns: int, n_expected: int) -> None:
        super().__init__(
            f"X has {n_columns} features, but {estimator} is expecting {n_expected} features as input."
        )
        self.n_columns, self.n_expected = n_columns, n_expected


def membership_of(model: Any, rows: Rows, labels: IntArray) -> tuple[str, FloatArray] | None:
    """Return a measure of how well rows belong to their clusters in a fitted model, and its name, if there is one."""
    return model._membership(rows, labels) if isinstance(model, Estimator) else None


def rows_for(model: Any, X: Any) -> Rows:
    """Return the rows of X for a fitted estimator of any library; it takes these, too, and prepares them no further."""
    if not isinstance(model, Estimator):
        return prepared_rows(model, X)
    check_is_fitted(model)
    return model._rows_of(X)


def by_chunk(method: Callable[..., Any]) -> Any:
    """Let a method of a fitted model run chunk by chunk for rows on workers; a decorator."""

    @functools.wraps(method)
    def method_by_chunk(self: Any, X: Any, *args: Any, **options: Any) -> Any:
        if isinstance(X, Rows) and are_on_workers(X):
            check_is_fitted(self)
            return X.results_of(_without_training_rows(self), method.__name__, *args, **options)  # type: ignore[attr-defined]
        return method(self, X, *args, **options)

    return method_by_chunk


def _without_training_rows(model: Any) -> Any:
    """Return a copy of a fitted model without the attributes of its training rows."""
    lean = copy.copy(model)
    for name in model._of_rows:
        vars(lean).pop(name, None)
    if hasattr(lean, "callback"):
        lean.callback = None
    return lean
