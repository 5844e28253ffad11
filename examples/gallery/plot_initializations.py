"""
Compare initializations
=======================

Random rows, Markov chains (AFK-MC2) and greedy k-means++, before and after k-means.
"""

import matplotlib.pyplot as plt
import numpy as np

import coterie
from coterie.metrics import quantization_error
from coterie.seeding import afk_mc2, k_means_plus_plus, random_rows

random = np.random.default_rng(0)
centers = random.normal(scale=6, size=(100, 6))
X = centers[random.integers(100, size=20_000)] + random.normal(size=(20_000, 6))

seedings = {"random rows": random_rows, "AFK-MC2": afk_mc2, "k-means++, greedy": k_means_plus_plus}
before, after = [], []
for seeding in seedings.values():
    starts = [seeding(X, 100, random_state=seed)[0] for seed in range(3)]
    before.append([quantization_error(X, start) for start in starts])
    ends = [coterie.KMeans(100, init=start).fit(X).cluster_centers_ for start in starts]
    after.append([quantization_error(X, end) for end in ends])

# %%
# Three seeds each. No iteration of k-means moves a center from a blob with two centers to one without.
figure, axes = plt.subplots(figsize=(6, 3.2), layout="constrained")
places = np.arange(len(seedings))
axes.plot(places, before, "o", color="tab:orange")
axes.plot(places, after, "o", color="tab:blue")
axes.plot([], [], "o", color="tab:orange", label="the start")
axes.plot([], [], "o", color="tab:blue", label="after k-means")
axes.set_xticks(places, list(seedings))
axes.set(ylabel="quantization error", ylim=(0, None))
axes.legend()
