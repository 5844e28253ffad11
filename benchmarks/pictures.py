"""Draw the pictures of the documentation that need no measurement.

    python -m benchmarks.pictures [FOLDER]

`docs/development/images.md` says for every picture which command draws it.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

IMAGES = Path(__file__).parents[1] / "docs" / "images"


def _digits() -> np.ndarray:
    from coterie.datasets import load_digits

    return load_digits()[0]


def _k_means() -> Any:
    from coterie import KMeans

    return KMeans(10, n_init=10, random_state=0).fit(_digits())


def _centroids() -> Any:
    from coterie.plotting import plot_cluster_images

    model = _k_means()
    return plot_cluster_images(model.cluster_centers_, (8, 8), np.bincount(model.labels_))


def _clusters() -> Any:
    from coterie.plotting import plot_clusters

    return plot_clusters(_digits(), _k_means()).figure


def _modes() -> Any:
    from coterie import LaplacianKModes
    from coterie.plotting import plot_modes

    rows = _digits()
    model = LaplacianKModes(10, graph_weight=2.0, init="k-means++", metric="cosine", random_state=0).fit(rows)
    return plot_modes(rows, model, (8, 8))


def _half_moons() -> Any:
    from sklearn.datasets import make_moons

    from coterie import ConvexClusterPath

    rows = make_moons(200, noise=0.1, random_state=0)[0]
    path = ConvexClusterPath(n_neighbors=10, distance_decay=0.5, connect=True).fit(rows)
    return path.plot(n_clusters=2).figure


def _mammals() -> Any:
    from coterie import ConvexClusterPath
    from coterie.datasets import load_mammals

    mammals = load_mammals()
    path = ConvexClusterPath(n_gammas=60, n_neighbors=5, distance_decay=0.5).fit(mammals.data)
    return path.plot_dendrogram(names=mammals.row_names).figure


DRAWN: dict[str, Callable[[], Any]] = {
    "digits_centroids.png": _centroids,
    "digits_clusters.png": _clusters,
    "digits_modes.png": _modes,
    "half-moons-path.png": _half_moons,
    "mammals-dendrogram.png": _mammals,
}


def draw(folder: Path) -> None:
    """Draw all of them to a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, figure in DRAWN.items():
        figure().savefig(folder / name)
        print(folder / name)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.pictures", description=__doc__.splitlines()[0]
    )
    parser.add_argument(
        "folder", nargs="?", type=Path, default=IMAGES, help="where to (default: docs/images)"
    )
    draw(parser.parse_args().folder)
