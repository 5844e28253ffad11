"""Images: digits and photographs, real where a folder has them, else stand-ins."""

from __future__ import annotations

from collections.abc import Iterator
from io import BytesIO

import numpy as np

from benchmarks.harness.data.files import arrays_of, real_file

# The copies of an image and their shifts (pixels down, pixels right), and how many principal axes are kept.
SHIFTS = ((0, 0), (0, 1), (0, -1), (1, 0), (-1, 0), (1, 1), (-1, -1), (1, -1))
PRINCIPAL_AXES = 90


def mnist(n_rows: int = 70_000) -> np.ndarray:
    """Return the first rows of MNIST, float32 in 0..255, shape (n_rows, 784); enlarged digits stand in."""
    return arrays_of("mnist.npz")[0][:n_rows] if real_file("mnist.npz") else _enlarged_digits(n_rows)


def unit_mnist(n_rows: int = 70_000) -> np.ndarray:
    """Return rows of `mnist` in 0..1."""
    return mnist(n_rows) / np.float32(255)


def _enlarged_digits(n_rows: int) -> np.ndarray:
    from scipy.ndimage import zoom
    from sklearn.datasets import load_digits

    images = zoom(load_digits().images, (1, 3.5, 3.5), order=1).reshape(-1, 784).astype(np.float32)
    rng = np.random.default_rng(0)
    rows = images[rng.integers(len(images), size=n_rows)]
    rows *= 255 / 16
    rows += 10 * rng.standard_normal(rows.shape, dtype=np.float32)  # no two rows equal
    return np.clip(rows, 0, 255, out=rows)


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


def shifted_digits(n_rows: int = 515_345) -> np.ndarray:
    """Return MNIST with shifted copies on its first 90 principal axes, float32: the shape of SONG by default.

    Each image in 0..1 and its seven copies shifted by a pixel (see `SHIFTS`), centerd and projected; rows are
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
        centerd = copy - mean
        scatter += centerd.T @ centerd
    axes = np.linalg.eigh(scatter)[1][:, : -PRINCIPAL_AXES - 1 : -1].astype(np.float32)
    projected = np.concatenate([(copy - mean) @ axes for copy in copies()])
    return projected[np.random.default_rng(0).permutation(n_copies)[:n_rows]]


def cifar10(n_rows: int = 12_000) -> np.ndarray:
    """Return the first rows of 12,000 images of CIFAR-10 in 0..1, float32, 3,072 columns; see `smooth_images`."""
    if real_file("cifar10_12k.npz") is None:
        return smooth_images(n_rows)
    return arrays_of("cifar10_12k.npz")[0][:n_rows] / np.float32(255)


def cifar10_split(n_rows: int = 60_000) -> np.ndarray:
    """Return images of CIFAR-10 as its papers prepare them, float32: five parts for training, then one for tests.

    Pixels in 0..255 with uniform noise in 0..1 added. The images have been JPEG files; see `smooth_images` for what
    stands in for them, in the same range.
    """
    from PIL import Image

    path = real_file("cifar10_jpeg.npz")
    if path is None:
        return 256 * smooth_images(n_rows)
    with np.load(path) as file:
        jpeg, offsets, is_train = (file[name] for name in ("jpeg", "offsets", "is_train"))
    rng, n_test = np.random.default_rng(0), n_rows // 6
    parts = ((1, n_rows - n_test), (0, n_test))
    chosen = [rng.permutation(np.flatnonzero(is_train == part))[:n] for part, n in parts]
    rows = np.empty((n_rows, 3072), np.float32)
    for row, i in zip(rows, np.concatenate(chosen)):
        image = Image.open(BytesIO(jpeg[offsets[i] : offsets[i + 1]].tobytes()))
        row[:] = np.asarray(image.convert("RGB")).ravel()
        row += rng.random(3072, dtype=np.float32)
    return rows


def smooth_images(n_rows: int, seed: int = 0) -> np.ndarray:
    """Return random color images of 32 x 32 with the spectrum of photographs, float32 in 0..1.

    Sums of cosines, the amplitude of each being in inverse proportion to its frequency; the colors share half
    of the variance.
    """
    rng = np.random.default_rng(seed)
    n_pixels, n_waves = 32, 12
    waves = np.cos(np.pi * np.outer(np.arange(n_waves), np.arange(n_pixels) + 0.5) / n_pixels)
    amplitudes = 1 / (1 + np.hypot(*np.indices((n_waves, n_waves))))
    basis = np.einsum("ij,iy,jx->ijyx", amplitudes, waves, waves).reshape(n_waves**2, -1)
    basis *= 0.25 / np.sqrt(np.mean(np.sum(basis**2, axis=0)))
    gray = rng.standard_normal((n_rows, 1, n_waves**2), dtype=np.float32)
    colors = rng.standard_normal((n_rows, 3, n_waves**2), dtype=np.float32)
    images = np.float32(0.5) + ((gray + colors) * np.float32(0.5**0.5)) @ basis.astype(np.float32)
    rows = images.transpose(0, 2, 1).reshape(n_rows, -1)  # color varies fastest, as in CIFAR-10's rows here
    return np.clip(rows, 0, 1, out=rows)
