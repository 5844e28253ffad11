"""Where EM begins, when that is not drawn: with given weights, or where the last fit ended."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from coterie.arrays import FloatArray
from coterie.fitting.warn import warn
from coterie.mixture.parameters import MixtureParameters
from coterie.rows import RowSource

__all__ = ["NO_VARIANCE", "check_variance", "first_weights", "last_parameters"]

# Of the data's variance: what counts as none.
NO_VARIANCE = 1e-12

# How far the sum of weights may be from 1.
_ROUNDING = 1e-6


def first_weights(given: npt.ArrayLike | None, n_components: int) -> FloatArray:
    """Return the weights to begin with: those given, else equal ones.

    Parameters
    ----------
    given : array-like of shape (n_components,), optional
        `weights_init` of the mixture.
    n_components : int
        How many there must be.

    Returns
    -------
    ndarray of shape (n_components,), float64

    Raises
    ------
    ValueError
        If they are not as many, not positive, or do not sum to 1.
    """
    if given is None:
        return np.full(n_components, 1 / n_components)
    weights = np.array(given, dtype=np.float64)
    if weights.shape != (n_components,) or not np.all(weights > 0) or abs(weights.sum() - 1) > _ROUNDING:
        raise ValueError(
            f"weights_init must hold n_components={n_components} positive numbers whose sum is 1, got shape "
            f"{weights.shape}, least {weights.min(initial=np.inf):g}, sum {weights.sum():g}."
        )
    return weights


def last_parameters(model: Any, rows: RowSource) -> MixtureParameters:
    """Return what a mixture ended its last fit with, in the type of the rows of the next one.

    Parameters
    ----------
    model : TruncatedGaussianMixture
        Fitted.
    rows : RowSource of shape (n, d)
        The rows of the next fit.

    Returns
    -------
    MixtureParameters

    Raises
    ------
    ValueError
        If the last fit has another number of components or columns, or other variances.
    """
    n_components, n_columns = model.n_components, rows.shape[1]
    variances = np.array(model.covariances_)
    shapes = {"tied_spherical": (), "spherical": (n_components,), "diag": (n_components, n_columns)}
    if model.means_.shape != (n_components, n_columns) or variances.shape != shapes[model.covariance_type]:
        raise ValueError(
            f"warm_start goes on with the last fit, whose {len(model.means_)} means of {model.means_.shape[1]} columns "
            f"and variances of shape {variances.shape} do not suit {n_components} components "
            f"({model.covariance_type}) of {n_columns} columns. Set warm_start=False, or begin with a new model."
        )
    return MixtureParameters(model.means_.astype(rows.dtype), variances, model.weights_)


def check_variance(variance: float, dtype: npt.DTypeLike, reg_covar: float) -> None:
    """Raise a ValueError if variances vanish in the rows' dtype; warn if `reg_covar` would hide the rows' own.

    Parameters
    ----------
    variance : float
        Mean variance of the columns.
    dtype : dtype
        Of the rows.
    reg_covar : float
        Added to every variance.
    """
    if 0 < variance < np.finfo(dtype).tiny / NO_VARIANCE and reg_covar == 0:
        raise ValueError(
            f"The rows of X differ too little for {np.dtype(dtype)}: their variance is {variance:.3g}. Multiply X by "
            "a large number, such as a power of 2."
        )
    if 0 < variance < reg_covar:
        warn(
            f"reg_covar={reg_covar:g}, which is added to each variance, is more than that of all rows, "
            f"{variance:.3g}, so components can hardly differ. Multiply X by a large number, or give less.",
        )
