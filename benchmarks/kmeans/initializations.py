"""Inertia and CPU time of fits of k-means from different initializations, as a Markdown table.

    python -m benchmarks.kmeans.initializations [--seeds 3] [--sets blobs,mnist] [--quick]

On one thread. Most sets are drawn; MNIST, shuttle and pendigits are in the folder COTERIE_DATA.
"""

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from benchmarks.harness.contenders import model_of
from benchmarks.harness.data.quality_sets import SETS, prepared
from benchmarks.harness.measuring import limit_threads
from benchmarks.harness.options import SystemParser
from benchmarks.harness.reporting import RESULTS, machine_line, markdown_table

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


def labeled(name: str, n_rows: int) -> np.ndarray:
    """Return rows of a set of `benchmarks.graphs_quality`."""
    with np.load(prepared(name, n_rows, RESULTS / "initializations")) as arrays:
        return np.asarray(arrays["X"], dtype=np.float32)


DATA: dict[str, tuple[Callable[[], np.ndarray], int]] = {
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
    # The logarithms are blobs.
    "skewed": (lambda: np.exp(0.5 * blobs(13, 5_000, 12, 6, distance=6)), 12),
    "uniform in a plane": (lambda: np.random.default_rng(14).uniform(size=(10_000, 2)), 100),
    "uniform": (lambda: np.random.default_rng(15).uniform(size=(6_000, 20)), 30),
    **{
        name: (partial(labeled, known, n_rows), n_clusters)
        for name, known, n_rows, n_clusters in (
            *((f"MNIST {k}", "mnist", 10_000, k) for k in (10, 50, 300)),
            *((f"embeddings {k}", "snippets", 12_000, k) for k in (100, 1_000)),
            ("shuttle (scaled)", "shuttle (scaled)", 20_000, 30),
            ("pendigits", "pendigits", 10_992, 40),
        )
        if SETS[known].is_here
    },
}


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


def _cells(found: dict[str, np.ndarray]) -> list[str]:
    found = dict.fromkeys(FITS) | found
    inertias = ["" if one is None else f"+{100 * max(one[0], 0.0):.2f}%" for one in found.values()]
    return inertias + ["" if one is None else f"{one[1]:.3f}" for one in found.values()]


if __name__ == "__main__":
    parser = SystemParser(
        "kmeans.initializations", __doc__, [*DATA], quick=["overlapping"], rows_option="--sets", rounds=("--seeds", 3)
    )  # fmt: skip
    options = parser.read()
    limit_threads(1)
    measured(np.arange(60.0).reshape(20, 3), 2, 1)  # the first fit of a process takes longer
    lines, all_found = [], []
    for name in options.rows:
        draw, n_clusters = DATA[name]
        rows = np.ascontiguousarray(draw())
        all_found.append(measured(rows, n_clusters, options.repeats))
        lines.append([f"{name}, {len(rows):,} x {rows.shape[1]}, {n_clusters:,}", *_cells(all_found[-1])])
        print(lines[-1], flush=True)
    shown = [found for found in all_found if len(found) == len(FITS)]
    if shown:
        means = {name: np.mean([found[name] for found in shown], axis=0) for name in FITS}
        lines.append(["mean, k <= 100", *_cells(means)])
    headers = ["rows, k", *(f"inertia, {name}" for name in FITS), *(f"CPU s, {name}" for name in FITS)]
    print("\n".join([machine_line(), "", *markdown_table(headers, lines)]))
