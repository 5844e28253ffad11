"""Slow, plain outlier scores in float64: the oracle."""

from __future__ import annotations

import numpy as np


def scales(labels, distances, n_clusters, *, rounding=0.0, weights=None):
    """The lower median of the distances in each cluster, each repeated as often as its weight says."""
    repeats = np.ones(len(labels), dtype=int) if weights is None else np.asarray(weights)
    own = []
    for cluster in range(n_clusters):
        members = labels == cluster
        found = np.sort(np.repeat(distances[members], repeats[members]))
        own.append(found[(len(found) - 1) // 2] if len(found) else 0.0)
    known = sorted(scale for scale in own if scale > rounding)
    usual = known[(len(known) - 1) // 2]
    return np.array([scale if scale > rounding else usual for scale in own])


def scores(labels, distances, n_clusters, **options):
    """Distances over the scales of their clusters; NaN for rows in no cluster."""
    relative = distances / scales(labels, distances, n_clusters, **options)[labels]
    return np.where(labels < 0, np.nan, relative)
