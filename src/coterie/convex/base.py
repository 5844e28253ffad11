"""What both estimators of convex clustering share: parameters, checks, the way from data to a problem and back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from coterie.arrays import Array, BoolArray, FloatArray, IndexArray, IntArray
from coterie.convex.edges import WEIGHTS, weight_graph
from coterie.convex.fusion import Certificate, Fuser
from coterie.convex.norms import KernelNorm, find_norm
from coterie.convex.problem import make_problem
from coterie.convex.solvers import ADMM, AMA, Solver
from coterie.estimators.base import Estimator
from coterie.fitting.checks import check_iteration_parameters, check_positive_integer
from coterie.fitting.monitor import FitProgress
from coterie.fitting.threads import effective_n_threads
from coterie.graphs.edges import Edges, edges_of_graph

__all__ = ["ConvexEstimator", "Setting"]


SOLVERS = ("ama", "admm")

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
    order, columns : ndarray
        Which row and which column each of the problem is.
    mean : ndarray of shape (p,)
        Of the data.
    """

    solver: Solver
    fuser: Fuser
    edges: Edges
    places: IndexArray
    is_turned: BoolArray
    order: IndexArray
    columns: IndexArray
    mean: FloatArray

    def centroids(self, certificate: Certificate) -> Array:
        """Return the centroids in the order and the place of the data."""
        found = certificate.centroids
        out = np.empty_like(found)
        out[self.order[:, None], self.columns] = found + self.mean[self.columns]
        return out

    def labels(self, certificate: Certificate) -> IntArray:
        """Return the labels in the order of the data, clusters numbered by their first rows."""
        labels = np.empty_like(certificate.labels)
        labels[self.order] = certificate.labels
        _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
        return first.argsort().argsort().astype(np.int32)[inverse]

    def duals(self) -> Array:
        """Return the duals in the order of `edges`."""
        found = self.solver.duals
        out = np.empty_like(found)
        signs = np.where(self.is_turned, -1, 1).astype(found.dtype)
        out[self.places[:, None], self.columns] = signs[:, None] * found
        return out


class ConvexEstimator(Estimator):
    """Parameters that say what is minimised and how."""

    weights: str
    n_neighbors: int
    phi: float
    connect: bool
    norm: Any
    solver: str
    acceleration: bool
    step_size: float | None
    tol: float
    max_iter: int
    random_state: int | np.random.RandomState | None
    verbose: int | bool
    max_time: float | None
    n_threads: int | None
    callback: Callable[[FitProgress], Any] | None

    def _setting(self, X: Any, graph: Any) -> Setting:
        rows = self._rows_of(X, reset=True)
        self._check_rows(rows, graph)
        norm = find_norm(self.norm, rows.shape[1])
        n_threads = effective_n_threads(self.n_threads)
        data = rows.read()
        graph = weight_graph(
            data, kind=self.weights, n_neighbors=self.n_neighbors, phi=self.phi, connect=self.connect, graph=graph,
            random_state=self.random_state, n_threads=n_threads,
        )  # fmt: skip
        edges = edges_of_graph(graph, data.dtype)
        order = edges.order_of_neighbors()
        inner, places, is_turned = edges.renumbered(order)
        columns = norm.columns if isinstance(norm, KernelNorm) else np.arange(rows.shape[1])
        mean = data.mean(axis=0, dtype=np.float64)
        centered = (data - mean).astype(data.dtype)[order[:, None], columns]
        problem = make_problem(centered, inner, norm, step_size=self._step_size(inner), n_threads=n_threads)
        solver: Solver = (
            ADMM(problem) if self.solver == "admm" else AMA(problem, acceleration=self.acceleration)
        )
        return Setting(solver, Fuser(problem), edges, places, is_turned, order, columns, mean)

    def _step_size(self, edges: Edges) -> float | None:
        if self.solver == "admm":
            mean_degree = 2 * max(len(edges), 1) / edges.n_nodes
            return _ADMM_STEP / mean_degree if self.step_size is None else float(self.step_size)
        if self.step_size is None or len(edges) == 0:
            return self.step_size
        degrees = np.bincount(edges.heads, minlength=edges.n_nodes) + np.bincount(
            edges.tails, minlength=edges.n_nodes
        )
        bound = min(edges.n_nodes, int((degrees[edges.heads] + degrees[edges.tails]).max()))
        limit = (1.0 if self.acceleration else 2.0) / bound
        if self.step_size > limit:
            raise ValueError(
                f"step_size={self.step_size:g} is not safe: on this graph it may be {limit:g} at most."
            )
        return float(self.step_size)

    def _check_rows(self, rows: Any, graph: Any) -> None:
        if rows.is_sparse:
            raise TypeError(
                f"Sparse data was passed, but {type(self).__name__} has dense centroids: use X.toarray()."
            )
        if self.weights == "knn" and self.n_neighbors >= rows.shape[0]:
            raise ValueError(
                f"n_neighbors={self.n_neighbors} should be < n_samples={rows.shape[0]}: a row is not its own neighbour."
            )
        if (graph is None) == (self.weights == "precomputed"):
            raise ValueError('fit needs a graph with weights="precomputed", and takes none otherwise.')

    def check_parameters(self) -> None:
        check_positive_integer("n_neighbors", self.n_neighbors)
        for name, allowed in {"weights": WEIGHTS, "solver": SOLVERS}.items():
            if getattr(self, name) not in allowed:
                raise ValueError(f"{name} must be one of {', '.join(allowed)}, got {getattr(self, name)!r}.")
        if not 0 <= self.phi < np.inf:
            raise ValueError(f"phi must be finite and not negative, got {self.phi!r}.")
        if self.step_size is not None and not self.step_size > 0:
            raise ValueError(f"step_size must be None or positive, got {self.step_size!r}.")
        check_iteration_parameters(self)
