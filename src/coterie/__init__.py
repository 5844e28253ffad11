"""Coterie: fast, exact and reproducible clustering behind one scikit-learn-style interface.

Examples
--------
>>> import coterie
>>> X, _ = coterie.datasets.load_digits()
>>> coterie.KMeans(n_clusters=10, random_state=0).fit(X).cluster_centers_.shape
(10, 64)
"""

from importlib.metadata import PackageNotFoundError, version

from coterie import datasets, metrics, seeding
from coterie.fitting import FitProgress
from coterie.kmeans import KMeans
from coterie.persistence import load, save
from coterie.rows import RowSource, as_rows, open_rows

try:
    __version__ = version("coterie")
except PackageNotFoundError:  # run from a source tree that was never installed
    __version__ = "0.0.0"

__all__ = [
    "FitProgress",
    "KMeans",
    "RowSource",
    "__version__",
    "as_rows",
    "datasets",
    "load",
    "metrics",
    "open_rows",
    "save",
    "seeding",
]
