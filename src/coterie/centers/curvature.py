"""How sizes change with prices: as many rows go over from one cluster to another, per unit of price, as lie between."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from coterie import _kernels
from coterie.arrays import Array, BoolArray, FloatArray, IndexArray, IntArray

__all__ = ["Curvature"]

# How well a system is solved, and products with its matrix at most.
_SOLVED, _MOST_PRODUCTS = 1e-3, 500


@dataclass(frozen=True)
class Curvature:
    """The Laplacian of the graph of clusters, with a multiple of its mean added.

    Attributes
    ----------
    starts, ends, weights : ndarray
        What goes over between two of them per unit of price, in compressed rows.
    diagonal : ndarray of shape (k,), float64
        The sums of these rows, and what is added: those that nobody is about to enter or leave would move without end.
    """

    starts: IntArray
    ends: IntArray
    weights: FloatArray
    diagonal: FloatArray

    @classmethod
    def of_rows(
        cls,
        heads: IntArray,
        tails: IntArray,
        margins: FloatArray,
        weights: Array | None,
        n_near: int,
        n_nodes: int,
        damping: float,
    ) -> Curvature:
        """Count the rows that are next to changing.

        Parameters
        ----------
        heads, tails : ndarray of shape (n,), int32
            Where rows are, and where they would go.
        margins : ndarray of shape (n,), float64
            How much dearer that is.
        weights : ndarray of shape (n,) or None
            None for 1.
        n_near : int
            How many rows are counted, those of the least margins.
        n_nodes : int
            Number of clusters k.
        damping : float
            Relative to the mean of the diagonal, what is added to it.
        """
        near, width = _nearest(margins, n_near)
        counted = None if weights is None else weights[near].astype(np.float64)
        starts = np.empty(n_nodes + 1, dtype=np.int32)
        ends, sums = np.empty(2 * len(near), dtype=np.int32), np.empty(2 * len(near))
        n_ends = _kernels.add_pairs(heads[near], tails[near], counted, starts, ends, sums)
        # Half of them on each side of what is between two clusters.
        between = sums[:n_ends] / (2 * width)
        heads_of = np.repeat(np.arange(n_nodes), np.diff(starts))
        degrees = np.bincount(heads_of, between, minlength=n_nodes).astype(np.float64)
        added = damping * max(float(degrees.mean()), float(np.finfo(np.float64).tiny))
        diagonal: FloatArray = degrees + added
        return cls(starts, ends[:n_ends], between, diagonal)

    def solved(self, right: FloatArray, is_free: BoolArray) -> FloatArray:
        """Solve for those that are free, by conjugate gradients; the others stay 0."""
        solution = np.empty(len(right))
        _kernels.solve_laplacian(
            self.starts, self.ends, self.weights, self.diagonal, is_free.view(np.uint8), right,
            _SOLVED**2, _MOST_PRODUCTS, solution,
        )  # fmt: skip
        return solution

    def times(self, step: FloatArray) -> FloatArray:
        """Return by how much a step lowers sizes."""
        n = len(step)
        between = sp.csr_array((self.weights, self.ends, self.starts), shape=(n, n))
        product: FloatArray = self.diagonal * step - between @ step
        return product


def _nearest(margins: FloatArray, n_near: int) -> tuple[IndexArray, float]:
    """Return the rows of the least margins, and the margin that they have at most."""
    rank = min(n_near, len(margins) - 1)
    width = float(np.partition(margins, rank)[rank])
    largest = float(np.max(margins[np.isfinite(margins)], initial=0.0))
    if not np.isfinite(width):
        width = max(largest, 1.0)
    # Rows that are all alike have no margins at all: any unit will do.
    width = max(width, float(np.finfo(np.float64).eps) * largest) or 1.0
    return np.flatnonzero(margins <= width), width
