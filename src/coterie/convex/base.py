"""What both estimators of convex clustering share: parameters, their checks, and the way from data to a problem."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Annotated, Any, Literal

import numpy as np
import scipy.sparse as sp

from coterie.arrays import Array, FloatArray
from coterie.convex.edges import AUTO, weight_graph
from coterie.convex.norms import find_norm
from coterie.convex.setting import PAPER_STEP, Setting, make_setting
from coterie.estimators.base import Estimator
from coterie.estimators.declared import Declared, History, Numbers, One
from coterie.estimators.parameters import Param
from coterie.fitting.monitor import FitProgress
from coterie.fitting.threads import effective_n_threads

__all__ = ["ConvexEstimator"]

EdgeKind = Annotated[
    Literal["knn", "dense", "precomputed"],
    Param("Edges: of nearest neighbors, between all rows, or of the graph that is given (--graph)."),
]
Phi = Annotated[
    Literal["auto"] | float,
    Param(
        "Edges weigh exp(-phi d^2) at distance d; auto: free of units; 0: all the same.",
        least=0,
        below=math.inf,
    ),
]
Connect = Annotated[
    bool | None,
    Param("Connect the components of the graph, so that all rows fuse in the end; usual with --phi auto."),
]
Norm = Annotated[
    Literal["l2", "l1", "linf"] | Any,
    Param("Norm of the differences of centers, or groups of columns such as '0,1;2:5'.", reads=("groups",)),
]
Solver = Annotated[
    Literal["ama", "plain-ama", "admm"],
    Param("Solver: accelerated or plain projected gradients of the dual, or ADMM."),
]
Acceleration = Annotated[bool, Param("Accelerate ama (Nesterov).")]
StepSize = Annotated[
    Literal["paper"] | float | None, Param("Step size; paper: the fixed one of Chi and Lange.", above=0)
]
StoppingRule = Annotated[
    Literal["gap", "residuals"], Param("Stop by the duality gap, or by primal and dual residuals (admm).")
]


class ConvexEstimator(Estimator):
    """Parameters that say what is minimised and how."""

    weights: str
    n_neighbors: int
    phi: float | str
    connect: bool | None
    norm: Any
    solver: str
    acceleration: bool
    step_size: float | str | None
    stopping: str
    tol: float
    max_iter: int
    random_state: int | np.random.RandomState | None
    verbose: int | bool
    max_time: float | None
    n_threads: int | None
    callback: Callable[[FitProgress], Any] | None

    phi_: float
    residuals_: FloatArray

    def _data(self, X: Any, graph: Any) -> Array:
        """Read the rows, checked."""
        rows = self._rows_of(X, reset=True)
        self._check_rows(rows, graph)
        find_norm(self.norm, rows.shape[1])
        return rows.read()

    def _setting(self, data: Array, graph: Any) -> Setting:
        found, phi = weight_graph(
            data, kind=self.weights, n_neighbors=self.n_neighbors, phi=self.phi, connect=self.connect, graph=graph,
            random_state=self.random_state, n_threads=effective_n_threads(self.n_threads),
        )  # fmt: skip
        if self.phi == AUTO and phi is not None:
            self.phi_ = phi
        elif hasattr(self, "phi_"):
            del self.phi_
        return self._setting_on(data, found)

    def _setting_on(self, data: Array, graph: sp.csr_array) -> Setting:
        return make_setting(
            data, graph, find_norm(self.norm, data.shape[1]), solver=self.solver, acceleration=self.acceleration,
            step_size=self.step_size, n_threads=effective_n_threads(self.n_threads),
        )  # fmt: skip

    def _graph_attributes(self, *residuals: str | int) -> dict[str, Declared]:
        """Return what the graph of the rows looks like, and how the fit went; the residuals have a shape."""
        return {
            "edges_": Numbers(("e", 2), "integer", least=0, below="n", may_be_empty=True),
            "edge_weights_": Numbers(("e",), least=0, may_be_empty=True),
            "converged_": One("boolean", needed=False),
            "history_": History(needed=False),
            "n_iter_": One("integer", 0, needed=False),
            # Infinite where nothing is allowed.
            "residuals_": Numbers(residuals, needed=False, finite=False),
        }

    def _store_residuals(self, residuals: Any) -> None:
        """Keep the residuals where they are the rule to stop; forget those of an earlier fit where they are not."""
        if self.stopping == "residuals":
            self.residuals_ = np.array(residuals)
        elif hasattr(self, "residuals_"):
            del self.residuals_

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
        super().check_parameters()
        if self.step_size == PAPER_STEP and self.solver == "admm":
            raise ValueError(
                'step_size="paper" is a step of AMA: for ADMM the paper names none. Give a positive number.'
            )
        if self.stopping == "residuals" and self.solver != "admm":
            raise ValueError(
                f'stopping="residuals" is for solver="admm": {self.solver} never splits U and V. Use stopping="gap".'
            )
