"""Cases of density-based clustering."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.fingerprints.data import blobs, digits
from benchmarks.fingerprints.runs import Cases, fit, fit_on_threads
from coterie import DensityClustering, match_clusters


def density_cases() -> Cases:
    """Trees, layers, diffused rows, labels of other rows."""
    X, others = np.split(digits()[0], [1_200])
    larger = blobs(6_000, 20)
    uses = "predict", "memberships"
    return {
        "auto": fit(DensityClustering(), X, others, *uses),
        "rows, float32": fit(DensityClustering(space="rows"), X.astype(np.float32), others, *uses),
        "leaves": fit(
            DensityClustering(min_cluster_size=20, cluster_selection_method="leaf"), X, others, *uses
        ),
        "excess of mass, cosine": fit(
            DensityClustering(9, min_cluster_size=20, metric="cosine"), X, others, *uses
        ),
        "noise assigned": fit(DensityClustering(assign_noise="probable"), X, others, *uses),
        "two columns": fit(DensityClustering(), X[:, 20:22], others[:, 20:22], *uses),
        "approximate": fit(DensityClustering(search="approximate"), larger, larger[::9] + 0.5, *uses),
        "equal rows": fit(DensityClustering(), np.repeat(X[:300], 3, axis=0), others, *uses),
        "threads": fit_on_threads(DensityClustering(), larger, larger[::9] + 0.5, *uses),
        "match": partial(matched, digits()[1]),
    }


def matched(labels: npt.NDArray[Any]) -> list[Any]:
    """Match the clusters of two overlapping parts of some rows."""
    match = match_clusters(labels[:900], labels[100:1_000], np.r_[100:900, -np.ones(100, dtype=int)])
    return [match.labels, match.ids, match.changes.tolist()]
