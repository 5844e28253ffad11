"""Data sets by name, and the files that runs read them from."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.harness.data.generated import blobs, cod_rna, embeddings, noise, overlapping_blobs
from benchmarks.harness.data.images import (
    cifar10,
    cifar10_split,
    mnist,
    shifted_digits,
    smooth_images,
    unit_mnist,
)

GENERATORS: dict[str, Callable[[int], np.ndarray]] = {
    "mnist": mnist,
    "blobs": blobs,
    "embeddings": embeddings,
    "embeddings384": partial(embeddings, n_columns=384),
    "noise256": noise,
    "unit_mnist": unit_mnist,
    "cod_rna": cod_rna,
    "cifar10_12k": cifar10,
    "cifar10_split": cifar10_split,
    "aug90": shifted_digits,
    "blobs64": overlapping_blobs,
    "blobs18": partial(overlapping_blobs, n_columns=18),
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


def save_images(path: Path, n_rows: int, seed: int = 0, rows_per_block: int = 10_000) -> None:
    """Write random images of `smooth_images` block by block as .npy, uint8, 3,072 columns.

    Each image also turned and mirrored, eight in all, since a file is written faster than images are drawn.
    """
    header = {"descr": "|u1", "fortran_order": False, "shape": (n_rows, 3072)}
    n_drawn = -(-rows_per_block // 8)
    with open(path, "wb") as file:
        np.lib.format.write_array_header_1_0(file, header)
        for start in range(0, n_rows, 8 * n_drawn):
            drawn = (
                np.rint(255 * smooth_images(n_drawn, seed + start)).astype(np.uint8).reshape(-1, 32, 32, 3)
            )
            turned = [np.rot90(drawn, turns, axes=(1, 2)) for turns in range(4)]
            block = np.concatenate([*turned, *(images[:, :, ::-1] for images in turned)])
            file.write(np.ascontiguousarray(block[: n_rows - start]).data)
