"""One known row of each moon, and the memberships that the cut gives to all others: near 0 or 1."""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

import coterie

X, y = make_moons(500, noise=0.09, random_state=0)
known = np.full(len(X), -1)
known[[np.flatnonzero(y == each)[0] for each in (0, 1)]] = (0, 1)
model = coterie.TotalVariationClustering(2, random_state=0).fit(X, known)

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 3.3), width_ratios=(3, 2))
points = left.scatter(*X.T, s=9, c=model.memberships_[:, 0], cmap="coolwarm_r")
figure.colorbar(points, label="membership in the first cluster")
for each, marker in ((0, "o"), (1, "s")):
    left.scatter(*X[known == each].T, s=120, marker=marker, color="gold", edgecolor="black")
left.set(title="one labeled row per class", xticks=[], yticks=[])
right.plot(np.sort(model.memberships_[:, 0])[::-1])
right.set(title="sorted memberships", xlabel="rows", ylabel="membership in the first cluster")
