"""
Merge coresets
==============

A lightweight coreset is a weighted sample on which the inertia of k-means approximates that on all rows. Moments of
each block are merged, then each block contributes its share of the sample.
"""

import matplotlib.pyplot as plt
import numpy as np

import coterie
from coterie.coresets import lightweight_coreset
from coterie.metrics import quantization_error

random = np.random.default_rng(0)
X = random.normal(size=(100_000, 10)) * random.gamma(2, size=(1, 10))
X[:2_000] += 20

whole = coterie.KMeans(20, random_state=0).fit(X)
least = quantization_error(X, whole.cluster_centers_)

# %%
# Inertia of k-means on a sample, relative to k-means on all rows:
sizes, excess = [250, 500, 1_000, 2_000, 4_000, 8_000], []
for size in sizes:
    rows, weights, _ = lightweight_coreset(X, size, random_state=0)
    model = coterie.KMeans(20, random_state=0).fit(rows, sample_weight=weights)
    excess.append(100 * (quantization_error(X, model.cluster_centers_) / least - 1))
figure, axes = plt.subplots()
axes.semilogx(sizes, excess, marker="o")
axes.set(xlabel="rows drawn", ylabel="error above all rows, %", ylim=(0, None))
axes.set_xticks(sizes, [f"{size:,}" for size in sizes])
axes.minorticks_off()
