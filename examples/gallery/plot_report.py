"""
Create a report
===============

``coterie.report`` creates an HTML file with a projection, cluster summaries, stability and known classes.
``coterie fit FILE -k 10 --report`` writes it. Here is its projection.
"""

import matplotlib.pyplot as plt
import numpy as np

import coterie

# %%
# Embeddings of 3,000 texts on ten topics, compared by cosine distance.
random = np.random.default_rng(0)
topics = random.normal(size=(10, 64))
y = random.integers(10, size=3_000)
X = topics[y] + 1.2 * random.normal(size=(3_000, 64))
model = coterie.KMeans(10, metric="cosine", random_state=0).fit(X)

# %%
# ``page.save("clusters.html")`` writes it, and a notebook shows it.
page = coterie.report(model, X, known=y)
points = page.points().to_pandas()
print(points.head(3))

# %%
figure, axes = plt.subplots(figsize=(6, 5), layout="constrained")
axes.scatter(points["x"], points["y"], c=points["cluster"], cmap="tab10", s=5)
axes.set(xticks=[], yticks=[], title="the map of the report")
for cluster, place in points.groupby("cluster")[["x", "y"]].median().iterrows():
    axes.annotate(
        str(cluster), place, weight="bold", bbox={"boxstyle": "circle", "fc": "white", "alpha": 0.8}
    )
