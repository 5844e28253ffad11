"""The same fits on a Dask cluster: rows stay on its workers, models travel. Needs the extra `dask`.

Estimators have the names, parameters and attributes of those of `coterie`. `fit` takes Dask arrays, Dask DataFrames,
and paths whose files the workers open themselves. `predict`, `transform`, `score` and their like say what any fitted
model has to say of such rows. Estimators that hold all rows in one place refuse, and say what to do.
"""

from coterie.dask.backend import rows
from coterie.dask.elsewhere import (
    predict,
    predict_proba,
    responsibilities,
    score,
    score_samples,
    transform,
)
from coterie.dask.kmeans import KMeans
from coterie.dask.laplacian_kmodes import LaplacianKModes
from coterie.dask.mixture import TruncatedGaussianMixture
from coterie.dask.neighbors import knn_graph, nearest_neighbors
from coterie.dask.nested import NestedMiniBatchKMeans
from coterie.dask.refused import (
    BisectingKMeans,
    ConvexClustering,
    ConvexClusterPath,
    MiniBatchKMeans,
    TotalVariationClustering,
)

__all__ = [
    "BisectingKMeans",
    "ConvexClusterPath",
    "ConvexClustering",
    "KMeans",
    "LaplacianKModes",
    "MiniBatchKMeans",
    "NestedMiniBatchKMeans",
    "TotalVariationClustering",
    "TruncatedGaussianMixture",
    "knn_graph",
    "nearest_neighbors",
    "predict",
    "predict_proba",
    "responsibilities",
    "rows",
    "score",
    "score_samples",
    "transform",
]
