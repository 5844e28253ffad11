"""The edges of convex clustering: which rows are drawn together, and how strongly."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.spatial.distance import pdist

from coterie.arrays import Array
from coterie.convex.relative_weights import relative_graph
from coterie.fitting.warn import warn
from coterie.graphs import bridge_components, check_graph, knn_graph

__all__ = ["AUTO", "WEIGHTS", "weight_graph"]


WEIGHTS = ("knn", "dense", "precomputed")

# The phi that is chosen from the distances in the graph.
AUTO = "auto"


def weight_graph(
    X: Array,
    *,
    kind: str,
    n_neighbors: int,
    phi: float | str,
    connect: bool | None = None,
    graph: Any = None,
    random_state: Any = None,
    n_threads: int = 1,
) -> tuple[sp.csr_array, float | None]:
    """Build the symmetric graph of weights.

    Parameters
    ----------
    X : ndarray of shape (n, p)
        The rows.
    kind : {"knn", "dense", "precomputed"}
        Edges to the nearest neighbours of either end, between all rows, or those of `graph`.
    n_neighbors : int
        Neighbours of each row.
    phi : float or "auto"
        Weights are exp(-phi ||x_i - x_j||^2), the features as they are: they depend on the features' units. 0: all 1.
        "auto": they do not, see `coterie.convex.relative_weights.relative_graph`.
    connect : bool, optional
        Add the shortest edges that connect the components. None: where phi is "auto" and the graph is not given.
    graph : sparse matrix or array of shape (n, n), optional
        Symmetric weights. If it is to be connected and phi is "auto", new edges weigh as little as its lightest one.
    random_state, n_threads
        See `coterie.graphs.knn_graph`.

    Returns
    -------
    graph : csr_array of shape (n, n)
        Entries whose weight underflows to 0 are left out, except where they connect components; a warning says so.
    phi : float or None
        That of the weights; None where the graph is given.

    Raises
    ------
    ValueError
        If all weights underflow.
    """
    search: dict[str, Any] = {"random_state": random_state, "n_threads": n_threads}
    if isinstance(phi, str) and kind != "precomputed":
        return relative_graph(X, kind=kind, n_neighbors=n_neighbors, connect=connect is not False, **search)
    found = check_graph(graph, len(X), symmetric=True) if kind == "precomputed" else None
    weights = _lightest(found) if isinstance(phi, str) else _Gaussian(phi, X.dtype)
    if kind == "dense":
        found = _dense_graph(X, weights)
    elif kind == "knn":
        found = knn_graph(X, n_neighbors, weights=weights, **search)
    if connect:
        found = bridge_components(found, X, weights=weights, n_threads=n_threads)
    if isinstance(weights, _Gaussian):
        weights.check()
    return found, None if kind == "precomputed" or isinstance(phi, str) else float(phi)


def _lightest(graph: sp.csr_array) -> Callable[[Array], Array]:
    """Return what gives any edge the least weight of a graph."""
    least = graph.data[graph.data > 0].min(initial=1.0) if graph.nnz else 1.0
    return lambda squares: np.full_like(squares, least)


class _Gaussian:
    """exp(-phi d^2), and how often that was nothing."""

    def __init__(self, phi: float, dtype: npt.DTypeLike) -> None:
        self._phi, self._dtype = phi, dtype
        self._n_weights = self._n_lost = 0
        self._longest = 0.0

    def __call__(self, squares: Array) -> Array:
        """Return the weights of edges of these squared lengths."""
        with np.errstate(over="ignore", under="ignore"):
            weights = np.exp(-self._phi * squares).astype(self._dtype)
        self._n_weights += weights.size
        self._n_lost += int(np.count_nonzero(weights == 0))
        self._longest = max(self._longest, float(squares.max(initial=0)))
        return weights

    def check(self) -> None:
        """Warn of weights that are lost, with the phi that would keep them; raise a ValueError where all are."""
        if self._n_lost == 0:
            return
        keeps = -np.log(np.finfo(self._dtype).tiny) / self._longest
        way_out = f'phi={keeps:.2g} would keep them, and phi="auto" fits any units.'
        if self._n_lost == self._n_weights:
            raise ValueError(
                f"With phi={self._phi:g} all weights exp(-phi d^2) underflow to 0, for squared distances of up to "
                f"{self._longest:.3g}: {way_out}"
            )
        warn(
            f"With phi={self._phi:g} {self._n_lost} of {self._n_weights} weights exp(-phi d^2) underflow to 0, for "
            f"squared distances of up to {self._longest:.3g}: {way_out}",
        )


def _dense_graph(X: Array, weights: Callable[[Array], Array]) -> sp.csr_array:
    n = len(X)
    heads, tails = np.triu_indices(n, 1)
    values = weights(pdist(X, "sqeuclidean"))
    upper = sp.coo_array((values, (heads, tails)), shape=(n, n)).tocsr()
    return sp.csr_array(upper + upper.T)
