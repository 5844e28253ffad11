"""Whether rows follow one another, as those of a walk do: then gaps in their density are no clusters."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from coterie.arrays import FloatArray, IntArray

__all__ = ["Succession", "succession_of"]

# Rows follow one another where a step is so much shorter than between two rows of its cluster that were drawn apart.
_SHORT_STEPS = 0.5

# Steps between clusters are leaps from so many ordinary steps on.
_LEAP = 2.0

# Of fewer steps nothing can be said.
_FEWEST_STEPS = 30


@dataclass(frozen=True)
class Succession:
    """What rows have to do with those before them.

    Attributes
    ----------
    step : float
        Mean squared distance of a row to the one before it in the same cluster, over that of two rows which were drawn
        apart from it: 1 for rows in no order (von Neumann's ratio), near 0 for a walk.
    leap : float
        Median length of the steps between clusters over that of the steps within; infinite if there are none.
    """

    step: float
    leap: float

    @property
    def is_path(self) -> bool:
        """Whether the rows wander from cluster to cluster by ordinary steps."""
        return self.step < _SHORT_STEPS and self.leap < _LEAP


def succession_of(
    points: FloatArray, labels: IntArray, following: FloatArray, labels_after: IntArray
) -> Succession:
    """Compare the steps from rows to those behind them with the distances of rows of the same cluster.

    Parameters
    ----------
    points, following : ndarray of shape (m, e)
        Rows, and the row behind each.
    labels, labels_after : ndarray of shape (m,)
        Their clusters.

    Returns
    -------
    Succession

    References
    ----------
    von Neumann, Distribution of the ratio of the mean square successive difference to the variance, 1941.

    Examples
    --------
    >>> import numpy as np
    >>> from coterie.choices.dependence import succession_of
    >>> walk = np.cumsum(np.random.RandomState(0).standard_normal((1000, 2)), axis=0)
    >>> halves = (walk[:, 0] > np.median(walk[:, 0])).astype(np.int32)
    >>> succession_of(walk[:-1], halves[:-1], walk[1:], halves[1:]).is_path
    True
    """
    squares = np.square(following - points).sum(axis=1)
    same = labels == labels_after
    if same.sum() < _FEWEST_STEPS:
        return Succession(1.0, np.inf)
    sizes = np.bincount(labels)
    means = (
        np.column_stack([np.bincount(labels, column) for column in points.T]) / np.maximum(sizes, 1)[:, None]
    )
    spread = np.square(points - means[labels]).sum(axis=1) * (sizes / np.maximum(sizes - 1, 1))[labels]
    apart = 2 * float(spread[same].mean())
    step = float(squares[same].mean()) / apart if apart > 0 else 1.0
    leap = (
        np.inf
        if same.all()
        else float(np.sqrt(np.median(squares[~same]) / max(np.median(squares[same]), 1e-300)))
    )
    return Succession(step, leap)
