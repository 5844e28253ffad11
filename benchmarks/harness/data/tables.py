"""Data sets by name, and the files that runs read them from."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, issparse, load_npz, save_npz

from benchmarks.harness.data import images
from benchmarks.harness.data.files import arrays_of, csr_of, needed_file, real_file
from benchmarks.harness.data.images import deformed_digits, mnist


def blobs(n_rows: int = 1_000_000, n_columns: int = 32) -> np.ndarray:
    """Return a mixture of 1,000 normal blobs of unit variance, float32.

    Their centers are normal with standard deviation 1.5: neighboring blobs touch but do not melt together.
    """
    rng = np.random.default_rng(0)
    centers = 1.5 * rng.standard_normal((1000, n_columns), dtype=np.float32)
    rows = centers[rng.integers(1000, size=n_rows)]
    rows += rng.standard_normal(rows.shape, dtype=np.float32)
    return rows


def embeddings(n_rows: int = 100_000, n_columns: int = 768) -> np.ndarray:
    """Return rows of unit length that look like text embeddings, float32.

    A mixture of 200 topics in 64 latent columns (centers standard normal, spread 0.5 within a topic),
    projected by a Gaussian matrix, plus isotropic noise of a tenth of the projection's root mean square.
    """
    rng = np.random.default_rng(0)
    topics = rng.standard_normal((200, 64), dtype=np.float32)
    projection = rng.standard_normal((64, n_columns), dtype=np.float32)
    latent = topics[rng.integers(200, size=n_rows)]
    latent += 0.5 * rng.standard_normal(latent.shape, dtype=np.float32)
    rows = latent @ projection
    noise = 0.1 * float(np.sqrt(np.mean(rows[:1000] ** 2)))
    rows += noise * rng.standard_normal(rows.shape, dtype=np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows


def overlapping_blobs(n_rows: int = 1_000_000, n_columns: int = 64) -> np.ndarray:
    """Return a mixture of 8,192 normal blobs of unequal size and width that overlap, float32.

    Their centers are normal with standard deviation 0.5, their standard deviations uniform in 0.7..1.3, their
    shares log-normal (the largest is some thousand times the smallest). In 64 columns two centers are 5.7 apart
    on average and a center about 3.5 from the nearest other one, so that many rows lie nearer to the center of a
    blob other than their own, and no seeding finds them all.
    """
    rng, n_blobs = np.random.default_rng(0), 8192
    shares = np.exp(rng.standard_normal(n_blobs))
    centers = 0.5 * rng.standard_normal((n_blobs, n_columns), dtype=np.float32)
    widths = rng.uniform(0.7, 1.3, n_blobs).astype(np.float32)
    blob = rng.choice(n_blobs, size=n_rows, p=shares / shares.sum())
    rows = rng.standard_normal((n_rows, n_columns), dtype=np.float32)
    rows *= widths[blob, None]
    rows += centers[blob]
    return rows


def cod_rna(n_rows: int = 331_152) -> np.ndarray:
    """Return the first rows of cod-rna in its own units, float32, 8 columns; a generator stands in for it.

    The stand-in has blobs as in `blobs`, with the means and standard deviations of the real columns: an energy,
    a length, and six frequencies.
    """
    if real_file("cod_rna.npz"):
        return arrays_of("cod_rna.npz")[0][:n_rows]
    rows = blobs(n_rows, 8) / np.float32(np.hypot(1.5, 1))
    scales, means = np.array([[184, 21, *[0.045] * 6], [-442, 94, *[0.24] * 6]], np.float32)
    return rows * scales + means


def _first_rows(name: str, n_rows: int) -> np.ndarray:
    return np.ascontiguousarray(arrays_of(f"{name}.npz")[0][:n_rows], dtype=np.float32)


GENERATORS: dict[str, Callable[[int], np.ndarray]] = {
    "mnist": images.mnist,
    "blobs": blobs,
    "embeddings": embeddings,
    "embeddings384": partial(embeddings, n_columns=384),
    # No test of bounds excludes a distance.
    "noise256": lambda n: np.random.default_rng(0).standard_normal((n, 256), dtype=np.float32),
    "unit_mnist": lambda n: mnist(n) / np.float32(255),
    "cod_rna": cod_rna,
    "cifar10_12k": images.cifar10,
    "cifar10_split": images.cifar10_split,
    "aug90": images.shifted_digits,
    "blobs64": overlapping_blobs,
    "blobs18": partial(overlapping_blobs, n_columns=18),
    "blobs8": partial(blobs, n_columns=8),
    **{name: partial(_first_rows, name) for name in ("pendigits", "shuttle")},
    "patches": lambda n: patches_split(n, 1)[0],
    "kddc98": lambda n: kddc98_split(n, 1)[0],
}


def save_rows(name: str, n_rows: int, folder: Path) -> Path:
    """Write a data set of `GENERATORS` as .npy, unless it is there already; return its path."""
    path = folder / f"{name}-{n_rows}.npy"
    if not path.exists():
        np.save(path, GENERATORS[name](n_rows))
    return path


def save_images(path: Path, n_rows: int, seed: int = 0, rows_per_block: int = 10_000) -> None:
    """Write random images of `smooth_images` block by block as .npy, uint8, 3,072 columns.

    Each image also turned and mirrored, eight in all, since a file is written faster than images are drawn.
    """
    header = {"descr": "|u1", "fortran_order": False, "shape": (n_rows, 3072)}
    n_drawn = -(-rows_per_block // 8)
    with open(path, "wb") as file:
        np.lib.format.write_array_header_1_0(file, header)
        for start in range(0, n_rows, 8 * n_drawn):
            drawn = np.rint(255 * images.smooth_images(n_drawn, seed + start)).astype(np.uint8)
            turned = [np.rot90(drawn.reshape(-1, 32, 32, 3), turns, axes=(1, 2)) for turns in range(4)]
            block = np.concatenate([*turned, *(one[:, :, ::-1] for one in turned)])
            file.write(np.ascontiguousarray(block[: n_rows - start]).data)


PATCH = 6
Split = tuple[Any, Any]


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


SPLITS: dict[str, Callable[[int, int], Split]] = {
    "infmnist": infmnist_split,
    "patches": patches_split,
    "rcv1": rcv1_split,
    "kddc98": kddc98_split,
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
