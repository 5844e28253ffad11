"""What labels for all rows cost after a fit."""

from __future__ import annotations

import copy
import sys
from collections import defaultdict
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks.harness.measuring import measured, seconds_of
from benchmarks.mixture.benchmark import LABEL_REPEATS, MixtureBenchmark
from benchmarks.mixture.settings import MixtureRow, Setting


def run_labels(data: Path, setting: Setting, seed: int, n_threads: int) -> dict[str, Any]:
    """Fit vc-GMM and label all rows: exactly, by the truncated search, and by scikit-learn's k-means."""
    from sklearn.cluster import KMeans

    X = np.load(data)
    model = setting.mixture(seed, n_threads, coreset_size=setting.coreset_size)
    fit_seconds = seconds_of(lambda: model.fit(X))
    found: dict[str, np.ndarray] = {}
    seconds: dict[str, list[float]] = defaultdict(list)

    def label(assignment: str) -> None:
        # A copy forgets what the search before has kept: the cells of the means count.
        fresh = copy.deepcopy(model).set_params(assignment=assignment)
        seconds[assignment].append(seconds_of(lambda: found.update({assignment: fresh.predict(X)})))

    peer = KMeans(len(model.means_), init=model.means_, n_init=1, max_iter=1)
    peer.fit(X[: max(1000, 2 * len(model.means_))])
    peer.cluster_centers_ = model.means_
    with measured() as cost:
        for _ in range(LABEL_REPEATS):
            label("exact")
            label("truncated")
            seconds["peer"].append(seconds_of(lambda: peer.predict(X)))
    energies = {name: _energy(X, model.means_, labels) for name, labels in found.items()}
    return {
        "seconds": cost.seconds,
        "other_seconds": cost.other_seconds,
        "fit_seconds": fit_seconds,
        "differing": float(np.mean(found["exact"] != found["truncated"])),
        "energy_rise": energies["truncated"] / energies["exact"] - 1,
        **{f"{name}_seconds": median(times) for name, times in seconds.items()},
    }


def _energy(X: np.ndarray, centers: np.ndarray, labels: np.ndarray, rows_per_block: int = 8192) -> float:
    total = 0.0
    for start in range(0, len(X), rows_per_block):
        gap = X[start : start + rows_per_block] - centers[labels[start : start + rows_per_block]]
        total += float(np.einsum("ij,ij->", gap, gap, dtype=np.float64))
    return total / len(X)


def measure_labels(benchmark: MixtureBenchmark, key: str, row: MixtureRow, data: Path) -> None:
    """Leave a line for the table in the end."""
    print(f"{key}: labels", file=sys.stderr)
    try:
        s = benchmark.within_budget(run_labels, data, row.setting, 0, benchmark.options.threads)
    except TimeoutError as error:
        benchmark.report.say("", f"Labels of {key}: {error}")
        return
    benchmark.report.data["labels"][key] = s
    benchmark.labels.append(
        [
            f"{key}, {row.n_rows:,} rows, C = {row.setting.n_clusters:,}",
            f"{s['fit_seconds']:.2f}",
            f"{s['exact_seconds']:.3f}",
            f"{s['truncated_seconds']:.3f}",
            f"{s['peer_seconds']:.3f}",
            f"{s['exact_seconds'] / s['truncated_seconds']:.2f}",
            f"{s['peer_seconds'] / s['exact_seconds']:.2f}",
            f"{s['differing']:.2%}",
            f"{100 * s['energy_rise']:+.3f}%",
        ]
    )
