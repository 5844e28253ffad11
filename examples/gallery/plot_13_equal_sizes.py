"""
Clusters of equal size
======================

Places that serve as many people each, where people live close together in some regions and far apart in others:
k-means with size constraints.
"""

import matplotlib.pyplot as plt
import numpy as np

import coterie

# %%
# A town, a village and scattered houses.
random = np.random.default_rng(0)
X = np.concatenate(
    [
        random.normal(scale=0.5, size=(1200, 2)),
        random.normal(loc=(4, 2), scale=0.3, size=(300, 2)),
        random.uniform(-4, 7, size=(300, 2)),
    ]
)

# %%
# Nine clusters as they come, and nine of 190 to 210 rows.
plain = coterie.KMeans(9, random_state=0).fit(X)
bounded = coterie.SizeConstrainedKMeans(9, size_min=190, size_max=210, random_state=0).fit(X)
print("sizes as they come:", np.sort(np.bincount(plain.labels_)))
print("sizes within the constraints:", np.sort(np.bincount(bounded.labels_)))

# %%
# Any assignment within the bounds would cost more than the objective less this part of it: a certificate.
print("largest gap of an iteration:", bounded.history_.gap.max())

# %%
figure, axes = plt.subplots(1, 2, figsize=(10, 4.5), sharex=True, sharey=True)
for axis, model, title in zip(axes, (plain, bounded), ("as they come", "of 190 to 210 rows")):
    axis.scatter(*X.T, c=model.labels_, s=4, cmap="tab10")
    axis.plot(*model.cluster_centers_.T, "k+", markersize=9)
    axis.set_title(title)
figure.tight_layout()
