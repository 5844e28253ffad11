"""Labeled sets: rows and classes as they come, some also with standardized columns; texts by their latent topics."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn import datasets
from sklearn.decomposition import TruncatedSVD
from sklearn.preprocessing import normalize

from benchmarks.harness.data.files import (
    SCALINGS,
    Rows,
    arrays_of,
    csr_of,
    documents_of,
    labeled,
    real_file,
    sampled,
    snippets,
)
from coterie.datasets import load_senate


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
    rows, classes = datasets.make_blobs(900, centers=3, random_state=170)
    return rows @ np.array([[0.6, -0.6], [-0.4, 0.8]]), classes


def around_centers(
    seed: int,
    k: int,
    shape: tuple[int, int],
    spread: float,
    noise: Callable[[Any, tuple[int, int]], np.ndarray],
) -> Rows:
    random = np.random.RandomState(seed)
    centers, classes = random.normal(scale=spread, size=(k, shape[1])), random.randint(k, size=shape[0])
    return centers[classes] + noise(random, shape), classes


def lognormal() -> Rows:
    """Return four clusters that are normal in the logarithms of their six columns."""
    rows, classes = around_centers(
        10, 4, (900, 6), 1.2, lambda random, shape: 0.5 * random.normal(size=shape)
    )
    return np.exp(rows), classes


def nested_rings() -> Rows:
    random = np.random.RandomState(3)
    classes, angles = np.arange(900) % 3, random.uniform(0, 2 * np.pi, 900)
    circles = (1 + 1.2 * classes)[:, None] * np.c_[np.cos(angles), np.sin(angles)]
    return circles + random.normal(scale=0.12, size=(900, 2)), classes


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
        shape = (n_rows, n_columns)
        drawn = random.standard_t(3, shape) if kind == "heavy tails" else random.normal(size=shape)
        if kind == "stretched":
            square = (n_columns, n_columns)
            stretches = [
                np.linalg.qr(random.normal(size=square))[0] * np.exp(random.uniform(-1, 1, n_columns))
                for _ in range(k)
            ]
            drawn = np.array([stretches[label] @ row for label, row in zip(classes, drawn)])
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


SCALED = " (scaled)"
# Of the latent semantic analysis of texts.
N_TOPICS = 100
_UNLABELED = 255


@dataclass(frozen=True)
class QualitySet:
    """A set of rows with classes, or of vertices."""

    read: Callable[[], Rows]  # returns rows or a graph, and classes
    file: str = ""  # of `COTERIE_DATA`; empty where none is needed
    is_graph: bool = False

    @property
    def is_here(self) -> bool:
        return not self.file or real_file(self.file) is not None


def _votes() -> Rows:
    votes = load_senate()
    # A class of one row is none: one senator was independent.
    kept = np.bincount(votes.target)[votes.target] > 1
    return votes.data[kept], votes.target[kept]


def _donors() -> Rows:
    """Return the table of donors, medians in place of what is missing."""
    rows, classes = arrays_of("kddc98_pva97nk.npz")
    return np.where(np.isnan(rows), np.nanmedian(rows, axis=0), rows), classes


def _topics(rows: Any, classes: np.ndarray) -> Rows:
    """Return texts by latent semantic analysis, rows of length 1."""
    topics = TruncatedSVD(N_TOPICS, random_state=0).fit_transform(rows)
    return normalize(topics).astype(np.float32), classes


def _documents(file: str) -> Rows:
    return _topics(*documents_of(file))


def _news_wire() -> Rows:
    """Return the documents of one topic, which come weighted, by latent semantic analysis."""
    rows, classes = csr_of("rcv1_27k.npz")
    kept = classes != _UNLABELED
    return _topics(rows[kept], classes[kept])


def _both(name: str, read: Callable[[], Rows], file: str = "") -> dict[str, QualitySet]:
    """Return a set as it comes and with standardized columns: columns are of unlike units."""
    return {name: QualitySet(read, file), name + SCALED: QualitySet(partial(_standardized, read), file)}


def _standardized(read: Callable[[], Rows]) -> Rows:
    rows, classes = read()
    return SCALINGS["standardized columns"](np.asarray(rows, dtype=np.float64)), classes


REAL: dict[str, QualitySet] = {
    "iris": QualitySet(partial(datasets.load_iris, return_X_y=True)),
    "votes": QualitySet(_votes),
    **_both("wine", partial(datasets.load_wine, return_X_y=True)),
    **_both("breast cancer", partial(datasets.load_breast_cancer, return_X_y=True)),
    "digits": QualitySet(partial(labeled, "digits")),
    **{
        name: QualitySet(partial(labeled, name), f"{name}.npz")
        for name in ("optdigits", "pendigits", "mnist")
    },
    **_both("shuttle", partial(labeled, "shuttle"), "shuttle.npz"),
    **_both("cod-rna", partial(arrays_of, "cod_rna.npz"), "cod_rna.npz"),
    **_both("donors", _donors, "kddc98_pva97nk.npz"),
    "cifar-10": QualitySet(partial(arrays_of, "cifar10_12k.npz"), "cifar10_12k.npz"),
    "snippets": QualitySet(snippets, "searchsnippets.parquet"),
    "webkb4": QualitySet(partial(_documents, "webkb4.npz"), "webkb4.npz"),
    "20news": QualitySet(partial(_documents, "20news_bydate_counts.npz"), "20news_bydate_counts.npz"),
    "rcv1": QualitySet(_news_wire, "rcv1_27k.npz"),
    "20news graph": QualitySet(
        partial(csr_of, "20news_graph.npz", np.float64), "20news_graph.npz", is_graph=True
    ),
}
GENERATED: dict[str, QualitySet] = {
    "four moons": QualitySet(partial(arrays_of, "four_moons_regen.npz"), "four_moons_regen.npz"),
    "moons": QualitySet(partial(datasets.make_moons, 1000, noise=0.1, random_state=0)),
    "spirals": QualitySet(spirals),
    "nested rings": QualitySet(nested_rings),
    "elongated blobs": QualitySet(elongated_blobs),
    "blobs of unequal size": QualitySet(uneven_blobs),
    "blobs unlike in size and width": QualitySet(partial(uneven_blobs, (700, 150, 100, 50), 3, 0.3)),
    "blobs unlike in width": QualitySet(
        partial(datasets.make_blobs, 900, centers=3, cluster_std=[1.0, 2.5, 0.5], random_state=170)
    ),
    "25 blobs on a grid": QualitySet(grid_of_blobs),
    "heavy tails": QualitySet(
        partial(around_centers, 5, 5, (1000, 8), 6, lambda random, shape: random.standard_t(3, shape))
    ),
    "lognormal": QualitySet(lognormal),
    "many columns": QualitySet(
        partial(around_centers, 6, 8, (1000, 50), 0.45, lambda random, shape: random.normal(size=shape))
    ),
}
SETS = {**REAL, **GENERATED}


def prepared(name: str, most_rows: int, folder: Path) -> Path:
    """Write at most so many rows of a set, drawn at random, as .npz; graphs are left whole.

    The file has X, or the parts of a CSR matrix, and y from 0.
    """
    path = folder / f"{name.replace(' ', '-')}-{most_rows}.npz"
    if path.exists():
        return path
    rows, classes = SETS[name].read()
    parts: dict[str, Any]
    if SETS[name].is_graph:
        parts = {"data": rows.data, "indices": rows.indices, "indptr": rows.indptr}
    else:
        rows, classes = sampled(rows, classes, most_rows)
        parts = {"X": np.ascontiguousarray(rows)}
    folder.mkdir(parents=True, exist_ok=True)
    half = path.with_suffix(".half.npz")
    np.savez(half, y=np.unique(classes, return_inverse=True)[1], **parts)
    half.rename(path)
    return path
