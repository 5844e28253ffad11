"""Draw the pictures of the documentation that need no measurement.

    python -m benchmarks.pictures [FOLDER]

`benchmarks/README.md` says for every picture which command draws it.
"""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import make_moons

from benchmarks.harness.reporting import DOCS
from coterie import ConvexClusterPath, KMeans, LaplacianKModes
from coterie.datasets import load_digits
from coterie.figures import new_figure
from coterie.graphs import nearest_neighbors
from coterie.plotting import cluster_map


def _map() -> Any:
    rows = load_digits()[0]
    return cluster_map(KMeans(10, n_init=10, random_state=0).fit(rows), rows).figure


def _modes() -> Any:
    """Return the mode of each cluster, the mean of its rows and the rows nearest to the mode: Figure 1 of the paper."""
    rows = load_digits()[0]
    model = LaplacianKModes(10, graph_weight=2.0, init="k-means++", metric="cosine", random_state=0).fit(rows)
    modes, figure = model.mode_indices_, new_figure((7.0, 7.0))
    means = [rows[model.labels_ == cluster].mean(axis=0) for cluster in range(10)]
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    nearest = np.asarray(nearest_neighbors(unit, 9, queries=unit[modes])[0])
    nearest = np.array([[row for row in line if row != mode][:8] for line, mode in zip(nearest, modes)])
    headings = ["mode", "mean", *(f"{place}." for place in range(1, 9))]
    for line, axes in enumerate(figure.subplots(10, 10)):
        for ax, heading, image in zip(axes, headings, [rows[modes[line]], means[line], *rows[nearest[line]]]):
            ax.imshow(image.reshape(8, 8), cmap="gray_r")
            ax.set(xticks=[], yticks=[], title=heading if line == 0 else "")
    return figure


def _half_moons() -> Any:
    rows = make_moons(200, noise=0.1, random_state=0)[0]
    path = ConvexClusterPath(n_neighbors=10, distance_decay=0.5, connect=True).fit(rows)
    return path.plot(n_clusters=2).figure


DRAWN: dict[str, Callable[[], Any]] = {
    "digits_clusters.png": _map,
    "digits_modes.png": _modes,
    "half-moons-path.png": _half_moons,
}


if __name__ == "__main__":
    parser = argparse.ArgumentParser("python -m benchmarks.pictures", description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, default=DOCS / "images", help="default: docs/images")
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    for name, figure in DRAWN.items():
        figure().savefig(folder / name)
        print(folder / name)
