"""What every estimator is: a scikit-learn estimator of anything with rows, that can be checked, watched and saved."""

from __future__ import annotations

from typing import Any

from sklearn.base import BaseEstimator
from sklearn.utils.validation import _check_n_features, check_is_fitted

from coterie.estimators.memory import check_fit_memory
from coterie.estimators.preparation import prepared_rows, remember_preparation
from coterie.fitting.callbacks import CallbackSupportMixin
from coterie.persistence import Persistable
from coterie.rows import RowSource, as_rows

__all__ = ["Estimator"]


class Estimator(Persistable, CallbackSupportMixin, BaseEstimator):
    """A model that is fitted to rows.

    Attributes
    ----------
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of str
        Names of the columns, where all have one: those of a table or of a `RowSource`. Other rows with names are put
        in this order; missing and new columns are an error.
    preparation_ : tuple of tuple
        What was done to the rows before the fit, where something was (`RowSource.preparation`); other rows are prepared
        in the same way, unless they are already.
    """

    def check_parameters(self) -> None:
        """Raise a ValueError or TypeError if a parameter makes no sense, whatever the rows may be.

        `fit` begins with this.
        """

    def prepared(self, X: Any) -> RowSource:
        """Return the rows of X as this fitted model sees them: in the columns of the fit, prepared as its rows were.

        Parameters
        ----------
        X : array-like, sparse matrix, table, Dask array or RowSource of shape (n, d)
            Any rows.

        Returns
        -------
        RowSource
            Nothing is read by this. The model takes these rows, too, and prepares them no further.
        """
        check_is_fitted(self)
        return self._rows_of(X, reset=False)

    def _rows_of(self, X: Any, reset: bool) -> RowSource:
        """Return the rows of X; note their columns and preparation (reset), or give them those of the fit."""
        if reset:
            rows = as_rows(X)
            remember_preparation(self, X, rows)
        else:
            rows = prepared_rows(self, X)
        _check_n_features(self, rows, reset=reset)
        if reset:
            check_fit_memory(self, rows)
        return rows
