"""Cases of the contract tests: every estimator with suitable rows."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import make_blobs, make_moons

from coterie import (
    BisectingKMeans,
    ConvexClustering,
    ConvexClusterPath,
    DensityClustering,
    KMeans,
    LaplacianKModes,
    MiniBatchKMeans,
    MultilevelGraphClustering,
    NestedMiniBatchKMeans,
    SizeConstrainedKMeans,
    TotalVariationClustering,
    TruncatedGaussianMixture,
)
from coterie.centers.choice import ALGORITHMS

# Those that scikit-learn's own KMeans and MiniBatchKMeans do not pass either: rows that are repeated are drawn by other
# random numbers than rows that are weighted. The tests of each estimator show the law from a fixed start.
_SEEDING = "seeding draws other numbers for weights than for repetitions"
_BATCHES = "batches are drawn regardless of weights"
_DENSE, _SPARSE = (f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse"))
EXPECTED_FAILURES = {
    KMeans: {_DENSE: _SEEDING, _SPARSE: _SEEDING},
    NestedMiniBatchKMeans: {_DENSE: _SEEDING, _SPARSE: _SEEDING},
    SizeConstrainedKMeans: {_DENSE: _SEEDING, _SPARSE: _SEEDING},
    BisectingKMeans: {_DENSE: _SEEDING, _SPARSE: _SEEDING},
    MiniBatchKMeans: {_DENSE: _BATCHES, _SPARSE: _BATCHES},
    TruncatedGaussianMixture: {_DENSE: _SEEDING},
}


@cache
def many_blobs() -> np.ndarray:
    return make_blobs(1500, 11, centers=23, cluster_std=2.0, random_state=0)[0]


@cache
def few_blobs() -> np.ndarray:
    return make_blobs(700, 4, centers=5, cluster_std=0.8, random_state=0)[0]


@cache
def moons() -> np.ndarray:
    return make_moons(800, noise=0.05, random_state=0)[0]


@dataclass(frozen=True, eq=False)
class Case:
    """An estimator and float64 rows of its kind."""

    name: str
    estimator: type
    parameters: Mapping[str, Any]  # with which it has something to do on these rows, and ends soon
    rows: Callable[[], np.ndarray]
    predicts_labels: bool = True  # `predict` gives the rows of the fit their labels
    takes_sparse: bool = False
    takes_weights: bool = False
    reads_blocks: bool = False  # it never holds all rows of a file
    draws: bool = True  # it begins at random
    labels: str = "labels_"
    centers: str | None = None  # what callbacks see in the end, None if what they see is moved once more
    begins_again: bool = False  # the history is that of one of several starts
    iterates: bool = True  # a fit has iterations, with a history, callbacks and a time limit

    def make(self, **parameters: Any) -> Any:
        """Return the estimator, unfitted."""
        seed = {"random_state": 0} if self.draws else {}
        return self.estimator(**(seed | dict(self.parameters) | parameters))

    @cached_property
    def fitted(self) -> Any:
        """The estimator, fitted to its rows: one for all tests, which must not change it."""
        return self.make().fit(self.rows())

    def weights(self, weighted: bool) -> dict[str, Any]:
        """Return what `fit` takes beside the rows."""
        if not weighted:
            return {}
        return {"sample_weight": np.random.default_rng(0).uniform(0.5, 2, size=len(self.rows()))}


def _k_means(name, estimator, /, **options):
    parameters = dict(n_clusters=40) | options
    return Case(
        name, estimator, parameters, many_blobs, takes_sparse=True, takes_weights=True, reads_blocks=True,
        centers=None if estimator in (KMeans, SizeConstrainedKMeans) else "cluster_centers_",
        predicts_labels=estimator is not SizeConstrainedKMeans,
    )  # fmt: skip


def _mixture(covariance_type, **options):
    parameters = dict(n_components=40, covariance_type=covariance_type, max_iter=6, tol=0.0) | options
    return Case(
        "-".join(["mixture", covariance_type, *options]), TruncatedGaussianMixture, parameters, many_blobs,
        takes_weights=True, reads_blocks=True, centers="means_",
    )  # fmt: skip


def _convex(name, estimator, /, **options):
    labels = "labels_path_" if estimator is ConvexClusterPath else "labels_"
    return Case(name, estimator, options, moons, labels=labels, draws=False)


def _modes(mode_update):
    parameters = dict(n_clusters=5, graph_weight=0.7, n_init=3, mode_update=mode_update)
    name = f"laplacian-{mode_update}"
    return Case(name, LaplacianKModes, parameters, few_blobs, takes_sparse=True, begins_again=True)


CASES = [
    *(_k_means(f"k-means-{name}", KMeans, algorithm=name, max_iter=5) for name in ALGORITHMS[1:]),
    _k_means("mini-batch", MiniBatchKMeans, batch_size=600, max_iter=4),
    _k_means("nested", NestedMiniBatchKMeans, batch_size=200),
    _k_means("size-constrained", SizeConstrainedKMeans, n_clusters=12, size_min=0.05, max_iter=5),
    _k_means("bisecting", BisectingKMeans, n_clusters=12, max_iter=5),
    _mixture("tied_spherical"),
    _mixture("spherical", random_candidate=True),
    _mixture("diag"),
    _mixture("diag", coreset_size=500),
    _mixture("factors", n_factors=2),
    _mixture("tied_spherical", search_group_size=1, search_every=1, initial_e_steps=2),
    _modes("byproduct"),
    _modes("mean_shift"),
    _convex("convex", ConvexClustering, gamma=0.5, tol=1e-9),
    _convex("convex-admm", ConvexClustering, gamma=0.5, tol=1e-6, solver="admm"),
    _convex("convex-paper", ConvexClustering, gamma=0.5, tol=1e-5, solver="admm", stopping="residuals"),
    _convex("path", ConvexClusterPath, n_gammas=5),
    _convex("path-tree", ConvexClusterPath, n_gammas=6, weights="tree", norm="l1"),
    _convex("path-paper", ConvexClusterPath, n_gammas=4, tol=1e-3, step_size="paper"),
    Case("density", DensityClustering, dict(space="rows"), few_blobs, iterates=False),
    Case("density-diffused", DensityClustering, dict(space="diffused"), few_blobs, iterates=False),
    Case("multilevel", MultilevelGraphClustering, dict(n_clusters=5), few_blobs, takes_sparse=True, draws=False,
         iterates=False),
    Case("total-variation", TotalVariationClustering, dict(n_clusters=5, n_init=2, max_iter=60), few_blobs,
         takes_sparse=True, begins_again=True),
    Case("total-variation-paper", TotalVariationClustering,
         dict(n_clusters=5, n_init=2, max_iter=60, steps="paper"), few_blobs,
         takes_sparse=True, begins_again=True),
]  # fmt: skip


def every_case(wanted: Callable[[Case], bool] = lambda case: True) -> pytest.MarkDecorator:
    """Return the parametrisation of a test by `case`: all cases, or those that are wanted."""
    found = [case for case in CASES if wanted(case)]
    return pytest.mark.parametrize("case", found, ids=[case.name for case in found])


def every_estimator(wanted: Callable[[Case], bool] = lambda case: True) -> pytest.MarkDecorator:
    """Return the parametrization of a test by `case`: the first of each class, for laws that no option can break."""
    first = {case.estimator: case for case in reversed(CASES) if wanted(case)}
    found = [case for case in CASES if first.get(case.estimator) is case]
    return pytest.mark.parametrize("case", found, ids=[case.name for case in found])


def three_estimators(*names: str) -> pytest.MarkDecorator:
    """Return the parametrization by `case` of a test of what rows promise: three estimators that read them apart."""
    chosen = names or ("k-means-yinyang", "mixture-diag", "laplacian-byproduct")
    return pytest.mark.parametrize("case", [case for case in CASES if case.name in chosen], ids=chosen)
