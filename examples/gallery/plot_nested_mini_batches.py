"""
Compare nested mini-batches with exact k-means
==============================================

Both start from the same rows. Nested mini-batches iterate on a sample that doubles when its centers have converged,
and end with the same result.
"""

import matplotlib.pyplot as plt
import numpy as np

import coterie
from coterie.metrics import quantization_error

# %%
# Two hundred overlapping blobs, and a hundred rows as initial centers.
random = np.random.default_rng(0)
centers = random.normal(scale=3, size=(200, 16))
X = centers[random.integers(200, size=105_000)] + random.normal(size=(105_000, 16))
X = X.astype(np.float32)
held_out, X = X[:5_000], X[5_000:]
start = X[random.choice(len(X), 100, replace=False)]

# %%
# A callback records every iteration.
curves = {}
for name, estimator in {
    "exact k-means": coterie.KMeans,
    "nested mini-batches": coterie.NestedMiniBatchKMeans,
}.items():
    seconds, seen = [], []

    def record(progress, seconds=seconds, seen=seen):
        """Keep the seconds and a copy of the centroids."""
        seconds.append(progress.seconds)
        seen.append(progress.centers.copy())

    estimator(100, init=start, random_state=0, callback=record).fit(X)
    curves[name] = seconds, [quantization_error(held_out, each) for each in seen]

# %%
# Error of held-out rows:
figure, axes = plt.subplots()
for name, (seconds, errors) in curves.items():
    axes.loglog(seconds, errors, label=name)
axes.set(xlabel="seconds", ylabel="quantization error of held-out rows")
axes.legend()
