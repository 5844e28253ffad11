"""
Group short texts by topic
==========================

Support requests arrive as short texts with embeddings. Which topics are there, which texts represent them, and which
requests fit no topic? In practice an embedding model gives the vectors; here TF-IDF and truncated SVD do,
so that the page needs no download.
"""

import matplotlib.pyplot as plt
import numpy as np
import pyarrow
import pyarrow.parquet
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer

import coterie

# %%
# The file
# --------
# Twelve hundred requests on six topics. The file has an id, the text and the vector, as embeddings are usually
# stored.
TOPICS = {
    "delivery": "parcel courier tracking late address package arrived delivery shipping driver",
    "refund": "refund money return charged bank credit amount cancel order payment",
    "login": "password login account reset email locked sign code verify username",
    "app": "app crash screen update phone install version freezes button loading",
    "invoice": "invoice tax receipt company billing address vat copy document number",
    "product": "size color quality material broken fabric wrong item missing part",
}
COMMON = ["please", "help", "my", "the", "is", "not", "i", "can", "you", "how", "when", "it", "was", "again"]

random = np.random.default_rng(0)
topic = random.integers(len(TOPICS), size=1_200)
words = [text.split() for text in TOPICS.values()]
texts = [
    " ".join(random.permutation([*random.choice(words[one], 5), *random.choice(COMMON, 4)])) for one in topic
]
counts = TfidfVectorizer().fit_transform(texts)
vectors = TruncatedSVD(20, random_state=0).fit_transform(counts).astype(np.float32)

table = pyarrow.table({"id": np.arange(1_200), "text": texts, "embedding": list(vectors)})
pyarrow.parquet.write_table(table, "requests.parquet")

# %%
# Open it
# -------
# ``open_rows`` reads the column of vectors in blocks. On the command line ``coterie info requests.parquet`` describes
# the file, and ``coterie fit requests.parquet -k 6 -p metric=cosine`` clusters it.
rows = coterie.open_rows("requests.parquet", columns=["embedding"])
print(rows.shape, rows.dtype)

# %%
# How many topics
# ---------------
# Vectors of texts are compared by their direction, so they are normalized to length 1 first.
directions = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
layers = coterie.DensityClustering().fit(directions)
print([int(labels.max()) + 1 for labels in layers.layers_])

# %%
# Cluster by cosine distance
# --------------------------
# Density-based clustering finds six clusters, as many as there are departments.
model = coterie.KMeans(6, metric="cosine", n_init=10, random_state=0).fit(rows)
print("rows per cluster:", np.bincount(model.labels_))
print(
    f"agreement with the true topics (ARI): {coterie.metrics.adjusted_rand_score(topic, model.labels_):.2f}"
)

# %%
# What is in the clusters
# -----------------------
# The texts nearest to a center represent it.
distances = model.transform(rows)
for cluster in range(6):
    print(f"{cluster}: {texts[distances[:, cluster].argmin()]}")

# %%
# Which requests fit no topic
# ---------------------------
# Outlier scores compare the distance of a text from its center with those of its cluster.
figure, axes = plt.subplots(figsize=(6, 3), layout="constrained")
axes.hist(model.outlier_scores_, bins=40)
axes.set(xlabel="outlier score", ylabel="texts", title="Most texts are near their center")
for index in np.argsort(model.outlier_scores_)[-3:]:
    print(f"{model.outlier_scores_[index]:.2f}: {texts[index]}")

# %%
# Decision
# --------
# Route requests by cluster, and send those with a score above the 99th percentile to a person. The model labels new
# requests: ``coterie predict requests.coterie new.parquet``.
threshold = np.quantile(model.outlier_scores_, 0.99)
model.save("requests.coterie")
new = coterie.load("requests.coterie")
labels = new.predict(vectors[:5])
scores = new.outlier_scores(vectors[:5], labels)
print([int(label) if score <= threshold else "person" for label, score in zip(labels, scores)])
