"""
Fit a mixture of 4,000 Gaussians
================================

An E-step of the truncated mixture evaluates about twenty-five components per row for any number of components.
"""

import time

import matplotlib.pyplot as plt
import numpy as np

import coterie

random = np.random.default_rng(0)
centers = random.normal(scale=4, size=(6_000, 8))
X = centers[random.integers(6_000, size=60_000)] + random.normal(size=(60_000, 8))

# %%
# Seconds per iteration against the number of components:
numbers, seconds = [250, 500, 1_000, 2_000, 4_000], []
for n_components in numbers:
    begin = time.perf_counter()
    model = coterie.TruncatedGaussianMixture(
        n_components, max_iter=10, tol=0, init="random", random_state=0
    ).fit(X)
    seconds.append((time.perf_counter() - begin) / model.n_iter_)
figure, axes = plt.subplots()
axes.semilogx(numbers, seconds, marker="o")
axes.set(xlabel="components", ylabel="seconds of an iteration", ylim=(0, None))
axes.set_xticks(numbers, [f"{n:,}" for n in numbers])
axes.minorticks_off()
