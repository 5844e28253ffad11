"""What is to be cut: a graph, into how many clusters, and what is known of these."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from coterie.arrays import FloatArray, IntArray
from coterie.centers.sizes import SizeBounds
from coterie.graphs.cuts import asymmetries_of

__all__ = ["CutProblem", "draws_starts"]


@dataclass(frozen=True)
class CutProblem:
    """A graph that is to be cut into clusters, in the order of the data.

    Attributes
    ----------
    graph : csr_array of shape (n, n), float32 or float64
        Symmetric non-negative weights, no loops.
    n_clusters : int
        Number of clusters R.
    known : ndarray of shape (n,), int32
        Known classes, -1 elsewhere: those vertices stay in the clusters of these numbers.
    given : ndarray of shape (n, R), float64, or None
        Memberships to start with.
    random : RandomState
        What is drawn comes from it.
    n_threads : int
        Threads; they make no difference to the result.
    asymmetry : float, optional
        lambda of (P), which says how large clusters should be: n / (lambda + 1) vertices. None: R - 1.
    priors : ndarray of shape (R,), float64, or None
        The part of all that each cluster should be, instead of `asymmetry`.
    weights : ndarray of shape (n,), float64, or None
        What vertices count in the sizes of clusters; None: 1 each.
    bounds : SizeBounds, optional
        How many vertices a cluster may have.
    """

    graph: sp.csr_array
    n_clusters: int
    known: IntArray
    given: FloatArray | None
    random: np.random.RandomState
    n_threads: int
    asymmetry: float | None = None
    priors: FloatArray | None = None
    weights: FloatArray | None = None
    bounds: SizeBounds | None = None

    @property
    def asymmetries(self) -> FloatArray:
        """lambda of each cluster."""
        if self.priors is not None:
            return asymmetries_of(self.priors)
        return np.full(
            self.n_clusters, self.n_clusters - 1 if self.asymmetry is None else self.asymmetry, float
        )

    @property
    def n_vertices(self) -> int:
        """Number of vertices n."""
        return int(self.graph.shape[0])

    @property
    def draws_starts(self) -> bool:
        """Whether starts are drawn, so that there is more than one."""
        return draws_starts(self.known, self.given, self.n_clusters)

    @property
    def is_matched(self) -> bool:
        """Whether clusters may have any of the priors: these differ, and no class is known."""
        return self.priors is not None and bool(np.all(self.known < 0)) and bool(np.ptp(self.priors) > 0)

    def draw_seed(self) -> int:
        """Draw the seed of another source of random numbers."""
        return int(self.random.randint(np.iinfo(np.int32).max))


def draws_starts(known: IntArray, given: FloatArray | None, n_clusters: int) -> bool:
    """Return whether starts are drawn: no memberships are given, and of some class no vertex is known."""
    return given is None and len(np.unique(known[known >= 0])) < n_clusters
