"""
How much the graph should count
===============================

``select_lambda`` fits Laplacian K-modes for several weights of the graph, and takes the most modular
clusters. No label is used.
"""

from sklearn.datasets import load_digits

import coterie
from coterie.plotting import plot_lambda_scan

X, y = load_digits(return_X_y=True)
estimator = coterie.LaplacianKModes(10, n_init=3, random_state=0)
scan = coterie.select_lambda(estimator, X, [0.5, 1, 1.3, 2, 4])
print(scan)

# %%
axes = plot_lambda_scan(scan)

# %%
print("accuracy:", round(coterie.metrics.clustering_accuracy(y, scan.best_model.labels_), 3))
