"""Minimum spanning trees of distances or of mutual reachability, and the order of their nodes from a root."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np

from coterie import _kernels
from coterie.arrays import Array, FloatArray, IntArray
from coterie.blocks.dataset import check_squares
from coterie.graphs.exact import row_ids
from coterie.graphs.neighbors import Neighbors, is_approximate, nearest_neighbors
from coterie.rows import as_rows

# Ends and squared weights of edges.
_Edges: TypeAlias = list[tuple[IntArray, IntArray, Array]]

# Columns up to which a k-d tree finds neighbors faster than products of matrices.
_FEW_COLUMNS = 6

# Rows whose nearest row in the other component is looked for in turn, to bound the lightest edge between them.
_TURNS = 4


class SpanningTree(NamedTuple):
    """The edges of a tree of n rows, by ascending weight."""

    firsts: IntArray  # (n - 1,), int32: ends of the edges
    seconds: IntArray  # (n - 1,), int32: ends of the edges
    squares: Array  # (n - 1,): squared weights
    is_exact: bool  # whether the weight of the tree is certified to be the least
    n_searched: int  # rows that were compared with others because the graph did not certify their edges


class RootedTree(NamedTuple):
    """The nodes of a tree, depth first from node 0."""

    order: IntArray  # (n,), int32: the node at each position
    parents: IntArray  # (n,), int32: position of the parent, less than that of the node; 0 for the root
    edges: IntArray  # (n,), int32: the edge to the parent; 0 for the root


def near_rows(
    rows: Array,
    n_neighbors: int,
    *,
    method: str,
    seed: int,
    n_threads: int,
    tree_columns: int = _FEW_COLUMNS,
) -> Neighbors:
    """Return the nearest rows of each row for a spanning tree, by a k-d tree up to `tree_columns` columns."""
    if n_neighbors == 0:
        return Neighbors(
            np.empty((len(rows), 0), np.int32), np.empty((len(rows), 0), rows.dtype), "exact", 1.0
        )
    if rows.shape[1] <= tree_columns and method != "approximate":
        # Each row is a group of its own.
        own, limits = row_ids(len(rows)), np.full(len(rows), np.inf, dtype=rows.dtype)
        tree = ReachabilityTree(rows, np.zeros_like(limits), n_threads)
        ids, squares = tree.nearest(own, own, limits, own, n_neighbors)
        check_squares(squares[:, -1])
        return Neighbors(ids, squares, "exact", 1.0)
    if method == "auto":
        method = "approximate" if is_approximate(method, as_rows(rows), len(rows)) else "exact"
    return nearest_neighbors(rows, n_neighbors, method=method, random_state=seed, n_threads=n_threads)


def spanning_tree(
    rows: Array, found: Neighbors, core_squares: Array | None = None, *, n_threads: int = 1
) -> SpanningTree:
    """Find the minimum spanning tree of max(core distance of either row, distance), from nearest rows; of
    approximate ones that of their graph. An edge in neither list of its ends is no lighter than the last of both,
    so Kruskal's algorithm takes lighter ones (`_kernels.join_certified`); components left are searched.
    """
    n, k = found.ids.shape
    cores = np.zeros(n, dtype=rows.dtype) if core_squares is None else core_squares
    search = ComponentSearch(ReachabilityTree(rows, cores, n_threads))
    bounds = np.full(n, np.inf)
    is_exact = found.method == "exact"
    if is_exact and k < n - 1:
        bounds = found.square_distances[:, -1].astype(np.float64)
    tree = _forest(search, found.ids, found.square_distances, bounds)
    firsts, seconds, squares = (np.concatenate(parts) for parts in zip(*tree))
    order = np.argsort(squares, kind="stable")
    return SpanningTree(firsts[order], seconds[order], squares[order], is_exact, search.n_searched)


def rooted_tree(firsts: IntArray, seconds: IntArray) -> RootedTree:
    """Order the nodes of a tree with edges `firsts` to `seconds` depth first from node 0; else raise an error."""
    order, parents, edges = (np.empty(len(firsts) + 1, dtype=np.int32) for _ in range(3))
    _kernels.root_tree(firsts, seconds, order, parents, edges)
    return RootedTree(order, parents, edges)


def _forest(search: ComponentSearch, ids: IntArray, squares: Array, bounds: FloatArray) -> _Edges:
    """Return the edges of the tree of distinct rows as arrays of ends and squared weights."""
    n, k = ids.shape
    cores = search.tree.cores
    firsts, seconds, lengths = np.repeat(np.arange(n, dtype=np.int32), k), ids.ravel(), squares.ravel()
    # An edge in the lists of both ends is taken once.
    is_once = (firsts < seconds) | (lengths >= squares.max(axis=1, initial=0)[seconds])
    firsts, seconds, lengths = firsts[is_once], seconds[is_once], lengths[is_once]
    edges: _Edges = [(firsts, seconds, np.maximum(np.maximum(cores[firsts], cores[seconds]), lengths))]
    groups, joined = np.arange(n, dtype=np.int32), np.empty(n - 1, dtype=np.int64)
    tree: _Edges = []
    n_left = n - 1
    while True:
        firsts, seconds, lengths = (np.concatenate(parts) for parts in zip(*edges))
        order = np.argsort(lengths, kind="stable")
        firsts, seconds, lengths = firsts[order], seconds[order], lengths[order]
        n_joined = _kernels.join_certified(
            firsts, seconds, lengths.astype(np.float64), bounds, groups, joined
        )
        chosen = joined[:n_joined]
        tree.append((firsts[chosen], seconds[chosen], lengths[chosen]))
        n_left -= n_joined
        if n_left == 0:
            return tree
        is_open = groups[firsts] != groups[seconds]
        edges = [(firsts[is_open], seconds[is_open], lengths[is_open])]
        edges += search.lightest_edges(groups, edges[0], bounds)


class ReachabilityTree:
    """A k-d tree of rows, to find edges of mutual reachability; it is built when it is needed."""

    def __init__(self, rows: Array, cores: Array, n_threads: int) -> None:
        self.rows, self.cores = rows, cores
        self._n_threads = n_threads
        self._tree: Any = None

    def nearest(
        self, some: IntArray, asked: IntArray, limits: Array, groups: IntArray, n_edges: int
    ) -> tuple[IntArray, Array]:
        """Return the lightest edges of some rows, see the kernel: other ends and squared weights, (q, n_edges)."""
        if self._tree is None:
            self._tree = _kernels.box_tree(self.rows, self._n_threads)
        ids = np.empty((len(some), n_edges), dtype=np.int32)
        squares = np.empty(ids.shape, dtype=self.rows.dtype)
        _kernels.nearest_reachable(
            self._tree, self.cores, groups, some, asked, limits, ids, squares, self._n_threads
        )
        return ids, squares


class ComponentSearch:
    """Finds the lightest edges between components."""

    def __init__(self, tree: ReachabilityTree) -> None:
        self.tree, self.n_searched = tree, 0

    def lightest_edges(
        self, groups: IntArray, edges: tuple[IntArray, IntArray, Array], bounds: FloatArray
    ) -> _Edges:
        """Find edges that leave components, given known `edges` between components. Raise in place the `bounds` (n,),
        least squared weights of unknown edges, of searched rows.
        """
        n = len(groups)
        lightest = np.full(n, np.inf, dtype=self.tree.rows.dtype)
        for side in (0, 1):
            np.minimum.at(lightest, groups[edges[side]], edges[2])
        found = []
        lonely = np.flatnonzero((groups == np.arange(n)) & np.isinf(lightest)).astype(np.int32)
        if len(lonely):
            found = self.edges_by_turns(lonely, groups)
            for edge in found:
                for side in (0, 1):
                    np.minimum.at(lightest, groups[edge[side]], edge[2])
        limits = lightest[groups]
        is_open = bounds < limits
        # All components but one are certified by a search, and the last one by them.
        is_open &= groups != np.argmax(np.bincount(groups[is_open], minlength=1)) if is_open.any() else False
        rows = np.flatnonzero(is_open).astype(np.int32)
        if len(rows):
            ids, squares = self._nearest(rows, groups[rows], limits[rows], groups)
            bounds[rows] = squares
            is_found = ids >= 0
            found.append((rows[is_found], ids[is_found], squares[is_found]))
            self.n_searched += len(rows)
        return found

    def edges_by_turns(self, rows: IntArray, groups: IntArray) -> _Edges:
        """Return an edge out of the component of each row: from the nearest row there to the nearest here, by turns."""
        ends, own = np.stack([rows, rows]), groups[rows]
        infinite = np.full(len(rows), np.inf, dtype=self.tree.rows.dtype)
        ends[1], squares = self._nearest(rows, own, infinite, groups)
        active = np.arange(len(rows))
        for turn in range(2 * _TURNS):
            # From there to a nearer row here, or from here to a nearer row there, until there is none.
            side = turn % 2
            asked = own[active] if side else -2 - own[active]
            nearest, lighter = self._nearest(ends[1 - side, active], asked, squares[active], groups)
            is_found = nearest >= 0
            active = active[is_found]
            ends[side, active], squares[active] = nearest[is_found], lighter[is_found]
            if not len(active):
                break
        here, there = ends
        return [(here, there, squares)]

    def _nearest(
        self, rows: IntArray, asked: IntArray, limits: Array, groups: IntArray
    ) -> tuple[IntArray, Array]:
        ids, squares = self.tree.nearest(rows, asked, limits, groups, 1)
        return ids[:, 0], squares[:, 0]
