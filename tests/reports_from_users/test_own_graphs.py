"""Affinities of users' own kernels, which rounding makes asymmetric.

Source: https://github.com/scikit-learn/scikit-learn/issues/22160 (a graph that is symmetric up to rounding).
"""

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.pairwise import euclidean_distances, rbf_kernel

import coterie

X, y = make_blobs([60, 60, 60], random_state=1, cluster_std=0.7, n_features=5)
KERNELS = {
    "rbf": rbf_kernel(X),
    "single": rbf_kernel(X.astype(np.float32)),
    "distances": np.exp(-(euclidean_distances(X) ** 2)),
    "by degrees": rbf_kernel(X) / np.sqrt(np.outer(*[rbf_kernel(X).sum(axis=0)] * 2)),
}


@pytest.mark.parametrize("kernel", KERNELS)
def test_kernels_that_are_symmetric_up_to_rounding(kernel):
    rng = np.random.default_rng(0)
    affinities = KERNELS[kernel]
    noise = 1 + np.finfo(affinities.dtype).eps * rng.integers(-3, 4, affinities.shape)
    affinities = (affinities * noise).astype(affinities.dtype)
    model = coterie.MultilevelGraphClustering(3, affinity="precomputed").fit(affinities)
    assert adjusted_rand_score(y, model.labels_) == 1


def test_directed_graphs_are_refused():
    affinities = KERNELS["rbf"].copy()
    affinities[0, 1] += 1e-3
    with pytest.raises(ValueError, match="symmetric"):
        coterie.MultilevelGraphClustering(3, affinity="precomputed").fit(affinities)
