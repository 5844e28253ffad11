"""Coterie: fast, exact and reproducible clustering behind one scikit-learn-style interface.

Examples
--------
>>> import coterie
>>> X, _ = coterie.datasets.load_digits()
>>> coterie.KMeans(n_clusters=10, random_state=0).fit(X).cluster_centers_.shape
(10, 64)
"""

from coterie import coresets, datasets, graphs, metrics, seeding
from coterie._kernels import __version__
from coterie.convex import ConvexClustering, ConvexClusterPath
from coterie.fitting import FitProgress
from coterie.kmeans import KMeans
from coterie.lambda_selection import LambdaScan, select_lambda
from coterie.laplacian_kmodes import LaplacianKModes
from coterie.mini_batch_kmeans import MiniBatchKMeans
from coterie.nested_kmeans import NestedMiniBatchKMeans
from coterie.persistence import load, save
from coterie.rows import RowSource, as_rows, open_rows
from coterie.total_variation import TotalVariationClustering
from coterie.truncated_mixture import TruncatedGaussianMixture

__all__ = [
    "ConvexClusterPath",
    "ConvexClustering",
    "FitProgress",
    "KMeans",
    "LambdaScan",
    "LaplacianKModes",
    "MiniBatchKMeans",
    "NestedMiniBatchKMeans",
    "RowSource",
    "TotalVariationClustering",
    "TruncatedGaussianMixture",
    "__version__",
    "as_rows",
    "coresets",
    "datasets",
    "graphs",
    "load",
    "metrics",
    "open_rows",
    "save",
    "seeding",
    "select_lambda",
]
