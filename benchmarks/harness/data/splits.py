"""Rows for training, and others for validation."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, issparse, load_npz, save_npz

from benchmarks.harness.data.deformed import deformed_digits
from benchmarks.harness.data.files import arrays_of, csr_of, needed_file
from benchmarks.harness.data.generated import blobs
from benchmarks.harness.data.images import mnist

PATCH = 6
Split = tuple[Any, Any]


def mnist_split(n_train: int, n_valid: int) -> Split:
    """Return MNIST's training images and its test images."""
    images = mnist()
    return images[:60_000][:n_train], images[60_000:][:n_valid]


def infmnist_split(n_train: int, n_valid: int) -> Split:
    """Return deformed digits as in INFMNIST; those for validation are deformed from the test images."""
    images = mnist()
    return (
        deformed_digits(images[:60_000], n_train, np.random.default_rng(0)),
        deformed_digits(images[60_000:], n_valid, np.random.default_rng(1)),
    )


def patches_split(n_train: int, n_valid: int) -> Split:
    """Return random 6 x 6 x 3 patches of CIFAR-10 images; those for validation are from other images."""
    with np.load(needed_file("cifar10_12k.npz")) as file:
        images = file["X"].reshape(-1, 32, 32, 3)
    rng = np.random.default_rng(0)
    images = images[rng.permutation(len(images))]
    n_held_out = len(images) // 24
    return _patches(images[n_held_out:], n_train, rng), _patches(images[:n_held_out], n_valid, rng)


def _patches(images: np.ndarray, n_rows: int, rng: np.random.Generator) -> np.ndarray:
    windows = np.lib.stride_tricks.sliding_window_view(images, (PATCH, PATCH), axis=(1, 2))
    which, y, x = (rng.integers(size, size=n_rows) for size in windows.shape[:3])
    return windows[which, y, x].transpose(0, 2, 3, 1).reshape(n_rows, -1).astype(np.float32)


def rcv1_split(n_train: int, n_valid: int) -> Split:
    """Return documents of RCV1 in random order, CSR float32 with rows of unit length."""
    documents = csr_matrix(csr_of("rcv1_27k.npz")[0])
    order = np.random.default_rng(0).permutation(documents.shape[0])
    return documents[order[:n_train]], documents[order[n_train : n_train + n_valid]]


def kddc98_split(n_train: int, n_valid: int) -> Split:
    """Return rows of an extract of KDD Cup 1998 in random order, standardized, missing values at their means."""
    X = arrays_of("kddc98_pva97nk.npz")[0].astype(np.float64)
    X -= np.nanmean(X, axis=0)
    spread = np.nanstd(X, axis=0)
    rows = np.nan_to_num(X / np.where(spread == 0, 1, spread)).astype(np.float32)
    rows = rows[np.random.default_rng(0).permutation(len(rows))]
    return rows[:n_train], rows[n_train : n_train + n_valid]


def blobs_split(n_train: int, n_valid: int) -> Split:
    """Return rows of one mixture of `blobs`."""
    rows = blobs(n_train + n_valid)
    return rows[:n_train], rows[n_train:]


SPLITS: dict[str, Callable[[int, int], Split]] = {
    "infmnist": infmnist_split,
    "mnist": mnist_split,
    "patches": patches_split,
    "rcv1": rcv1_split,
    "kddc98": kddc98_split,
    "blobs": blobs_split,
}


def save_split(name: str, n_train: int, n_valid: int, folder: Path) -> tuple[Path, Path]:
    """Write the two parts of a data set of `SPLITS`, unless they are there already; return their paths."""
    suffix = ".npz" if name == "rcv1" else ".npy"
    stems = (f"{name}-{n_train}-train", f"{name}-{n_train}-valid-{n_valid}")
    train, valid = (folder / f"{stem}{suffix}" for stem in stems)
    if not (train.exists() and valid.exists()):
        for path, rows in zip((train, valid), SPLITS[name](n_train, n_valid)):
            save_npz(path, rows, compressed=False) if issparse(rows) else np.save(path, rows)
    return train, valid


def load_rows(path: Path) -> Any:
    """Return the array or the CSR matrix that `save_split` wrote."""
    return load_npz(path) if path.suffix == ".npz" else np.load(path)
