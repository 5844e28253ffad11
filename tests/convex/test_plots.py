"""Pictures of paths: what is drawn, not how it looks."""

import numpy as np
import pytest
from matplotlib.colors import to_hex

from coterie import ConvexClusterPath
from coterie.convex.plots import plot_path, plot_path_dendrogram
from coterie.datasets import load_iris, load_mammals


@pytest.fixture(scope="module")
def mammals():
    return load_mammals()


@pytest.fixture(scope="module")
def path(mammals):
    return ConvexClusterPath(n_gammas=40, distance_decay=0.5).fit(mammals.data)


def test_a_curve_for_each_row(path):
    ax = path.plot(n_clusters=3)
    curves = ax.collections[0].get_segments()
    assert len(curves) == 27
    assert all(len(curve) == 40 for curve in curves)
    np.testing.assert_allclose(ax.collections[1].get_offsets(), [curve[0] for curve in curves])
    colors = [to_hex(color) for color in ax.collections[1].get_facecolors()]
    labels = path.labels_at(3)
    assert len(set(zip(colors, labels))) == len(set(colors)) == len(set(labels))
    assert "3 clusters" in ax.get_title()


def test_one_column_and_many_rows():
    X = np.random.default_rng(0).normal(size=(2500, 1))
    ax = plot_path(ConvexClusterPath([0.01, 1.0], n_neighbors=3).fit(X), n_clusters=2500)
    assert len(ax.collections[0].get_segments()) == 2000


def test_dendrogram(path, mammals):
    ax = path.plot_dendrogram(names=mammals.row_names)
    assert sorted(label.get_text() for label in ax.get_xticklabels()) == sorted(mammals.row_names)
    links = sum(len(links.get_segments()) for links in ax.collections)
    assert links == 26
    assert ax.get_yscale() == "log"


def test_the_tree_has_the_colors_of_the_path(path):
    labels = path.labels_at(3)
    path_colors = [to_hex(color) for color in path.plot(n_clusters=3).collections[1].get_facecolors()]
    tree = plot_path_dendrogram(path, n_clusters=3)
    drawn = {to_hex(color) for links in tree.collections for color in links.get_colors()}
    large = {path_colors[row] for row in range(27) if np.count_nonzero(labels == labels[row]) > 1}
    assert drawn - {"#999999"} == large


def test_a_large_dendrogram_is_cut():
    big = ConvexClusterPath(n_gammas=20, distance_decay=4.0).fit(load_iris()[0])
    assert len(plot_path_dendrogram(big).get_xticklabels()) == 60
