"""Wide rows in coordinates of their own: fewer numbers, the same problem."""

from __future__ import annotations

import numpy as np
import scipy.linalg

from coterie.arrays import FloatArray
from coterie.convex.norms import KernelNorm, Norm

__all__ = ["own_coordinates"]


def own_coordinates(centered: FloatArray, norm: Norm) -> FloatArray | None:
    """Return an orthonormal basis of the space of n rows of more than n columns, where the norm allows to use it.

    The Euclidean norm does not see a rotation, and centroids lie in the space of the rows (they are means of rows, or
    drawn along their differences): the problem in its coordinates is the same one.

    Parameters
    ----------
    centered : ndarray of shape (n, p), float64
        Rows around their mean, which therefore span n - 1 dimensions at most.
    norm : KernelNorm or NormObject
        Of the differences of centroids.

    Returns
    -------
    ndarray of shape (p, n - 1), float64, or None
        None where p <= n, or the norm is another one.

    Notes
    -----
    O(n^2 p), by Householder reflections: coordinates are exact but for rounding, also of rows that depend on each
    other.

    Examples
    --------
    >>> import numpy as np
    >>> from coterie.convex.norms import find_norm
    >>> from coterie.convex.rotation import own_coordinates
    >>> X = np.array([[3.0, 4.0, 0.0], [-3.0, -4.0, 0.0]])
    >>> np.abs(X @ own_coordinates(X, find_norm("l2", 3))).tolist()
    [[5.0], [5.0]]
    """
    n, p = centered.shape
    is_euclidean = isinstance(norm, KernelNorm) and len(norm.group_starts) == 2 and not norm.is_maximum
    if not is_euclidean or n < 2 or p <= n:
        return None
    basis: FloatArray = scipy.linalg.qr(centered[:-1].T, mode="economic")[0]
    return np.ascontiguousarray(basis)
