"""Sizes within their bounds in no time: what is left when there is none for the cheapest way."""

from __future__ import annotations

import heapq

import numpy as np

from coterie.arrays import Array, IndexArray, IntArray
from coterie.centers.priced_lists import Pricing
from coterie.centers.sizes import SizeBounds, common_weight

__all__ = ["levelled"]


def levelled(pricing: Pricing, bounds: SizeBounds, n_clusters: int, weights: Array | None) -> IntArray:
    """Give rows of the largest clusters to the smallest ones until all sizes are within bounds.

    Parameters
    ----------
    pricing : Pricing
        What the rows would choose. Those go first that have another centroid nearly as near.
    bounds : SizeBounds
        Of the (weighted) sizes.
    n_clusters : int
        Number of clusters k.
    weights : ndarray of shape (n,) or None
        None for 1. Where they differ, sizes hold up to the largest.

    Returns
    -------
    ndarray of shape (n,), int32
    """
    labels = pricing.labels.copy()
    common = common_weight(weights)
    masses = np.ones(len(labels)) if weights is None else weights.astype(np.float64)
    counted = np.flatnonzero(masses > 0)
    grain = 0.0 if common is not None else float(masses.max())
    if common is not None:
        bounds, masses = bounds.in_units(common, n_clusters, len(counted)), (masses > 0).astype(np.float64)
    order = counted[np.lexsort((pricing.margins[counted], labels[counted]))]
    starts = np.searchsorted(labels[order], np.arange(n_clusters + 1))
    _level(labels, order, starts, masses, bounds, grain)
    return labels


def _level(
    labels: IntArray, order: IndexArray, starts: IndexArray, masses: Array, bounds: SizeBounds, grain: float
) -> None:
    """Move rows, those of each cluster in their order: they are where it starts and before where the next one does."""
    n_clusters = len(starts) - 1
    sizes = np.bincount(labels, masses, minlength=n_clusters)
    waiting, stops = starts[:-1].tolist(), starts[1:].tolist()
    largest = [(-size, c) for c, size in enumerate(sizes.tolist())]
    smallest = [(size, c) for c, size in enumerate(sizes.tolist())]
    heapq.heapify(largest)
    heapq.heapify(smallest)
    while largest and smallest:
        (size, source), (least, target) = largest[0], smallest[0]
        if -size != sizes[source] or waiting[source] == stops[source]:
            heapq.heappop(largest)
        elif least != sizes[target]:
            heapq.heappop(smallest)
        elif -size <= bounds.most + grain and least >= bounds.least - grain:
            return
        else:
            row = order[waiting[source]]
            waiting[source] += 1
            labels[row] = target
            for cluster, more in ((source, -masses[row]), (target, masses[row])):
                sizes[cluster] += more
                heapq.heappush(largest, (-sizes[cluster], cluster))
                heapq.heappush(smallest, (sizes[cluster], cluster))
