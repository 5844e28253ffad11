"""The parameters of a Gaussian mixture, and the energies that they give a row."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from coterie.arrays import Array, FloatArray

__all__ = ["MixtureParameters", "count_parameters"]


@dataclass(frozen=True)
class MixtureParameters:
    """The parameters of a Gaussian mixture.

    Attributes
    ----------
    means : ndarray of shape (C, d), compute dtype
        The means.
    variances : ndarray of shape (), (C,) or (C, d), float64
        One for all, one per component, or one per component and column.
    weights : ndarray of shape (C,), float64
        The components' shares; their sum is 1. Those with weight 0 are dropped: no row will choose them.
    """

    means: Array
    variances: FloatArray
    weights: FloatArray

    def energies(self) -> tuple[Array | None, Array, Array, float]:
        """Return what minus the log-density of a row with a component is made of.

        Returns
        -------
        scales : ndarray of shape (C, d) or None
        precisions, offsets : ndarray of shape (C,)
            -log(weight * density(x)) = precision * ||(x - mean) * scale||^2 + offset + base.
        base : float
        """
        return self._energies

    @cached_property
    def _energies(self) -> tuple[Array | None, Array, Array, float]:
        n_components, n_columns = self.means.shape
        alive = self.weights > 0
        logarithms = np.log(2 * np.pi * self.variances)
        if self.variances.ndim == 2:
            scales, precisions = 1 / np.sqrt(self.variances), np.full(n_components, 0.5)
            volumes = logarithms.sum(axis=1)
        else:
            scales, precisions = None, np.full(n_components, 0.5 / self.variances)
            volumes = np.full(n_components, n_columns * logarithms)
        offsets = np.full(n_components, np.inf)
        offsets[alive] = 0.5 * volumes[alive] - np.log(self.weights[alive])
        base = float(offsets.min())
        dtype = self.means.dtype
        return (
            None if scales is None else np.ascontiguousarray(scales, dtype=dtype),
            precisions.astype(dtype),
            (offsets - base).astype(dtype),
            base,
        )


def count_parameters(covariance_type: str, n_components: int, n_columns: int) -> int:
    """Return how many numbers of a mixture are free: means, variances, and weights where they are."""
    n_means = n_components * n_columns
    if covariance_type == "tied_spherical":
        return n_means + 1
    n_variances = n_means if covariance_type == "diag" else n_components
    return n_means + n_variances + n_components - 1
