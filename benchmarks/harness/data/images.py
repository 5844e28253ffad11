"""Images: digits and photographs, real where a folder has them, else stand-ins."""

from collections.abc import Iterator
from io import BytesIO

import numpy as np
from scipy.ndimage import affine_transform, zoom

from benchmarks.harness.data.files import arrays_of, real_file

# The copies of an image and their shifts (pixels down, pixels right), and how many principal axes are kept.
SHIFTS = ((0, 0), (0, 1), (0, -1), (1, 0), (-1, 0), (1, 1), (-1, -1), (1, -1))
PRINCIPAL_AXES = 90


def mnist(n_rows: int = 70_000) -> np.ndarray:
    """Return the first rows of MNIST, float32 in 0..255, shape (n_rows, 784); enlarged digits stand in."""
    return arrays_of("mnist.npz")[0][:n_rows] if real_file("mnist.npz") else _enlarged_digits(n_rows)


def _enlarged_digits(n_rows: int) -> np.ndarray:
    from sklearn.datasets import load_digits

    images = zoom(load_digits().images, (1, 3.5, 3.5), order=1).reshape(-1, 784).astype(np.float32)
    rng = np.random.default_rng(0)
    rows = images[rng.integers(len(images), size=n_rows)]
    rows *= 255 / 16
    rows += 10 * rng.standard_normal(rows.shape, dtype=np.float32)  # no two rows equal
    return np.clip(rows, 0, 255, out=rows)


def upright_digits(rows: np.ndarray) -> np.ndarray:
    """Shear and shift images of 28 x 28 pixels until they lean no more and their ink has its mean in the middle."""
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


# Largest shift (pixels) and rotation (degrees), root mean square of the elastic displacement (pixels), and the grid of
# random vectors that is interpolated to a smooth displacement field.
LARGEST_SHIFT = 2.0
LARGEST_ROTATION = 10.0
ELASTIC_PIXELS = 1.0
ELASTIC_GRID = 7


def deformed_digits(
    images: np.ndarray, n_rows: int, rng: np.random.Generator, batch_size: int = 500
) -> np.ndarray:
    """Return images of 28 x 28, each shifted, turned and bent a little at random.

    They are float32, whole numbers in 0..255. All base images are used equally often, but for a rest; a batch fits into
    the processor's cache.
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
    bent += shift + np.float32(14.5)  # the center of the padded image
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
