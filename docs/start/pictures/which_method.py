"""Questions in a column; the first one with the answer yes names a method."""

import matplotlib.pyplot as plt

QUESTIONS = {
    "minimum or maximum sizes\nof clusters?": "SizeConstrainedKMeans",
    "an unknown number of clusters,\nand noise?": "DensityClustering",
    "every number of clusters, certified,\nfor a few thousand rows?": "ConvexClusterPath",
    "labels of a few rows, or clusters\nof about equal size in a graph?": "TotalVariationClustering",
    "clusters of any shape, each with\na representative row?": "LaplacianKModes",
    "thousands of clusters, or densities\nrather than centers?": "TruncatedGaussianMixture",
    "a stream, in which each row\nis read once?": "MiniBatchKMeans",
    "many numbers of clusters\nfrom one fit?": "BisectingKMeans",
    "more than about 100,000 rows,\nor a file larger than memory?": "NestedMiniBatchKMeans",
}
QUESTION = {"boxstyle": "round,pad=0.5", "facecolor": "#eef3f8", "edgecolor": "#4a6a8a"}
METHOD = {"boxstyle": "round,pad=0.5", "facecolor": "#0a7d91", "edgecolor": "#0a7d91"}
ARROW = {"arrowstyle": "-|>", "color": "0.4", "shrinkA": 0, "shrinkB": 0}
LEFT, RIGHT, STEP = 1.6, 5.4, 1.3

figure, axes = plt.subplots(figsize=(6.9, 9.6))
axes.set(xlim=(0, 6.9), ylim=(-STEP * len(QUESTIONS) - 0.5, 0.7))
axes.set_axis_off()
for number, (question, method) in enumerate(QUESTIONS.items()):
    y = -STEP * number
    axes.text(LEFT, y, question, ha="center", va="center", bbox=QUESTION)
    axes.text(RIGHT, y, method, ha="center", va="center", color="white", weight="bold", bbox=METHOD)
    axes.annotate("", (3.95, y), (3.25, y), arrowprops=ARROW)
    axes.text(3.58, y + 0.12, "yes", ha="center", va="bottom", color="0.3")
    axes.annotate("", (LEFT, y - STEP + 0.4), (LEFT, y - 0.4), arrowprops=ARROW)
    axes.text(LEFT + 0.1, y - STEP / 2, "no", va="center", color="0.3")
axes.text(
    LEFT,
    -STEP * len(QUESTIONS),
    "KMeans",
    ha="center",
    va="center",
    color="white",
    weight="bold",
    bbox=METHOD,
)
