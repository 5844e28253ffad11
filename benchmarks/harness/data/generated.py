"""Rows that are generated, and a data set for which they stand in."""

from __future__ import annotations

import numpy as np

from benchmarks.harness.data.files import arrays_of, real_file

BLOBS = 1000
BLOB_SPREAD = 1.5
TOPICS = 200
LATENT_COLUMNS = 64
# Overlapping blobs: how many, the spread of their centers and the range of their own, and the spread of the
# logarithms of their sizes.
OVERLAPPING_BLOBS = 8192
OVERLAPPING_SPREAD = 0.5
OVERLAPPING_WIDTHS = (0.7, 1.3)
OVERLAPPING_SIZES = 1.0


def blobs(n_rows: int = 1_000_000, n_columns: int = 32) -> np.ndarray:
    """Return a mixture of 1,000 normal blobs of unit variance, float32.

    Their centers are normal with standard deviation 1.5: neighboring blobs touch but do not melt together.
    """
    rng = np.random.default_rng(0)
    centers = BLOB_SPREAD * rng.standard_normal((BLOBS, n_columns), dtype=np.float32)
    rows = centers[rng.integers(BLOBS, size=n_rows)]
    rows += rng.standard_normal(rows.shape, dtype=np.float32)
    return rows


def noise(n_rows: int = 50_000, n_columns: int = 256) -> np.ndarray:
    """Return standard normal rows, float32: no test of bounds excludes a distance."""
    return np.random.default_rng(0).standard_normal((n_rows, n_columns), dtype=np.float32)


def embeddings(n_rows: int = 100_000, n_columns: int = 768) -> np.ndarray:
    """Return rows of unit length that look like text embeddings, float32.

    A mixture of 200 topics in 64 latent columns (centers standard normal, spread 0.5 within a topic),
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

    Their centers are normal with standard deviation 0.5, their standard deviations uniform in 0.7..1.3, their
    shares log-normal (the largest is some thousand times the smallest). In 64 columns two centers are 5.7 apart
    on average and a center about 3.5 from the nearest other one, so that many rows lie nearer to the center of a
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


def cod_rna(n_rows: int = 331_152) -> np.ndarray:
    """Return the first rows of cod-rna in its own units, float32, 8 columns; a generator stands in for it.

    The stand-in has blobs as in `blobs`, with the means and standard deviations of the real columns: an energy,
    a length, and six frequencies.
    """
    if real_file("cod_rna.npz"):
        return arrays_of("cod_rna.npz")[0][:n_rows]
    rows = blobs(n_rows, 8) / np.float32(np.hypot(BLOB_SPREAD, 1))
    scales, means = np.array([[184, 21, *[0.045] * 6], [-442, 94, *[0.24] * 6]], np.float32)
    return rows * scales + means
