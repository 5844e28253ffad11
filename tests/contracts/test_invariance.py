"""What must not matter: units, where rows lie, how they are turned, in which order they come, and how often."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from coterie import (
    BisectingKMeans,
    ConvexClustering,
    ConvexClusterPath,
    KMeans,
    LaplacianKModes,
    MiniBatchKMeans,
    NestedMiniBatchKMeans,
    TotalVariationClustering,
    TruncatedGaussianMixture,
)
from tests.support.changes import CHANGES, Change, same_partition

N_CLUSTERS = 6


@cache
def rows() -> np.ndarray:
    """Clusters of unequal size, two of them close to each other, as columns of one unit."""
    return make_blobs([60, 50, 40, 30, 20, 20], 4, cluster_std=0.7, center_box=(-4, 4), random_state=2)[0]


@dataclass(frozen=True, eq=False)
class Invariant:
    """An estimator that should not care.

    Attributes
    ----------
    make : callable
        Returns it, for rows that are changed in this way.
    objective : str, optional
        The attribute that grows with the square of lengths and with the number of rows.
    draws : bool
        Whether it draws rows by their places and ends where they lead it: then it is not asked about places.
    """

    make: Callable[[Change], Any]
    objective: str | None = None
    draws: bool = False


ESTIMATORS = {
    "k-means": Invariant(lambda change: KMeans(N_CLUSTERS, n_init=30, random_state=0), "inertia_"),
    "bisecting": Invariant(
        lambda change: BisectingKMeans(N_CLUSTERS, random_state=0), "inertia_", draws=True
    ),
    "mini-batch": Invariant(lambda change: MiniBatchKMeans(N_CLUSTERS, random_state=0), draws=True),
    "nested": Invariant(
        lambda change: NestedMiniBatchKMeans(N_CLUSTERS, batch_size=100, random_state=0), draws=True
    ),
    # reg_covar is a variance, as scikit-learn's: it has the square of the columns' unit. That it hides rows of tiny
    # ones is warned of.
    "mixture": Invariant(
        lambda change: TruncatedGaussianMixture(
            N_CLUSTERS, reg_covar=1e-6 * change.length**2, random_state=0
        ),
        draws=True,
    ),
    "laplacian": Invariant(
        lambda change: LaplacianKModes(N_CLUSTERS, n_init=60, n_threads=1, random_state=0)
    ),
    "laplacian, mean shifts": Invariant(
        lambda change: LaplacianKModes(N_CLUSTERS, mode_update="mean_shift", n_init=10, random_state=0)
    ),
    "total variation": Invariant(
        lambda change: TotalVariationClustering(N_CLUSTERS, n_init=2, max_iter=100, random_state=0),
    ),
    # gamma is a length: it has the unit of the columns.
    "convex": Invariant(lambda change: ConvexClustering(0.2 * change.length, tol=1e-8), "objective_"),
    "convex, l1": Invariant(
        lambda change: ConvexClustering(0.2 * change.length, norm="l1", tol=1e-8), "objective_",
    ),
    "convex, all edges": Invariant(
        lambda change: ConvexClustering(0.02 * change.length / change.times, weights="dense", tol=1e-8),
        "objective_",
    ),
}  # fmt: skip

# What moves rows to other places, and what only the Euclidean norm does not see.
OF_PLACES = ("other order of rows", "each row twice")
PAIRS = [
    (name, change)
    for name, case in ESTIMATORS.items()
    for change in CHANGES
    if not (case.draws and change in OF_PLACES) and (name, change) != ("convex, l1", "rotated")
]


@cache
def fit_of_the_rows(name) -> Any:
    return ESTIMATORS[name].make(Change(lambda X: X)).fit(rows())


@pytest.mark.parametrize(("name", "change"), PAIRS)
def test_labels_are_equal_up_to_names(name, change):
    case = ESTIMATORS[name]
    X, changed = rows(), CHANGES[change]
    before = fit_of_the_rows(name)
    after = case.make(changed).fit(changed.apply(X))
    assert len(np.unique(before.labels_)) > 1
    same_partition(after.labels_[changed.back(len(X))], before.labels_)
    if case.objective:
        growth = changed.length**2 * changed.times
        np.testing.assert_allclose(
            getattr(after, case.objective), growth * getattr(before, case.objective), rtol=1e-6
        )


@cache
def path_of_the_rows(gammas=None) -> ConvexClusterPath:
    return ConvexClusterPath(gammas).fit(rows())


@pytest.mark.parametrize("change", CHANGES)
def test_whole_paths_are_the_same(change):
    X, changed = rows(), CHANGES[change]
    other = changed.apply(X)
    before, after = path_of_the_rows(), ConvexClusterPath().fit(other)
    assert after.n_clusters_path_[0] == len(X)
    assert after.n_clusters_path_[-1] == 1
    np.testing.assert_allclose(after.distance_decay_, before.distance_decay_ / changed.length**2, rtol=1e-6)
    back = changed.back(len(X))
    for n_clusters in (1, 2, 3, 4, 5, 6):
        same_partition(after.labels_at(n_clusters)[back], before.labels_at(n_clusters))
    gammas = before.gammas_[::4]
    before = path_of_the_rows(tuple(gammas))
    after = ConvexClusterPath(gammas * changed.length).fit(other)
    growth = changed.length**2 * changed.times
    np.testing.assert_allclose(after.objectives_, growth * before.objectives_, rtol=2e-5, atol=1e-12 * growth)
    # Rows that are about to fuse at a gamma may be found on either side.
    np.testing.assert_allclose(after.n_clusters_path_, before.n_clusters_path_, rtol=0.02, atol=2)
