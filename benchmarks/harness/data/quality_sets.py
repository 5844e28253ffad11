"""The sets: rows and classes as they come, some also with standardized columns; texts by their latent topics."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness.data import shapes
from benchmarks.harness.data.files import Rows, arrays_of, csr_of, documents_of, real_file, sampled, snippets
from benchmarks.harness.data.labeled import SCALINGS, labeled

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
        """Whether it can be read."""
        return not self.file or real_file(self.file) is not None


def _of_scikit_learn(name: str) -> Rows:
    from sklearn import datasets

    return getattr(datasets, name)(return_X_y=True)


def _votes() -> Rows:
    from coterie.datasets import load_senate

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
    from sklearn.decomposition import TruncatedSVD
    from sklearn.preprocessing import normalize

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
    "iris": QualitySet(partial(_of_scikit_learn, "load_iris")),
    "votes": QualitySet(_votes),
    **_both("wine", partial(_of_scikit_learn, "load_wine")),
    **_both("breast cancer", partial(_of_scikit_learn, "load_breast_cancer")),
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
    "moons": QualitySet(shapes.half_moons),
    "spirals": QualitySet(shapes.spirals),
    "nested rings": QualitySet(shapes.nested_rings),
    "elongated blobs": QualitySet(shapes.elongated_blobs),
    "blobs of unequal size": QualitySet(shapes.uneven_blobs),
    "blobs unlike in size and width": QualitySet(partial(shapes.uneven_blobs, (700, 150, 100, 50), 3, 0.3)),
    "blobs unlike in width": QualitySet(shapes.blobs_unlike_in_width),
    "25 blobs on a grid": QualitySet(shapes.grid_of_blobs),
    "heavy tails": QualitySet(shapes.heavy_tails),
    "lognormal": QualitySet(shapes.lognormal),
    "many columns": QualitySet(shapes.many_columns),
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
