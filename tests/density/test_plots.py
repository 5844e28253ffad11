import numpy as np
import pytest
from sklearn.datasets import make_blobs

from coterie import DensityClustering


@pytest.fixture(scope="module")
def blobs():
    X = make_blobs(300, 2, centers=[[0, 0], [0, 9], [30, 0]], cluster_std=0.5, random_state=0)[0]
    return DensityClustering().fit(X)


def test_condensed_tree_has_a_shape_for_each_cluster_in_its_color(blobs):
    ax = blobs.plot_tree()
    n_nodes = len(np.unique(blobs.condensed_tree_.parent))
    assert len(ax.collections) == n_nodes
    shown = {tuple(shape.get_facecolor()[0]) for shape in ax.collections}
    assert len(shown) == blobs.n_clusters_ + 1
    widths = [np.ptp(shape.get_paths()[0].vertices[:, 0]) for shape in ax.collections]
    assert max(widths) == 300
    sizes = np.sort(np.bincount(blobs.labels_[blobs.labels_ >= 0]))
    colored = [w for w, shape in zip(widths, ax.collections) if shape.get_facecolor()[0][0] != 0xBB / 255]
    np.testing.assert_allclose(np.sort(colored), sizes)


@pytest.mark.parametrize("X", [np.zeros((1, 2)), np.zeros((9, 2)), np.arange(6.0)[:, None]], ids=len)
def test_trees_without_clusters_are_drawn(X):
    model = DensityClustering(min_samples=min(5, len(X))).fit(X)
    assert "0 clusters" in model.plot_tree().get_title()
