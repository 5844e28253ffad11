"""Digits that are shifted, turned and bent a little, as in INFMNIST."""

from __future__ import annotations

import numpy as np

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
