"""Data sets by name, and the files that runs read them from."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.harness.data import images
from benchmarks.harness.data.generated import blobs, cod_rna, embeddings, noise, overlapping_blobs

GENERATORS: dict[str, Callable[[int], np.ndarray]] = {
    "mnist": images.mnist,
    "blobs": blobs,
    "embeddings": embeddings,
    "embeddings384": partial(embeddings, n_columns=384),
    "noise256": noise,
    "unit_mnist": images.unit_mnist,
    "cod_rna": cod_rna,
    "cifar10_12k": images.cifar10,
    "cifar10_split": images.cifar10_split,
    "aug90": images.shifted_digits,
    "blobs64": overlapping_blobs,
    "blobs18": partial(overlapping_blobs, n_columns=18),
}


def save_rows(name: str, n_rows: int, folder: Path) -> Path:
    """Write a data set of `GENERATORS` as .npy, unless it is there already; return its path."""
    path = folder / f"{name}-{n_rows}.npy"
    if not path.exists():
        np.save(path, GENERATORS[name](n_rows))
    return path


def save_first_centers(data: Path, n_clusters: int) -> Path:
    """Write the initial centroids that all contenders share: distinct rows, drawn uniformly."""
    path = data.with_name(f"{data.stem}-{n_clusters}-centers.npy")
    rows = np.load(data, mmap_mode="r")
    chosen = np.random.default_rng(0).choice(len(rows), n_clusters, replace=False)
    np.save(path, rows[np.sort(chosen)])
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
