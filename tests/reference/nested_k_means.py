"""Slow, plain versions of the mini-batch algorithms (Newling & Fleuret 2016; annealed), in float64: the oracle."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tests.reference.k_means import Array, square_distances

Round = tuple[int, int, npt.NDArray[np.intp]]


def nested_mini_batches(
    rows, centers, *, batch_size, doubling_threshold, max_rounds=10_000
) -> tuple[Array, list[Round]]:
    """Algorithm 5 without its bounds, which change no result, on rows that are shuffled already.

    Unlike in the paper's Algorithm 2 the first centroids are not counted as rows: each sample counts once. Returns the
    centroids and for each round the size of the batch, how many of its labels changed (all those of new rows did) and
    its labels. Ends when a round over all rows changes no label.
    """
    x, c = np.asarray(rows, dtype=np.float64), np.array(centers, dtype=np.float64)
    n, k = len(x), len(c)
    S, v, sse, p = np.zeros_like(c), np.zeros(k), np.zeros(k), np.zeros(k)
    a, d = np.full(n, -1), np.zeros(n)
    used, b = 0, min(max(batch_size, k), n)  # |M_{t-1}| and |M_t|
    rounds: list[Round] = []
    while len(rounds) < max_rounds:
        before = a[:b].copy()
        squares = square_distances(x[:b], c)
        for i in range(b):
            if i < used:
                sse[a[i]] -= d[i] ** 2
                S[a[i]] -= x[i]
                v[a[i]] -= 1
            # Algorithm 1 leaves a row where it is unless another centroid is nearer.
            if i >= used or squares[i].min() < squares[i, a[i]]:
                a[i] = squares[i].argmin()
            d[i] = np.sqrt(squares[i, a[i]])
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


def annealed_epochs(
    rows, weights, centers, epochs, *, unit_length=False, memory=None
) -> tuple[list[Array], Array, Array]:
    """Annealed mini-batches line by line; `epochs` are lists of batches, which are row numbers.

    Returns the mean of each epoch, and the running means and counts after the last one. `memory` is a constant one.
    """
    x, c = np.asarray(rows, dtype=np.float64), np.array(centers, dtype=np.float64)
    w = np.ones(len(x)) if weights is None else np.asarray(weights, dtype=np.float64)
    k, seen = len(c), 0.0
    mean_weight = w.sum() / np.count_nonzero(w)

    def at_most():
        limit = max(mean_weight * max(6, 768 / k), seen / (10 * k), w.max())
        return limit if memory is None else memory

    means, counts = [], np.full(k, at_most())
    for batches in epochs:
        A, a = np.zeros_like(c), np.zeros(k)
        for numbers in batches:
            labels = square_distances(x[numbers], c).argmin(axis=1)
            counts = np.minimum(counts, at_most())
            for j in range(k):
                own = numbers[labels == j]
                m = w[own].sum()
                if m > 0:
                    s = w[own] @ x[own]
                    c[j] += m / (counts[j] + m) * (s / m - c[j])
                    counts[j] += m
                    A[j] += s
                    a[j] += m
            seen += w[numbers].sum()
            if unit_length:
                c /= np.linalg.norm(c, axis=1, keepdims=True)
        mean = np.where(a[:, None] > 0, A / np.maximum(a, 1e-300)[:, None], c)
        means.append(mean / np.linalg.norm(mean, axis=1, keepdims=True) if unit_length else mean)
    return means, c, counts
