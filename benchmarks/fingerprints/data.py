"""Rows to cluster: generated, but for the digits that scikit-learn ships."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

import coterie

Array = npt.NDArray[Any]

TOPICS, WORDS, WORDS_OF_ROW = 10, 400, 20

# Rows of 512 columns that take more than 1 GiB as float32: these are not kept in memory, and drawn in runs.
TALL, WIDTH = 530_000, 512


@cache
def blobs(n_rows: int, n_columns: int, n_blobs: int = 12, seed: int = 0) -> Array:
    """Return normal blobs, float64; with any seed they lie around the same places."""
    centers = np.random.default_rng(0).normal(scale=3, size=(n_blobs, n_columns))
    rng = np.random.default_rng([1, seed])
    return centers[rng.integers(n_blobs, size=n_rows)] + rng.normal(size=(n_rows, n_columns))


@cache
def sparse_blobs(n_rows: int = 3_000) -> sp.csr_array:
    """Return rows of few words of some topic, float64."""
    topics = np.random.default_rng(0).dirichlet(np.full(WORDS, 0.1), size=TOPICS)
    rng = np.random.default_rng(2)
    counts = rng.poisson(WORDS_OF_ROW * topics[rng.integers(TOPICS, size=n_rows)])
    return sp.csr_array(counts * rng.uniform(0.5, 1.5, size=counts.shape))


@cache
def moons(n_rows: int) -> Array:
    """Return two half moons with noise, float64."""
    rng = np.random.default_rng(3)
    angles, side = rng.uniform(0, np.pi, n_rows), rng.integers(2, size=n_rows)
    arcs = np.column_stack([np.cos(angles), np.sin(angles)]) * np.where(side, -1, 1)[:, None]
    return arcs + np.outer(side, [1, 0.5]) + rng.normal(scale=0.05, size=(n_rows, 2))


@cache
def digits() -> tuple[Array, Array]:
    """Return handwritten digits and their classes."""
    return coterie.datasets.load_digits()


def known_digits() -> Array:
    """Return the classes of the first digit of each class, -1 for all others."""
    classes, first = np.unique(digits()[1], return_index=True)
    known = np.full(len(digits()[1]), -1)
    known[first] = classes
    return known


@cache
def integer_weights(n_rows: int) -> Array:
    """Return weights from 0 to 3, float64."""
    return np.random.default_rng(4).integers(4, size=n_rows).astype(np.float64)


def overlapping_windows(n_rows: int) -> Array:
    """Return any number of rows of bytes, each a byte further: tall data in little memory."""
    levels = np.random.default_rng(5).integers(256, size=n_rows + WIDTH - 1, dtype=np.uint8)
    return np.lib.stride_tricks.sliding_window_view(levels, WIDTH)


def as_bytes(X: Array) -> Array:
    """Return rows of small integers."""
    return np.abs(9 * X).astype(np.uint8)


def drawn_rows(X: Any, n_clusters: int, random_state: np.random.RandomState) -> Array:
    """Draw rows: a function as `init`."""
    rows = coterie.as_rows(X)
    block = rows.take(np.sort(random_state.choice(rows.shape[0], n_clusters, replace=False)))
    return block.toarray() if sp.issparse(block) else block
