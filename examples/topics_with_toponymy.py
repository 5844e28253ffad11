"""Layers of topics: Toponymy with the tree of coterie's bisecting k-means in place of its own clusters.

Toponymy lets a language model name clusters of texts, coarse ones and finer ones within them. `BisectingKMeans` is
fitted once and cut at each of the numbers, so that every cluster lies within one of the layer above. Here no model is
asked: `Toponymy(llm, embedder, clusterer=BisectedLayers(4, 16))` would. Needs `pip install toponymy`.
"""

import numpy as np
from toponymy.cluster_layer import ClusterLayerText
from toponymy.clustering import Clusterer, build_cluster_tree, centroids_from_labels

import coterie


class BisectedLayers(Clusterer):
    """As many layers as numbers of clusters are given, the finest first, as Toponymy wants them."""

    def __init__(self, *n_clusters):
        super().__init__()
        self.n_clusters = sorted(n_clusters, reverse=True)

    def fit(self, clusterable_vectors, embedding_vectors, layer_class=ClusterLayerText, **layer_options):
        tree = coterie.BisectingKMeans(self.n_clusters[0], random_state=0).fit(clusterable_vectors)
        layers = [tree.labels_at(number) for number in self.n_clusters]
        self.cluster_tree_ = build_cluster_tree(layers)
        self.cluster_layers_ = [
            layer_class(labels, centroids_from_labels(labels, embedding_vectors), layer_id=i, **layer_options)
            for i, labels in enumerate(layers)
        ]
        return self

    def fit_predict(
        self, clusterable_vectors, embedding_vectors, layer_class=ClusterLayerText, **layer_options
    ):
        self.fit(clusterable_vectors, embedding_vectors, layer_class, **layer_options)
        return self.cluster_layers_, self.cluster_tree_


# Four themes of four subjects each, as embeddings of texts of any model would have them.
random = np.random.default_rng(0)
themes = 9 * np.repeat(np.eye(4, 12), 4, axis=0)
subjects = themes + 3 * np.tile(np.eye(4, 12, 8), (4, 1))
embeddings = (np.repeat(subjects, 50, axis=0) + 0.2 * random.normal(size=(800, 12))).astype(np.float32)

layers, tree = BisectedLayers(4, 16).fit_predict(embeddings, embeddings)
for coarse in range(4):
    finer = [number for layer, number in tree[1, coarse] if layer == 0]
    sizes = np.bincount(layers[0].cluster_labels, minlength=16)[finer]
    print(f"theme {coarse}: subjects {finer} of {sizes} texts")

assert all(len(tree[1, coarse]) == 4 for coarse in range(4))
assert all(len(set(layers[0].cluster_labels[first : first + 50])) == 1 for first in range(0, 800, 50))
