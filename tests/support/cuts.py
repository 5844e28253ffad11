"""Random graphs and memberships that tests of total variation clustering share."""

import numpy as np

DTYPES = [np.float32, np.float64]


def some_weights(n, density, seed, binary=True):
    """Return the matrix of a random graph that is connected."""
    random = np.random.default_rng(seed)
    W = np.triu(random.random((n, n)) < density, 1) * (1.0 if binary else np.round(random.random((n, n)), 3))
    # A path, so that there are edges.
    W[np.arange(n - 1), np.arange(1, n)] = 1
    return W + W.T


def some_memberships(n, R, seed, sharp=0.0):
    """Return rows in the simplex, a part of them indicators, and no column constant."""
    random = np.random.default_rng(seed + 1)
    F = random.dirichlet(np.ones(R), n)
    chosen = random.random(n) < sharp
    F[chosen] = np.eye(R)[random.integers(R, size=chosen.sum())]
    F[:R] = np.eye(R)
    return F
