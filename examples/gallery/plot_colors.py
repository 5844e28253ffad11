"""
Reduce an image to twelve colors
================================

Pixels are rows of three columns. A coreset of 2,000 pixels represents all 273,280.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_sample_image

import coterie

image = load_sample_image("china.jpg").astype(np.float32) / 255
pixels = image.reshape(-1, 3)

# %%
# A fit of all pixels, and one of a weighted sample:
whole = coterie.KMeans(12, random_state=0).fit(pixels)
sample = coterie.KMeans(12, coreset_size=2_000, random_state=0).fit(pixels)
print(
    f"inertia with the sample's colors, relative to those of all pixels: {sample.inertia_ / whole.inertia_:.3f}"
)

# %%
figure, three = plt.subplots(1, 3, figsize=(11, 2.9), layout="constrained")
pictures = {"as it is": image}
for name, model in {"twelve colors": whole, "from 2,000 pixels": sample}.items():
    pictures[name] = model.cluster_centers_[model.labels_].reshape(image.shape).clip(0, 1)
for axes, (name, picture) in zip(three, pictures.items()):
    axes.imshow(picture)
    axes.set(title=name, xticks=[], yticks=[])
