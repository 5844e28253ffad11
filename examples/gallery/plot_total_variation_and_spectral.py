"""
Compare total variation with spectral clustering
================================================

A path of twenty vertices should be cut in the middle. The relaxation of total variation returns the indicator of the
cut; the eigenvector of the normalized cut must be rounded.
"""

import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import laplacian

import coterie

n = 20
path = sp.diags_array([np.ones(n - 1), np.ones(n - 1)], offsets=[-1, 1]).tocsr()
cut = coterie.TotalVariationClustering(2, affinity="precomputed", random_state=0).fit(path)
_, vectors = np.linalg.eigh(laplacian(path).toarray())

# %%
figure, axes = plt.subplots(figsize=(6, 3), layout="constrained")
for name, values in {"total variation": cut.memberships_[:, 0], "spectral": vectors[:, 1]}.items():
    values = values if values[0] > values[-1] else -values
    scaled = (values - values.min()) / (values.max() - values.min())
    axes.plot(range(1, n + 1), scaled, marker="o", label=name)
axes.set(xlabel="vertex of the path", ylabel="membership in the first half", xticks=range(2, n + 1, 2))
axes.legend()
