"""Norms: those that are built in, groups of columns, and objects of users."""

import numpy as np
import pytest

from coterie import ConvexClustering, ConvexClusterPath
from tests.convex.problems import graph_of
from tests.reference import convex_clustering as oracle


@pytest.mark.parametrize("norm", ["l1", "linf"])
def test_an_object_may_be_the_norm(norm):
    X, graph = graph_of("moons60")
    built_in, own = (
        ConvexClustering(0.5, weights="precomputed", norm=kind, tol=1e-7).fit(X, graph=graph)
        for kind in (norm, oracle.PlainNorm(norm, 2))
    )
    np.testing.assert_allclose(own.centroids_, built_in.centroids_, atol=2e-3)
    np.testing.assert_allclose(own.objective_, built_in.objective_, rtol=2e-7)
    path = ConvexClusterPath(n_gammas=3, norm=oracle.PlainNorm(norm, 2), connect=True).fit(X[:30])
    same = ConvexClusterPath(n_gammas=3, norm=norm, connect=True).fit(X[:30])
    np.testing.assert_allclose(path.gammas_, same.gammas_, rtol=1e-6)


def test_the_l1_norm_separates_the_columns():
    X, graph = graph_of("gauss40x6")
    whole = ConvexClustering(0.5, weights="precomputed", norm="l1", tol=1e-11).fit(X, graph=graph)
    for column in range(6):
        alone = ConvexClustering(0.5, weights="precomputed", norm="l2", tol=1e-11)
        alone.fit(X[:, [column]], graph=graph)
        np.testing.assert_allclose(alone.centroids_[:, 0], whole.centroids_[:, column], atol=1e-5)
