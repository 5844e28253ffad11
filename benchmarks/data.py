"""Data of the benchmarks: real sets where a folder has them, stand-ins and generators elsewhere.

The folder is ``$COTERIE_DATA``, by default ``../shared/data`` beside the repository if that exists.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np

BLOBS = 1000
BLOB_SPREAD = 1.5
TOPICS = 200
LATENT_COLUMNS = 64


def data_folder() -> Path | None:
    """Return the folder of real data sets, or None."""
    named = os.environ.get("COTERIE_DATA")
    folder = Path(named) if named else Path(__file__).parents[2] / "shared" / "data"
    return folder if folder.is_dir() else None


def mnist(n_rows: int = 70_000) -> np.ndarray:
    """Return the first rows of MNIST, float32 in 0..255, shape (n_rows, 784); see `mnist_is_real`."""
    if mnist_is_real():
        with np.load(data_folder() / "mnist.npz") as file:  # type: ignore[operator]
            return file["X"][:n_rows].astype(np.float32)
    return _enlarged_digits(n_rows)


def mnist_is_real() -> bool:
    """Tell whether `mnist` has the real images (else it enlarges scikit-learn's digits)."""
    folder = data_folder()
    return folder is not None and (folder / "mnist.npz").is_file()


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
