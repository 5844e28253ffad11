"""Two tilted Gaussians, which variances by column cannot follow."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Ellipse

import coterie

random = np.random.default_rng(0)
tilted = np.array([[2.0, 1.8], [1.8, 2.0]])
X = np.concatenate([random.multivariate_normal((x, 0), tilted, 600) for x in (0, 2.5)])
y = np.repeat([0, 1], 600)

figure, all_axes = plt.subplots(1, 3, figsize=(11, 3.6), sharex=True, sharey=True)
all_axes[0].scatter(*X.T, s=5, c=y, cmap="tab10", vmax=9)
all_axes[0].set_title("true clusters")
for axes, n_components in zip(all_axes[1:], (2, 12)):
    model = coterie.TruncatedGaussianMixture(n_components, covariance_type="diag", random_state=0).fit(X)
    axes.scatter(*X.T, s=5, c=model.labels_, cmap="tab20")
    for mean, variances in zip(model.means_, model.covariances_):
        axes.add_patch(Ellipse(mean, *(4 * np.sqrt(variances)), fill=False, lw=1.5))
    axes.set_title(f"{n_components} components")
for axes in all_axes:
    axes.set(xticks=[], yticks=[])
