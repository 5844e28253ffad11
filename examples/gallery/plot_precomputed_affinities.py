"""
Cluster words by a precomputed similarity
=========================================

Laplacian K-modes needs only affinities. Here they are shared groups of three letters; the mode of each cluster is a
word.
"""

import matplotlib.pyplot as plt
import numpy as np

import coterie

TEXT = """
cluster clusters clustered clustering clusterings center centers centerd centering central
medoid medoids metric metrics metrical symmetric symmetry asymmetric sample samples sampled sampling resample
resampling subsample
"""
WORDS = TEXT.split()


def groups(word):
    """Return the groups of three letters of a word, its ends marked."""
    marked = f"<{word}>"
    return {marked[at : at + 3] for at in range(len(marked) - 2)}


affinity = np.array([[len(groups(a) & groups(b)) / len(groups(a) | groups(b)) for a in WORDS] for b in WORDS])
model = coterie.LaplacianKModes(4, affinity="precomputed", random_state=0).fit(affinity)

# %%
for cluster, mode in enumerate(model.mode_indices_):
    members = [word for word, label in zip(WORDS, model.labels_) if label == cluster]
    print(f"{WORDS[mode]}: {', '.join(members)}")

# %%
order = np.argsort(model.labels_, kind="stable")
figure, axes = plt.subplots(figsize=(6, 6), layout="constrained")
axes.imshow(affinity[np.ix_(order, order)], cmap="Blues")
axes.set_xticks(range(len(WORDS)), [WORDS[at] for at in order], rotation=90, fontsize=8)
axes.set_yticks(range(len(WORDS)), [WORDS[at] for at in order], fontsize=8)
for edge in np.flatnonzero(np.diff(model.labels_[order])) + 0.5:
    axes.axhline(edge, color="tab:red")
    axes.axvline(edge, color="tab:red")
axes.set_title("affinities, by cluster")
