"""The minimum spanning tree of a graph of nearest neighbors, and the order of its nodes from a root."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.spatial import cKDTree

from coterie import _kernels
from coterie.arrays import Array, FloatArray, IntArray
from coterie.graphs.exact import nearest_of_other_groups
from coterie.graphs.neighbors import nearest_neighbors

__all__ = ["RootedTree", "SpanningTree", "rooted_tree", "spanning_tree"]


# Columns up to which a k-d tree finds neighbors faster than products of matrices.
_FEW_COLUMNS = 6

# Rows of a component up to which the search in other components has no upper bound, rows that give the bound, and
# alternations of the search for the nearest rows of two components.
_SMALL, _SAMPLED, _TURNS = 1024, 64, 4


class SpanningTree(NamedTuple):
    """The edges of a tree of n rows, by ascending length.

    Attributes
    ----------
    firsts, seconds : ndarray of shape (n - 1,), int32
        Ends of the edges.
    squares : ndarray of shape (n - 1,), float64
        Squared lengths.
    """

    firsts: IntArray
    seconds: IntArray
    squares: FloatArray


class RootedTree(NamedTuple):
    """The nodes of a tree, depth first from node 0.

    Attributes
    ----------
    order : ndarray of shape (n,), int32
        The node at each position.
    parents : ndarray of shape (n,), int32
        Position of the parent, less than that of the node; 0 for the root.
    edges : ndarray of shape (n,), int32
        The edge to the parent; 0 for the root.
    """

    order: IntArray
    parents: IntArray
    edges: IntArray


def spanning_tree(
    rows: Array, n_neighbors: int, *, random_state: Any = None, n_threads: int = 1
) -> SpanningTree:
    """Find the minimum spanning tree of the nearest-neighbor graph, with the shortest edges between its components.

    Parameters
    ----------
    rows : ndarray of shape (n, d)
        Finite numbers.
    n_neighbors : int
        Neighbors of each row, at most n - 1. With more, the tree is closer to that of all pairs.
    random_state, n_threads
        See `coterie.graphs.nearest_neighbors`.

    Returns
    -------
    SpanningTree
        Ties in length are broken by the lower row, so the result does not depend on the number of threads.

    Notes
    -----
    O(n k log n) after the search: a k-d tree up to 6 columns (O(n k log n)), `nearest_neighbors` else. Components are
    joined as Borůvka does: in each round every component but the largest to the nearest one. With more than 6 columns,
    the edge between two components of more than 64 rows need not be the shortest.

    References
    ----------
    Kruskal, On the shortest spanning subtree of a graph and the traveling salesman problem, 1956.

    Examples
    --------
    >>> import numpy as np
    >>> from coterie.graphs.spanning import spanning_tree
    >>> tree = spanning_tree(np.array([[0.0], [1.0], [3.0], [9.0]]), 1)
    >>> tree.squares
    array([ 1.,  4., 36.])
    """
    n = len(rows)
    if n == 1:
        return SpanningTree(np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0))
    in_k_d_tree = rows.shape[1] <= _FEW_COLUMNS
    if in_k_d_tree:
        lengths, ids = cKDTree(rows).query(rows, n_neighbors + 1, workers=n_threads)
        ids, squares = ids.astype(np.int32), lengths**2
    else:
        ids, squares = nearest_neighbors(rows, n_neighbors, random_state=random_state, n_threads=n_threads)
    firsts = np.repeat(np.arange(n, dtype=np.int32), ids.shape[1])
    seconds, squares = ids.ravel(), squares.ravel().astype(np.float64)
    # An edge in the lists of both ends is taken once.
    is_once = (firsts < seconds) | ((firsts > seconds) & (squares >= squares.reshape(n, -1)[:, -1][seconds]))
    edges = [(firsts[is_once], seconds[is_once], squares[is_once])]
    sets, tree = np.arange(n, dtype=np.int32), []
    while True:
        firsts, seconds, squares = (np.concatenate(parts) for parts in zip(*edges))
        order = np.argsort(squares, kind="stable")
        firsts, seconds, squares = firsts[order], seconds[order], squares[order]
        chosen = np.empty(n - 1, dtype=np.int64)
        chosen = chosen[: _kernels.spanning_forest(firsts, seconds, sets, chosen)]
        tree.append((firsts[chosen], seconds[chosen], squares[chosen]))
        if sum(len(part[0]) for part in tree) == n - 1:
            break
        edges = [_edges_between(rows, _components(sets), in_k_d_tree, n_threads)]
    firsts, seconds, squares = (np.concatenate(parts) for parts in zip(*tree))
    order = np.argsort(squares, kind="stable")
    return SpanningTree(firsts[order], seconds[order], squares[order])


def rooted_tree(firsts: IntArray, seconds: IntArray) -> RootedTree:
    """Order the nodes of a tree depth first from node 0.

    Parameters
    ----------
    firsts, seconds : ndarray of shape (n - 1,), int32
        Ends of the edges.

    Returns
    -------
    RootedTree

    Raises
    ------
    ValueError
        If the edges are not a tree.

    Examples
    --------
    >>> import numpy as np
    >>> from coterie.graphs.spanning import rooted_tree
    >>> firsts, seconds = np.array([0, 2], dtype=np.int32), np.array([2, 1], dtype=np.int32)
    >>> rooted_tree(firsts, seconds).order.tolist()
    [0, 2, 1]
    """
    order, parents, edges = (np.empty(len(firsts) + 1, dtype=np.int32) for _ in range(3))
    _kernels.root_tree(firsts, seconds, order, parents, edges)
    return RootedTree(order, parents, edges)


def _components(sets: IntArray) -> IntArray:
    """Return the component of each row, numbered from 0, from the sets of the kernel."""
    while np.any((above := sets[sets]) != sets):
        sets = above
    return np.unique(sets, return_inverse=True)[1].astype(np.int32)


def _edges_between(
    rows: Array, labels: IntArray, in_k_d_tree: bool, n_threads: int
) -> tuple[Array, Array, Array]:
    """Return a short edge from each component but the largest to another one; the shortest if that is cheap."""
    search = _nearest_by_k_d_trees if in_k_d_tree else _nearest_by_turns
    asked, nearest, squares = search(rows, labels, int(np.bincount(labels).argmax()), n_threads)
    order = np.lexsort((asked, squares, labels[asked]))
    chosen = order[np.unique(labels[asked[order]], return_index=True)[1]]
    return (
        asked[chosen].astype(np.int32),
        nearest[chosen].astype(np.int32),
        squares[chosen].astype(np.float64),
    )


def _nearest_by_turns(
    rows: Array, labels: IntArray, largest: int, n_threads: int
) -> tuple[Array, Array, Array]:
    """Return rows, the nearest rows of other components, and the squared distances.

    All rows of small components. In a large one the search alternates: the nearest row in another component, then the
    row of this component nearest to it, and so on.
    """
    counts = np.bincount(labels)
    members = np.split(np.argsort(labels, kind="stable"), np.cumsum(counts)[:-1])
    large = [own for label, own in enumerate(members) if len(own) > _SAMPLED and label != largest]
    small = np.flatnonzero((counts[labels] <= _SAMPLED) & (labels != largest))
    here = np.array([own[0] for own in large], dtype=np.int64)
    for _ in range(_TURNS if large else 0):
        there = nearest_of_other_groups(rows, labels, rows[here], labels[here], 1, n_threads)[0][:, 0]
        here = np.array([own[_squares_to(rows[own], rows[at]).argmin()] for own, at in zip(large, there)])
    asked = np.concatenate([small, here])
    ids, squares = nearest_of_other_groups(rows, labels, rows[asked], labels[asked], 1, n_threads)
    return asked, ids[:, 0], squares[:, 0]


def _squares_to(rows: Array, row: Array) -> FloatArray:
    differences = rows - row
    return np.einsum("ij,ij->i", differences, differences)


def _nearest_by_k_d_trees(
    rows: Array, labels: IntArray, largest: int, n_threads: int
) -> tuple[Array, Array, Array]:
    """Do the same as `_nearest_by_turns`, with exact nearest rows of each component.

    Different labels differ in at least one bit: for each bit, rows with 0 are searched among those with 1, and vice
    versa.
    """
    asked = np.flatnonzero(labels != largest)
    best, nearest = np.full(len(rows), np.inf), np.full(len(rows), -1, dtype=np.int64)
    counts = np.bincount(labels)
    shortest, is_large = np.full(len(counts), np.inf), counts > _SMALL
    for bit in range(int(labels.max()).bit_length()):
        for side in (0, 1):
            others = np.flatnonzero(labels >> bit & 1 != side)
            found = cKDTree(rows[others])
            here = asked[labels[asked] >> bit & 1 == side]
            of_small = here[~is_large[labels[here]]]
            searches = [(of_small, np.inf)]
            for label in np.unique(labels[here[is_large[labels[here]]]]):
                own = here[labels[here] == label]
                some = own[:: max(1, len(own) // _SAMPLED)]
                most = min(float(shortest[label]), float(found.query(rows[some])[0].min()))
                searches.append((own, float(np.nextafter(most, np.inf))))
            for own, most in searches:
                lengths, ids = found.query(rows[own], distance_upper_bound=most, workers=n_threads)
                is_better = lengths < best[own]
                better = own[is_better]
                best[better], nearest[better] = lengths[is_better], others[ids[is_better]]
                np.minimum.at(shortest, labels[better], best[better])
    found_any = asked[nearest[asked] >= 0]
    return found_any, nearest[found_any], best[found_any] ** 2
