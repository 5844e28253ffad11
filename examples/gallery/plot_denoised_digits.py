"""
Denoise digits by factors
=========================

Each component of a mixture of factor analyzers has a mean and a few factors, the directions in which its digits vary.
The posterior mean of a noisy digit under the model is the digit without its noise.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import GridSearchCV

from coterie import TruncatedGaussianMixture
from coterie.datasets import load_digits

X, _ = load_digits()
X = X / 16
random = np.random.default_rng(0)
noisy = X + random.normal(scale=0.25, size=X.shape)

# %%
# The number of factors is chosen by the likelihood of held-out rows.

estimator = TruncatedGaussianMixture(10, covariance_type="factors", random_state=0)
search = GridSearchCV(estimator, {"n_factors": [0, 1, 2, 4, 8]}, cv=3).fit(noisy)
print(search.best_params_)

# %%
# Without factors, a denoised digit is the mean of its component.

with_factors = search.best_estimator_
without = TruncatedGaussianMixture(10, covariance_type="diag", random_state=0).fit(noisy)
images = {
    "digit": X,
    "noisy": noisy,
    "diag": without.denoise(noisy),
    f"{with_factors.n_factors} factors": with_factors.denoise(noisy),
}
for name, found in images.items():
    print(f"{name:10} mean squared error {np.mean((found - X) ** 2):.4f}")

figure, axes = plt.subplots(len(images), 10, figsize=(8, 0.85 * len(images)), layout="constrained")
for row, (name, found) in zip(axes, images.items()):
    for ax, image in zip(row, found[:10]):
        ax.imshow(image.reshape(8, 8), cmap="gray_r", vmin=0, vmax=1)
        ax.set(xticks=[], yticks=[])
    row[0].set_ylabel(name, rotation=0, ha="right", va="center")

# %%
# A component: its mean, and the mean plus and minus each of its factors.

component = int(np.argmax(with_factors.weights_))
mean, factors = with_factors.means_[component], with_factors.components_[component][:6]
figure, axes = plt.subplots(2, len(factors) + 1, figsize=(6, 1.9), layout="constrained")
for row, sign in zip(axes, (1.5, -1.5)):
    for ax, factor in zip(row, [np.zeros_like(mean), *factors]):
        ax.imshow((mean + sign * factor).reshape(8, 8), cmap="gray_r", vmin=0, vmax=1)
        ax.set(xticks=[], yticks=[])
axes[0, 0].set_ylabel("+", rotation=0, ha="right", va="center")
axes[1, 0].set_ylabel("−", rotation=0, ha="right", va="center")
axes[0, 0].set_title("mean", fontsize=9)
for number, ax in enumerate(axes[0, 1:], 1):
    ax.set_title(f"factor {number}", fontsize=9)
