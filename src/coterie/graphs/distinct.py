"""The neighbor graph of distinct rows: equal rows are one vertex, and ties do not depend on the order of the rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse import csgraph

from coterie.arrays import Array, BoolArray, FloatArray, IntArray
from coterie.fitting.checks import warn
from coterie.graphs.bridges import bridge_components, closeness
from coterie.graphs.equal_rows import EqualRows, equal_rows, pair_hashes, row_hashes
from coterie.graphs.exact import row_ids
from coterie.graphs.matrices import connected_components
from coterie.graphs.neighbors import LEAST_WORK, Seed, is_approximate, nearest_neighbors
from coterie.rows import Block, as_rows

# Entries of the lists that are held while ties are drawn.
_MOST_ENTRIES = 1 << 24


@dataclass(frozen=True, slots=True)
class Vertices:
    """The vertices of a graph of rows: the distinct ones, in the order of their first rows."""

    rows: Block  # (m, d): the distinct rows
    places: IntArray | None = None  # (n,): vertex of each row, -1 for none; None: each row is a vertex
    masses: FloatArray | None = None  # (m,): rows at each vertex; None: one each
    kept: IntArray | None = None  # (m,): first row at each vertex, where some are set aside
    distinct: IntArray | None = None  # (l,): first row of all distinct rows, likewise

    @classmethod
    def of(cls, rows: Block) -> Vertices:
        """Return the distinct ones of some rows; they are not copied where no two are equal."""
        equal: EqualRows = equal_rows(rows)
        if len(equal.first) == rows.shape[0]:
            return cls(rows)
        return cls(rows[equal.first], equal.places, equal.counts.astype(np.float64))

    @property
    def first_rows(self) -> IntArray:
        """The number of the first row at each vertex: (m,), int32."""
        if self.kept is not None:
            return self.kept
        if self.places is None:
            return row_ids(self.rows.shape[0])
        return np.unique(self.places, return_index=True)[1].astype(np.int32)

    @property
    def fitted(self) -> dict[str, IntArray]:
        """The fitted attributes: which rows are vertices, and which are distinct."""
        first = self.first_rows
        return {"vertex_rows_": first, "_distinct_rows": first if self.distinct is None else self.distinct}

    def n_neighbors(self, wanted: int, n_clusters: int) -> int:
        """Return the number of neighbors. If rows repeat it is less than the mean number of vertices of a cluster, so
        that a few distinct rows are not all neighbors of each other.
        """
        m = self.rows.shape[0]
        if self.masses is not None:
            wanted = min(wanted, max(1, -(-m // n_clusters) - 1))
        return min(wanted, m - 1)

    def spread(self, values: Any) -> Any:
        """Return values of the rows from those of the vertices: labels, or numbers; -1 or 0 for rows without any."""
        if self.places is None:
            return values
        found = values[self.places]
        if self.places.min() < 0:
            found[self.places < 0] = -1 if found.dtype.kind == "i" else 0
        return found

    def without_small_parts(
        self, graph: sp.csr_array, n_clusters: int, kept: BoolArray, *, are_rows: bool, n_threads: int
    ) -> tuple[sp.csr_array, Vertices]:
        """Set aside components of less than n / (20 n_clusters) rows and isolated vertices, except `kept` ones. Their
        rows belong to the vertex of the nearest row; for affinities to none, with a warning.
        """
        edges = graph
        if np.any(graph.data == 0):  # stored zeros
            edges = graph.copy()
            edges.eliminate_zeros()
        parts = csgraph.connected_components(edges, directed=False)[1]
        sizes = np.bincount(parts, self.masses)
        n = sizes.sum()
        is_large = (20 * n_clusters * sizes >= n) & (np.bincount(parts) > 1)
        is_large[parts[kept]] = True
        large = np.flatnonzero(is_large[parts])
        if is_large.all() or 2 * sizes[is_large].sum() < n or len(large) < n_clusters:
            return graph, self
        numbers = np.full(len(parts), -1, dtype=np.int32)
        numbers[large] = row_ids(len(large))
        rows, small = self.rows[large], np.flatnonzero(~is_large[parts])
        if are_rows:
            near = nearest_neighbors(rows, 1, queries=self.rows[small], method="exact", n_threads=n_threads)
            numbers[small] = near.ids[:, 0]
        else:
            warn(
                f"{len(small)} of {len(parts)} vertices are in {np.count_nonzero(~is_large)} connected components "
                f"that are too small for {n_clusters} clusters: they are in no cluster, and their labels are -1."
            )
        places = numbers if self.places is None else numbers[self.places]
        masses = None if self.masses is None else self.masses[large]
        return sp.csr_array(graph[large][:, large]), Vertices(
            rows, places, masses, self.first_rows[large], self.first_rows
        )

    def connected(self, graph: sp.csr_array, n_clusters: int, scale: float, n_threads: int) -> sp.csr_array:
        """Join components by their shortest edges if there are more than `n_clusters`: the nearest ones by the heaviest
        edges, so that no cluster has components from both sides of another. Not where this takes too long.
        """
        parts, (n, d) = connected_components(graph), self.rows.shape
        n_outside = n - np.bincount(parts).max()
        if parts.max() < n_clusters or float(n_outside) * n * d > LEAST_WORK:
            return graph
        usual = float(graph.data.mean(dtype=np.float64))
        return bridge_components(
            graph, self.rows, lambda squares: usual * closeness(squares, scale), n_threads
        )

    def weighted(self, graph: sp.csr_array) -> sp.csr_array:
        """Return the graph with each edge counted once for each row at its heavier end: each row has an edge to each
        adjacent vertex, in both directions.
        """
        if self.masses is None:
            return graph
        heads = np.repeat(self.masses, np.diff(graph.indptr))
        weighted = graph.copy()
        weighted.data *= np.maximum(heads, self.masses[graph.indices]).astype(graph.dtype)
        return weighted

    def split(self, graph: sp.csr_array, n_neighbors: int) -> sp.csr_array:
        """Return a graph of all rows from that of the vertices: each row has an edge to one row of each adjacent
        vertex, and edges of weight 1 to the next `n_neighbors` equal rows.
        """
        if self.places is None or self.masses is None:
            return graph
        counts = self.masses.astype(np.int64)
        starts = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(counts)])
        by_vertex = np.argsort(self.places, kind="stable")
        number = np.empty_like(by_vertex)
        number[by_vertex] = np.arange(len(by_vertex)) - starts[self.places[by_vertex]]  # among its equals
        near = sp.csr_array(graph[self.places])
        heads = np.repeat(np.arange(len(number)), np.diff(near.indptr))
        tails = by_vertex[starts[near.indices] + number[heads] % counts[near.indices]]
        own, several = [np.stack([heads, tails])], counts[self.places]
        weights = [near.data]
        for step in range(1, n_neighbors + 1):
            some = np.flatnonzero(several > step)
            equals = by_vertex[starts[self.places[some]] + (number[some] + step) % several[some]]
            own.append(np.stack([some, equals]))
            weights.append(np.ones(len(some), dtype=graph.dtype))
        ends = np.concatenate(own, axis=1)
        shape = len(number), len(number)
        upper = np.stack([ends.min(axis=0), ends.max(axis=0)])  # an edge may be there in both directions
        _, first = np.unique(upper[0] * len(number) + upper[1], return_index=True)
        data = np.concatenate(weights)[first]
        half = sp.csr_array(sp.coo_array((data, tuple(upper[:, first])), shape=shape))
        joined = sp.csr_array(half + half.T)
        joined.sort_indices()
        return joined


def neighbors_with_ties(
    points: Block, n_neighbors: int, *, random_state: Seed, n_threads: int
) -> tuple[IntArray, Array]:
    """Return the nearest of distinct rows, with ties of the last, and squared distances (n, w), -1 and infinity for
    none. Of more than twice `n_neighbors` those of the lowest hash are taken.
    """
    n, m = points.shape[0], n_neighbors
    how: dict[str, Any] = {"random_state": random_state, "n_threads": n_threads}
    if is_approximate("auto", as_rows(points), n):
        ids, squares = nearest_neighbors(points, m, **how)
        tied = np.flatnonzero(squares[:, -1] == squares[:, -2]) if m > 1 else np.arange(0)
    else:
        ids, squares = nearest_neighbors(points, min(m + 1, n - 1), **how)
        tied = np.flatnonzero(squares[:, -1] == squares[:, m - 1]) if m < n - 1 else np.arange(0)
        ids, squares = ids[:, :m], squares[:, :m]
    if len(tied) == 0:
        return np.ascontiguousarray(ids), np.ascontiguousarray(squares)
    wide_ids = np.full((n, 2 * m), -1, dtype=np.int32)
    wide_squares = np.full((n, 2 * m), np.inf, dtype=squares.dtype)
    wide_ids[:, :m], wide_squares[:, :m] = ids, squares
    hashes = row_hashes(points)
    width = min(2 * m + 2, n)  # the row itself, and one more that tells whether all ties are there
    while len(tied):
        waiting = []
        for some in np.array_split(tied, -(-len(tied) * width // _MOST_ENTRIES)):
            near, far = nearest_neighbors(points, width, queries=points[some], **how)
            far[near == some[:, None]] = -1  # first, and dropped
            order = np.argsort(far, axis=1, kind="stable")[:, 1:]
            near, far = np.take_along_axis(near, order, axis=1), np.take_along_axis(far, order, axis=1)
            last = far[:, m - 1][:, None]
            is_whole = (far[:, -1] > last[:, 0]) | (width == n)
            waiting.append(some[~is_whole])
            some, near, far, last = some[is_whole], near[is_whole], far[is_whole], last[is_whole]
            # Nearer rows first, then those tied by their hashes, then all others, which are dropped.
            ranks = pair_hashes(hashes[some][:, None], hashes[near])
            ranks[far < last] = 0
            order = np.lexsort((ranks, np.where(far > last, np.inf, far)), axis=1)[:, : 2 * m]
            near, far = np.take_along_axis(near, order, axis=1), np.take_along_axis(far, order, axis=1)
            is_kept = far <= last
            kept = near.shape[1]
            wide_ids[some, :kept] = np.where(is_kept, near, -1)
            wide_squares[some, :kept] = np.where(is_kept, far, np.inf)
        tied = np.concatenate(waiting)
        width = min(4 * width, n)
    widest = int(np.count_nonzero(wide_ids >= 0, axis=1).max())
    return np.ascontiguousarray(wide_ids[:, :widest]), np.ascontiguousarray(wide_squares[:, :widest])
