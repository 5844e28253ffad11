"""
Find clusters of unequal size
=============================

A balanced cut favors clusters of equal size and may split a large cluster. Class priors set the expected sizes, and
can be estimated.
"""

import matplotlib.pyplot as plt
import numpy as np

import coterie

# %%
# Two clusters of 90% and 10% of the rows.
random = np.random.default_rng(0)
X = np.concatenate([random.normal(size=(900, 2)), random.normal(scale=0.8, size=(100, 2)) + [4.5, 0]])

# %%
# Equal priors, true priors, and the default, which decides between equal and estimated priors.
fits = {
    "of equal size": None,
    "of 90% and 10%": [0.9, 0.1],
    "of sizes that are found": "auto",
}
models = {
    title: coterie.TotalVariationClustering(2, class_priors=priors).fit(X) for title, priors in fits.items()
}
for title, model in models.items():
    print(f"{title}:", np.sort(np.bincount(model.labels_)))
print("priors found:", models["of sizes that are found"].class_priors_.round(2))

# %%
figure, axes = plt.subplots(1, 3, figsize=(12, 4), sharex=True, sharey=True)
for axis, (title, model) in zip(axes, models.items()):
    axis.scatter(*X.T, c=model.labels_, s=5, cmap="coolwarm")
    axis.set_title(title)
figure.tight_layout()
