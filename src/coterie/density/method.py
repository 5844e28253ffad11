"""The record of density-based clustering."""

from __future__ import annotations

import numpy as np

from coterie.arrays import FloatArray, IntArray
from coterie.density.estimator import DensityClustering
from coterie.estimators.memory import neighbor_graph, rows_in_memory
from coterie.estimators.method import Belonging, Method, Need, Progress
from coterie.rows import RowSource

__all__ = ["DENSITY"]


def _memory(model: DensityClustering, rows: RowSource) -> list[Need]:
    n_neighbors = max(model.n_neighbors, model.min_samples)
    return [rows_in_memory(rows), neighbor_graph(rows, n_neighbors, is_symmetric=False)]


def _probabilities(model: DensityClustering, rows: RowSource, labels: IntArray) -> FloatArray | None:
    found, probabilities = model.predict(rows, return_probability=True)
    return probabilities if np.array_equal(found, labels) else None


DENSITY = Method(
    name="density",
    estimator=DensityClustering,
    summary="clusters of high density at several resolutions, and noise; it finds the number of clusters",
    clusters=None,
    progress=Progress(limit=None),
    belonging=Belonging("probability", _probabilities),
    memory=_memory,
    page="docs/guide/density.md",
)
