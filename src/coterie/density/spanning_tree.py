"""The minimum spanning tree of mutual reachability, certified by an exact graph of nearest neighbors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from coterie import _kernels
from coterie.arrays import Array, FloatArray, IntArray
from coterie.blocks.kernel_rows import kernel_rows
from coterie.density.equal_rows import EqualRows, equal_rows
from coterie.graphs import nearest_neighbors
from coterie.graphs.exact import distances_to_ids

__all__ = ["SpanningTree", "core_squares", "spanning_tree"]

# Ends and squared weights of edges.
_Edges: TypeAlias = list[tuple[IntArray, IntArray, Array]]

# Rows whose nearest row in the other component is looked for in turn, to bound the lightest edge between them.
_TURNS = 4


@dataclass(frozen=True, slots=True)
class SpanningTree:
    """A minimum spanning tree of mutual reachability.

    Attributes
    ----------
    firsts, seconds : ndarray of shape (n - 1,), int32
        The ends of the edges, by ascending height.
    heights : ndarray of shape (n - 1,), float64
        max(core distance of either end, distance).
    core_distances : ndarray of shape (n,), float64
        Distance of each row to the `min_samples`-th nearest row, itself counted.
    is_exact : bool
        Whether the weight of the tree is certified to be the least.
    n_searched : int
        Rows that were compared with others because the graph did not certify their edges.
    """

    firsts: IntArray
    seconds: IntArray
    heights: FloatArray
    core_distances: FloatArray
    is_exact: bool
    n_searched: int


def core_squares(ids: IntArray, squares: Array, counts: Any, own: Any, min_samples: int) -> Array:
    """Return the squared distance of rows to their `min_samples`-th nearest row.

    Parameters
    ----------
    ids, squares : ndarray of shape (q, k)
        The nearest distinct rows of each row, ascending, and the squared distances; at least `min_samples` rows with
        `own`, or all.
    counts : ndarray of shape (m,)
        How often each distinct row occurs.
    own : ndarray of shape (q,), or 0
        Rows that count before those of the lists: of a row of the fit, itself and those equal to it.
    min_samples : int
        As in `DensityClustering`. Where there are fewer rows, the farthest one counts.

    Returns
    -------
    ndarray of shape (q,), the dtype of the squares
    """
    own = np.broadcast_to(own, len(ids))
    is_enough = own[:, None] + np.cumsum(counts[ids], axis=1) >= min_samples
    place = np.where(is_enough.any(axis=1), is_enough.argmax(axis=1), ids.shape[1] - 1)
    reached = squares[np.arange(len(ids)), place]
    return np.where(own >= min_samples, squares.dtype.type(0), reached)


def spanning_tree(
    rows: Array, min_samples: int, n_neighbors: int, *, method: str, seed: int, n_threads: int
) -> SpanningTree:
    """Find the minimum spanning tree of mutual reachability.

    An edge that neither of its ends has in its list of neighbors weighs at least as much as the last edges of both
    lists. So Kruskal's algorithm may take the edges of the graph as long as this bound certifies them
    (`_kernels.join_certified`). For the components that are left, rows with lower bounds are compared with the rows of
    other components, pruned by cells, and the lightest edges that are found certify the next merges.

    Parameters
    ----------
    rows : ndarray of shape (n, d)
        Finite numbers.
    min_samples : int
        Rows, itself counted, within the core distance of a row.
    n_neighbors : int
        Neighbors of each row in the graph; more give fewer searches.
    method : {"auto", "exact", "approximate"}
        How neighbors are found (`coterie.graphs.nearest_neighbors`). Approximate neighbors certify nothing: the tree
        is that of their graph then, its components joined by edges that need not be the lightest.
    seed : int
        Of the approximate search and of the cells; an exact tree does not depend on it but for equal edges.
    n_threads : int
        Threads of the kernels. Any number gives the same bits.

    Returns
    -------
    SpanningTree

    Notes
    -----
    O(n^2 d) time for the exact graph, O(n k log n) for the tree, and searches of 0.1% to 25% of all pairs on real
    data of up to 60,000 rows. Memory: two copies of the rows and the graph.

    References
    ----------
    Campello, Moulavi, Zimek and Sander, Hierarchical density estimates for data clustering, visualization, and outlier
    detection, ACM Transactions on Knowledge Discovery from Data, 2015.

    Examples
    --------
    >>> import numpy as np
    >>> from coterie.density.spanning_tree import spanning_tree
    >>> rows = np.array([[0.0], [1.0], [3.0], [7.0]])
    >>> spanning_tree(rows, 2, 1, method="exact", seed=0, n_threads=1).heights
    array([1., 2., 4.])
    """
    rows = np.ascontiguousarray(rows)
    equal = equal_rows(rows)
    m, n = len(equal.first), len(rows)
    points = rows if m == n else rows[equal.first]
    if m == 1:
        cores, edges, is_exact, n_searched = np.zeros(1, dtype=rows.dtype), [], True, 0
    else:
        k = min(max(n_neighbors, min_samples), m - 1)
        found = nearest_neighbors(points, k, method=method, random_state=seed, n_threads=n_threads)
        is_exact = found.method == "exact"
        cores = core_squares(found.ids, found.square_distances, equal.counts, equal.counts, min_samples)
        search = _ComponentSearch(points, cores, seed, n_threads)
        bounds = (
            np.full(m, np.inf)
            if not is_exact or k == m - 1
            else found.square_distances[:, -1].astype(np.float64)
        )
        edges = _forest(search, found.ids, found.square_distances, bounds)
        n_searched = search.n_searched
    return _of_all_rows(equal, edges, cores, is_exact, n_searched)


def _of_all_rows(
    equal: EqualRows, edges: _Edges, cores: Array, is_exact: bool, n_searched: int
) -> SpanningTree:
    """Return the tree of all rows: equal ones are at their core distance from each other."""
    ends = (
        [equal.first[np.concatenate([part[side] for part in edges])] for side in (0, 1)]
        if edges
        else [[], []]
    )
    again = np.ones(len(equal.places), dtype=bool)
    again[equal.first] = False
    repeated = np.flatnonzero(again)
    firsts = np.concatenate([ends[0], equal.first[equal.places[repeated]]]).astype(np.int32)
    seconds = np.concatenate([ends[1], repeated]).astype(np.int32)
    squares = np.concatenate([*(part[2] for part in edges), cores[equal.places[repeated]]])
    order = np.argsort(squares, kind="stable")
    heights = np.sqrt(squares[order].astype(np.float64))
    core_distances = np.sqrt(cores.astype(np.float64))[equal.places]
    return SpanningTree(firsts[order], seconds[order], heights, core_distances, is_exact, n_searched)


def _forest(search: _ComponentSearch, ids: IntArray, squares: Array, bounds: FloatArray) -> _Edges:
    """Return the edges of the tree of distinct rows as arrays of ends and squared weights."""
    n, k = ids.shape
    cores = search.cores
    firsts, seconds, lengths = np.repeat(np.arange(n, dtype=np.int32), k), ids.ravel(), squares.ravel()
    # An edge that is in both lists is taken once.
    is_once = (firsts < seconds) | (lengths >= squares[seconds, -1])
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


class _ComponentSearch:
    """Distinct rows in cells, among which the lightest edges between components are looked for."""

    def __init__(self, points: Array, cores: Array, seed: int, n_threads: int) -> None:
        self.points, self.cores, self.n_searched = points, cores, 0
        self._seed, self._n_threads = seed, n_threads
        self._cells: Any = None

    def lightest_edges(
        self, groups: IntArray, edges: tuple[IntArray, IntArray, Array], bounds: FloatArray
    ) -> _Edges:
        """Find edges that leave components, and raise the bounds of the rows that were searched for them.

        Parameters
        ----------
        groups : ndarray of shape (n,), int32
            The component of each row, named by one of its rows.
        edges : tuple of ndarray
            Known edges between components: ends and squared weights.
        bounds : ndarray of shape (n,), float64
            IN/OUT: the least squared weight of unknown edges of each row.

        Returns
        -------
        list of tuple of ndarray
            New edges.
        """
        n = len(groups)
        lightest = np.full(n, np.inf, dtype=self.points.dtype)
        for side in (0, 1):
            np.minimum.at(lightest, groups[edges[side]], edges[2])
        found = []
        lonely = np.flatnonzero((groups == np.arange(n)) & np.isinf(lightest)).astype(np.int32)
        if len(lonely):
            found = self._edges_by_turns(lonely, groups)
            for edge in found:
                for side in (0, 1):
                    np.minimum.at(lightest, groups[edge[side]], edge[2])
        limits = lightest[groups]
        is_open = bounds < limits
        # All components but one are certified by a search, and the last one by them.
        is_open &= groups != np.argmax(np.bincount(groups[is_open], minlength=1)) if is_open.any() else False
        rows = np.flatnonzero(is_open)
        if len(rows):
            ids, squares = self._nearest(rows, groups[rows], limits[rows], groups)
            bounds[rows] = squares
            is_found = ids >= 0
            found.append((rows[is_found].astype(np.int32), ids[is_found], squares[is_found]))
            self.n_searched += len(rows)
        return found

    def _edges_by_turns(self, rows: IntArray, groups: IntArray) -> _Edges:
        """Return an edge out of the component of each row: from the nearest row there to the nearest here, by turns."""
        infinite = np.full(len(rows), np.inf, dtype=self.points.dtype)
        own, here = groups[rows], rows
        for _ in range(_TURNS):
            there, squares = self._nearest(here, own, infinite, groups)
            here, _ = self._nearest(there, -2 - own, infinite, groups)
        there, squares = self._nearest(here, own, infinite, groups)
        return [(here, there, squares)]

    def _nearest(self, rows: Any, asked: IntArray, limits: Array, groups: IntArray) -> tuple[IntArray, Array]:
        """Return the lightest edges of rows, see the kernel: other ends and squared weights."""
        order, starts, centers, radii, least_cores, points, cores = self._in_cells()
        of_points = groups[order]
        ends = (
            of_points[starts[:-1]],
            np.minimum.reduceat(of_points, starts[:-1]),
            np.maximum.reduceat(of_points, starts[:-1]),
        )
        only = np.where(ends[1] == ends[2], ends[0], np.int32(-1))
        by_cell = np.argsort(
            self._cell_of[rows], kind="stable"
        )  # rows that lie together look into the same cells
        ids, squares = np.empty(len(rows), dtype=np.int32), np.empty(len(rows), dtype=points.dtype)
        some = rows[by_cell]
        _kernels.nearest_reachable(
            kernel_rows(self.points[some]), points, cores, of_points, starts, centers, radii, least_cores, only,
            self.cores[some], asked[by_cell], limits[by_cell], ids, squares, self._n_threads,
        )  # fmt: skip
        there, found = np.empty_like(ids), np.empty_like(squares)
        there[by_cell] = np.where(ids < 0, np.int32(-1), order[ids])
        found[by_cell] = squares
        return there, found

    def _in_cells(self) -> Any:
        """Return points in about sqrt(n) cells: order, where cells begin, centers, radii, least core distances."""
        if self._cells is None:
            points, n = self.points, len(self.points)
            chosen = np.random.RandomState(self._seed).permutation(n)[: max(1, int(np.sqrt(n)))]
            centers = np.ascontiguousarray(points[chosen])
            offsets = np.einsum("ij,ij->i", centers, centers)
            nearest, scores = np.empty((n, 1), dtype=np.int32), np.empty((n, 1), dtype=points.dtype)
            _kernels.nearest(kernel_rows(points), centers, offsets, nearest, scores, self._n_threads, 0)
            squares = distances_to_ids(centers, points, nearest, self._n_threads)[:, 0]
            cell_of = np.unique(nearest[:, 0], return_inverse=True)[1].astype(np.int32)
            order = np.argsort(cell_of, kind="stable").astype(np.int32)
            starts = np.concatenate([[0], np.cumsum(np.bincount(cell_of))])
            firsts = starts[:-1]
            self._cell_of = cell_of
            self._cells = (
                order, starts, centers[np.unique(nearest)], np.sqrt(np.maximum.reduceat(squares[order], firsts)),
                np.minimum.reduceat(self.cores[order], firsts), points[order], self.cores[order],
            )  # fmt: skip
        return self._cells
