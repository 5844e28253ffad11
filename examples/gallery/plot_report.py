"""
Create a report
===============

``coterie.report`` creates an HTML file with a map, named clusters, their stability and known classes.
``coterie fit FILE -k 10 --report`` writes it. Here is its map.
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
print(page.table().to_pandas().head(3))

# %%
# The 2-D projection of the report, with given names of two clusters.
figure, axes = plt.subplots(figsize=(6, 5), layout="constrained")
coterie.plotting.cluster_map(model, X, names={0: "first topic", 1: "second topic"}, ax=axes)
