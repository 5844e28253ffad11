"""What every estimator is: a scikit-learn estimator of anything with rows, that can be checked, watched and saved."""

from __future__ import annotations

from typing import Any

from sklearn.base import BaseEstimator
from sklearn.utils.validation import _check_feature_names, _check_n_features

from coterie.fitting.callbacks import CallbackSupportMixin
from coterie.persistence import Persistable
from coterie.rows import RowSource, as_rows

__all__ = ["Estimator"]


class Estimator(Persistable, CallbackSupportMixin, BaseEstimator):
    """A model that is fitted to rows."""

    def check_parameters(self) -> None:
        """Raise a ValueError or TypeError if a parameter makes no sense, whatever the rows may be.

        `fit` begins with this.
        """

    def _rows_of(self, X: Any, reset: bool) -> RowSource:
        """Return the rows of X; note their columns (reset), or compare these with those of the fit."""
        rows = as_rows(X)
        _check_feature_names(self, X, reset=reset)
        _check_n_features(self, rows, reset=reset)
        return rows
