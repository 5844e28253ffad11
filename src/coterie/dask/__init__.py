"""Rows on the workers of a Dask cluster, for the estimators of `coterie`. Needs the extra `dask`.

`rows` returns rows that stay on the workers: `coterie.KMeans().fit(coterie.dask.rows(...))`. Any fitted model takes
them, too: `predict`, `transform` and the like return lazy Dask arrays.
"""

from coterie.dask.rows import ClusterLostError, WorkerRows, rows

__all__ = ["ClusterLostError", "WorkerRows", "rows"]
