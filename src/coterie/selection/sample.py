"""A sample of the rows in their principal directions, and reference data without clusters."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from coterie.arrays import Array, FloatArray, IndexArray
from coterie.blocks.dataset import check_squares
from coterie.rows import Block, RowSource

# Limits of the number of principal directions.
_MOST_DIRECTIONS = 60
_FEWEST_DIRECTIONS = 3

# Directions count if their variance exceeds that of shuffled columns by this factor; the lower quarter is noise.
_ABOVE_NOISE = 1.1
_NOISE_QUANTILE = 0.25


@dataclass(frozen=True)
class Sample:
    """Some rows of a source in their principal directions.

    `points` are the rows along these, 60 at most, the widest first; `n_above` of them, at least 3, have more variance
    than noise. `directions` maps rows, less their mean (zeros for sparse rows), to points.
    """

    ids: IndexArray
    points: FloatArray
    n_above: int
    directions: FloatArray
    center: FloatArray

    def views(self) -> list[FloatArray]:
        """Return the points in the directions above noise, and in all where these are more.

        Noise hides clusters in few directions; where clusters fill all directions, none looks like noise.
        """
        some = np.ascontiguousarray(self.points[:, : self.n_above])
        return [some, self.points] if self.n_above < self.points.shape[1] else [self.points]

    def project(self, rows: Block) -> FloatArray:
        """Return other rows in the same directions."""
        return np.asarray((rows if sp.issparse(rows) else rows - self.center) @ self.directions)


def draw_sample(source: RowSource, size: int, random: np.random.RandomState) -> Sample:
    """Draw rows without replacement, all if there are at most `size`, and find their principal directions."""
    n_rows = source.shape[0]
    ids = np.arange(n_rows) if n_rows <= size else np.sort(random.choice(n_rows, size, replace=False))
    rows = source.read() if n_rows <= size else source.take(ids)
    check_range(rows, ids)
    if sp.issparse(rows):
        center = np.zeros(source.shape[1])
        directions = _sparse_directions(rows, random)
        n_above = directions.shape[1]
    else:
        rows = np.asarray(rows, dtype=np.float64)
        center = rows.mean(axis=0)
        directions, n_above = _dense_directions(rows - center, random)
    points = np.asarray((rows if sp.issparse(rows) else rows - center) @ directions, dtype=np.float64)
    return Sample(ids.astype(np.int64), points, n_above, directions, center)


def check_range(rows: Block, ids: Array) -> None:
    """Raise the ValueError of fits if squared distances of rows to their mean overflow in their dtype."""
    with np.errstate(over="ignore", invalid="ignore"):
        if sp.issparse(rows):
            squares = np.asarray(rows.multiply(rows).sum(axis=1)).ravel()
        else:
            squares = np.square(rows - rows.mean(axis=0, dtype=np.float64)).sum(axis=1)
        check_squares(squares.astype(rows.dtype), ids)


def _dense_directions(centered: FloatArray, random: np.random.RandomState) -> tuple[FloatArray, int]:
    """Return the eigenvectors of the covariance, and the number of eigenvalues above those of shuffled columns."""
    n_rows, n_columns = centered.shape
    values, vectors = np.linalg.eigh(centered.T @ centered / n_rows)
    values, vectors = values[::-1], vectors[:, ::-1][:, :_MOST_DIRECTIONS]
    if n_columns <= _FEWEST_DIRECTIONS:
        return vectors, n_columns
    shuffled = np.column_stack([random.permutation(column) for column in centered.T])
    scales = shuffled.std(axis=0)
    shuffled /= np.where(scales > 0, scales, 1)
    of_noise = np.linalg.eigvalsh(shuffled.T @ shuffled / n_rows)
    edge = float(of_noise[-1] / max(np.quantile(of_noise, _NOISE_QUANTILE), 1e-3))
    n_kept = int(np.sum(values > np.quantile(values, _NOISE_QUANTILE) * edge * _ABOVE_NOISE))
    return vectors, min(max(n_kept, _FEWEST_DIRECTIONS), vectors.shape[1])


def _sparse_directions(rows: sp.csr_array, random: np.random.RandomState) -> FloatArray:
    from sklearn.decomposition import TruncatedSVD  # slow to import, and rarely needed

    n_kept = min(_MOST_DIRECTIONS, min(rows.shape) - 1)
    if n_kept < 1:
        return np.eye(rows.shape[1])
    seed = int(random.randint(np.iinfo(np.int32).max))
    return TruncatedSVD(n_kept, random_state=seed).fit(rows).components_.T.astype(np.float64)


def references(
    points: FloatArray, n_sets: int, random: np.random.RandomState, sides: FloatArray | None = None
) -> Iterator[tuple[str, FloatArray]]:
    """Yield reference data without clusters, with as many rows and of the same extent, and their kind.

    "gaussian" is one Gaussian with the same covariance, "box" is uniform in the box of the points, "local" in the box
    of `sides` (see `coterie.selection.modes.local_sides`).
    """
    n_points, n_directions = points.shape
    covariance = np.atleast_2d(np.cov(points, rowvar=False))
    values, vectors = np.linalg.eigh(covariance)
    root = vectors * np.sqrt(np.maximum(values, 0))
    low, high = points.min(axis=0), points.max(axis=0)
    for _ in range(n_sets):
        yield "gaussian", random.standard_normal((n_points, n_directions)) @ root.T
        yield "box", random.uniform(low, high, (n_points, n_directions))
        if sides is not None:
            yield "local", random.uniform(0, 1, (n_points, len(sides))) * sides
