"""Coterie: fast, exact and reproducible clustering behind one scikit-learn-style interface.

Examples
--------
>>> import coterie
>>> X, _ = coterie.datasets.load_digits()
>>> coterie.KMeans(n_clusters=10, random_state=0).fit(X).cluster_centers_.shape
(10, 64)
"""

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

if sys.argv[:1] == ["-m"] and "coterie" in sys.orig_argv:
    # `python -m coterie` loads the package before its `__main__`.
    import coterie_command

    coterie_command.answer_signals()

from coterie import coresets, datasets, estimators, graphs, metrics, seeding
from coterie._kernels import __version__
from coterie.convex import ConvexClustering, ConvexClusterPath
from coterie.density.estimator import DensityClustering
from coterie.estimators.persistence import save
from coterie.fitting.report import FitProgress
from coterie.kmeans.bisecting import BisectingKMeans
from coterie.kmeans.exact import KMeans
from coterie.kmeans.mini_batch import MiniBatchKMeans
from coterie.kmeans.nested import NestedMiniBatchKMeans
from coterie.laplacian_kmodes.estimator import LaplacianKModes
from coterie.laplacian_kmodes.graph_weight import select_graph_weight
from coterie.matching import ClusterMatch, match_clusters
from coterie.methods import load
from coterie.mixture.estimator import TruncatedGaussianMixture
from coterie.multilevel.estimator import MultilevelGraphClustering
from coterie.names import relabel
from coterie.results import results_table
from coterie.rows import Rows, as_rows, open_rows, prepare_rows
from coterie.size_constrained.estimator import SizeConstrainedKMeans
from coterie.total_variation.estimator import TotalVariationClustering

if TYPE_CHECKING:
    from coterie.comparison.compare import Comparison, compare
    from coterie.reports import Report, report

# Names that most processes do not use are imported on demand: name and module.
_LATER = {
    "Comparison": "coterie.comparison.compare",
    "compare": "coterie.comparison.compare",
    "Report": "coterie.reports",
    "report": "coterie.reports",
}

__all__ = [
    "BisectingKMeans",
    "ClusterMatch",
    "Comparison",
    "ConvexClusterPath",
    "ConvexClustering",
    "DensityClustering",
    "FitProgress",
    "KMeans",
    "LaplacianKModes",
    "MiniBatchKMeans",
    "MultilevelGraphClustering",
    "NestedMiniBatchKMeans",
    "Report",
    "Rows",
    "SizeConstrainedKMeans",
    "TotalVariationClustering",
    "TruncatedGaussianMixture",
    "__version__",
    "as_rows",
    "compare",
    "coresets",
    "datasets",
    "estimators",
    "graphs",
    "load",
    "match_clusters",
    "metrics",
    "open_rows",
    "prepare_rows",
    "relabel",
    "report",
    "results_table",
    "save",
    "seeding",
    "select_graph_weight",
]


def __getattr__(name: str) -> Any:
    if name in ("comparison", "dask", "plotting", "reports"):
        return import_module(f"coterie.{name}")
    if name not in _LATER:
        raise AttributeError(f"module 'coterie' has no attribute {name!r}")
    globals()[name] = found = getattr(import_module(_LATER[name]), name)
    return found


def __dir__() -> list[str]:
    """Return the public names: those of `__all__`, which the reference documents."""
    return sorted(__all__)
