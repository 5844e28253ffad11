"""Mixtures of factor analyzers by full covariance matrices (Ghahramani and Hinton 1996)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp
from scipy.stats import multivariate_normal

Array = npt.NDArray[np.float64]


def covariance(factors, noise) -> Array:
    """Covariance of a component with factors (h, d) and variances of the noise (d,)."""
    return factors.T @ factors + np.diag(noise)


def energies(X, means, noise, weights, factors) -> Array:
    """Minus log(weight * density) of each row with each component."""
    X = np.asarray(X, dtype=np.float64)
    out = np.empty((len(X), len(means)))
    for c, (mean, variances, weight, own) in enumerate(zip(means, noise, weights, factors)):
        out[:, c] = -multivariate_normal.logpdf(X, mean, covariance(own, variances)) - np.log(weight)
    return out


def posterior_factors(X, mean, noise, factors) -> tuple[Array, Array]:
    """Posterior means of the factors of each row, (n, h), and their covariance, (h, h)."""
    cov = np.linalg.inv(np.eye(len(factors)) + (factors / noise) @ factors.T)
    return (X - mean) @ (factors / noise).T @ cov, cov


def em_step(X, row_weights, means, noise, weights, factors) -> tuple[Array, Array, Array, Array, float]:
    """One EM iteration with all components: means, noise, weights, factors, and the mean log-likelihood before."""
    table = energies(X, means, noise, weights, factors)
    log_densities = logsumexp(-table, axis=1)
    shares = np.exp(-table - log_densities[:, None]) * row_weights[:, None]
    new = [np.empty_like(array, dtype=np.float64) for array in (means, noise, factors)]
    for c, share in enumerate(shares.T):
        z, cov = posterior_factors(X, means[c], noise[c], factors[c])
        extended = np.hstack([z, np.ones((len(X), 1))])
        products = (share[:, None] * X).T @ extended
        grams = (share[:, None] * extended).T @ extended
        h = len(factors[c])
        grams[:h, :h] += share.sum() * cov
        both = np.linalg.solve(grams, products.T)
        new[0][c], new[2][c] = both[h], both[:h]
        new[1][c] = (share @ X**2 - np.sum(both * products.T, axis=0)) / share.sum()
    masses = shares.sum(axis=0)
    bound = row_weights @ log_densities / row_weights.sum()
    return new[0], new[1], masses / masses.sum(), new[2], bound


def denoised(X, means, noise, weights, factors) -> Array:
    """Posterior mean of each row without its noise."""
    table = energies(X, means, noise, weights, factors)
    shares = np.exp(-table - logsumexp(-table, axis=1)[:, None])
    out = np.zeros(X.shape)
    for c, share in enumerate(shares.T):
        z, _ = posterior_factors(X, means[c], noise[c], factors[c])
        out += share[:, None] * (means[c] + z @ factors[c])
    return out
