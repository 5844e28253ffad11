"""Generated rows of known classes, in shapes that tell methods apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

Rows = tuple[Any, np.ndarray]


def half_moons() -> Rows:
    """Return two interleaved half circles, with noise."""
    from sklearn.datasets import make_moons

    return make_moons(1000, noise=0.1, random_state=0)


def uneven_blobs(
    sizes: Sequence[int] = (600, 200, 60, 30), n_columns: int = 5, widening: float = 0.0
) -> Rows:
    """Return normal blobs of these sizes, each wider than the one before by `widening`."""
    random = np.random.RandomState(0)
    centers = random.uniform(-8, 8, (len(sizes), n_columns))
    blobs = [
        centers[i] + (1 + widening * i) * random.normal(size=(n, n_columns)) for i, n in enumerate(sizes)
    ]
    return np.vstack(blobs), np.repeat(np.arange(len(sizes)), sizes)


def elongated_blobs() -> Rows:
    """Return three blobs, long in the same direction."""
    from sklearn.datasets import make_blobs

    rows, classes = make_blobs(900, centers=3, random_state=170)
    return rows @ np.array([[0.6, -0.6], [-0.4, 0.8]]), classes


def blobs_unlike_in_width() -> Rows:
    """Return three round blobs of unlike width."""
    from sklearn.datasets import make_blobs

    return make_blobs(900, centers=3, cluster_std=[1.0, 2.5, 0.5], random_state=170)


def heavy_tails() -> Rows:
    """Return five clusters of Student's t with 3 degrees of freedom, in 8 columns."""
    random = np.random.RandomState(5)
    centers, classes = random.normal(scale=6, size=(5, 8)), random.randint(5, size=1000)
    return centers[classes] + random.standard_t(3, size=(1000, 8)), classes


def many_columns() -> Rows:
    """Return eight clusters in 50 columns that overlap in each."""
    random = np.random.RandomState(6)
    centers, classes = random.normal(scale=0.45, size=(8, 50)), random.randint(8, size=1000)
    return centers[classes] + random.normal(size=(1000, 50)), classes


def nested_rings() -> Rows:
    """Return three rings around each other."""
    random = np.random.RandomState(3)
    classes, angles = np.arange(900) % 3, random.uniform(0, 2 * np.pi, 900)
    circles = (1 + 1.2 * classes)[:, None] * np.c_[np.cos(angles), np.sin(angles)]
    return circles + random.normal(scale=0.12, size=(900, 2)), classes


def lognormal() -> Rows:
    """Return four clusters that are normal in the logarithms of their six columns."""
    random = np.random.RandomState(10)
    centers, classes = random.normal(scale=1.2, size=(4, 6)), random.randint(4, size=900)
    return np.exp(centers[classes] + 0.5 * random.normal(size=(900, 6))), classes


def grid_of_blobs() -> Rows:
    """Return 25 blobs on a grid that touch."""
    random = np.random.RandomState(11)
    classes = random.randint(25, size=1500)
    return 4 * np.c_[classes % 5, classes // 5] + random.normal(scale=0.9, size=(1500, 2)), classes


def spirals() -> Rows:
    """Return three arms of a spiral, with noise."""
    random = np.random.RandomState(4)
    classes, turns = np.arange(900) % 3, np.sqrt(random.uniform(0.05, 1, 900))
    angles = 3 * np.pi * turns + 2 * np.pi * classes / 3
    arms = (10 * turns)[:, None] * np.c_[np.cos(angles), np.sin(angles)]
    return arms + random.normal(scale=0.2, size=(900, 2)), classes


def drawn_shape(random: np.random.RandomState) -> Rows:
    """Return clusters whose kind, number, sizes, widths, columns and noise are drawn.

    Round, stretched, heavy-tailed and skewed clusters have up to 30 columns; arcs, rings and spirals are in a plane of
    up to 20 columns.
    """
    kind = random.choice(["round", "stretched", "heavy tails", "skewed", "arcs", "rings", "spirals"])
    n_rows = random.randint(400, 2001)
    is_planar = kind in ("arcs", "rings", "spirals")
    k = random.randint(2, 5 if is_planar else 13)
    evenness = random.choice([2.0, 10.0, 100.0])  # of Dirichlet's distribution of the sizes
    shares = (random.dirichlet(np.full(k, evenness)) + 0.2 / k) / 1.2
    classes = random.choice(k, n_rows, p=shares)
    classes[:k] = np.arange(k)
    if is_planar:
        rows = _planar(kind, classes, k, random)
    else:
        n_columns = random.randint(2, 31)
        separation = random.uniform(3, 8) / np.sqrt(2 * n_columns) * (2 if kind == "heavy tails" else 1)
        centers, widths = random.normal(scale=separation, size=(k, n_columns)), random.uniform(0.5, 1.5, k)
        drawn = (
            random.standard_t(3, (n_rows, n_columns))
            if kind == "heavy tails"
            else random.normal(size=(n_rows, n_columns))
        )
        if kind == "stretched":
            shapes = [
                np.linalg.qr(random.normal(size=(n_columns, n_columns)))[0]
                * np.exp(random.uniform(-1, 1, n_columns))
                for _ in range(k)
            ]
            drawn = np.array([shapes[label] @ row for label, row in zip(classes, drawn)])
        rows = centers[classes] + widths[classes, None] * drawn
        if kind == "skewed":
            rows = np.exp(rows / 2)
    return rows, classes


def _planar(kind: str, classes: np.ndarray, k: int, random: np.random.RandomState) -> np.ndarray:
    """Return curves in a random plane, with noise in the plane and less noise in the other columns."""
    n_rows, noise = len(classes), random.uniform(0.04, 0.14)
    if kind == "arcs":  # each within the opening of the one before
        angles = random.uniform(0, np.pi, n_rows)
        up = np.where(classes % 2 == 0, 1, -1)
        points = np.c_[np.cos(angles) + classes, up * (np.sin(angles) - 0.25)]
    elif kind == "rings":
        angles = random.uniform(0, 2 * np.pi, n_rows)
        points = (1 + classes)[:, None] * np.c_[np.cos(angles), np.sin(angles)]
    else:
        turns = np.sqrt(random.uniform(0.05, 1, n_rows))
        angles = 2.5 * np.pi * turns + 2 * np.pi * classes / k
        points = (8 * turns)[:, None] * np.c_[np.cos(angles), np.sin(angles)] / k * 2
    points = points + random.normal(scale=noise, size=points.shape)
    n_columns = random.randint(2, 21)
    plane = np.linalg.qr(random.normal(size=(n_columns, 2)))[0]
    return points @ plane.T + random.normal(scale=noise / 2, size=(n_rows, n_columns))
