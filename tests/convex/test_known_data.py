"""Paths of data with known answers."""

import numpy as np
import pytest

from coterie import ConvexClusterPath
from coterie.datasets import load_iris, load_mammals, load_senate
from tests.convex.problems import REFERENCES, graph_of


@pytest.mark.parametrize("name", ["halfmoons200", "iris150", "mammals27", "senate48"])
def test_numbers_of_clusters_of_published_paths(name):
    X, graph = graph_of(name)
    path = ConvexClusterPath(REFERENCES[f"{name}/gammas"], weights="precomputed", tol=1e-8).fit(
        X, graph=graph
    )
    assert path.converged_
    assert np.all(path.dual_gaps_ <= 1e-8 * path.objectives_ + 1e-20)
    difference = np.abs(path.n_clusters_path_ - REFERENCES[f"{name}/n_clusters"])
    # The references stop at a gap of their own: where rows are about to fuse they may count a few more.
    assert difference.max() <= 5
    assert np.mean(difference > 0) <= 0.25
    assert difference[-1] == 0


def test_senate_parties_separate():
    senate = load_senate(complete=True)
    X, graph = graph_of("senate48")
    path = ConvexClusterPath(REFERENCES["senate48/gammas"], weights="precomputed").fit(X, graph=graph)
    labels = path.labels_at(2)
    np.testing.assert_array_equal((senate.data > 0).astype(float), X)
    counts = [np.bincount(senate.target[labels == label], minlength=3).tolist() for label in (0, 1)]
    assert sorted(counts) == [[1, 1, 27], [19, 0, 0]]


def test_the_brown_bat_joins_the_other_bats():
    mammals = load_mammals()
    path = ConvexClusterPath(n_gammas=60, n_neighbors=5, distance_decay=0.5).fit(mammals.data.astype(float))
    bats = np.array([name.endswith("bat") for name in mammals.row_names])
    brown, house, red = (list(mammals.row_names).index(name) for name in ("brownbat", "housebat", "redbat"))
    for labels in path.labels_path_:
        if labels[brown] == labels[house] == labels[red]:
            np.testing.assert_array_equal(labels == labels[brown], bats)
            break
    else:
        pytest.fail("the bats never meet")


def test_setosa_separates():
    X, y = load_iris()
    path = ConvexClusterPath(n_gammas=40, n_neighbors=5, distance_decay=4.0).fit(X)
    labels = path.labels_at(2)
    np.testing.assert_array_equal(labels == labels[0], y == 0)
