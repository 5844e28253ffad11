"""
Find a representative sample of each cluster
============================================

Laplacian K-modes gives each cluster a row as its mode; the mean of k-means is not a row.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits

import coterie

X, y = load_digits(return_X_y=True)
model = coterie.LaplacianKModes(10, random_state=0).fit(X)
figure, axes = plt.subplots(2, 10, figsize=(10, 2.4), subplot_kw={"xticks": [], "yticks": []})
for cluster, (above, below) in enumerate(axes.T):
    above.imshow(X[model.mode_indices_[cluster]].reshape(8, 8), cmap="gray_r")
    below.imshow(X[model.labels_ == cluster].mean(axis=0).reshape(8, 8), cmap="gray_r")
axes[0, 0].set_ylabel("mode")
axes[1, 0].set_ylabel("mean")

# %%
print("accuracy:", round(coterie.metrics.clustering_accuracy(y, model.labels_), 3))
