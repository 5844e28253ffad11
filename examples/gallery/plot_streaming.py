"""
Cluster a stream
================

``partial_fit`` takes one batch at a time; the model can be used in between.
"""

import matplotlib.pyplot as plt
import numpy as np

import coterie

random = np.random.default_rng(0)
centers = random.normal(scale=4, size=(20, 10))


def batch():
    """Return a thousand new rows."""
    return centers[random.integers(20, size=1_000)] + random.normal(size=(1_000, 10))


held_out = batch()
model, errors = coterie.MiniBatchKMeans(20, random_state=0), []
for _ in range(30):
    model.partial_fit(batch())
    errors.append(coterie.metrics.quantization_error(held_out, model.cluster_centers_))
figure, axes = plt.subplots()
axes.loglog(range(1, 31), errors)
axes.set(xlabel="batches", ylabel="quantization error of new rows")
