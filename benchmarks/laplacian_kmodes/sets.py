"""Sets of rows with classes, small ones too, each in the scaling in which it is clustered."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from benchmarks.harness.data.files import real_file
from benchmarks.harness.data.labelled import SCALINGS, labelled

__all__ = ["SETS", "LabelledSet", "sampled"]

UNIT = "rows of length 1"
Rows = tuple[Any, np.ndarray]


@dataclass(frozen=True)
class LabelledSet:
    """A set of rows with classes.

    Attributes
    ----------
    read : callable
        Returns the rows, dense or CSR, and their classes.
    scaling : str
        What was done to the rows, in words.
    file : str
        Of `COTERIE_DATA`; empty where none is needed.
    """

    read: Callable[[], Rows]
    scaling: str
    file: str = ""

    @property
    def is_here(self) -> bool:
        """Whether it can be read."""
        return not self.file or real_file(self.file) is not None


def sampled(rows: Any, classes: np.ndarray, n_rows: int, seed: int = 0) -> Rows:
    """Return so many rows at random, all where there are no more."""
    if n_rows >= len(classes):
        return rows, classes
    chosen = np.sort(np.random.default_rng(seed).choice(len(classes), n_rows, replace=False))
    return rows[chosen], classes[chosen]


def _scaled(name: str, scaling: str) -> Rows:
    rows, classes = labelled(name)
    return SCALINGS[scaling](rows), classes


def _iris() -> Rows:
    from coterie.datasets import load_iris

    return load_iris()


def _moons() -> Rows:
    from sklearn.datasets import make_moons

    return make_moons(1000, noise=0.1, random_state=0)


def _arrays(file: str) -> Rows:
    with np.load(_path(file)) as arrays:
        return arrays["X"].astype(np.float32), arrays["y"].astype(np.int64)


def _documents(file: str) -> Rows:
    """Return terms weighted by log(1 + count) log(n / documents), rows of length 1; without empty documents."""
    import scipy.sparse as sp
    from sklearn.feature_extraction.text import TfidfTransformer

    with np.load(_path(file)) as arrays:
        parts = arrays["data"].astype(np.float32), arrays["indices"].astype(np.int32), arrays["indptr"]
        counts, classes = sp.csr_array(parts, shape=tuple(arrays["shape"])), arrays["y"].astype(np.int64)
    has_terms = np.diff(counts.indptr) > 0
    weighted = TfidfTransformer(sublinear_tf=True).fit_transform(counts[has_terms])
    return sp.csr_array(weighted), classes[has_terms]


def _snippets() -> Rows:
    import pyarrow.parquet as pq

    table = pq.read_table(_path("searchsnippets.parquet"), columns=["embedding", "topic"])
    rows = np.stack(table["embedding"].to_numpy())
    return rows.astype(np.float32), table["topic"].to_numpy().astype(np.int64)


def _path(file: str) -> Any:
    path = real_file(file)
    if path is None:
        raise FileNotFoundError(f"{file} is not in COTERIE_DATA")
    return path


SETS: dict[str, LabelledSet] = {
    "iris": LabelledSet(_iris, "as they are"),
    "half moons": LabelledSet(_moons, "as they are"),
    "digits": LabelledSet(partial(_scaled, "digits", UNIT), UNIT),
    "optdigits": LabelledSet(partial(_scaled, "optdigits", UNIT), UNIT, "optdigits.npz"),
    "pendigits": LabelledSet(partial(_scaled, "pendigits", UNIT), UNIT, "pendigits.npz"),
    "mnist": LabelledSet(partial(_scaled, "mnist", UNIT), UNIT, "mnist.npz"),
    "shuttle": LabelledSet(partial(_scaled, "shuttle", "columns in 0..1"), "columns in 0..1", "shuttle.npz"),
    "four moons": LabelledSet(
        partial(_arrays, "four_moons_regen.npz"), "as they are", "four_moons_regen.npz"
    ),
    "webkb4": LabelledSet(partial(_documents, "webkb4.npz"), "tf-idf", "webkb4.npz"),
    "20news": LabelledSet(
        partial(_documents, "20news_bydate_counts.npz"), "tf-idf", "20news_bydate_counts.npz"
    ),
    "searchsnippets": LabelledSet(_snippets, "embeddings of length 1", "searchsnippets.parquet"),
}
