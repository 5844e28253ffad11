"""A row of a truncated mixture, the few components that it keeps, and the others, which it does not look at."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Circle

import coterie

random = np.random.default_rng(3)
centers = random.uniform(0, 30, size=(60, 2))
X = centers[random.integers(60, size=4_000)] + random.normal(size=(4_000, 2))
model = coterie.TruncatedGaussianMixture(60, n_candidates=3, covariance_type="spherical", random_state=0).fit(
    X
)

row = np.array([[15.0, 15.0]])
kept = model.responsibilities(row).indices
around = np.unique(model.neighbors_[kept])

figure, axes = plt.subplots(figsize=(6, 5.4))
axes.scatter(*X.T, s=2, color="0.8")
for component, (mean, variance) in enumerate(zip(model.means_, model.covariances_)):
    color = "tab:red" if component in kept else "tab:blue" if component in around else "0.6"
    axes.add_patch(
        Circle(mean, 2 * np.sqrt(variance), fill=False, color=color, lw=1 if color == "0.6" else 2)
    )
axes.scatter(*row.T, s=120, marker="*", color="black", zorder=3)
for color, label in {
    "tab:red": "kept",
    "tab:blue": "neighbors of these: evaluated",
    "0.6": "not evaluated",
}.items():
    axes.plot([], [], color=color, lw=2, label=label)
axes.legend(loc="upper left", title="components of the row at the star")
axes.set(xticks=[], yticks=[], xlim=(-2, 32), ylim=(-2, 38), aspect="equal")
