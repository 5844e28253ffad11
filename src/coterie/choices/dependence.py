"""Whether rows follow one another, as those of a walk do: then gaps in their density are no clusters."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import minimum_spanning_tree

from coterie.arrays import FloatArray, IntArray
from coterie.graphs import nearest_neighbors

__all__ = ["Succession", "Thread", "succession_of", "thread_of"]

# Rows follow one another where a step is so much shorter than between two rows of its cluster that were drawn apart.
_SHORT_STEPS = 0.5

# Steps between clusters are leaps from so many ordinary steps on.
_LEAP = 2.0

# Of fewer steps nothing can be said.
_FEWEST_STEPS = 30

# Ends among the vertices of the shortest tree: in a plane 22% of any scattered points, in more directions more; of a
# walk in ten directions 15 to 19%, in twenty 4 to 10%. On a line any points are a path.
_FEW_ENDS = 0.2
_FEWEST_DIRECTIONS = 3
_NEIGHBORS = 15


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


@dataclass(frozen=True)
class Thread:
    """How much points look like those of one path, in whatever order they come.

    Attributes
    ----------
    ends : float
        Share of the vertices of the shortest tree that joins neighbours which are its ends: near 0 for a path.
    leap : float
        Median length of its edges between clusters over that of its edges within; infinite if clusters are apart.
    n_directions : int
        Columns of the points.
    """

    ends: float
    leap: float
    n_directions: int

    @property
    def is_path(self) -> bool:
        """Whether they lie on one path that goes from cluster to cluster by ordinary steps."""
        return self.n_directions >= _FEWEST_DIRECTIONS and self.ends < _FEW_ENDS and self.leap < _LEAP


def thread_of(points: FloatArray, labels: IntArray, n_threads: int) -> Thread:
    """Join points by the shortest tree of their nearest neighbours, and look at its ends.

    Parameters
    ----------
    points : ndarray of shape (m, e)
        Rows in any order.
    labels : ndarray of shape (m,)
        Their clusters.
    n_threads : int
        Threads of the search for neighbours.

    Returns
    -------
    Thread

    Examples
    --------
    >>> import numpy as np
    >>> from coterie.choices.dependence import thread_of
    >>> random = np.random.RandomState(0)
    >>> walk = random.permutation(np.cumsum(random.standard_normal((1000, 20)), axis=0))
    >>> halves = (walk[:, 0] > np.median(walk[:, 0])).astype(np.int32)
    >>> thread_of(walk, halves, 1).is_path
    True
    """
    n_points = len(points)
    n_neighbors = min(_NEIGHBORS, n_points - 1)
    ids, squares = nearest_neighbors(points, n_neighbors, method="exact", n_threads=n_threads)
    starts = np.arange(0, ids.size + 1, n_neighbors)
    # Equal points are joined, too: an edge of length 0 would be none.
    lengths = np.sqrt(squares.ravel()) + np.finfo(np.float64).tiny
    graph = sp.csr_array((lengths, ids.ravel(), starts), shape=(n_points, n_points))
    tree = minimum_spanning_tree(graph.maximum(graph.T)).tocoo()
    degrees = np.bincount(tree.row, minlength=n_points) + np.bincount(tree.col, minlength=n_points)
    within = labels[tree.row] == labels[tree.col]
    leap = (
        np.inf
        if within.all() or not within.any()
        else float(np.median(tree.data[~within]) / max(float(np.median(tree.data[within])), 1e-300))
    )
    return Thread(float(np.mean(degrees <= 1)), leap, points.shape[1])
