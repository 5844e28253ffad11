"""
Modes of handwritten digits
===========================

Laplacian K-modes gives each cluster a real row as its mode, where k-means has a mean that is nobody's digit.
"""

from sklearn.datasets import load_digits

import coterie
from coterie.plotting import plot_modes

X, y = load_digits(return_X_y=True)
model = coterie.LaplacianKModes(10, random_state=0).fit(X)
figure = plot_modes(X, model, (8, 8), n_neighbors=5)

# %%
print("accuracy:", round(coterie.metrics.clustering_accuracy(y, model.labels_), 3))
