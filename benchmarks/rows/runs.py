"""What runs in a process of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness.measuring import measured


def run_fit(
    path: Path, n_clusters: int, seed: int, n_threads: int, is_scaled: bool = False
) -> dict[str, Any]:
    """Cluster a file by nested mini-batches, from opening it to the labels of all rows; scaled by a transformer."""
    import pyarrow.parquet  # noqa: F401  so that its memory is charged to nobody
    from sklearn.preprocessing import StandardScaler

    from coterie import NestedMiniBatchKMeans, open_rows, prepare_rows

    model = NestedMiniBatchKMeans(n_clusters, random_state=seed, n_threads=n_threads)
    with measured() as cost:
        rows = open_rows(path)
        model.fit(prepare_rows(rows, StandardScaler()) if is_scaled else rows)
    return vars(cost) | {"inertia": float(model.inertia_), "n_iter": int(model.n_iter_)}


def run_pass(path: Path, n_threads: int) -> dict[str, Any]:
    """Read all blocks of a file, checked for NaN, as `predict` does."""
    import pyarrow.parquet

    from coterie import open_rows

    pyarrow.set_cpu_count(n_threads)
    rows = open_rows(path)
    with measured() as cost:
        total = sum(float(np.add.reduce(block[:, 0], dtype=np.float64)) for _, block in rows.blocks())
    return vars(cost) | {"inertia": total}
