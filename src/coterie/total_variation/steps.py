"""How far inner iterations step and when an outer step ends: ours, and as Bresson et al. 2013 have it, Algorithm 1."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import ClassVar

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import eigsh

from coterie.arrays import FloatArray
from coterie.total_variation.graph import CutGraph

__all__ = ["FEWEST_ITERATIONS", "STEPS", "PaperSteps", "PreconditionedSteps", "Steps"]

# Our inner stop is tested every so many iterations: half as many as the last outer step took, within these bounds.
FEWEST_ITERATIONS, _MOST_ITERATIONS = 5, 25

# Where our steps of a run begin and how fast they fall, relative to the average row. Large and slowly falling steps
# leave clusters undecided for longer, which costs iterations and finds better ones.
_FIRST_STEP, _CONVEXITY = 4.0, 0.05

# Up to so many vertices the norm of the gradient comes from all eigenvalues; Lanczos' method needs some room.
_FEW_VERTICES = 100


class Steps(ABC):
    """The steps on one graph.

    Attributes
    ----------
    rows : ndarray of shape (n,), float64
        Step of each row of F as a multiple of tau.
    first : float
        tau at the beginning of a run.
    convexity : float
        tau shrinks by sqrt(1 + 2 convexity tau) at each iteration.
    by_weight : bool
        Whether a dual steps in proportion to the weight of its edge.
    most_inner : int
        Inner iterations after which an outer step may end without the descent of Theorem 3.
    needs_descent : bool
        Whether the energy must have fallen by then.
    """

    by_weight: ClassVar[bool]
    needs_descent: ClassVar[bool]
    most_inner: ClassVar[int] = 100
    rows: FloatArray
    first: float
    convexity: float

    @abstractmethod
    def of_duals(self, balances: FloatArray) -> FloatArray:
        """Return the step of the duals in each column, times tau and Gamma, for these B(f_r)."""

    @abstractmethod
    def until_test(self, last_inner: int) -> int:
        """Return after how many iterations the stop is tested, if the last outer step took so many."""


class PreconditionedSteps(Steps):
    """In inverse proportion to the degree of a vertex and the scale of a column (Pock and Chambolle 2011).

    Parameters
    ----------
    graph : CutGraph
        The graph.
    """

    by_weight = False
    needs_descent = True

    def __init__(self, graph: CutGraph) -> None:
        mean, largest = graph.degrees.mean(), graph.degrees.max()
        self._mean_degree = mean if mean > 0 else 1.0
        self.rows = np.divide(mean, graph.degrees, out=np.ones(graph.n_vertices), where=graph.degrees > 0)
        self.first = _FIRST_STEP / np.sqrt(2 * self._mean_degree)
        # No more than the smallest of those steps, for which the theory holds.
        self.convexity = min(_CONVEXITY, mean / largest) if largest > 0 else _CONVEXITY

    def of_duals(self, balances: FloatArray) -> FloatArray:
        """Return the step of the duals in each column."""
        return balances / (2 * self._mean_degree * float(balances.max()))

    def until_test(self, last_inner: int) -> int:
        """Return half as many iterations as the last outer step took, within bounds."""
        return int(np.clip(last_inner // 2, FEWEST_ITERATIONS, _MOST_ITERATIONS))


class PaperSteps(Steps):
    """As short everywhere as the norm of the gradient and the smallest column ask, and tested each time.

    sigma tau = (min B / (max B L))^2 with L = ||K||_2, which starts tau too: 1 / L. After 100 inner iterations the
    authors take what there is.

    Parameters
    ----------
    graph : CutGraph
        The graph.
    """

    by_weight = True
    needs_descent = False

    def __init__(self, graph: CutGraph) -> None:
        self._norm = _gradient_norm(graph)
        self.rows = np.ones(graph.n_vertices)
        self.first = 1 / self._norm
        self.convexity = 1.0

    def of_duals(self, balances: FloatArray) -> FloatArray:
        """Return the step of the duals in each column."""
        smallest, largest = float(balances.min()), float(balances.max())
        return (smallest / (largest * self._norm)) ** 2 * largest / balances

    def until_test(self, last_inner: int) -> int:
        """Return one iteration."""
        return 1


STEPS: dict[str, Callable[[CutGraph], Steps]] = {"preconditioned": PreconditionedSteps, "paper": PaperSteps}


def _gradient_norm(graph: CutGraph) -> float:
    """Return L = ||K||_2, the root of the largest eigenvalue of K'K: the Laplacian of the squared weights."""
    edges, n = graph.edges, graph.n_vertices
    if len(edges) == 0:
        return 1.0
    squares = (edges.weights / graph.unit) ** 2
    ends = np.concatenate([edges.heads, edges.tails]), np.concatenate([edges.tails, edges.heads])
    weights = sp.csr_array((np.tile(squares, 2), ends), shape=(n, n))
    laplacian = sp.csr_array(sp.diags_array(weights.sum(axis=1)) - weights)
    if n <= _FEW_VERTICES:
        return float(np.sqrt(np.linalg.eigvalsh(laplacian.toarray())[-1]))
    start = np.random.RandomState(0).standard_normal(n)
    largest = eigsh(laplacian, k=1, which="LA", v0=start, tol=1e-6, return_eigenvectors=False)
    return float(np.sqrt(largest[0]))
