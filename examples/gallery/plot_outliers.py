"""
Find outliers
=============

``outlier_scores_`` compares the distance of a row from its center with those of its cluster, so that a wide cluster
does not hide the outliers of a narrow one.
"""

import matplotlib.pyplot as plt
import numpy as np

import coterie

random = np.random.default_rng(0)
X = np.concatenate([random.normal(0, 0.3, (500, 2)), random.normal(6, 2, (500, 2)), [[0, 3], [1.8, -1.5]]])
model = coterie.KMeans(2, random_state=0).fit(X)

figure, axes = plt.subplots()
points = axes.scatter(*X.T, c=model.outlier_scores_, s=12, cmap="viridis")
figure.colorbar(points, label="outlier score")
far = np.argsort(model.outlier_scores_)[-3:]
axes.scatter(*X[far].T, s=80, facecolors="none", edgecolors="tab:red", label="the three farthest")
axes.legend()
axes.set_title("Distances relative to the own cluster")
