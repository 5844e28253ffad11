"""From data to a problem in the order that its kernels like, and back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from coterie.arrays import Array, BoolArray, FloatArray, IndexArray, IntArray
from coterie.convex.distinct import RepeatedRows
from coterie.convex.fusion import Certificate, Fuser
from coterie.convex.norms import KernelNorm, Norm, find_norm
from coterie.convex.problem import make_problem
from coterie.convex.rotation import own_coordinates
from coterie.convex.solvers import ADMM, AMA, Solver
from coterie.graphs.edges import Edges, edges_of_graph

__all__ = ["PAPER_STEP", "SOLVERS", "STOPPING", "Setting", "make_setting"]


SOLVERS = ("ama", "plain-ama", "admm")
STOPPING = ("gap", "residuals")

# The step size of AMA that the paper takes, by name.
PAPER_STEP = "paper"

# Step size of ADMM times the mean number of edges of a row; measured on 6 to 199 edges.
_ADMM_STEP = 4.0


@dataclass(frozen=True)
class Setting:
    """A problem in the order that its kernels like, and the way back to the order of the data.

    Attributes
    ----------
    solver, fuser : Solver, Fuser
        Of the problem in the new order: rows so that neighbours are close, columns by groups, centred.
    edges : Edges
        In the order of the data.
    places, is_turned : ndarray of shape (n_edges,)
        Which of them each edge of the problem is, and whether its ends changed places.
    order, columns : ndarray of shape (n,) and (p,)
        Which row and which column each of the problem is.
    mean : ndarray of shape (p,)
        Of the data.
    data : ndarray of shape (n, p)
        The rows.
    basis : ndarray of shape (p, n - 1), optional
        Of the coordinates that the problem has in place of columns, where rows are wide.
    """

    solver: Solver
    fuser: Fuser
    edges: Edges
    places: IndexArray
    is_turned: BoolArray
    order: IndexArray
    columns: IndexArray
    mean: FloatArray
    data: Array
    basis: FloatArray | None = None

    def centroids(self, found: RepeatedRows) -> RepeatedRows:
        """Return the centroids of a problem in the order and the place of the data."""
        if self.basis is None:
            distinct = (found.distinct + self.mean[self.columns]).astype(self.data.dtype)
            if np.any(np.diff(self.columns) != 1):
                distinct = distinct[:, np.argsort(self.columns)]
        else:
            # Of rows that differ: a product of matrices may round equal rows in different ways.
            distinct = (found.distinct @ self.basis.T + self.mean).astype(self.data.dtype)
        return RepeatedRows(distinct, found.places[np.argsort(self.order)])

    def labels(self, certificate: Certificate) -> IntArray:
        """Return the labels in the order of the data, clusters numbered by their first rows."""
        labels = np.empty_like(certificate.labels)
        labels[self.order] = certificate.labels
        _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
        return first.argsort().argsort().astype(np.int32)[inverse]

    def has_settled(self, stopping: str, tol: float) -> Callable[[], bool] | None:
        """Return what tells that the residuals of ADMM are small enough; None where the gap is what counts."""
        if stopping == "gap":
            return None
        return lambda: max(self.residuals(tol)) <= 1

    def residuals(self, tol: float) -> tuple[float, float]:
        """Return those of ADMM, each over what is allowed."""
        assert isinstance(self.solver, ADMM)
        return self.solver.residuals(tol)

    def resume(self, edges: Edges, duals: Array) -> None:
        """Go on from the duals of another graph: those of edges that both have; the others begin with 0."""
        n = self.edges.n_nodes
        theirs, ours = (part.heads.astype(np.int64) * n + part.tails for part in (edges, self.edges))
        _, at_theirs, at_ours = np.intersect1d(theirs, ours, assume_unique=True, return_indices=True)
        in_order = np.zeros_like(self.solver.duals)
        in_order[at_ours] = duals[at_theirs] if self.basis is None else duals[at_theirs] @ self.basis
        signs = np.where(self.is_turned, -1, 1).astype(in_order.dtype)
        self.solver.resume(signs[:, None] * in_order[self.places[:, None], self.columns])

    def duals(self) -> Array:
        """Return the duals in the order of `edges`."""
        found = self.solver.duals
        out = np.empty_like(found)
        signs = np.where(self.is_turned, -1, 1).astype(found.dtype)
        out[self.places[:, None], self.columns] = signs[:, None] * found
        return (out if self.basis is None else out @ self.basis.T).astype(self.data.dtype, copy=False)


def make_setting(
    data: Array,
    graph: sp.csr_array,
    norm: Norm,
    *,
    solver: str = "ama",
    acceleration: bool = True,
    step_size: float | str | None = None,
    n_threads: int = 1,
) -> Setting:
    """Put rows and columns in the order of the kernels, once for a whole fit, and the data around their mean.

    Parameters
    ----------
    data : ndarray of shape (n, p), float32 or float64
        The rows.
    graph : csr_array of shape (n, n)
        Symmetric weights.
    norm : KernelNorm or NormObject
        Of the differences of centroids.
    solver, acceleration, step_size
        See `coterie.ConvexClustering`.
    n_threads : int
        Threads of the kernels.

    Returns
    -------
    Setting

    Raises
    ------
    ValueError
        If the step size is larger than is safe on this graph.
    """
    # In single precision steps of the duals are lost beside the duals before a gap of 1e-5 is certified.
    edges = edges_of_graph(graph, np.float64)
    order = edges.order_of_neighbors()
    inner, places, is_turned = edges.renumbered(order)
    mean = data.mean(axis=0, dtype=np.float64)
    centered = data - mean
    basis = own_coordinates(centered, norm)
    if basis is not None:
        centered, norm = centered @ basis, find_norm("l2", basis.shape[1])
    columns = norm.columns if isinstance(norm, KernelNorm) else np.arange(data.shape[1])
    inside = centered[order[:, None], columns]
    is_admm = solver == "admm"
    acceleration = acceleration and solver == "ama"
    step = _admm_step(inner, step_size) if is_admm else _ama_step(inner, step_size, acceleration)
    problem = make_problem(inside, inner, norm, step_size=step, n_threads=n_threads)
    solving: Solver = ADMM(problem) if is_admm else AMA(problem, acceleration=acceleration)
    return Setting(solving, Fuser(problem), edges, places, is_turned, order, columns, mean, data, basis)


def _admm_step(edges: Edges, step_size: float | str | None) -> float:
    mean_degree = 2 * max(len(edges), 1) / edges.n_nodes
    return _ADMM_STEP / mean_degree if step_size is None else float(step_size)


def _ama_step(edges: Edges, step_size: float | str | None, acceleration: bool) -> float | None:
    """Return a step size that is known to be safe; None leaves the choice to the problem."""
    if step_size is None or len(edges) == 0:
        return None
    degrees = np.bincount(edges.heads, minlength=edges.n_nodes) + np.bincount(
        edges.tails, minlength=edges.n_nodes
    )
    bound = min(edges.n_nodes, int((degrees[edges.heads] + degrees[edges.tails]).max()))
    if step_size == PAPER_STEP:
        return 1 / bound
    limit = (1.0 if acceleration else 2.0) / bound
    if float(step_size) > limit:
        raise ValueError(
            f"step_size={float(step_size):g} is not safe: on this graph it may be {limit:g} at most."
        )
    return float(step_size)
