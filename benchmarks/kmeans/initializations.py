"""Inertia and CPU time of fits of k-means from different initializations, as a Markdown table.

    python -m benchmarks.kmeans.initializations [--seeds 3] [--sets blobs,mnist] [--quick]

On one thread. Most sets are drawn; MNIST, shuttle and pendigits are in the folder COTERIE_DATA.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from benchmarks.harness.contenders import model_of
from benchmarks.harness.data.quality_sets import SETS, prepared
from benchmarks.harness.options import SystemParser
from benchmarks.harness.processes import limit_threads
from benchmarks.harness.reporting import RESULTS, machine_facts, machine_line, markdown_table

_OURS = partial(model_of, "coterie.KMeans", n_threads=1)
FITS: dict[str, Callable[..., Any]] = {
    "k-means++": partial(_OURS, init="k-means++"),
    "split-merge": _OURS,
    "split-merge, ten runs": partial(_OURS, n_init=10),
    "scikit-learn, ten runs": partial(model_of, "sklearn.cluster.KMeans", n_init=10),
}
# Ten runs, and fifty for the lowest inertia that is known, are only made with at most this number of clusters.
MOST_CLUSTERS = 100


def blobs(
    seed: int,
    n_rows: int,
    n_clusters: int,
    n_columns: int,
    *,
    distance: float,
    largest: float = 1.0,
    widening: float = 0.0,
    freedom: float = np.inf,
) -> np.ndarray:
    """Draw blobs whose centers are about `distance` apart in units of their typical width.

    The largest has `largest` times as many rows as the smallest; widths are lognormal with the parameter `widening`;
    rows have Student's t distribution with so many degrees of freedom.
    """
    random = np.random.default_rng(seed)
    centers = distance / np.sqrt(2 * n_columns) * random.normal(size=(n_clusters, n_columns))
    shares = np.geomspace(largest, 1, n_clusters)
    labels = random.choice(n_clusters, n_rows, p=shares / shares.sum())
    widths = random.lognormal(0, widening, n_clusters)
    shape = n_rows, n_columns
    noise = random.normal(size=shape) if np.isinf(freedom) else random.standard_t(freedom, size=shape)
    return centers[labels] + widths[labels, None] * noise


def nested_blobs(seed: int) -> np.ndarray:
    """Draw ten groups of ten blobs."""
    random = np.random.default_rng(seed)
    centers = 40 * random.normal(size=(10, 1, 6)) + 6 * random.normal(size=(10, 10, 6))
    return centers.reshape(100, 6)[random.integers(100, size=10_000)] + random.normal(size=(10_000, 6))


def uniform(seed: int, n_rows: int, n_columns: int) -> np.ndarray:
    """Draw rows without clusters."""
    return np.random.default_rng(seed).uniform(size=(n_rows, n_columns))


def skewed(seed: int) -> np.ndarray:
    """Draw blobs whose logarithms are normal."""
    return np.exp(0.5 * blobs(seed, 5_000, 12, 6, distance=6))


def labeled(name: str, n_rows: int) -> np.ndarray:
    """Return rows of a set of `benchmarks.graphs_quality`."""
    with np.load(prepared(name, n_rows, RESULTS / "initializations")) as arrays:
        return np.asarray(arrays["X"], dtype=np.float32)


DATA: dict[str, tuple[partial[np.ndarray], int]] = {
    "blobs in a plane": (partial(blobs, 1, 5_000, 50, 2, distance=50), 50),
    "blobs": (partial(blobs, 2, 5_000, 50, 10, distance=28), 50),
    "many blobs": (partial(blobs, 3, 30_000, 300, 16, distance=22), 300),
    "a thousand blobs": (partial(blobs, 4, 50_000, 1_000, 32, distance=25), 1_000),
    "few wide rows": (partial(blobs, 5, 225, 5, 800, distance=25), 5),
    "wide rows": (partial(blobs, 6, 600, 20, 800, distance=28), 20),
    "4,000 to 90 rows": (partial(blobs, 7, 12_000, 8, 5, distance=20, largest=44), 8),
    "unlike sizes and widths": (partial(blobs, 8, 10_000, 30, 8, distance=35, largest=100, widening=0.8), 30),
    "scale-free": (partial(blobs, 9, 8_000, 40, 3, distance=85, largest=1_000, widening=1.5), 40),
    "heavy tails": (partial(blobs, 10, 6_000, 10, 8, distance=35, freedom=2), 10),
    "nested blobs": (partial(nested_blobs, 11), 100),
    "overlapping": (partial(blobs, 12, 2_000, 3, 2, distance=4), 3),
    "skewed": (partial(skewed, 13), 12),
    "uniform in a plane": (partial(uniform, 14, 10_000, 2), 100),
    "uniform": (partial(uniform, 15, 6_000, 20), 30),
    "MNIST 10": (partial(labeled, "mnist", 10_000), 10),
    "MNIST 50": (partial(labeled, "mnist", 10_000), 50),
    "MNIST 300": (partial(labeled, "mnist", 10_000), 300),
    "embeddings 100": (partial(labeled, "snippets", 12_000), 100),
    "embeddings 1000": (partial(labeled, "snippets", 12_000), 1_000),
    "shuttle (scaled)": (partial(labeled, "shuttle (scaled)", 20_000), 30),
    "pendigits": (partial(labeled, "pendigits", 10_992), 40),
}


def is_here(draw: partial[np.ndarray]) -> bool:
    """Return whether the rows of a set can be drawn or read."""
    return draw.func is not labeled or SETS[draw.args[0]].is_here


def measured(rows: np.ndarray, n_clusters: int, n_seeds: int) -> dict[str, np.ndarray]:
    """Return inertia relative to the lowest one found, and CPU seconds, of each fit: the means over the seeds."""
    found = {}
    for name, fit in FITS.items():
        if n_clusters > MOST_CLUSTERS and "ten runs" in name:
            continue
        values = []
        for seed in range(n_seeds):
            began = time.process_time()
            model = fit(n_clusters, random_state=seed).fit(rows)
            values.append((model.inertia_, time.process_time() - began))
        found[name] = np.array(values)
    best = min(values[:, 0].min() for values in found.values())
    if n_clusters <= MOST_CLUSTERS:
        many = model_of("coterie.KMeans", n_clusters, n_init=50, random_state=n_seeds)
        best = min(best, many.fit(rows).inertia_)
    return {name: values.mean(axis=0) / (best, 1) - (1, 0) for name, values in found.items()}


def main() -> None:
    """Print the table."""
    parser = SystemParser(
        "kmeans.initializations", __doc__, [*DATA], quick=["overlapping"], rows_option="--sets", rounds=("--seeds", 3)
    )  # fmt: skip
    options = parser.read()
    limit_threads(1)
    measured(np.arange(60.0).reshape(20, 3), 2, 1)  # the first fit of a process takes longer
    lines, all_found = [], []
    for name in options.rows:
        draw, n_clusters = DATA[name]
        if is_here(draw):
            rows = np.ascontiguousarray(draw())
            all_found.append(measured(rows, n_clusters, options.repeats))
            shape = f"{name}, {len(rows):,} x {rows.shape[1]}, {n_clusters:,}"
            lines.append([shape, *_cells(all_found[-1])])
            print(lines[-1], flush=True)
    shown = [found for found in all_found if len(found) == len(FITS)]
    if shown:
        means = {name: np.mean([found[name] for found in shown], axis=0) for name in FITS}
        lines.append(["mean, k <= 100", *_cells(means)])
    headers = ["rows, k", *(f"inertia, {name}" for name in FITS), *(f"CPU s, {name}" for name in FITS)]
    print("\n".join([machine_line(machine_facts()), "", *markdown_table(headers, lines)]))


def _cells(found: dict[str, np.ndarray]) -> list[str]:
    found = dict.fromkeys(FITS) | found
    inertias = ["" if one is None else f"+{100 * max(one[0], 0.0):.2f}%" for one in found.values()]
    return inertias + ["" if one is None else f"{one[1]:.3f}" for one in found.values()]


if __name__ == "__main__":
    main()
