"""Data of the benchmarks: real sets where a folder has them, stand-ins and generators elsewhere.

The folder is ``$COTERIE_DATA``, by default ``../shared/data`` beside the repository if that exists.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

BLOBS = 1000
BLOB_SPREAD = 1.5
TOPICS = 200
LATENT_COLUMNS = 64
# Deformed digits: largest shift (pixels) and rotation (degrees), root mean square of the elastic displacement
# (pixels), and the grid of random vectors that is interpolated to a smooth displacement field.
LARGEST_SHIFT = 2.0
LARGEST_ROTATION = 10.0
ELASTIC_PIXELS = 1.0
ELASTIC_GRID = 7
PATCH = 6


def data_folder() -> Path | None:
    """Return the folder of real data sets, or None."""
    named = os.environ.get("COTERIE_DATA")
    folder = Path(named) if named else Path(__file__).parents[2] / "shared" / "data"
    return folder if folder.is_dir() else None


def real_file(name: str) -> Path | None:
    """Return a file of the folder of real data sets, or None."""
    folder = data_folder()
    return folder / name if folder is not None and (folder / name).is_file() else None


def mnist(n_rows: int = 70_000) -> np.ndarray:
    """Return the first rows of MNIST, float32 in 0..255, shape (n_rows, 784); see `mnist_is_real`."""
    path = real_file("mnist.npz")
    if path is not None:
        with np.load(path) as file:
            return file["X"][:n_rows].astype(np.float32)
    return _enlarged_digits(n_rows)


def mnist_is_real() -> bool:
    """Tell whether `mnist` has the real images (else it enlarges scikit-learn's digits)."""
    return real_file("mnist.npz") is not None


def _enlarged_digits(n_rows: int) -> np.ndarray:
    from scipy.ndimage import zoom
    from sklearn.datasets import load_digits

    images = zoom(load_digits().images, (1, 3.5, 3.5), order=1).reshape(-1, 784).astype(np.float32)
    rng = np.random.default_rng(0)
    rows = images[rng.integers(len(images), size=n_rows)]
    rows *= 255 / 16
    rows += 10 * rng.standard_normal(rows.shape, dtype=np.float32)  # no two rows equal
    return np.clip(rows, 0, 255, out=rows)


def blobs(n_rows: int = 1_000_000, n_columns: int = 32) -> np.ndarray:
    """Return a mixture of 1,000 normal blobs of unit variance, float32.

    Their centres are normal with standard deviation 1.5: neighbouring blobs touch but do not melt together.
    """
    rng = np.random.default_rng(0)
    centers = BLOB_SPREAD * rng.standard_normal((BLOBS, n_columns), dtype=np.float32)
    rows = centers[rng.integers(BLOBS, size=n_rows)]
    rows += rng.standard_normal(rows.shape, dtype=np.float32)
    return rows


def embeddings(n_rows: int = 100_000, n_columns: int = 768) -> np.ndarray:
    """Return rows of unit length that look like text embeddings, float32.

    A mixture of 200 topics in 64 latent columns (centres standard normal, spread 0.5 within a topic),
    projected by a Gaussian matrix, plus isotropic noise of a tenth of the projection's root mean square.
    """
    rng = np.random.default_rng(0)
    topics = rng.standard_normal((TOPICS, LATENT_COLUMNS), dtype=np.float32)
    projection = rng.standard_normal((LATENT_COLUMNS, n_columns), dtype=np.float32)
    latent = topics[rng.integers(TOPICS, size=n_rows)]
    latent += 0.5 * rng.standard_normal(latent.shape, dtype=np.float32)
    rows = latent @ projection
    noise = 0.1 * float(np.sqrt(np.mean(rows[:1000] ** 2)))
    rows += noise * rng.standard_normal(rows.shape, dtype=np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows


GENERATORS: dict[str, Callable[[int], np.ndarray]] = {
    "mnist": mnist,
    "blobs": blobs,
    "embeddings": embeddings,
}


def save_rows(name: str, n_rows: int, folder: Path) -> Path:
    """Write a data set of `GENERATORS` as .npy, unless it is there already; return its path."""
    path = folder / f"{name}-{n_rows}.npy"
    if not path.exists():
        np.save(path, GENERATORS[name](n_rows))
    return path


def save_first_centers(data: Path, n_clusters: int, seed: int) -> Path:
    """Write the initial centroids that all contenders share: distinct rows, drawn uniformly."""
    path = data.with_name(f"{data.stem}-{n_clusters}-centers.npy")
    rows = np.load(data, mmap_mode="r")
    chosen = np.random.default_rng(seed).choice(len(rows), n_clusters, replace=False)
    np.save(path, rows[np.sort(chosen)])
    return path


# --- rows for training, and others for validation

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


def deformed_digits(
    images: np.ndarray, n_rows: int, rng: np.random.Generator, batch_size: int = 500
) -> np.ndarray:
    """Return images of 28 x 28, each shifted, turned and bent a little at random.

    Parameters
    ----------
    images : ndarray of shape (m, 784)
        Base images; all are used equally often, but for a rest.
    n_rows : int
        How many to make.
    rng : Generator
        Where chance comes from.
    batch_size : int
        Images per step; small enough for the processor's cache.

    Returns
    -------
    ndarray of shape (n_rows, 784), float32
        Whole numbers in 0..255.
    """
    padded = np.pad(images.reshape(-1, 28, 28), ((0, 0), (1, 1), (1, 1))).astype(np.float32)
    base = rng.permutation(np.arange(n_rows) % len(images))
    bend = _smooth_weights(28, ELASTIC_GRID)
    out = np.empty((n_rows, 784), np.float32)
    for start in range(0, n_rows, batch_size):
        batch = padded[base[start : start + batch_size]]
        out[start : start + batch_size] = _resampled(batch, *_displaced_grid(len(batch), bend, rng))
    return out


def _smooth_weights(n_pixels: int, n_nodes: int) -> np.ndarray:
    # Gaussian weights from nodes to pixels; squares sum to 1, so that unit normal nodes give unit displacements.
    nodes = np.linspace(0, n_pixels - 1, n_nodes)
    gap = (np.arange(n_pixels)[:, None] - nodes) / (nodes[1] - nodes[0])
    weights = np.exp(-(gap**2))
    return (weights / np.linalg.norm(weights, axis=1, keepdims=True)).astype(np.float32)


def _displaced_grid(
    n_images: int, bend: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Return where each pixel of each image comes from: row and column in the padded image."""
    angle = np.deg2rad(rng.uniform(-LARGEST_ROTATION, LARGEST_ROTATION, n_images)).astype(np.float32)
    cosine, sine = np.cos(angle)[:, None, None], np.sin(angle)[:, None, None]
    shift = rng.uniform(-LARGEST_SHIFT, LARGEST_SHIFT, (2, n_images, 1, 1)).astype(np.float32)
    nodes = rng.standard_normal((2, n_images, bend.shape[1], bend.shape[1]), dtype=np.float32)
    bent = ELASTIC_PIXELS * (bend @ nodes @ bend.T)
    bent += shift + np.float32(14.5)  # the centre of the padded image
    y = np.arange(28, dtype=np.float32)[:, None] - 13.5
    x = y.T
    rows, columns = bent
    rows += cosine * y - sine * x
    columns += sine * y + cosine * x
    # Outside lies the empty frame.
    return np.clip(rows, 0, 28.999, out=rows), np.clip(columns, 0, 28.999, out=columns)


def _resampled(padded: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Read images of 30 x 30 between their pixels (bilinear)."""
    n_images = len(padded)
    top, left = rows.astype(np.int32), columns.astype(np.int32)
    rows -= top
    columns -= left
    corner = top * 30 + left + np.arange(n_images, dtype=np.int32)[:, None, None] * 900
    pixels = padded.ravel()
    upper = pixels[corner]
    upper += columns * (pixels[corner + 1] - upper)
    lower = pixels[corner + 30]
    lower += columns * (pixels[corner + 31] - lower)
    upper += rows * (lower - upper)
    return np.rint(upper, out=upper).reshape(n_images, 784)


def patches_split(n_train: int, n_valid: int) -> Split:
    """Return random 6 x 6 x 3 patches of CIFAR-10 images; those for validation are from other images."""
    path = real_file("cifar10_12k.npz")
    if path is None:
        raise FileNotFoundError("cifar10_12k.npz is not in COTERIE_DATA")
    with np.load(path) as file:
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
    from scipy.sparse import csr_matrix

    path = real_file("rcv1_27k.npz")
    if path is None:
        raise FileNotFoundError("rcv1_27k.npz is not in COTERIE_DATA")
    with np.load(path) as file:
        parts = (
            file["data"].astype(np.float32),
            *(file[name].astype(np.int32) for name in ("indices", "indptr")),
        )
        documents = csr_matrix(parts, shape=tuple(file["shape"]))
    order = np.random.default_rng(0).permutation(documents.shape[0])
    return documents[order[:n_train]], documents[order[n_train : n_train + n_valid]]


def blobs_split(n_train: int, n_valid: int) -> Split:
    """Return rows of one mixture of `blobs`."""
    rows = blobs(n_train + n_valid)
    return rows[:n_train], rows[n_train:]


SPLITS: dict[str, Callable[[int, int], Split]] = {
    "infmnist": infmnist_split,
    "mnist": mnist_split,
    "patches": patches_split,
    "rcv1": rcv1_split,
    "blobs": blobs_split,
}


def save_split(name: str, n_train: int, n_valid: int, folder: Path) -> tuple[Path, Path]:
    """Write the two parts of a data set of `SPLITS`, unless they are there already; return their paths."""
    stems = [folder / f"{name}-{n_train}-{part}" for part in ("train", f"valid-{n_valid}")]
    found = [
        [path for path in (stem.with_suffix(".npy"), stem.with_suffix(".npz")) if path.exists()]
        for stem in stems
    ]
    if not all(found):
        found = [[_save(stem, rows)] for stem, rows in zip(stems, SPLITS[name](n_train, n_valid))]
    return found[0][0], found[1][0]


def _save(stem: Path, rows: Any) -> Path:
    from scipy.sparse import issparse, save_npz

    path = stem.with_suffix(".npz" if issparse(rows) else ".npy")
    if issparse(rows):
        save_npz(path, rows, compressed=False)
    else:
        np.save(path, rows)
    return path


def load_rows(path: Path) -> Any:
    """Return the array or the CSR matrix that `save_split` wrote."""
    from scipy.sparse import load_npz

    return load_npz(path) if path.suffix == ".npz" else np.load(path)


def save_huge(folder: Path, n_rows: int = 8_000_000, n_columns: int = 128) -> Path:
    """Write a file of 4 GB (float32) block by block; return its path."""
    path = folder / "huge.npy"
    rng = np.random.default_rng(0)
    rows = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(n_rows, n_columns))
    for start in range(0, n_rows, 100_000):
        block = rows[start : start + 100_000]
        block[:] = rng.standard_normal(block.shape, dtype=np.float32)
    rows.flush()
    return path
