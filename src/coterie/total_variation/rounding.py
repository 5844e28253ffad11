"""Round memberships to clusters of bounded size, and match clusters with priors or with known labels."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linear_sum_assignment

from coterie import _kernels
from coterie.arrays import Array, BoolArray, FloatArray, IndexArray, IntArray
from coterie.graphs.cuts import cuts_and_sizes, degrees_of
from coterie.graphs.edges import Edges
from coterie.size_constrained.assignment import Candidates, assign_within
from coterie.size_constrained.sizes import SizeBounds
from coterie.total_variation.problem import CutGraph

# Steps and restart probability of the random walk that separates rows inside a cluster from those at its border.
_STEPS, _RETURN = 20, 0.5

# Memberships below this are raised to it before the logarithm. Logarithmic costs move the borders between clusters;
# linear ones would move single rows to distant clusters.
_NONE = 1e-12


def labels_within(
    graph: sp.csr_array,
    memberships: Array,
    labels: IntArray,
    bounds: SizeBounds,
    fixed: BoolArray,
    n_threads: int = 1,
) -> IntArray:
    """Round memberships to clusters within size bounds, by dual variables of the clusters. Rows of equal memberships
    are ranked by a random walk on the graph: by how near they are to the border.
    """
    R = memberships.shape[1]
    if bounds.allow(np.bincount(labels, minlength=R)):
        return labels
    scores = -np.log(np.maximum(_after_random_walk(graph, memberships), _NONE))
    # A path of R moves costs less than that.
    scores[fixed] = -R * np.log(_NONE) * (1 - np.eye(R)[labels[fixed]])
    return assign_within(Candidates.of_all(scores, n_threads), bounds).labels


def _after_random_walk(graph: sp.csr_array, memberships: Array) -> FloatArray:
    """Return the mean memberships over a random walk with restarts."""
    degrees = degrees_of(graph)
    own = np.ascontiguousarray(memberships, dtype=np.float64)
    steps = sp.diags_array(np.divide(1, degrees, out=np.zeros_like(degrees), where=degrees > 0)) @ graph
    walked = own
    for _ in range(_STEPS):
        walked = _RETURN * own + (1 - _RETURN) * (steps @ walked)
    return walked


def check_known_sizes(known: IntArray, n_clusters: int, bounds: SizeBounds) -> None:
    """Raise a ValueError if known classes make the size bounds infeasible."""
    sizes = np.bincount(known[known >= 0], minlength=n_clusters)
    if sizes.max() > bounds.most:
        raise ValueError(
            f"y puts {sizes.max()} rows into class {sizes.argmax()}, and size_max allows {bounds.most:g}: allow "
            "more, or give fewer labels."
        )
    needed = float(np.maximum(sizes, np.ceil(bounds.least)).sum())
    if needed > len(known):
        raise ValueError(
            f"With the classes of y, size_min={bounds.least:g} for each of {n_clusters} clusters asks for {needed:g} "
            f"rows, and there are {len(known)}: ask for less, or give fewer labels."
        )


class VertexMoves:
    """Moves of single vertices to adjacent clusters, as long as (P) decreases."""

    def __init__(
        self,
        graph: CutGraph,
        balance_weights: FloatArray,
        weights: FloatArray | None,
        fixed: BoolArray,
        bounds: SizeBounds | None = None,
    ) -> None:
        edges = graph.adjacency
        self._starts, self._columns = edges.indptr.astype(np.int64), edges.indices.astype(np.int32)
        self._edge_weights = None if np.all(edges.data == 1) else edges.data.astype(np.float64)
        self._balance_weights, self._weights, self._fixed = balance_weights, weights, fixed.astype(np.uint8)
        self._bounds = SizeBounds(0, len(fixed)) if bounds is None else bounds

    def after_moves(self, labels: IntArray) -> IntArray:
        """Return clusters whose (P) no move of a single vertex lowers, none empty. Vertices move in graph order to the
        adjacent cluster that lowers (P) most; O(edges) for each pass.
        """
        moved_labels = labels.copy()
        _kernels.move_vertices(
            self._starts, self._columns, self._edge_weights, self._weights, self._fixed, self._balance_weights,
            self._bounds.least, self._bounds.most, moved_labels,
        )  # fmt: skip
        return moved_labels


def matched_numbers(
    edges: Edges, labels: IntArray, balance_weights: FloatArray, weights: FloatArray | None
) -> IndexArray:
    """Return the new number of each cluster that minimizes (P), by a match of sizes with priors."""
    cuts, sizes = cuts_and_sizes(edges, labels, len(balance_weights), weights)
    limits = np.minimum(np.outer(sizes, balance_weights), (sizes.sum() - sizes)[:, None])
    # Empty clusters and those without a cut could have any number; the largest one gets the largest prior.
    energies = cuts[:, None] / np.maximum(limits, np.finfo(np.float64).tiny)
    energies = np.where(cuts[:, None] > 0, energies, np.outer(sizes / sizes.sum(), balance_weights) * 1e-12)
    return np.asarray(linear_sum_assignment(energies)[1], dtype=np.int64)


def numbers_by_labels(edges: Edges, labels: IntArray, known: IntArray, n_clusters: int) -> IndexArray:
    """Return the new number of each cluster that keeps the most edges of labeled vertices within clusters."""
    kept = np.zeros((n_clusters, n_clusters))
    for ends, others in ((edges.heads, edges.tails), (edges.tails, edges.heads)):
        from_known = np.flatnonzero((known[ends] >= 0) & (known[others] < 0))
        np.add.at(kept, (labels[others[from_known]], known[ends[from_known]]), edges.weights[from_known])
    return np.asarray(linear_sum_assignment(kept, maximize=True)[1], dtype=np.int64)
