"""What both estimators of convex clustering share: parameters, their checks, and the way from data to a problem."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal

import numpy as np
import scipy.sparse as sp

from coterie.arrays import Array, FloatArray, IndexArray, IntArray
from coterie.convex.edges import AUTO, weight_graph
from coterie.convex.following import Followed, followed_in_time
from coterie.convex.norms import find_norm
from coterie.convex.setting import PAPER_STEP, Setting, make_setting
from coterie.estimators.base import Estimator
from coterie.estimators.declared import Declared, History, Numbers, One
from coterie.estimators.parameters import Param
from coterie.fitting.deadline import Deadline
from coterie.fitting.monitor import FitProgress
from coterie.fitting.randomness import random_stream
from coterie.fitting.threads import effective_n_threads

__all__ = ["ConvexEstimator", "work_of_row"]

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

# Multiply-adds that a gamma of a path takes for each row, column and neighbour.
_WORK_OF_GAMMA = 400.0


def work_of_row(n_columns: int, n_neighbors: int, n_gammas: int) -> float:
    """Return about how many multiply-adds a fit takes for each row."""
    return _WORK_OF_GAMMA * n_columns * n_neighbors * n_gammas


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
    sample_indices_: IndexArray
    followed_: IntArray

    def _data(self, X: Any, graph: Any) -> Array:
        """Read the rows, checked."""
        rows = self._rows_of(X, reset=True)
        self._check_rows(rows, graph)
        find_norm(self.norm, rows.shape[1])
        return rows.read()

    @property
    def _work_in_gammas(self) -> int:
        """How many gammas of a path take as long as the fit."""
        raise NotImplementedError

    def _those_with_time(self, data: Array, deadline: Deadline) -> tuple[Array, IntArray | None]:
        """Return the rows to solve for, and which of them each row follows; None where they are all."""
        found: Followed | None = None
        if self.weights == "knn":
            found = followed_in_time(
                data, self.n_neighbors, work_of_row(data.shape[1], self.n_neighbors, self._work_in_gammas),
                random_stream(self.random_state), effective_n_threads(self.n_threads), deadline,
            )  # fmt: skip
        for name in ("sample_indices_", "followed_"):
            self.__dict__.pop(name, None)
        if found is None:
            return data, None
        self.sample_indices_, self.followed_ = found.ids, found.places
        return data[found.ids], found.places

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

    @property
    def _solved(self) -> str:
        """The symbol of how many rows were solved for: all n, or the s that stand for them."""
        return "s" if hasattr(self, "sample_indices_") else "n"

    def _check_state(self, fitted: Mapping[str, Any]) -> None:
        # A model that is being loaded does not know yet how many rows were solved for.
        known = copy.copy(self)
        known.__dict__.update({name: fitted[name] for name in ("sample_indices_",) if name in fitted})
        super(ConvexEstimator, known)._check_state(fitted)

    def _graph_attributes(self, *residuals: str | int) -> dict[str, Declared]:
        """Return what the graph of the rows looks like, and how the fit went; the residuals have a shape."""
        return {
            "sample_indices_": Numbers(
                ("s",), "integer", least=0, below="n", needed=False, beside="followed_"
            ),
            "followed_": Numbers(
                ("n",), "integer", least=0, below="s", needed=False, beside="sample_indices_"
            ),
            "edges_": Numbers(("e", 2), "integer", least=0, below=self._solved, may_be_empty=True),
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
