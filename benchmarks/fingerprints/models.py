"""Cases of models that are kept in files, and of pictures of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.fingerprints.data import blobs, digits, sparse_blobs
from benchmarks.fingerprints.runs import Case, Cases, keep, saved_and_loaded, streamed
from coterie import (
    ConvexClustering,
    ConvexClusterPath,
    KMeans,
    LaplacianKModes,
    MiniBatchKMeans,
    MultilevelGraphClustering,
    NestedMiniBatchKMeans,
    TotalVariationClustering,
    TruncatedGaussianMixture,
    datasets,
    plotting,
    select_graph_weight,
)

# Dots per inch: pictures are small, so that they are drawn fast.
DPI = 40


def model_cases() -> Cases:
    """Models of all kinds, saved and loaded, pickled and unpickled."""
    X, others, words = blobs(600, 6), blobs(200, 6, seed=1), sparse_blobs(800)
    predicting = (
        KMeans(6),
        NestedMiniBatchKMeans(6, batch_size=200),
        MiniBatchKMeans(6, batch_size=200),
        TruncatedGaussianMixture(6, covariance_type="diag"),
        LaplacianKModes(6, graph_weight=1.0, init="k-means++", n_init=2),
        TotalVariationClustering(6, n_init=2, max_iter=300),
        MultilevelGraphClustering(6),
    )
    return {
        **{type(model).__name__: keep(model, X, others) for model in predicting},
        **{
            type(model).__name__: keep(model, X)
            for model in (
                ConvexClustering(0.3, distance_decay=0.5),
                ConvexClusterPath(n_gammas=6, distance_decay=0.5),
            )
        },
        "sparse": keep(KMeans(5), words, words[::9]),
        "sparse, Laplacian": keep(
            LaplacianKModes(5, graph_weight=1.0, init="k-means++", n_init=2), words, words[::9]
        ),
        "nested goes on": go_on(NestedMiniBatchKMeans(6, batch_size=100), X, others),
        "mini-batch goes on": go_on(MiniBatchKMeans(6), X, others),
        "mini-batch goes on, sparse": go_on(MiniBatchKMeans(6), words, words[::9]),
    }


def go_on(model: Any, X: Any, others: Any) -> Case:
    """Return the case of a stream that is interrupted: the model is saved and loaded."""

    def case() -> list[Any]:
        loaded = saved_and_loaded(model.set_params(random_state=0).partial_fit(X[:300]))
        return [loaded, streamed(loaded, others, X[300:])]

    return case


def picture_cases() -> Cases:
    """All pictures that show no seconds."""
    X, y = digits()[0][:500], digits()[1][:500]
    teeth = datasets.load_mammals()
    means = KMeans(10, random_state=0)
    modes = LaplacianKModes(10, graph_weight=1.0, init="k-means++", n_init=2, random_state=0)
    cut = TotalVariationClustering(3, n_init=1, max_iter=200, random_state=0)
    path = ConvexClusterPath(n_gammas=8, distance_decay=0.5, connect=True)
    return {
        "clusters": lambda: pixels(plotting.plot_clusters(X, means.fit(X)).figure),
        "images": lambda: pixels(plotting.plot_cluster_images(means.fit(X).cluster_centers_, (8, 8))),
        "modes": lambda: pixels(plotting.plot_modes(X, modes.fit(X), (8, 8))),
        "memberships": lambda: pixels(plotting.plot_memberships(cut.fit(X)).figure),
        "lambdas": lambda: pixels(select_graph_weight(modes, X, [1, 2], y=y).plot()),
        "path": lambda: pixels(path.fit(teeth.data).plot(n_clusters=4).figure),
        "dendrogram": lambda: pixels(path.fit(teeth.data).plot_dendrogram(names=teeth.row_names).figure),
        "curves": lambda: pixels(
            plotting.plot_curves({"a": ([1, 9], [3, 2])}, xlabel="x", ylabel="y").figure
        ),
    }


def pixels(figure: Any) -> npt.NDArray[np.uint8]:
    """Return the pixels of a figure."""
    figure.set_dpi(DPI)
    figure.canvas.draw()
    return np.asarray(figure.canvas.buffer_rgba())
