"""Topics of texts: BERTopic with coterie's k-means in place of HDBSCAN, so that each text has a topic.

Give BERTopic the embeddings of your texts, of any model; here they are made up: texts of one theme lie close together.
Needs `pip install bertopic`; BERTopic without UMAP and HDBSCAN is enough (`pip install --no-deps bertopic`).
"""

import numpy as np
from bertopic import BERTopic
from bertopic.dimensionality import BaseDimensionalityReduction

import coterie

THEMES = {
    "kitchen": ["bread", "oven", "butter", "flour", "salt"],
    "sea": ["wave", "harbour", "sail", "anchor", "tide"],
    "night": ["star", "moon", "owl", "dream", "lamp"],
}

random = np.random.default_rng(0)
themes = random.integers(len(THEMES), size=300)
texts = [" ".join(random.choice(list(THEMES.values())[theme], size=6)) for theme in themes]
embeddings = random.normal(size=(len(THEMES), 16))[themes] + 0.1 * random.normal(size=(300, 16))

topics = BERTopic(
    embedding_model=None,
    umap_model=BaseDimensionalityReduction(),  # k-means takes the embeddings as they are
    hdbscan_model=coterie.KMeans(n_clusters=len(THEMES), metric="cosine", random_state=0),
)
found, _ = topics.fit_transform(texts, embeddings)
for topic in sorted(set(found)):
    print(topic, [word for word, _ in topics.get_topic(topic)[:5]])

assert coterie.metrics.clustering_accuracy(themes, np.array(found)) == 1
