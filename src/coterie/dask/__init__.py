"""The same fits on a Dask cluster: rows stay on its workers, models travel. Needs the extra `dask`.

Estimators have the names, parameters and attributes of those of `coterie`. `fit` takes Dask arrays, Dask DataFrames,
and paths whose files the workers open themselves.
"""

from coterie.dask.coresets import lightweight_coreset
from coterie.dask.kmeans import KMeans

__all__ = ["KMeans", "lightweight_coreset"]
