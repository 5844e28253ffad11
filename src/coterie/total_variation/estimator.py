"""Multiclass total variation clustering (Bresson, Laurent, Uminsky & von Brecht 2013), with and without labels."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal

import numpy as np

from coterie.arrays import Array, FloatArray, IntArray
from coterie.estimators.on_graph import RUNS, GraphEstimator
from coterie.estimators.outliers import FitDistances
from coterie.estimators.parameters import (
    Affinity,
    Callback,
    Clusters,
    GraphWeights,
    Iterations,
    MaxTime,
    Metric,
    Neighbors,
    Param,
    RandomState,
    Runs,
    SizeBound,
    Threads,
    Tolerance,
    Verbose,
)
from coterie.fitting.checks import random_stream, warn
from coterie.fitting.report import FitReport, with_callbacks
from coterie.fitting.threads import effective_n_threads, single_threaded_blas
from coterie.graphs.cuts import checked_priors
from coterie.graphs.distinct import Vertices
from coterie.size_constrained.sizes import SizeBounds, check_sizes
from coterie.total_variation.priors import check_class_priors, minimize_cut_by_sizes, priors_of_labels
from coterie.total_variation.problem import CutProblem
from coterie.total_variation.rounding import check_known_sizes
from coterie.total_variation.solver import HISTORY_FIELDS, CutOptions, CutResult, minimize_cut

CutInit = Annotated[
    Literal["diffusion"] | Any,
    Param(
        "Initial memberships: diffused from drawn vertices, or given ones.",
        also="memberships",
        reads=("array",),
    ),
]
StepSizes = Annotated[
    Literal["preconditioned", "paper"], Param("Step sizes of the descent: preconditioned, or as published.")
]
ClassPriors = Annotated[
    Literal["auto", "labels"] | Any | None,
    Param(
        "Expected sizes of clusters as fractions such as 0.9,0.1, or those of the known labels. "
        "auto: equal, or estimated where that is clearly better.",
        also="a prior for each cluster",
        reads=("numbers", "array"),
    ),
]
SelectBy = Annotated[
    Literal["shared-neighbors", "energy"],
    Param("Which run is kept: that of the smallest cut (energy), or a better one by shared neighbors."),
]


class TotalVariationClustering(GraphEstimator):
    """Clusters of about equal size with few edges between them: a balanced cut of a graph, by a tight relaxation.

    The relaxed memberships are close to indicators, so that rounding them loses little. Known classes of a few rows can
    be given: one row of each class is often enough.

    Parameters
    ----------
    n_clusters : int
        Number of clusters R.
    n_neighbors : int
        Nearest neighbors of each row in the graph, without the row itself; all other rows, with a warning, if there are
        fewer. Edges are undirected.
    weights : {"self-tuning", "binary"}
        Weights of the edges between neighbors. "self-tuning": smaller for edges that are long beside those around, see
        `coterie.graphs.knn_graph`. "binary": 1.
    affinity : {"knn", "precomputed"}
        "precomputed": X is a symmetric matrix of non-negative affinities W, dense or sparse.
    metric : {"euclidean", "cosine"}
        "cosine": each row is divided by its length first (normalization).
    n_init : "auto" or int
        Number of runs with different initializations, of which one is kept, see `select_by`. "auto": one, two with
        labels. One if memberships are given; at most two if a label of each class is. Only runs from drawn vertices are
        random.
    init : "diffusion" or array-like of shape (n, R)
        "diffusion": a vertex drawn from each cluster of a multilevel partition (see `MultilevelGraphClustering`) is
        diffused over the graph, or the labels of `y` where it has any. While a class has no label, the first run starts
        from that partition itself; otherwise the second one from the solution of a quadratic program with classes of
        the expected sizes (Holtz et al. 2024). Or memberships: non-negative rows that sum to 1.
    steps : {"preconditioned", "paper"}
        "paper": Algorithm 1 as published, for comparison. One step size for all rows and columns, from the norm of the
        gradient; the stop is tested after each inner iteration; an outer step ends after 100 of them; a run ends with
        the first outer step that changes the energy by less than `tol`, and returns its last memberships; edge weights
        are not rescaled; and without labels the partition is a normalized cut: the first run is start (a) of the paper,
        the others are (b). The paper's protocol is `n_init=31`, and `max_iter=10000` with (a) alone.
    class_priors : "auto", sequence of float, "labels" or None
        Expected fraction of the rows in each cluster: positive, with sum 1. The lambda of cluster r is then (1 - prior)
        / prior. Without labels, priors are assigned to clusters so that (P) is lowest. "auto": the sizes of a
        multilevel partition of low normalized cut, which is then the only start, if that cut is less than half of the
        one of the partition that runs start from, and half of the edge information (see `MultilevelGraphClustering`) is
        left or falls by less than the cut; clusters of less than n / (20 R) rows, at most 4, do not count and join the
        others. Otherwise, and with labels, memberships, size bounds or `steps="paper"`, as None. "labels": the
        fractions of the classes among the labels of `y`, with 1 added to each count. None: equal priors, lambda being
        R - 1.
    size_min, size_max : float, optional
        Minimum and maximum number of rows of a cluster; below 1: fraction of all rows. Memberships are rounded to
        clusters of these sizes at the least total loss, and vertices then move within them. Rows of a cluster with
        equal memberships are ranked by a random walk on the graph: those nearest to other clusters move first.
    select_by : {"shared-neighbors", "energy"}
        The run that is kept. "energy": the one with the lowest (P), as in the paper. "shared-neighbors": a run with (P)
        at most 5% above the lowest is preferred if it is better by 5% in the product of (P) and (P) with edges weighted
        by the fraction of neighbors that their ends share.
    tol : float
        A run has converged when two consecutive outer steps change the relaxed energy by less than this, relative to
        the energy; or when the last half of its iterations, at least 150, lowered the rounded cut by less than this; or
        when that half lowered the relaxed energy by less than 200 times this, and the cut after moves by less than 10
        times this. See `steps`.
    max_iter : int
        Inner iterations of a run, at most.
    random_state : int, RandomState or None
        Seed; the result is bit-identical for any number of threads.
    verbose : bool or int
        Print each outer step.
    max_time : float, optional
        Time limit in seconds, without the construction of the graph; see `KMeans`.
    n_threads : int, optional
        None: all processors.
    callback : callable, optional
        Called with a `FitProgress` after each outer step; the fit stops if it returns True.

    Attributes
    ----------
    labels_ : ndarray of shape (n,), int32
        Cluster of each row: the largest of its memberships; -1 for vertices that are set aside, see Notes.
    memberships_ : ndarray of shape (n, R)
        F of the outer step with the smallest cut, or of the last one with `steps="paper"`; non-negative rows that sum
        to 1. Rows that moved (see Notes) have membership 1 in their cluster.
    outlier_scores_, cluster_scales_
        See `KMeans`; the distance of a row is the mean distance to its nearest neighbors, of a new row to its nearest
        rows of the fit. Not with `affinity="precomputed"`.
    energy_ : float
        (P) of `labels_`, see Notes; infinite if a cluster is empty.
    relaxed_energy_ : float
        The relaxed energy of `memberships_`.
    energies_ : ndarray of shape (n_runs,), float64
        (P) at the end of each run, see Notes.
    class_priors_ : ndarray of shape (R,), float64
        The given or estimated priors. With "auto" only where it estimates them.
    affinity_matrix_ : csr_array of shape (m, m)
        The graph W of the m distinct rows: equal rows are one vertex. Of rows that are as far as the last neighbor all
        are neighbors, up to `2 * n_neighbors`, beyond that some by a hash of both rows. An edge weighs as many times as
        there are rows at its heavier end. More than R components are joined by their
        shortest edges, long ones weighing less. With size bounds all rows are vertices, and equal ones are neighbors.
    vertex_rows_ : ndarray of shape (m,), int32
        The first row at each vertex.
    converged_ : bool
        Whether the run that was kept reached `tol`.
    n_iter_ : int
        Inner iterations of that run.
    history_ : record array
        One row per outer step of that run: `iteration`, `seconds`, `objective` (the relaxed energy), `n_inner`,
        `descended` (whether the weighted energy decreased as in Theorem 3), `cut` ((P) of the rounded memberships after
        moves, or the lowest so far if rounding leaves a cluster empty).
    n_features_in_, feature_names_in_, preparation_
        See `KMeans`.

    Raises
    ------
    ValueError
        On NaN or infinity (with the row's number), an empty or one-dimensional X, fewer rows than clusters or
        neighbors, sizes or priors that are not feasible for the number of clusters, an affinity matrix that is not
        square, symmetric or non-negative, labels that are not -1 to R - 1, memberships that are not in the simplex or
        have a constant column, or an unknown option.

    Notes
    -----
    (P) = ``sum_r Cut(A_r) / min(lambda |A_r|, n - |A_r|)``, where Cut sums the weights of the edges that leave A_r,
    each once, and lambda is R - 1, or follows from the prior of the cluster: a cut of a cluster of n / (lambda + 1)
    rows costs least. Its
    relaxation is sum_r TV(f_r) / B(f_r) over memberships F = [f_1 .. f_R], with TV(f) the sum over the edges, each
    once, of ``w_ij |f_i - f_j|``, and B(f) the distance of f from its median, the (floor(n / (lambda + 1)) + 1)-st
    largest value, with larger values weighted by lambda. For indicators the two are equal (Theorem 1 of the paper,
    which counts each edge twice).

    An inner iteration takes O((edges + n) R) operations. Steps are those of Pock and Chambolle's diagonal
    preconditioner. Memory: R floats for each edge, and 5 n R floats.

    After an outer step memberships are rounded, and unlabeled vertices move one by one to adjacent clusters as long as
    (P) decreases. After a run with labels, clusters exchange their classes if this lowers (P) and keeps more of the
    edges of labeled rows. All this is left out with `steps="paper"`.

    With more than two clusters the fit warns if one has more than nine tenths of the rows; not if no edge is cut, nor
    with labels, priors or size constraints.

    A union of components is a cluster at no cost. Components of less than half of n / (10 R) rows, and vertices without
    edges, are set aside as in `MultilevelGraphClustering`, unless a row in them has a label or sizes are bounded;
    energies are those of the other rows.

    References
    ----------
    Bresson, Laurent, Uminsky and von Brecht, Multiclass total variation clustering, NeurIPS 2013. Pock and Chambolle,
    Diagonal preconditioning for first order primal-dual algorithms in convex optimization, ICCV 2011. Holtz, Chen,
    Cloninger, Cheng and Mishne, Continuous partitioning for graph-based semi-supervised learning, NeurIPS 2024.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_moons
    >>> from coterie import TotalVariationClustering
    >>> X, y = make_moons(300, noise=0.05, random_state=0)
    >>> known = np.full(300, -1)
    >>> known[:4] = y[:4]
    >>> model = TotalVariationClustering(2, random_state=0).fit(X, known)
    >>> int(np.mean(model.labels_ == y) * 100)
    100
    """

    def __init__(
        self,
        n_clusters: Clusters = 8,
        *,
        n_neighbors: Neighbors = 10,
        weights: GraphWeights = "self-tuning",
        affinity: Affinity = "knn",
        metric: Metric = "euclidean",
        n_init: Runs = "auto",
        init: CutInit = "diffusion",
        steps: StepSizes = "preconditioned",
        class_priors: ClassPriors = "auto",
        size_min: SizeBound = None,
        size_max: SizeBound = None,
        select_by: SelectBy = "shared-neighbors",
        tol: Tolerance = 1e-4,
        max_iter: Iterations = 2000,
        random_state: RandomState = None,
        verbose: Verbose = 0,
        max_time: MaxTime = None,
        n_threads: Threads = None,
        callback: Callback = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_neighbors = n_neighbors
        self.weights = weights
        self.affinity = affinity
        self.metric = metric
        self.n_init = n_init
        self.init = init
        self.steps = steps
        self.class_priors = class_priors
        self.size_min = size_min
        self.size_max = size_max
        self.select_by = select_by
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.verbose = verbose
        self.max_time = max_time
        self.n_threads = n_threads
        self.callback = callback

    @with_callbacks
    def fit(self, X: Any, y: Any = None) -> TotalVariationClustering:
        """Find the clusters of X.

        Parameters
        ----------
        X : array-like, sparse matrix, table, Dask array or Rows of shape (n, d)
            The data, or (n, n) affinities, which are read into the memory of one machine: rows on Dask workers are a
            TypeError.
        y : array-like of shape (n,), optional
            Known classes from 0 to n_clusters - 1, -1 where they are not known: rows with a class are and remain in
            the cluster of that number. An array without -1 is ignored, as scikit-learn's tools pass such labels to all
            estimators.

        Returns
        -------
        TotalVariationClustering
            This estimator.
        """
        self.check_parameters()
        n_threads = effective_n_threads(self.n_threads)
        report = FitReport(self, HISTORY_FIELDS)
        report.n_final_steps = 0.0
        rows, columns = self._rows_to_fit(X)
        self._check_n_rows(rows)
        n, random = rows.shape[0], random_stream(self.random_state)
        known = known_labels(y, n, self.n_clusters)
        given = given_memberships(self.init, n, self.n_clusters)
        bounds = self._bounds(known)
        with report.scikit_learn_callbacks(X), single_threaded_blas():
            block = rows.read()
            seed = int(random.randint(np.iinfo(np.int32).max)) if self.affinity == "knn" and n > 1 else 0
            graph, distances, vertices = self._symmetric_graph(
                block, seed, known=known >= 0, is_split=bounds is not None
            )
            problem = CutProblem(
                graph, self.n_clusters, known_of_vertices(known, vertices), means_of_vertices(given, vertices), random,
                n_threads, priors=self._priors(known), bounds=bounds, weights=vertices.masses,
            )  # fmt: skip
            n_runs = self._n_runs(problem)
            options = CutOptions(n_runs, self.max_iter, self.tol, self.steps, self.select_by)
            report.n_runs = n_runs
            priors: FloatArray | None
            if graph.shape[0] < self.n_clusters:
                best, energies, priors = _singletons(problem, report)
            elif self._decides_on_priors(problem):
                best, energies, priors = minimize_cut_by_sizes(problem, options, report)
            else:
                (best, energies), priors = minimize_cut(problem, options, report), problem.priors
        labels, shares = vertices.spread(best.labels), vertices.spread(best.memberships)
        if vertices.places is not None:  # equal rows may have different known classes
            labels[known >= 0] = known[known >= 0]
            shares[known >= 0] = np.eye(self.n_clusters)[known[known >= 0]]
        fitted = {
            "labels_": labels,
            "memberships_": shares,
            "energy_": best.objective,
            "relaxed_energy_": best.relaxed_objective,
            "energies_": energies,
            "affinity_matrix_": graph,
            "converged_": best.reason == "converged",
            "n_iter_": best.n_inner,
            "history_": best.history,
            **vertices.fitted,
        }
        if priors is not None:
            fitted["class_priors_"] = priors
        if distances is not None:
            fitted["_training_rows"] = block
            fitted["_own_distances"] = FitDistances(labels, distances, np.zeros(self.n_clusters))
        self._warn_of_empty_clusters(labels, " in every run: the graph has no such cut that was found.")
        if np.all(known < 0) and bounds is None:
            self._warn_of_one_large_cluster(labels, best.objective)
        self._store_fitted(columns | fitted)
        report.warn_if_out_of_time()
        return self

    def _n_runs(self, problem: CutProblem) -> int:
        if problem.n_clusters == 1 or problem.given is not None:
            return 1
        n_runs = (1 + bool(np.any(problem.known >= 0))) if self.n_init == "auto" else int(self.n_init)
        return n_runs if problem.draws_vertices else min(n_runs, 1 if self.steps == "paper" else 2)

    def _warn_of_one_large_cluster(self, labels: IntArray, cut: float) -> None:
        """Warn if one of over two clusters has more than 0.9 of the rows and edges are cut, unless sizes are set."""
        if not (self.class_priors is None or self._has_priors("auto")):
            return
        n, R, largest = len(labels), self.n_clusters, int(np.bincount(labels[labels >= 0]).max())
        if R > 2 and largest > 0.9 * n and 0 < cut < math.inf:
            warn(
                f"One of {R} clusters has {largest} of {n} rows: few edges leave the small groups of rows in the "
                f"others. For larger clusters set size_min, for example to {1 / R**2:.2g}, or use "
                "multilevel graph clustering."
            )

    def _has_priors(self, name: str) -> bool:
        return isinstance(self.class_priors, str) and self.class_priors == name

    def _decides_on_priors(self, problem: CutProblem) -> bool:
        is_free = problem.draws_vertices and problem.bounds is None and not np.any(problem.known >= 0)
        is_default = self.steps != "paper" and self.n_clusters > 1
        return bool(is_free and is_default and self._has_priors("auto"))

    def _priors(self, known: IntArray) -> FloatArray | None:
        """Return the given priors, or those of the labels."""
        if self._has_priors("labels"):
            return priors_of_labels(known, self.n_clusters)
        if self.class_priors is None or isinstance(self.class_priors, str):
            return None
        return checked_priors(self.class_priors, self.n_clusters)

    def _bounds(self, known: IntArray) -> SizeBounds | None:
        """Return the size bounds, checked against the known classes."""
        if self.size_min is None and self.size_max is None:
            return None
        bounds = SizeBounds.of(self.size_min, self.size_max, len(known))
        bounds.check(self.n_clusters, len(known))
        check_known_sizes(known, self.n_clusters, bounds)
        return bounds

    def _fitted_attributes(self) -> dict[str, str]:
        # Cuts with an empty cluster are infinite.
        return {
            **super()._fitted_attributes(),
            **RUNS,
            "energy_": "real",
            "relaxed_energy_": "float?",
            "energies_": "real r?",
            "class_priors_": "float k?",
        }

    # --- checks --------------------------------------------------------------------------------------------------

    def check_parameters(self) -> None:
        super().check_parameters()
        check_sizes(self.size_min, self.size_max)
        check_class_priors(self.class_priors, self.n_clusters)


def _singletons(problem: CutProblem, report: FitReport) -> tuple[CutResult, FloatArray, FloatArray | None]:
    """Return a cluster for each vertex, where there are more clusters than vertices."""
    labels = np.arange(problem.n_vertices, dtype=np.int32)
    shares = np.eye(problem.n_clusters, dtype=problem.graph.dtype)[labels]
    best = CutResult(math.inf, 0.0, labels, shares, history=report.history())
    return best, np.array([math.inf]), problem.priors


def known_labels(y: Any, n: int, n_clusters: int) -> IntArray:
    """Return the known classes of n rows, -1 elsewhere; raise a ValueError for wrong ones."""
    unknown = np.full(n, -1, dtype=np.int32)
    if y is None:
        return unknown
    labels = np.asarray(y)
    if labels.shape != (n,):
        raise ValueError(f"y must have one label for each of the {n} rows, got shape {labels.shape}.")
    if labels.dtype.kind not in "iuf":
        _check_names(labels)
        return unknown
    if labels.dtype.kind == "f" and np.isnan(labels).any():
        raise ValueError("y holds NaN: a class that is not known is -1.")
    if not np.any(labels == -1):
        _warn_of_other_marks(labels, n_clusters)
        return unknown
    if np.any(labels != np.floor(labels)) or labels.min() < -1 or labels.max() >= n_clusters:
        raise ValueError(
            f"y must hold classes from 0 to n_clusters - 1 = {n_clusters - 1}, and -1 where they are not "
            f"known, got {np.unique(labels)[:10].tolist()}."
        )
    return labels.astype(np.int32)


def known_of_vertices(known: IntArray, vertices: Vertices) -> IntArray:
    """Return the known class of each vertex; -1 where its rows have none, or different ones."""
    if vertices.places is None:
        return known
    has = known >= 0
    lowest = np.full(vertices.rows.shape[0], np.iinfo(np.int32).max, dtype=np.int32)
    highest = np.full(vertices.rows.shape[0], -1, dtype=np.int32)
    np.minimum.at(lowest, vertices.places[has], known[has])
    np.maximum.at(highest, vertices.places[has], known[has])
    return np.where(lowest == highest, highest, np.int32(-1))


def means_of_vertices(memberships: FloatArray | None, vertices: Vertices) -> FloatArray | None:
    """Return the mean memberships of the rows at each vertex."""
    if memberships is None or vertices.places is None:
        return memberships
    at = vertices.places >= 0
    sums = np.zeros((vertices.rows.shape[0], memberships.shape[1]))
    np.add.at(sums, vertices.places[at], memberships[at])
    return sums / np.bincount(vertices.places[at])[:, None]


def given_memberships(init: Any, n: int, n_clusters: int) -> FloatArray | None:
    """Return the given initial memberships, checked; None where `init` is a name."""
    if isinstance(init, str):
        return None
    given = np.array(init, dtype=np.float64)
    if given.shape != (n, n_clusters):
        raise ValueError(f"init must be 'diffusion' or have shape {n, n_clusters}, got {given.shape}.")
    if not np.all(np.isfinite(given)) or given.min() < 0 or np.abs(given.sum(axis=1) - 1).max() > 1e-5:
        raise ValueError("init must hold memberships: non-negative rows that sum to 1.")
    return given


def _warn_of_other_marks(labels: Array, n_clusters: int) -> None:
    """Warn if one number among classes looks like the mark of rows whose class is not known."""
    values = np.unique(labels)
    others = values[(values < 0) | (values >= n_clusters)]
    classes = values[(values >= 0) & (values < n_clusters)]
    if len(others) == 1 and len(classes) and (others[0] < 0 or others[0] > classes[-1] + 1):
        warn(
            f"y has no -1, so it is ignored. If {others[0]:g} marks rows whose class is not known, put -1 in its place."
        )


def _check_names(labels: Array) -> None:
    """Raise a ValueError for class names with unlabeled rows: clusters have numbers. Else ignore names."""
    unknown = (None, -1, "-1", "", "nan")
    if any(name in unknown or name != name for name in labels.tolist()):
        raise ValueError(
            f"y must hold whole numbers, -1 where a class is not known, not {labels.dtype}. Number the names of "
            "classes from 0: numpy.unique(names, return_inverse=True)."
        )
