"""
Find a representative sample of each cluster
============================================

Laplacian K-modes gives each cluster a row as its mode; the mean of k-means is not a row.
"""

from sklearn.datasets import load_digits

import coterie
from coterie.plotting import plot_modes

X, y = load_digits(return_X_y=True)
model = coterie.LaplacianKModes(10, random_state=0).fit(X)
figure = plot_modes(X, model, (8, 8), n_neighbors=5)

# %%
print("accuracy:", round(coterie.metrics.clustering_accuracy(y, model.labels_), 3))
