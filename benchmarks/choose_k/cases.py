"""Data sets with a known number of clusters, and without any."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from sklearn.datasets import load_digits, make_moons

# Standard deviations, of the widest cluster, between the closest centers.
_APART = 6.5


@dataclass(frozen=True)
class Case:
    """A data set: its name, its number of clusters (None: it has none), and what draws its rows."""

    name: str
    n_clusters: int | None
    draw: Callable[[], np.ndarray]


def draw_blobs(
    seed: int,
    k: int,
    n_columns: int,
    n_rows: int,
    *,
    sizes: float = 1.0,
    noise: float = 0.0,
    spread: float = 1.0,
) -> np.ndarray:
    """Draw Gaussian blobs whose centers are at least 6.5 of the larger standard deviations apart.

    `sizes` and `spread` are the largest size and standard deviation over the smallest; `noise` is a share of rows.
    """
    random = np.random.RandomState(seed)
    deviations = spread ** random.uniform(0, 1, k)
    shares = sizes ** random.uniform(0, 1, k)
    counts = np.maximum(20, (shares / shares.sum() * n_rows).astype(int))
    centers = _apart(k, n_columns, _APART * deviations.max(), random)
    rows = [
        random.normal(center, scale, (count, n_columns))
        for center, scale, count in zip(centers, deviations, counts)
    ]
    clustered = np.concatenate(rows)
    low, high = clustered.min(axis=0), clustered.max(axis=0)
    background = random.uniform(low, high, (int(noise * len(clustered)), n_columns))
    return random.permutation(np.concatenate([clustered, background]))


def _apart(k: int, n_columns: int, distance: float, random: np.random.RandomState) -> np.ndarray:
    """Draw centers one after the other in a box that grows until they fit."""
    side, found = distance, [np.zeros(n_columns)]
    while len(found) < k:
        for _ in range(200):
            center = random.uniform(-side, side, n_columns) / min(1.0, np.sqrt(n_columns / 8))
            if min(np.linalg.norm(center - other) for other in found) >= distance:
                found.append(center)
                break
        else:
            side *= 1.1
    return np.array(found)


def _rings(seed: int, radii: tuple[float, ...], n_rows: int, noise: float) -> np.ndarray:
    random = np.random.RandomState(seed)
    radius = np.repeat(radii, n_rows // len(radii))
    angle = random.uniform(0, 2 * np.pi, len(radius))
    rows = radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    return random.permutation(rows + noise * random.standard_normal(rows.shape))


def _walk(seed: int, n_rows: int, n_columns: int) -> np.ndarray:
    return np.cumsum(np.random.RandomState(seed).standard_normal((n_rows, n_columns)), axis=0)


# Clusters, columns, rows, sizes, noise, spread.
_SETTINGS = [
    (2, 2, 400, 1, 0, 1), (2, 50, 600, 8, 0, 1), (3, 3, 600, 4, 0.05, 1), (3, 200, 900, 1, 0, 1),
    (4, 10, 1000, 1, 0.1, 1), (5, 2, 1000, 5, 0, 2), (6, 100, 1500, 3, 0, 1), (7, 5, 1500, 10, 0, 1),
    (8, 32, 1600, 1, 0.05, 1), (10, 2, 2000, 1, 0, 1), (12, 20, 2400, 6, 0, 2), (15, 3, 3000, 1, 0.05, 1),
    (18, 64, 3000, 4, 0, 1), (20, 8, 3000, 1, 0, 1), (25, 2, 4000, 1, 0, 1), (30, 16, 4500, 5, 0.05, 1),
    (36, 4, 5000, 1, 0, 1), (45, 128, 4500, 1, 0, 1), (50, 10, 6000, 3, 0, 1), (60, 24, 9000, 2, 0.05, 1),
]  # fmt: skip

KNOWN = [
    Case(
        f"{k} clusters, {n_rows} x {d}, sizes 1:{sizes}, noise {noise:.0%}, spread 1:{spread}", k,
        lambda seed=seed, k=k, d=d, n=n_rows, sizes=sizes, noise=noise, spread=spread: draw_blobs(
            seed, k, d, n, sizes=sizes, noise=noise, spread=spread
        ),
    )
    for seed, (k, d, n_rows, sizes, noise, spread) in enumerate(_SETTINGS, 37_001)
]  # fmt: skip


def _drawn(seed: int, draw: Callable[[np.random.RandomState], np.ndarray]) -> Callable[[], np.ndarray]:
    return lambda: draw(np.random.RandomState(seed))


NONE = [
    Case("uniform, 1500 x 2", None, _drawn(38_001, lambda random: random.uniform(size=(1500, 2)))),
    Case("uniform, 2000 x 20", None, _drawn(38_002, lambda random: random.uniform(size=(2000, 20)))),
    Case("Gaussian, 1000 x 3", None, _drawn(38_003, lambda random: random.standard_normal((1000, 3)))),
    Case("Gaussian, 800 x 150", None, _drawn(38_004, lambda random: random.standard_normal((800, 150)))),
    Case(
        "Gaussian, 2000 x 10, variances 1 to 500", None,
        _drawn(38_005, lambda random: random.standard_normal((2000, 10)) * np.geomspace(1, 22, 10)),
    ),
    Case("walk, 2000 x 3", None, lambda: _walk(38_006, 2000, 3)),
    Case("walk, 3000 x 20", None, lambda: _walk(38_007, 3000, 20)),
    Case("exponential, 2000 x 5", None, _drawn(38_008, lambda random: random.exponential(size=(2000, 5)))),
    Case("Student's t of 4 degrees, 2000 x 4", None, _drawn(38_009, lambda random: random.standard_t(4, (2000, 4)))),
    Case("uniform in a triangle, 1500", None, _drawn(38_010, lambda random: random.dirichlet(np.ones(3), 1500)[:, :2])),
]  # fmt: skip

NAMED = [
    Case("digits", 10, lambda: load_digits().data),
    Case("half moons, 1000", 2, lambda: make_moons(1000, noise=0.06, random_state=39_001)[0]),
    Case("half moons, 3000", 2, lambda: make_moons(3000, noise=0.08, random_state=39_002)[0]),
    Case("two rings, 1000", 2, lambda: _rings(39_003, (1.0, 0.5), 1000, 0.05)),
    Case("three rings, 1800", 3, lambda: _rings(39_004, (3.0, 2.0, 1.0), 1800, 0.12)),
]
