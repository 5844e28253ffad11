"""
Classify with one label per class
=================================

Total variation clustering keeps the known classes of a few rows and partitions the graph of nearest neighbors.
"""

import numpy as np
from sklearn.datasets import load_digits
from sklearn.semi_supervised import LabelPropagation

import coterie
from coterie.plotting import cluster_map

X, y = load_digits(return_X_y=True)
random = np.random.default_rng(0)
known = np.full(len(y), -1)
for digit in range(10):
    row = random.choice(np.flatnonzero(y == digit))
    known[row] = digit

# %%
# Label propagation with the same ten labels:
model = coterie.TotalVariationClustering(10, random_state=0).fit(X, known)
other = LabelPropagation(kernel="knn", n_neighbors=10).fit(X, known)
print("total variation:  ", np.mean(model.labels_ == y).round(3))
print("label propagation:", np.mean(other.transduction_ == y).round(3))

# %%
axes = cluster_map(model, X, projection="pca")
