"""Any number of distinct digits."""

from __future__ import annotations

import numpy as np
from sklearn.utils import check_random_state

from coterie.arrays import Array
from coterie.datasets.shipped import load_digits


def make_moved_digits(
    n_samples: int = 100_000, *, random_state: int | np.random.RandomState | None = None
) -> tuple[Array, Array]:
    """Generate handwritten digits of 8 x 8 pixels, each shifted by up to a pixel in both directions.

    Any number of distinct images can be generated, as in INFMNIST (Loosli, Canu and Bottou 2007), from scikit-learn's
    digits.

    Parameters
    ----------
    n_samples : int
        Number of images.
    random_state : int, RandomState or None
        Source of randomness.

    Returns
    -------
    X : ndarray of shape (n_samples, 64), float32
        Gray levels from 0 to 16, row by row.
    y : ndarray of shape (n_samples,), int64
        The digit, 0 to 9.

    Examples
    --------
    >>> from coterie.datasets import make_moved_digits
    >>> X, y = make_moved_digits(2000, random_state=0)
    >>> X.shape
    (2000, 64)
    """
    random = check_random_state(random_state)
    digits, kinds = load_digits()
    chosen = random.randint(len(digits), size=n_samples)
    padded = np.pad(digits.reshape(-1, 8, 8).astype(np.float32), ((0, 0), (1, 2), (1, 2)))
    down, right = random.uniform(0, 2, size=(2, n_samples, 1, 1)).astype(np.float32)
    top, left = down.astype(np.intp), right.astype(np.intp)
    X = np.zeros((n_samples, 8, 8), dtype=np.float32)
    for below in (0, 1):  # bilinear interpolation between four neighboring pixels
        for beside in (0, 1):
            weight = np.abs(1 - below - (down - top)) * np.abs(1 - beside - (right - left))
            pixels = top + below + np.arange(8)[:, None], left + beside + np.arange(8)
            X += weight * padded[chosen[:, None, None], *pixels]
    return X.reshape(n_samples, 64), kinds[chosen]
