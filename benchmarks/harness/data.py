"""Data of the benchmarks: real sets where a folder has them, stand-ins and generators elsewhere.

The folder is ``$COTERIE_DATA``, by default ``../shared/data`` beside the repository if that exists.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
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
# Overlapping blobs: how many, the spread of their centres and the range of their own, and the spread of the
# logarithms of their sizes.
OVERLAPPING_BLOBS = 8192
OVERLAPPING_SPREAD = 0.5
OVERLAPPING_WIDTHS = (0.7, 1.3)
OVERLAPPING_SIZES = 1.0
# The copies of an image and their shifts (pixels down, pixels right), and how many principal axes are kept.
SHIFTS = ((0, 0), (0, 1), (0, -1), (1, 0), (-1, 0), (1, 1), (-1, -1), (1, -1))
PRINCIPAL_AXES = 90


def data_folder() -> Path | None:
    """Return the folder of real data sets, or None."""
    named = os.environ.get("COTERIE_DATA")
    folder = Path(named) if named else Path(__file__).parents[3] / "shared" / "data"
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


def upright_digits(rows: np.ndarray) -> np.ndarray:
    """Shear and shift images of 28 x 28 pixels until they lean no more and their ink has its mean in the middle."""
    from scipy.ndimage import affine_transform

    images = rows.reshape(-1, 28, 28)
    down, right = np.mgrid[:28, :28].astype(np.float32)
    ink = images.sum(axis=(1, 2))
    middle = np.stack([(images * place).sum(axis=(1, 2)) / ink for place in (down, right)], axis=1)
    away = down - middle[:, 0, None, None]
    lean = (images * away * right).sum(axis=(1, 2)) / (images * away * away).sum(axis=(1, 2))
    upright = np.empty_like(images)
    for image, at, slope, out in zip(images, middle, lean, upright):
        shear = np.array([[1, 0], [slope, 1]])
        affine_transform(image, shear, offset=at - shear @ [13.5, 13.5], order=1, output=out)
    return upright.reshape(rows.shape)


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


def overlapping_blobs(n_rows: int = 1_000_000, n_columns: int = 64) -> np.ndarray:
    """Return a mixture of 8,192 normal blobs of unequal size and width that overlap, float32.

    Their centres are normal with standard deviation 0.5, their standard deviations uniform in 0.7..1.3, their
    shares log-normal (the largest is some thousand times the smallest). In 64 columns two centres are 5.7 apart
    on average and a centre about 3.5 from the nearest other one, so that many rows lie nearer to the centre of a
    blob other than their own, and no seeding finds them all.
    """
    rng = np.random.default_rng(0)
    shares = np.exp(OVERLAPPING_SIZES * rng.standard_normal(OVERLAPPING_BLOBS))
    centers = OVERLAPPING_SPREAD * rng.standard_normal((OVERLAPPING_BLOBS, n_columns), dtype=np.float32)
    widths = rng.uniform(*OVERLAPPING_WIDTHS, OVERLAPPING_BLOBS).astype(np.float32)
    blob = rng.choice(OVERLAPPING_BLOBS, size=n_rows, p=shares / shares.sum())
    rows = rng.standard_normal((n_rows, n_columns), dtype=np.float32)
    rows *= widths[blob, None]
    rows += centers[blob]
    return rows


def unit_mnist(n_rows: int = 70_000) -> np.ndarray:
    """Return rows of `mnist` in 0..1."""
    rows = mnist(n_rows)
    rows /= 255
    return rows


def cod_rna(n_rows: int = 331_152) -> np.ndarray:
    """Return the first rows of cod-rna in its own units, float32, 8 columns; a generator stands in for it.

    The stand-in has blobs as in `blobs`, with the means and standard deviations of the real columns: an energy,
    a length, and six frequencies.
    """
    path = real_file("cod_rna.npz")
    if path is not None:
        with np.load(path) as file:
            return file["X"][:n_rows].astype(np.float32)
    rows = blobs(n_rows, 8) / np.float32(np.hypot(BLOB_SPREAD, 1))
    scales, means = np.array([[184, 21, *[0.045] * 6], [-442, 94, *[0.24] * 6]], np.float32)
    return rows * scales + means


def cifar10(n_rows: int = 12_000) -> np.ndarray:
    """Return the first rows of 12,000 images of CIFAR-10 in 0..1, float32, 3,072 columns; see `smooth_images`."""
    path = real_file("cifar10_12k.npz")
    if path is None:
        return smooth_images(n_rows)
    with np.load(path) as file:
        rows = file["X"][:n_rows].astype(np.float32)
    rows /= 255
    return rows


def smooth_images(n_rows: int) -> np.ndarray:
    """Return random colour images of 32 x 32 with the spectrum of photographs, float32 in 0..1.

    Sums of cosines, the amplitude of each being in inverse proportion to its frequency; the colours share half
    of the variance.
    """
    rng = np.random.default_rng(0)
    n_pixels, n_waves = 32, 12
    waves = np.cos(np.pi * np.outer(np.arange(n_waves), np.arange(n_pixels) + 0.5) / n_pixels)
    amplitudes = 1 / (1 + np.hypot(*np.indices((n_waves, n_waves))))
    basis = np.einsum("ij,iy,jx->ijyx", amplitudes, waves, waves).reshape(n_waves**2, -1)
    basis *= 0.25 / np.sqrt(np.mean(np.sum(basis**2, axis=0)))
    grey = rng.standard_normal((n_rows, 1, n_waves**2), dtype=np.float32)
    colours = rng.standard_normal((n_rows, 3, n_waves**2), dtype=np.float32)
    images = np.float32(0.5) + ((grey + colours) * np.float32(0.5**0.5)) @ basis.astype(np.float32)
    rows = images.transpose(0, 2, 1).reshape(n_rows, -1)  # colour varies fastest, as in CIFAR-10's rows here
    return np.clip(rows, 0, 1, out=rows)


def shifted_digits(n_rows: int = 515_345) -> np.ndarray:
    """Return MNIST with shifted copies on its first 90 principal axes, float32: the shape of SONG by default.

    Each image in 0..1 and its seven copies shifted by a pixel (see `SHIFTS`), centred and projected; rows are
    drawn without replacement, in random order, from a fixed seed. At most eight times the images.
    """
    images = np.pad(mnist().reshape(-1, 28, 28), ((0, 0), (1, 1), (1, 1))) / np.float32(255)

    def copies() -> Iterator[np.ndarray]:
        for down, right in SHIFTS:
            yield images[:, 1 - down : 29 - down, 1 - right : 29 - right].reshape(-1, 784)

    n_copies = len(images) * len(SHIFTS)
    mean = np.mean([copy.mean(axis=0, dtype=np.float64) for copy in copies()], axis=0).astype(np.float32)
    scatter = np.zeros((784, 784))
    for copy in copies():
        centred = copy - mean
        scatter += centred.T @ centred
    axes = np.linalg.eigh(scatter)[1][:, : -PRINCIPAL_AXES - 1 : -1].astype(np.float32)
    projected = np.concatenate([(copy - mean) @ axes for copy in copies()])
    return projected[np.random.default_rng(0).permutation(n_copies)[:n_rows]]


LABELLED = ("mnist", "shuttle", "optdigits", "pendigits", "digits")


def has_labelled(name: str) -> bool:
    """Tell whether a data set of `LABELLED` is here."""
    return name == "digits" or real_file(f"{name}.npz") is not None


def labelled(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows (float32) and the classes of a data set of `LABELLED`; digits are scikit-learn's."""
    if name == "digits":
        from sklearn.datasets import load_digits

        X, y = load_digits(return_X_y=True)
        return X.astype(np.float32), y
    path = real_file(f"{name}.npz")
    if path is None:
        raise FileNotFoundError(f"{name}.npz is not in COTERIE_DATA")
    with np.load(path) as file:
        return file["X"].astype(np.float32), file["y"].astype(np.int64)


def _divided(rows: np.ndarray, divisors: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(rows / np.where(divisors == 0, 1, divisors), dtype=np.float32)


SCALINGS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "as they are": np.ascontiguousarray,
    "rows of length 1": lambda X: _divided(X, np.linalg.norm(X.astype(np.float64), axis=1, keepdims=True)),
    "standardised columns": lambda X: _divided(
        X - X.mean(axis=0, dtype=np.float64), X.std(axis=0, dtype=np.float64)
    ),
    "columns in 0..1": lambda X: _divided(X - X.min(axis=0), np.ptp(X, axis=0)),
}


def save_labelled(name: str, scaling: str, n_rows: int | None, folder: Path) -> Path:
    """Write the first rows of a data set of `LABELLED` in a scaling of `SCALINGS` as .npz, with X and y."""
    path = folder / f"{name}-{scaling.replace(' ', '-')}.npz"
    if not path.exists():
        X, y = labelled(name)
        np.savez(path, X=SCALINGS[scaling](X[:n_rows]), y=y[:n_rows])
    return path


GENERATORS: dict[str, Callable[[int], np.ndarray]] = {
    "mnist": mnist,
    "blobs": blobs,
    "embeddings": embeddings,
    "unit_mnist": unit_mnist,
    "cod_rna": cod_rna,
    "cifar10_12k": cifar10,
    "aug90": shifted_digits,
    "blobs64": overlapping_blobs,
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
    """Write a file (float32, by default of 4 GB) block by block; return its path."""
    path = folder / "huge.npy"
    rng = np.random.default_rng(0)
    rows = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(n_rows, n_columns))
    for start in range(0, n_rows, 100_000):
        block = rows[start : start + 100_000]
        block[:] = rng.standard_normal(block.shape, dtype=np.float32)
    rows.flush()
    return path
