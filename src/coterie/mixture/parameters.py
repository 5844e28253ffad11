"""The parameters of a Gaussian mixture, and the energies that they give a row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from coterie.arrays import Array, FloatArray
from coterie.cached import cached_property

_LINE_BYTES = 64

# Variances that factors add, relative to the largest one: less is lost to rounding.
_LEAST_STRENGTH = 1e-13


@dataclass(frozen=True)
class Directions:
    """Factors as orthogonal directions of columns scaled to the noise: `scales` (C, d) are 1 / standard deviation of
    the noise, `vectors` (C, H, width) unit or 0, padded to cache lines, `strengths` (C, H) variances added to the noise
    of 1.
    """

    scales: Array
    vectors: Array
    strengths: FloatArray

    @classmethod
    def of(cls, factors: FloatArray, variances: FloatArray, dtype: npt.DTypeLike) -> Directions:
        """Return the directions of factors (C, H, d), rotated, with noise of variances (C, d)."""
        scales = 1 / np.sqrt(variances)
        scaled = factors * scales[:, None, :]
        strengths, turns = np.linalg.eigh(scaled @ scaled.transpose(0, 2, 1))
        strengths, turns = strengths[:, ::-1], turns[:, :, ::-1]
        is_lost = strengths <= _LEAST_STRENGTH * strengths[:, :1]
        strengths = np.where(is_lost, 0.0, strengths)
        lengths = np.where(is_lost, np.inf, np.sqrt(strengths))
        vectors = cls.padded((turns / lengths[:, None, :]).transpose(0, 2, 1) @ scaled, dtype)
        return cls(np.ascontiguousarray(scales, dtype=dtype), vectors, strengths)

    @staticmethod
    def padded(vectors: FloatArray, dtype: npt.DTypeLike) -> Array:
        """Return vectors of shape (C, H, d) with columns padded by zeros to whole cache lines."""
        n_lanes = _LINE_BYTES // np.dtype(dtype).itemsize
        n_components, n_factors, n_columns = vectors.shape
        out = np.zeros((n_components, n_factors, -(-n_columns // n_lanes) * n_lanes), dtype=dtype)
        out[:, :, :n_columns] = vectors
        return out

    @property
    def shrinkages(self) -> Array:
        """1 / (1 + strength): shape (C, H), compute dtype."""
        return np.asarray(1 / (1 + self.strengths)).astype(self.vectors.dtype)

    def factors(self, chosen: Any = slice(None)) -> FloatArray:
        """Return the factors, shape (C, H, d), float64: orthogonal where columns are scaled, the strongest first."""
        n_columns = self.scales.shape[1]
        lengths = np.sqrt(self.strengths[chosen])[:, :, None]
        return np.asarray(self.vectors[chosen, :, :n_columns] * lengths / self.scales[chosen][:, None, :])


@dataclass(frozen=True)
class MixtureParameters:
    """A Gaussian mixture: means (C, d), variances (), (C,) or (C, d), those of the noise with factors (C, H, d),
    and weights (C,) of sum 1. Components of weight 0 are dropped.
    """

    means: Array
    variances: FloatArray
    weights: FloatArray
    factors: FloatArray | None = None

    @cached_property
    def directions(self) -> Directions | None:
        """The factors as orthogonal directions; None where there are no factors."""
        if self.factors is None:
            return None
        return Directions.of(self.factors, self.variances, self.means.dtype)

    def of(self, chosen: Any) -> MixtureParameters:
        """Return the parameters of chosen components."""
        return MixtureParameters(
            self.means[chosen],
            self.variances[chosen] if self.variances.ndim else self.variances,
            self.weights[chosen],
            None if self.factors is None else self.factors[chosen],
        )

    def energies(self) -> tuple[Array | None, Array, Array, float]:
        """Return scales (C, d) or None, precisions and offsets (C,), and the base: -log(weight * density(x)) =
        precision * ||(x - mean) * scale||^2 + offset + base, with factors by Mahalanobis distance.
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
            if self.directions is not None:
                volumes += np.log1p(self.directions.strengths).sum(axis=1)
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


def count_parameters(covariance_type: str, n_components: int, n_columns: int, n_factors: int = 0) -> int:
    """Return the number of free parameters; rotations of factors take H (H - 1) / 2 from each component."""
    n_means = n_components * n_columns
    if covariance_type == "tied_spherical":
        return n_means + 1
    n_variances = n_components if covariance_type == "spherical" else n_means
    n_of_factors = n_components * (n_factors * n_columns - n_factors * (n_factors - 1) // 2)
    return n_means + n_variances + n_of_factors + n_components - 1
