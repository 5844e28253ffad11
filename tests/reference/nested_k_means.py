"""Slow, plain versions of the mini-batch algorithms (Newling & Fleuret 2016; Sculley 2010), in float64: the oracle."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tests.reference.k_means import Array, square_distances

Round = tuple[int, int, npt.NDArray[np.intp]]


def nested_mini_batches(
    rows, centers, *, batch_size, doubling_threshold, max_rounds=10_000
) -> tuple[Array, list[Round]]:
    """Algorithm 5 line by line, on rows that are shuffled already.

    Unlike in the paper's Algorithm 2 the first centroids have no vote of their own: one sample, one vote. Returns the
    centroids and for each round the size of the batch, how many of its labels changed (all those of new rows did) and
    its labels. Ends when a round over all rows changes no label.
    """
    x, c = np.asarray(rows, dtype=np.float64), np.array(centers, dtype=np.float64)
    n, k = len(x), len(c)
    S, v, sse, p = np.zeros_like(c), np.zeros(k), np.zeros(k), np.zeros(k)
    a, d, lower = np.full(n, -1), np.zeros(n), np.zeros((n, k))
    used, b = 0, min(max(batch_size, k), n)  # |M_{t-1}| and |M_t|
    rounds: list[Round] = []
    while len(rounds) < max_rounds:
        before = a[:b].copy()
        lower[:used] -= p
        for i in range(used):
            sse[a[i]] -= d[i] ** 2
            S[a[i]] -= x[i]
            v[a[i]] -= 1
            assign_with_bounds(i, x, c, a, d, lower)
            S[a[i]] += x[i]
            v[a[i]] += 1
            sse[a[i]] += d[i] ** 2
        lower[used:b] = np.sqrt(square_distances(x[used:b], c))
        for i in range(used, b):
            a[i] = lower[i].argmin()
            d[i] = lower[i, a[i]]
            S[a[i]] += x[i]
            v[a[i]] += 1
            sse[a[i]] += d[i] ** 2
        used = b
        n_changed = int(np.count_nonzero(a[:b] != before))
        rounds.append((b, n_changed, a[:b].copy()))
        ratios = np.full(k, np.inf)
        for j in range(k):
            c_old = c[j].copy()
            c[j] = S[j] / v[j] if v[j] > 0 else c_old
            p[j] = np.linalg.norm(c[j] - c_old)
            if v[j] > 1 and p[j] > 0:
                ratios[j] = np.sqrt(max(sse[j], 0) / (v[j] * (v[j] - 1))) / p[j]
        if b == n and n_changed == 0:
            break
        if ratios.min() > doubling_threshold:
            b = min(2 * b, n)
    return c, rounds


def assign_with_bounds(i, x, c, a, d, lower) -> None:
    """Algorithm 1: the distance to the row's own centroid, and to those others that the bounds do not rule out."""
    d[i] = lower[i, a[i]] = np.linalg.norm(x[i] - c[a[i]])
    for j in range(len(c)):
        if lower[i, j] < d[i]:
            lower[i, j] = np.linalg.norm(x[i] - c[j])
            if lower[i, j] < d[i]:
                a[i], d[i] = j, lower[i, j]


def mini_batch_step(rows, centers, sums, counts, weights=None) -> tuple[Array, Array, Array]:
    """One step of Sculley's algorithm: each centroid is the mean of all that was ever assigned to it.

    Takes and returns (centroids, sums, counts); a centroid without a vote stays.
    """
    rows, centers = np.asarray(rows, dtype=np.float64), np.array(centers, dtype=np.float64)
    weights = np.ones(len(rows)) if weights is None else weights
    sums, counts = sums.copy(), counts.copy()
    for x, weight, label in zip(rows, weights, square_distances(rows, centers).argmin(axis=1)):
        sums[label] += weight * x
        counts[label] += weight
    voted = counts > 0
    centers[voted] = sums[voted] / counts[voted, None]
    return centers, sums, counts
