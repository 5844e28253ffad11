"""
Compare methods without labels
==============================

``coterie.compare`` fits several methods to the same rows and scores them without labels. It may find that there is no
clear winner.
"""

import numpy as np
from sklearn.datasets import make_moons

import coterie

X, classes = make_moons(400, noise=0.06, random_state=0)
found = coterie.compare(X, 2, labels=classes, random_state=0)
print(found)

# %%
# Agreement with other methods, neighbors and information are the scores. The clusters of the best method:
axes = coterie.plotting.cluster_map(found.best_model_, X)

# %%
# The recommendation does not use the classes. Accuracy of each method; ``found.models`` has the best fit of each,
# ``found.page()`` an HTML page.
for record in found.records:
    print(f"{record['method']:>16}: accuracy {record['accuracy']:.1%}, {record['seconds']:.2f} s")

# %%
# Uniform data have no clusters.
uniform = np.random.default_rng(1).uniform(size=(200, 6))
print(coterie.compare(uniform, 12, methods=["k-means", "gmm"], random_state=0).reasons[0])
