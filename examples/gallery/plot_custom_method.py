"""
Add a method
============

A method is an estimator; a record makes it available to the command line, to ``save`` and to ``load``. This example
adds farthest-first traversal (Gonzalez 1985): each further center is the row farthest from all centers so far.
"""

import numpy as np
from sklearn.base import ClusterMixin
from sklearn.datasets import make_blobs

from coterie.estimators import Estimator, Method, Objective, find_method, register_method
from coterie.plotting import plot_clusters
from coterie.rows import as_rows


class FarthestFirst(ClusterMixin, Estimator):
    """Centers that are far from each other."""

    def __init__(self, n_clusters=8):
        self.n_clusters = n_clusters

    def fit(self, X, y=None):
        """Go over the rows once for each center, a block at a time, so that files can be of any size."""
        rows = as_rows(X)
        chosen, nearest = [0], np.full(rows.shape[0], np.inf)
        self.labels_ = np.zeros(rows.shape[0], dtype=np.int32)
        for label in range(self.n_clusters):
            center = rows.take([chosen[-1]])[0]
            for start, block in rows.blocks():
                here = slice(start, start + len(block))
                distances = np.linalg.norm(block - center, axis=1)
                self.labels_[here][distances < nearest[here]] = label
                nearest[here] = np.minimum(nearest[here], distances)
            chosen.append(int(nearest.argmax()))
        self.cluster_centers_ = np.concatenate([rows.take([row]) for row in chosen[:-1]])
        self.radius_ = float(nearest.max())
        return self


objective = Objective("radius_", "radius")
register_method(Method("farthest", FarthestFirst, "centers that are far from each other", objective))

# %%
# ``coterie fit FILE -k 12 --method farthest`` would find it now.
X, _ = make_blobs(2_000, centers=12, random_state=3)
model = find_method("farthest").estimator(12).fit(X)
axes = plot_clusters(X, model)
axes.set_title(f"no row is farther than {model.radius_:.1f} from its center")
