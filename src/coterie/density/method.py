"""The record of density-based clustering."""

from __future__ import annotations

import numpy as np

from coterie.arrays import FloatArray, IntArray
from coterie.density.estimator import DensityClustering
from coterie.estimators.method import MembershipMeasure, Method, Progress
from coterie.rows import RowSource


def _probabilities(model: DensityClustering, rows: RowSource, labels: IntArray) -> FloatArray | None:
    found, probabilities = model.predict(rows, return_probability=True)
    return probabilities if np.array_equal(found, labels) else None


DENSITY = Method(
    name="density",
    estimator=DensityClustering,
    summary="clusters of high density at several resolutions, and noise; it finds the number of clusters",
    clusters=None,
    progress=Progress(limit=None),
    membership=MembershipMeasure("probability", _probabilities),
    pictures={"tree": DensityClustering.plot_tree, "barcode": DensityClustering.plot_barcode},
    page="docs/guide/density.md",
)
