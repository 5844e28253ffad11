"""
Choose the graph weight of Laplacian K-modes
============================================

``select_graph_weight`` fits several graph weights and keeps the clusters of highest modularity. No labels are used.
"""

from sklearn.datasets import load_digits

import coterie
from coterie.plotting import plot_graph_weights

X, y = load_digits(return_X_y=True)
estimator = coterie.LaplacianKModes(10, n_init=3, random_state=0)
scan = coterie.select_graph_weight(estimator, X, [0.5, 1, 1.3, 2, 4])
print(scan)

# %%
axes = plot_graph_weights(scan)

# %%
print("accuracy:", round(coterie.metrics.clustering_accuracy(y, scan.best_model.labels_), 3))
